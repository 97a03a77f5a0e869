"""Compiled programs kept from run to run, so that the second one starts at once."""

import os
from pathlib import Path

import jax

# Below that looking a program up is not worth its file.
_SECONDS = 0.5
# An older jax logs an error, of a page, for each program that it finds for a CPU.
_QUIET = (0, 11)


def cache_folder(kind: str) -> Path:
    """Where this program keeps what it can make again, as the XDG directories have it.

    Args:
      kind: of what is kept.

    Returns:
      A folder that may not exist yet.
    """
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "mnist-gan" / kind


def keep_programs() -> None:
    """Lets jax keep what it compiles, and find it again, in a folder of ours.

    `JAX_COMPILATION_CACHE_DIR` says another place, a bucket too;
    `JAX_ENABLE_COMPILATION_CACHE=0` none. Where nothing can be written nothing is kept,
    and nothing by a jax before 0.11.
    """
    if "JAX_COMPILATION_CACHE_DIR" in os.environ or jax.__version_info__ < _QUIET:
        return
    folder = cache_folder("xla")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if os.access(folder, os.W_OK | os.X_OK):
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", _SECONDS)
