import numpy as np
import pyarrow.parquet as pq
import pytest


def test_a_sheet(call, finished, pixels, tmp_path):
    out = tmp_path / "new" / "digits.png"
    said = call("sample", finished, "--n", 10, "--out", out)
    assert (said.code, said.out) == (0, f"{out}\n")
    assert pixels(out).shape == (2 * (3 * 30 + 2), 2 * (4 * 30 + 2))


def test_the_default_sheet_is_that_of_the_run(call, finished, pixels, tmp_path):
    out = tmp_path / "a.png"
    call("sample", finished, "--out", out)
    np.testing.assert_array_equal(pixels(out), pixels(finished / "samples.png"))


def test_a_table_of_more_than_one_sheet(call, finished, tmp_path):
    for n in (5, 100):
        call("sample", finished, "--n", n, "--out", tmp_path / f"{n}.parquet")
    few, many = (pq.read_table(tmp_path / f"{n}.parquet")["image"] for n in (5, 100))
    assert (len(few), len(many)) == (5, 100)
    assert many.slice(0, 5).equals(few)  # the seed decides, not the number


def test_the_seed_decides(call, finished, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        out = tmp_path / f"{name}.png"
        call("sample", finished, "--seed", seed, "--out", out)
    a, b, c = ((tmp_path / f"{name}.png").read_bytes() for name in "abc")
    assert a == b != c


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("digits.jpg", "ends in neither .parquet nor .png"), ("", "ends in neither")],
)
def test_another_ending_is_refused(call, finished, tmp_path, name, complaint):
    said = call("sample", finished, "--out", tmp_path / name)
    assert said.code == 2
    assert complaint in said.err


def test_a_folder_as_file_is_refused(call, finished, tmp_path):
    (tmp_path / "x.png").mkdir()
    said = call("sample", finished, "--out", tmp_path / "x.png")
    assert (said.code, "is a folder" in said.err) == (2, True)


def test_a_run_without_checkpoint(call, run_folder, tmp_path):
    import shutil

    shutil.rmtree(run_folder / "checkpoints")
    said = call("sample", run_folder, "--out", tmp_path / "a.png")
    assert said.code == 2
    assert "has no checkpoint yet" in said.err
    assert not (tmp_path / "a.png").exists()
