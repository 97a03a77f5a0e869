from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parent.parent


@pytest.fixture
def load():
    """Loads a program of tools/ as a module."""

    def from_file(name):
        loader = SourceFileLoader(name, str(TOOLS / f"{name}.py"))
        module = module_from_spec(spec_from_loader(name, loader))
        loader.exec_module(module)
        return module

    return from_file
