import json
import shutil
from importlib import resources
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from mnist_gan import _cli

RUNGS = ("multidevice", "multiprocess", "pod")


def pytest_addoption(parser):
    group = parser.getgroup("rungs")
    group.addoption(
        "--rung",
        choices=("one", *RUNGS),
        help="run the tests of one rung; one: those of one device",
    )
    group.addoption(
        "--nightly", action="store_true", help="run those that take long, too"
    )


def pytest_collection_modifyitems(config, items):
    """Deselects, and does not skip: a skip is something that should have run."""
    rung, nightly = config.getoption("--rung"), config.getoption("--nightly")

    def runs(item):
        found = next((name for name in RUNGS if name in item.path.parts), "one")
        late = item.get_closest_marker("nightly") is not None
        return (rung is None or rung == found) and (nightly or not late)

    config.hook.pytest_deselected(items=[item for item in items if not runs(item)])
    items[:] = [item for item in items if runs(item)]


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Programs that tests compile are not kept for, nor found from, other sessions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shipped():
    """The table of the training digits that ship with the package."""
    file = resources.files("mnist_gan") / "digits/train.parquet"
    with resources.as_file(file) as path:
        return pq.read_table(path)


@pytest.fixture
def small(shipped, tmp_path):
    """A Parquet file of 40 digits."""
    path = tmp_path / "small.parquet"
    pq.write_table(shipped.slice(0, 40), path)
    return path


@pytest.fixture
def call(capsys, monkeypatch):
    """Calls the command line, and returns what it said."""
    monkeypatch.delenv("MNIST_GAN_TYPED", raising=False)

    def run(*arguments):
        capsys.readouterr()
        try:
            code = _cli.main([str(argument) for argument in arguments])
        except SystemExit as error:  # argparse
            code = error.code
        said = capsys.readouterr()
        return SimpleNamespace(code=code, out=said.out, err=said.err)

    return run


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The folder of a run of 12 steps on the shipped digits; look, do not touch."""
    out = tmp_path_factory.mktemp("finished") / "run"
    arguments = [
        "train",
        "--steps",
        "12",
        "--batch-size",
        "8",
        "--devices",
        "1",
        "--out",
    ]
    assert _cli.main([*arguments, str(out)]) == 0
    return out


@pytest.fixture
def run_folder(finished, tmp_path):
    """A copy of the finished run."""
    return shutil.copytree(finished, tmp_path / "run")


@pytest.fixture
def corrupt(shipped, tmp_path):
    """Writes a table whose image in one row is cut short."""

    def write(row):
        rows = shipped.slice(0, 40).to_pylist()
        rows[row]["image"]["bytes"] = rows[row]["image"]["bytes"][:50]
        path = tmp_path / "corrupt.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema=shipped.schema), path)
        return path

    return write


@pytest.fixture
def config():
    """Reads a run's config."""
    return lambda folder: json.loads((folder / "config.json").read_text())


@pytest.fixture
def pixels():
    """Reads a picture's pixels."""

    def read(path):
        with Image.open(path) as picture:
            return np.asarray(picture)

    return read
