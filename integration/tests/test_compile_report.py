import dataclasses
import re
from pathlib import Path

import pytest

from mnist_gan._compile_report import (
    CompileReport,
    check_budget,
    count_collectives,
)
from mnist_gan._errors import UserError

REPORT = CompileReport(
    topology="v5e-16",
    devices=16,
    hosts=4,
    recipe="reference",
    batch_size=1024,
    flops=6e9,
    bytes_accessed=2e8,
    peak_bytes=23_000_000,
    argument_bytes=7_800_000,
    donated_bytes=7_700_000,
    temporary_bytes=2_600_000,
    code_bytes=14_000_000,
    collectives={"all-reduce": 1},
    program_sha256="00",
    versions={"jax": "0.12"},
)

PROGRAM = """
  %all-reduce.1 = (f32[8]{0}, f32[]) all-reduce(%a, %b), replica_groups={}
  %ar = f32[2]{0} all-reduce-start(%x), channel_id=1
  %done = f32[2]{0} all-reduce-done(%ar)
  %g = f32[4]{0} all-gather(%y), metadata={op_name="not an all-reduce( of ours"}
  %s = (f32[2], u32[], token[]) send(%z, %token)
"""


def test_an_asynchronous_pair_is_one_collective():
    found = count_collectives(PROGRAM)
    assert found["all-gather"] == 1
    assert found["send"] == 1
    assert "recv" not in found
    without_name = PROGRAM.replace("not an all-reduce( of ours", "")
    assert count_collectives(without_name)["all-reduce"] == 2


def test_a_report_comes_back_from_its_file(tmp_path):
    file = tmp_path / "report.json"
    file.write_text(REPORT.text())
    assert CompileReport.read(file) == REPORT


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("[]", "it holds a list"),
        ("{}", "it has no argument_bytes, batch_size, bytes_accessed"),
        (REPORT.text().replace('"hosts"', '"more"'), "it has no hosts"),
        (REPORT.text().replace("{", '{"more": 1, ', 1), "it has too much: more"),
        (REPORT.text().replace("1024", '"many"'), "batch_size is 'many', wanted int"),
    ],
)
def test_other_files_are_refused(tmp_path, text, reason):
    file = tmp_path / "report.json"
    file.write_text(text)
    said = re.escape(f"{file}: cannot be read as a report ({reason}")
    with pytest.raises(UserError, match=said):
        CompileReport.read(file)


def test_a_file_that_is_not_there_is_named_once(tmp_path):
    said = r"none: cannot be read as a report \(No such file or directory\); write one"
    with pytest.raises(UserError, match=said):
        CompileReport.read(tmp_path / "none")


def test_what_is_within_the_budget_is_not_complained_about():
    assert check_budget(REPORT, REPORT) == []
    less = dataclasses.replace(REPORT, peak_bytes=10, flops=5e9)
    assert check_budget(less, REPORT) == []
    little_more = dataclasses.replace(REPORT, peak_bytes=23_500_000)
    assert check_budget(little_more, REPORT) == []


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"peak_bytes": 30_000_000},
            "peak bytes: 30,000,000, the budget is 23,000,000",
        ),
        ({"flops": 7e9}, "flops: 7,000,000,000"),
        ({"donated_bytes": 0}, "donated bytes: 0, the budget has 7,700,000"),
        (
            {"collectives": {"all-reduce": 1, "all-gather": 2}},
            "collectives: 1 all-reduce, 2 all-gather, the budget has 1 all-reduce",
        ),
        ({"batch_size": 64}, "batch_size: 64, the budget is for 1024"),
        ({"topology": "v4-8"}, "topology: v4-8, the budget is for v5e-16"),
    ],
)
def test_what_is_worse_is_said(changes, complaint):
    (found,) = check_budget(dataclasses.replace(REPORT, **changes), REPORT)
    assert found.startswith(complaint)


def test_a_device_is_no_budget():
    """It would be read for ever."""
    with pytest.raises(UserError, match="/dev/zero: is no file, wanted a report"):
        CompileReport.read(Path("/dev/zero"))
