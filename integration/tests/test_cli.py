import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image


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
        ("--steps", "0", "wanted 1 or more"),
        ("--steps", "ten", "ten"),
        ("--batch-size", "-4", "wanted 1 or more"),
        ("--devices", "0", "wanted 1 or more"),
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
