"""Every task of the repository: `nox -l` lists them.

The sessions of the packages are derived from `packages/*`, so a new package has them
all. Each session resolves on its own and installs what its package declares. They
stand in tools/sessions/, one kind a file.
"""

import os
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"
os.environ["UV_PYTHON_DOWNLOADS"] = "never"

sys.path.insert(0, str(Path(__file__).parent / "tools"))
# Importing them makes them known to nox, in the order in which it lists them.
from sessions import packages, integration, versions, checks  # noqa: E402, F401, I001
