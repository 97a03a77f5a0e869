"""A dataset by its name: a folder here, or a repository on the hub."""

from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from arrow_jax._dataset_dict import DatasetDict
from arrow_jax._errors import ArrowJaxError
from arrow_jax._hub import fetch
from arrow_jax._ipc import IPC, read_ipc
from arrow_jax._parquet import PARQUET, read_parquet
from arrow_jax._splits import card_patterns, read_card, split_files
from arrow_jax._text import CSV, JSON, read_csv, read_json

_READERS = {PARQUET: read_parquet, IPC: read_ipc, CSV: read_csv, JSON: read_json}
# Descriptions of a dataset, which are not its rows.
_NO_DATA = {
    "dataset_info.json",
    "dataset_infos.json",
    "dataset_dict.json",
    "state.json",
}


def load_dataset(
    repo_or_folder: Any,
    split: str | None = None,
    *,
    name: str | None = None,
    revision: str | None = None,
    token: Any = None,
    cache_dir: Any = None,
) -> Any:
    r"""Loads the Parquet, Arrow IPC, CSV or JSON files of a folder or a hub dataset.

    Splits are those that the card, the YAML of README.md, names under `configs`; where
    it names none, names of files and folders decide, such as `train.csv` or
    `data/test-00000-of-00001.parquet`.

    Files of the hub are fetched once and then read from the cache, also without a
    network or with `HF_HUB_OFFLINE=1`; `HF_ENDPOINT` names another hub.

    Args:
      repo_or_folder: a folder, or "owner/name" on the hub, for which the extra `hub` is
        needed.
      split: the one wanted; all of them by default.
      name: of a configuration, where the card has several.
      revision: branch, tag or commit on the hub.
      token: for datasets that are not public.
      cache_dir: where files of the hub are kept.

    Returns:
      A `DatasetDict`, or the `Dataset` of the split named.

    Raises:
      ArrowJaxError: if there is no such dataset, revision, configuration or split, or
        no file of a known kind, or the network fails and the cache has nothing.

    Example:
      >>> import pathlib, tempfile
      >>> folder = pathlib.Path(tempfile.mkdtemp())
      >>> n_bytes = (folder / "train.csv").write_text("x\n1\n2\n")
      >>> n_bytes = (folder / "test.csv").write_text("x\n3\n")
      >>> load_dataset(folder)["test"][0]
      {'x': 3}
      >>> len(load_dataset(folder, split="train"))
      2
    """
    here = Path(repo_or_folder)
    if here.is_dir():
        patterns = card_patterns(read_card(here), name)
    else:
        repo = str(repo_or_folder)
        kept = {"revision": revision, "token": token, "cache_dir": cache_dir}
        here = fetch(repo, ["README.md"], **kept)
        patterns = card_patterns(read_card(here), name)
        here = fetch(repo, _wanted(patterns, split), **kept)
    if split is not None and patterns and split in patterns:
        patterns = {split: patterns[split]}  # only its files were fetched
    splits = _files_by_split(here, patterns)
    known = patterns or {}
    empty = [name for name in known if name and name not in splits]
    if empty:
        raise ArrowJaxError(
            f"{repo_or_folder}: its card says that split {empty[0]!r} is "
            f"{known[empty[0]]}, and no file that can be read is called so; known "
            f"are {_endings()}. Correct README.md, or name the files: "
            "read_parquet({'train': ...})"
        )
    if not splits:
        raise ArrowJaxError(
            f"{repo_or_folder} holds no file that can be read. Known are {_endings()}"
        )
    if split is not None and split not in splits:
        raise ArrowJaxError(
            f"{repo_or_folder} has no split {split!r}; there are {list(splits)}"
        )
    loaded = _read(here, splits if split is None else {split: splits[split]})
    return loaded if split is None else loaded[split]


def _endings() -> str:
    return ", ".join(ending for kind in _READERS for ending in kind.endings)


def _wanted(patterns: Mapping[str, list[str]] | None, split: str | None) -> list[str]:
    """Lists the patterns of the files to fetch."""
    if patterns is None:
        return [f"*{ending}" for kind in _READERS for ending in kind.endings]
    named = [patterns[split]] if split in patterns else patterns.values()
    return [glob for globs in named for pattern in globs for glob in _both(pattern)]


def _files_by_split(
    folder: Path, patterns: Mapping[str, list[str]] | None
) -> dict[str, list[str]]:
    endings = tuple(ending for kind in _READERS for ending in kind.endings)
    files = [
        file.relative_to(folder).as_posix()
        for file in sorted(folder.rglob("*"))
        if file.name.endswith(endings) and file.name not in _NO_DATA
    ]
    files = [f for f in files if not any(p[0] in "._" for p in f.split("/"))]
    if patterns is None:
        return split_files(files)
    if "" in patterns:
        return split_files(f for f in files if _matches(f, patterns[""]))
    found = {
        split: [f for f in files if _matches(f, globs)]
        for split, globs in patterns.items()
    }
    return {split: named for split, named in found.items() if named}


def _matches(file: str, globs: list[str]) -> bool:
    # A star stops at folders in the card's patterns, two do not.
    return any(
        fnmatch(file, glob) and ("**" in glob or file.count("/") == glob.count("/"))
        for pattern in globs
        for glob in _both(pattern)
    )


def _both(pattern: str) -> set[str]:
    # Two stars also stand for no folder at all.
    return {pattern, pattern.replace("**/", "")}


def _read(folder: Path, splits: Mapping[str, list[str]]) -> DatasetDict:
    files = [file for found in splits.values() for file in found]
    counts = {
        kind: sum(file.endswith(kind.endings) for file in files) for kind in _READERS
    }
    kind = max(counts, key=lambda kind: counts[kind])
    chosen = {
        split: [str(folder / f) for f in found if f.endswith(kind.endings)]
        for split, found in splits.items()
    }
    gone = [split for split, found in chosen.items() if not found]
    if gone:
        raise ArrowJaxError(
            f"split {gone[0]!r} is {splits[gone[0]]}, and most files here are "
            f"{kind.name}: one dataset is of one kind. Load it by itself: "
            f"load_dataset(..., split={gone[0]!r})"
        )
    return _READERS[kind](chosen, folder=folder)
