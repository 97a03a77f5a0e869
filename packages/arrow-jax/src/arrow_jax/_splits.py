"""Which files of a dataset's folder belong to which split.

The card, the YAML at the top of README.md, says so where it has `configs`; otherwise
the names of files and folders do, as on the Hugging Face hub.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from arrow_jax._errors import ArrowJaxError

_WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_SPLITS = {word: split for split, words in _WORDS.items() for word in words}
_SHARD = re.compile(r"(?:^|/)([^/]+)-\d{5}-of-\d{5}[^/]*$")
_HEADER = re.compile(r"\A---\s*\n(.*?)\n---\s*$", re.DOTALL | re.MULTILINE)


def split_files(names: Iterable[str]) -> dict[str, list[str]]:
    """Sorts files into splits by their names.

    Args:
      names: paths below the folder, with "/".

    Returns:
      split -> files, "train" first. Where some names say a split, those that say none
      are left out; where none does, all are "train".

    Example:
      >>> split_files(["data/test-00000-of-00001.parquet", "data/train/a.parquet"])
      {'train': ['data/train/a.parquet'], 'test': ['data/test-00000-of-00001.parquet']}
    """
    names = sorted(names)
    found: dict[str, list[str]] = {}
    for name in names:
        if split := _split_of(name):
            found.setdefault(split, []).append(name)
    if not found:
        return {"train": names} if names else {}
    return {s: found[s] for s in [*_WORDS, *sorted(found)] if s in found}


def _split_of(name: str) -> str | None:
    shard = _SHARD.search(name)
    if shard and shard[1] != "data":
        return _SPLITS.get(shard[1], shard[1])
    words = re.split(r"[^a-z]+", name.lower())
    return next((_SPLITS[word] for word in words if word in _SPLITS), None)


def read_card(folder: Path) -> Mapping[str, Any]:
    """Reads the YAML of a folder's README.md.

    Args:
      folder: of the dataset.

    Returns:
      What it says; nothing where there is no README.md or no YAML in it.

    Raises:
      ArrowJaxError: if the YAML can't be read, is not shaped as that of a dataset's
        card, or PyYAML is not installed.
    """
    file = folder / "README.md"
    if not file.is_file():
        return {}
    # Bytes that are no text matter only within the YAML, where they are not likely.
    header = _HEADER.match(file.read_text("utf-8-sig", errors="replace"))
    if header is None or "configs:" not in header[1]:
        return {}
    try:
        import yaml  # noqa: PLC0415  (only cards need it)
    except ImportError as error:
        raise ArrowJaxError(
            f"{file} says which files are which; to read it: pip install "
            '"arrow-jax[hub]"'
        ) from error
    try:
        said = yaml.safe_load(header[1])
    except yaml.YAMLError as error:
        reason = str(error).replace("\n", " ")
        raise ArrowJaxError(
            f"the YAML at the top of {file} can't be read: {reason}. Correct it, or "
            "name the files: read_parquet({'train': ...})"
        ) from error
    _check_card(said, str(file))
    return said


def _check_card(card: Any, file: str) -> None:
    """Raises where the YAML of a card is not shaped as one of a dataset."""
    _check(card, Mapping, file, "the YAML", "a mapping with configs:")
    known = f"{file}: configs"
    wanted = "a list of {config_name: ..., data_files: ...}"
    for config in _check(card.get("configs") or [], list, file, "configs", wanted):
        _check(
            config, Mapping, known, "an entry", "{config_name: ..., data_files: ...}"
        )
        for key in ("config_name", "data_dir"):
            _check(config.get(key, ""), str, known, key, "a string")
        files = config.get("data_files") or []
        if isinstance(files, Mapping):
            files = [{"split": split, "path": path} for split, path in files.items()]
        for entry in files if isinstance(files, list) else [files]:
            path = entry
            if isinstance(entry, Mapping):
                _check(entry.get("split", ""), str, known, "split", "a string")
                path = entry.get("path")
            for glob in path if isinstance(path, list) else [path]:
                _check(glob, str, known, "the path of data_files", 'such as "data/*"')


def _check(found: Any, kind: type, where: str, what: str, wanted: str) -> Any:
    if isinstance(found, kind):
        return found
    raise ArrowJaxError(
        f"{where}: {what} is {found!r}, wanted {wanted}. Correct the YAML at the top, "
        "or name the files: read_parquet({'train': ...})"
    )


def card_patterns(
    card: Mapping[str, Any], config: str | None
) -> dict[str, list[str]] | None:
    """Finds the patterns that a card has for the files of each split.

    Args:
      card: from `read_card`.
      config: the name of a configuration, or None for the default one.

    Returns:
      split -> globs below the folder; under "" where a folder is named and names of
      files decide; None where the card says nothing.

    Raises:
      ArrowJaxError: if there are several configurations to choose from, or none of
        that name.
    """
    known = {c.get("config_name", "default"): c for c in card.get("configs") or []}
    if config is None and len(known) > 1:
        marked = [name for name, c in known.items() if c.get("default")]
        config = next(iter(marked), "default" if "default" in known else None)
        if config is None:
            raise ArrowJaxError(
                f"the dataset has the configurations {list(known)}. Choose one: "
                f"load_dataset(..., name={next(iter(known))!r})"
            )
    if config is not None and config not in known:
        raise ArrowJaxError(
            f"the dataset has no configuration {config!r}; there are {list(known)}"
        )
    if not known:
        return None
    chosen = known[config] if config else next(iter(known.values()))
    start = f"{chosen['data_dir'].strip('/')}/" if chosen.get("data_dir") else ""
    files = chosen.get("data_files")
    if files is None:
        return {"": [f"{start}**"]} if start else None
    if isinstance(files, Mapping):
        files = [{"split": split, "path": path} for split, path in files.items()]
    files = files if isinstance(files, list) else [files]
    patterns: dict[str, list[str]] = {}
    for entry in files:
        known_split = isinstance(entry, Mapping)
        split = entry.get("split", "train") if known_split else "train"
        paths = entry["path"] if known_split else entry
        paths = paths if isinstance(paths, list) else [paths]
        patterns.setdefault(split, []).extend(f"{start}{path}" for path in paths)
    return patterns
