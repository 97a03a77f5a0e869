"""A run at an address. file:// goes the way of gs:// and s3://, but for the store."""

import gc
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from mnist_gan import _mirror
from mnist_gan._errors import UserError
from mnist_gan._run import RunFolder


def test_a_run_at_an_address_is_resumed_and_drawn_from(call, small, tmp_path):
    there = f"file://{tmp_path}/bucket/run"
    options = ["--data", small, "--batch-size", 8, "--devices", 1, "--out", there]
    said = call("train", *options, "--steps", 3)
    assert said.code == 0, said.err
    held = {path.name for path in (tmp_path / "bucket/run").iterdir()}
    assert held == {
        *("checkpoints", "config.json", "losses.png", "metrics.parquet"),
        *("samples.parquet", "samples.png", "tensorboard"),
    }
    assert there in call("train", *options).err  # holds a run already
    assert call("train", *options, "--steps", 5, "--resume=auto").code == 0
    table = pq.read_table(tmp_path / "bucket/run/metrics.parquet")
    np.testing.assert_array_equal(table["step"], np.arange(1, 6))
    # A run that is done is fine for auto, which a cluster may start again.
    assert call("train", *options, "--steps", 5, "--resume=auto").code == 0
    assert "has taken its 5 steps" in call("train", *options, "--resume").err
    assert call("sample", there, "--out", tmp_path / "a.png").code == 0
    # What looks at a run leaves its own files there, and touches no other.
    before = (tmp_path / "bucket/run/metrics.parquet").stat().st_mtime_ns
    assert call("evaluate", there, "--n", 200).code == 0
    assert call("inspect", there, "--n", 1).code == 0
    left = {path.name for path in (tmp_path / "bucket/run").iterdir()} - held
    assert left == {"evaluation.json", "evaluation.png", "inspection.png"}
    assert (tmp_path / "bucket/run/metrics.parquet").stat().st_mtime_ns == before


@pytest.mark.parametrize("address", ["memory://run", "nosuch://bucket/run"])
def test_an_address_that_cannot_hold_a_run(call, tmp_path, address):
    for arguments in (
        ("train", "--steps", 1, "--out", address),
        ("sample", address, "--out", tmp_path / "a.png"),
        ("evaluate", address),
        ("inspect", address),
    ):
        said = call(*arguments)
        assert said.code == 2
        assert said.err.startswith(f"mnist-gan: {address}: a run is kept in a folder, ")


def test_no_run_at_an_address(call, tmp_path):
    there = f"file://{tmp_path}/none"
    for command in ("evaluate", "inspect"):
        said = call(command, there)
        assert (said.code, said.err.count("\n")) == (2, 1)
        assert said.err.startswith(f"mnist-gan: {there}: holds no run")


def test_a_page_wants_a_folder(call):
    said = call("train", "--html", "--out", "gs://bucket/run")
    assert said.code == 2
    assert "--html: gs://bucket/run is an address, wanted a folder" in said.err


def test_files_and_folders_go_both_ways(tmp_path):
    here, there, back = (tmp_path / name for name in ("here", "there", "back"))
    (here / "events").mkdir(parents=True)
    back.mkdir()
    (here / "a").write_text("1")
    (here / "events/b").write_text("2")
    names = ["a", "events", "missing"]
    _mirror.copy_out(here, f"file://{there}", names)
    _mirror.copy_out(here, f"file://{there}", names)  # over what is there
    _mirror.copy_new(f"file://{there}", back, names)
    assert (back / "a").read_text() == "1"
    assert (back / "events/b").read_text() == "2"
    _mirror.copy_new(f"file://{tmp_path}/none", back, names)


def test_where_the_checkpoints_of_an_address_are():
    assert RunFolder("gs://bucket/run/").checkpoints == "gs://bucket/run/checkpoints"
    assert str(RunFolder("gs://bucket/run")) == "gs://bucket/run"


def test_what_is_written_here_on_the_way_there_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = RunFolder(f"file://{tmp_path}/bucket/run")
    folder.config.write_text("{}")
    folder.push()
    assert (tmp_path / "bucket/run/config.json").read_text() == "{}"
    del folder
    assert [path.name for path in tmp_path.iterdir()] == ["bucket"]


def test_what_an_address_does_not_take_stays_here(tmp_path):
    (tmp_path / "bucket").write_text("a file")
    folder = RunFolder(f"file://{tmp_path}/bucket/run")
    folder.config.write_text("{}")
    with pytest.raises(UserError, match=r"cannot be written to .* is in ") as refused:
        folder.push()
    kept = Path(str(refused.value).rpartition(" is in ")[2])
    del folder, refused
    gc.collect()
    assert (kept / "config.json").read_text() == "{}"
    shutil.rmtree(kept)
