import importlib.util
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parent.parent


@pytest.fixture
def load():
    """Loads a program of tools/ as a module."""

    def from_file(name):
        spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return from_file
