"""Where the projects and the Pythons of this repository are."""

import os
import shutil
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = sorted(file.parent for file in ROOT.glob("packages/*/pyproject.toml"))
HARNESS = ROOT / "packages/chex-harness"
INTEGRATION = ROOT / "integration"
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"


def find_python(version: str) -> str | None:
    """Finds a Python: the one that runs nox, one on the path, or one of pyenv's."""
    if version == "{}.{}".format(*sys.version_info):
        return sys.executable
    # A shim on the path fails unless pyenv has switched that version on.
    found = [shutil.which(f"python{version}"), *PYENV.glob(f"{version}.*/bin/python")]
    return next((str(p) for p in found if p and "shims" not in str(p)), None)


VERSIONS = nox.project.python_versions(
    nox.project.load_toml(HARNESS / "pyproject.toml")
)
PYTHONS = [python for version in VERSIONS if (python := find_python(version))]
OLDEST, MIDDLE, NEWEST = PYTHONS[0], PYTHONS[len(PYTHONS) // 2], PYTHONS[-1]


def test_group(path: Path) -> str:
    """What a project's tests need, as uv spells it."""
    return f"--group={path / 'pyproject.toml'}:test"
