"""Fetching a dataset's files from the Hugging Face hub, or from what was kept."""

import os
from pathlib import Path
from typing import Any

from arrow_jax._errors import ArrowJaxError

_TRUE = ("1", "true", "yes", "on")


def fetch(
    repo: str,
    patterns: list[str],
    *,
    revision: str | None,
    token: Any,
    cache_dir: Any,
) -> Path:
    """Brings files of a dataset onto this machine.

    What the cache has is not fetched again. Without a network, or with
    `HF_HUB_OFFLINE=1`, the cache is all there is. `HF_ENDPOINT` names another hub.

    Args:
      repo: "owner/name".
      patterns: of the files wanted.
      revision: branch, tag or commit; the main branch by default.
      token: of the hub, for datasets that are not public.
      cache_dir: where files are kept; where `huggingface_hub` keeps them by default.

    Returns:
      The folder with the files.

    Raises:
      ArrowJaxError: if the hub or the cache has no such dataset.
    """
    try:
        import huggingface_hub as hub  # noqa: PLC0415  (only the hub needs it)
        from huggingface_hub import errors  # noqa: PLC0415
    except ImportError as error:
        raise ArrowJaxError(
            f"{repo!r} is no folder here, and the hub needs huggingface_hub: pip "
            'install "arrow-jax[hub]"'
        ) from error
    endpoint = os.environ.get("HF_ENDPOINT") or None
    offline = os.environ.get("HF_HUB_OFFLINE", "").lower() in _TRUE
    where = endpoint or "https://huggingface.co"
    try:
        return Path(
            hub.snapshot_download(
                repo,
                repo_type="dataset",
                revision=revision,
                token=token,
                cache_dir=cache_dir,
                endpoint=endpoint,
                allow_patterns=patterns,
                local_files_only=offline,
            )
        )
    except errors.HFValidationError as error:
        raise ArrowJaxError(
            f"there is no folder {repo}, and it is no name of a dataset on the hub, "
            'which looks like "owner/name". Check the path'
        ) from error
    except errors.RevisionNotFoundError as error:
        raise ArrowJaxError(
            f"the dataset {repo!r} has no revision {revision!r} at {where}. Give a "
            "branch, a tag or a commit"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise ArrowJaxError(
            f"there is no dataset {repo!r} at {where}, nor a folder of that name; or "
            "it is not public: then pass token="
        ) from error
    except errors.LocalEntryNotFoundError as error:
        asked = f" in revision {revision!r}" if revision else ""
        way = "unset HF_HUB_OFFLINE" if offline else f"check the network{_why(error)}"
        raise ArrowJaxError(
            f"the dataset {repo!r} is not in the cache{asked}, and {where} could not "
            f"be asked: {way}, and try again"
        ) from error
    except Exception as error:  # a strange answer makes the client raise anything
        reason = str(error).strip().split("\n", maxsplit=1)[0]
        raise ArrowJaxError(
            f"the dataset {repo!r} could not be fetched from {where}: "
            f"{type(error).__name__}: {reason}. What answered is not the hub, or was "
            "cut short: check HF_ENDPOINT and the network, and try again; with "
            "HF_HUB_OFFLINE=1 the cache alone is read"
        ) from error


def _why(error: Exception) -> str:
    """Says what the hub answered, where it did."""
    cause = error.__cause__ or error.__context__
    status = getattr(getattr(cause, "response", None), "status_code", None)
    if status is not None:
        return f" (it answered with status {status})"
    return f" ({str(cause).splitlines()[0]})" if str(cause or "").strip() else ""
