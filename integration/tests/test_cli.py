import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from mnist_gan import _cli


def one_clear_line(said, *words):
    assert said.code == 2, said
    assert said.err.startswith("mnist-gan")
    last = said.err.strip().splitlines()[-1]
    for word in words:
        assert word in last
    assert "Traceback" not in said.err + said.out
    return last


@pytest.fixture
def refused(call, tmp_path):
    """Trains with bad input; checks the line, and that nothing was written."""

    def train(*arguments, words):
        out = tmp_path / "out"
        said = call("train", "--out", out, "--devices", "1", *arguments)
        line = one_clear_line(said, *words)
        assert len(said.err.strip().splitlines()) == 1
        assert not out.exists()
        return line

    return train


def test_a_missing_file(refused, tmp_path):
    missing = tmp_path / "missing.parquet"
    refused("--data", missing, words=[str(missing), "no such file", "leave --data out"])


def test_a_glob_without_match(refused, tmp_path):
    refused("--data", tmp_path / "*.parquet", words=["no file matches"])


def test_a_file_that_is_not_parquet(refused, tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("hello, this is no Parquet file")
    refused("--data", file, words=[str(file), "Parquet"])


def test_a_truncated_file(refused, small):
    data = small.read_bytes()
    for part in (data[: len(data) // 2], data[:5], data[:-1], b""):
        small.write_bytes(part)
        refused("--data", small, words=[str(small)])


def test_no_image_column(refused, tmp_path):
    file = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), file)
    refused("--data", file, words=["no image column", "a (", "b ("])


def test_zero_rows(refused, shipped, tmp_path):
    file = tmp_path / "empty.parquet"
    pq.write_table(shipped.slice(0, 0), file)
    refused("--data", file, words=["no rows"])


@pytest.mark.parametrize("row", [7, 0, 39])
def test_a_corrupt_image_is_named_by_row(refused, corrupt, row):
    refused("--data", corrupt(row), words=["'image'", f"row {row}"])


def test_images_of_another_size(refused, tmp_path):
    import arrow_jax

    file = tmp_path / "big.parquet"
    images = {"image": np.zeros((3, 32, 32), np.uint8)}
    features = arrow_jax.Features({"image": arrow_jax.Image()})
    arrow_jax.write_parquet(file, images, features=features)
    refused("--data", file, words=["[32, 32]", "wanted uint8 [28, 28]"])


def test_images_of_mixed_sizes(refused, shipped, tmp_path):
    import io

    rows = shipped.slice(0, 3).to_pylist()
    buffer = io.BytesIO()
    Image.fromarray(np.zeros((5, 4), np.uint8)).save(buffer, "PNG")
    rows[1]["image"]["bytes"] = buffer.getvalue()
    file = tmp_path / "mixed.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=shipped.schema), file)
    refused("--data", file, words=["sizes", "(5, 4)", "wanted uint8 [28, 28]"])


def test_a_null_image(refused, shipped, tmp_path):
    rows = shipped.slice(0, 5).to_pylist()
    rows[2]["image"] = None
    file = tmp_path / "null.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=shipped.schema), file)
    refused("--data", file, words=["'image'", "row 2"])


def test_a_batch_above_the_data(refused, small):
    refused("--data", small, "--batch-size", 41, words=["41", "40", "--batch-size 40"])


def test_a_batch_that_the_devices_do_not_divide(call, tmp_path):
    arguments = ["--devices", "8", "--batch-size", "20", "--out", tmp_path / "out"]
    said = call("train", *arguments)
    one_clear_line(said, "20", "8 devices", "--batch-size 16 or 24")
    assert not (tmp_path / "out").exists()


def test_more_devices_than_there_are(call, tmp_path):
    said = call("train", "--devices", 9, "--batch-size", 9, "--out", tmp_path / "out")
    one_clear_line(said, "--devices 9", "found 8")


def test_an_unknown_recipe(refused):
    refused("--recipe", "referense", words=["'referense'", "reference"])


def test_an_unknown_address(refused):
    refused("--data", "nowhere://digits", words=["nowhere"])


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("--steps", "0", "wanted 1 to 2147483647"),
        ("--steps", "9" * 401, "wanted 1 to 2147483647"),
        ("--batch-size", "1e3", "invalid whole number value: '1e3'"),
        ("--devices", "1000000000000000000000", "wanted 1 to 512"),
        ("--steps", "ten", "ten"),
        ("--batch-size", "-4", "wanted 1 to 2147483647"),
        ("--devices", "0", "wanted 1 to 512"),
        ("--seed", "-1", "wanted 0 to 4294967295"),
        ("--stepz", "3", "unrecognized arguments: --stepz"),
    ],
)
def test_a_bad_value_names_its_option(call, option, value, complaint):
    one_clear_line(call("train", option, value), complaint)


def test_a_folder_that_holds_a_run_is_not_overwritten(call, run_folder):
    before = {p: p.stat().st_mtime_ns for p in run_folder.rglob("*")}
    said = call("train", "--out", run_folder, "--devices", "1")
    one_clear_line(said, str(run_folder), "--resume")
    assert {p: p.stat().st_mtime_ns for p in run_folder.rglob("*")} == before


def test_a_folder_that_holds_part_of_a_run_is_not_touched(call, run_folder):
    (run_folder / "config.json").unlink()
    said = call("train", "--out", run_folder, "--devices", "1")
    one_clear_line(said, "no config.json", "name another folder")


def test_out_may_not_be_a_file(call, small):
    one_clear_line(call("train", "--out", small, "--devices", "1"), "is a file")


def test_resume_without_a_run(call, tmp_path):
    said = call("train", "--resume", "--out", tmp_path, "--devices", "1")
    one_clear_line(said, str(tmp_path), "holds no run")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--seed", "1", ["--seed 0", "this is 1"]),
        ("--batch-size", "16", ["--batch-size 8", "this is 16"]),
        ("--steps", "12", ["taken its 12 steps", "--steps 24"]),
    ],
)
def test_resume_with_other_options(call, run_folder, option, value, words):
    arguments = ["--resume", "--out", run_folder, "--devices", "1", option, value]
    one_clear_line(call("train", *arguments), *words)


def test_resume_with_other_digits(call, run_folder, small):
    arguments = ["--resume", "--out", run_folder, "--devices", "1", "--data", small]
    one_clear_line(call("train", *arguments, "--steps", "20"), "10,000", "40 others")


def test_an_empty_out_is_no_folder(call, small):
    said = call("train", "--data", small, "--out", "")
    assert said.code == 2
    assert "argument --out: is empty; name a folder, or an address" in said.err


def test_out_where_nothing_can_be_made(call, small):
    options = ("--data", small, "--steps", 1, "--batch-size", 8, "--devices", 1)
    said = call("train", *options, "--out", "/proc/run")
    assert said.code == 2
    wanted = "--out /proc/run: cannot be made (No such file or directory); name another"
    assert wanted in said.err


def test_resume_with_a_broken_position(call, run_folder):
    (run_folder / "checkpoints/12/data/metadata").write_text('{"version": 2}')
    said = call("train", "--out", run_folder, "--resume", "--steps", 13)
    assert said.code == 2
    assert f"{run_folder}/checkpoints/12: the checkpoint cannot be read (" in said.err
    assert "delete that folder to go on from the one before" in said.err


def test_resume_without_a_checkpoint_says_that_it_starts(call, run_folder):
    shutil.rmtree(run_folder / "checkpoints")
    said = call("train", "--out", run_folder, "--resume", "--devices", 1)
    assert said.code == 0, said.err
    assert "no checkpoint yet: from the first step" in said.out


def test_reads_that_nobody_waits_for_are_not_reported(monkeypatch):
    reported = []
    monkeypatch.setattr(_cli.sys, "__unraisablehook__", reported.append)
    late = SimpleNamespace(exc_value=RuntimeError("Event loop is closed"))
    other = SimpleNamespace(exc_value=RuntimeError("something else"))
    _cli._report_unraisable(late)
    _cli._report_unraisable(other)
    assert reported == [other]


def test_resume_with_a_broken_config(call, run_folder):
    (run_folder / "config.json").write_text('{"recipe":')
    said = call("train", "--resume", "--out", run_folder, "--devices", "1")
    one_clear_line(said, "config.json", "cannot be read")


def test_resume_with_a_broken_checkpoint(call, run_folder):
    for file in (run_folder / "checkpoints/12/state").rglob("*"):
        if file.is_file():
            file.write_bytes(b"x")
    arguments = ["--resume", "--out", run_folder, "--devices", "1", "--steps", "20"]
    one_clear_line(call("train", *arguments), "checkpoints/12", "cannot be read")


@pytest.mark.parametrize(
    "wrong",
    [
        ("recipe", "slow"),
        ("recipe", ["fast"]),
        ("steps", "3000"),
        ("steps", None),
        ("steps", 0),
        ("batch_size", 64.5),
        ("seed", True),
        ("data", 5),
        ("rows", "x"),
        ("sha256", None),
    ],
)
@pytest.mark.parametrize("command", ["train", "sample"])
def test_a_config_with_a_wrong_value(call, run_folder, config, command, wrong):
    import json

    name, value = wrong
    changed = {**config(run_folder), name: value}
    (run_folder / "config.json").write_text(json.dumps(changed))
    arguments = {
        "train": ["--resume", "--out", run_folder, "--steps", "20", "--devices", "1"],
        "sample": [run_folder, "--out", run_folder.parent / "x.png"],
    }
    said = call(command, *arguments[command])
    assert len(said.err.splitlines()) == 1
    one_clear_line(said, name)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"x" * 100])
def test_resume_with_broken_metrics(call, run_folder, content):
    (run_folder / "metrics.parquet").write_bytes(content)
    arguments = ["--resume", "--out", run_folder, "--devices", "1", "--steps", "20"]
    one_clear_line(call("train", *arguments), "metrics.parquet", "move it away")


def test_metrics_with_other_columns(call, run_folder):
    pq.write_table(pa.table({"a": [1]}), run_folder / "metrics.parquet")
    arguments = ["--resume", "--out", run_folder, "--devices", "1", "--steps", "20"]
    one_clear_line(call("train", *arguments), "metrics.parquet", "move it away")


def test_an_empty_address(refused):
    refused("--data", "", words=["--data ''", "is empty"])


def test_an_address_of_a_user_that_is_not_there(refused):
    refused("--data", "~nobody-of-this-name/x", words=["nobody-of-this-name"])


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_what_is_neither_file_nor_folder(refused, tmp_path, kind):
    import os

    path = "/dev/null"
    if kind == "fifo":
        path = tmp_path / "fifo"
        os.mkfifo(path)
    refused("--data", path, words=["is neither a file nor a folder"])


def test_a_link_that_leads_nowhere(refused, tmp_path):
    loop = tmp_path / "loop.parquet"
    loop.symlink_to(loop)
    refused("--data", loop, words=["no such file"])
    refused("--data", tmp_path, words=["holds no .parquet file"])


def test_a_place_that_cannot_be_written_is_found_first(call, small):
    said = call("train", "--out", small / "run", "--devices", "1")
    one_clear_line(said, "is no folder", "name another")
    assert said.out == ""


def test_the_run_may_not_go_where_the_data_are(call, small):
    arguments = ["--data", small.parent, "--out", small.parent, "--devices", "1"]
    one_clear_line(call("train", *arguments), "holds the data")
    assert list(small.parent.iterdir()) == [small]


def test_a_platform_that_is_not_there(tmp_path):
    import os

    done = subprocess.run(
        [sys.executable, "-m", "mnist_gan", "train", "--out", tmp_path / "out"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cuda"},
    )
    assert done.returncode == 2
    assert done.stderr.startswith("mnist-gan: jax found no device: ")
    assert "unset JAX_PLATFORMS" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["--help"], ["train", "--help"]])
def test_help_comes_without_loading_jax(arguments):
    program = (
        "import sys\nfrom mnist_gan._cli import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: pass\n"
        "sys.exit('jax' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "usage: mnist-gan" in done.stdout + done.stderr


@pytest.mark.parametrize("command", ["train", "sample"])
def test_help_has_examples(call, command):
    said = call(command, "--help")
    assert said.code == 0
    assert f"examples:\n  mnist-gan {command}" in said.out
    assert max(map(len, said.out.splitlines())) <= 80


def test_the_module_runs_as_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "mnist_gan", "sample", "nowhere", "--out", "x.png"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("mnist-gan: nowhere: holds no run")
    assert done.stderr.count("\n") == 1


def test_a_warning_is_one_line(shipped, tmp_path):
    file = tmp_path / "odd.parquet"
    metadata = {b"huggingface": b"{not json"}
    pq.write_table(shipped.slice(0, 9).replace_schema_metadata(metadata), file)
    arguments = ["--data", file, "--out", tmp_path / "out", "--steps", "1"]
    command = [sys.executable, "-m", "mnist_gan", "train", *arguments]
    done = subprocess.run(
        [*command, "--batch-size", "8", "--devices", "1"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert done.stderr.startswith("mnist-gan: warning: the schema's 'huggingface'")
    assert done.stderr.count("\n") == 1
