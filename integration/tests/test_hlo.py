import pytest

from mnist_gan import _hlo

OPTIMIZED = """
  %fusion = f32[2,3]{1,0} fusion(%p), kind=kLoop
  %t = (f32[2]{0}, s32[]) tuple(%a, %b)
  ROOT %dot.1 = f32[2,2]{1,0} dot(%x, %y), metadata={op_name="jit(f)/dot_general"}
"""
STABLEHLO = """
    %0 = stablehlo.add %a, %b : tensor<f32>
    %1 = "stablehlo.gather"(%0, %c) <{slice_sizes = array<i64: 1>}>
"""


def test_operations_are_counted_in_every_language():
    assert _hlo.count_operations(OPTIMIZED, "optimized") == {
        "fusion": 1,
        "tuple": 1,
        "dot": 1,
    }
    assert _hlo.count_operations(STABLEHLO, "stablehlo") == {"add": 1, "gather": 1}


def test_the_platform_that_is_lowered_for_decides_the_form():
    cpu, tpu = (
        _hlo.lower("reference", stage="stablehlo", platform=platform, batch_size=4)
        for platform in ("cpu", "tpu")
    )
    # On the CPU a transposed convolution is four plain ones, none of which is dilated.
    dilated = "lhs_dilate = [2, 2]"
    assert dilated in tpu.text
    assert dilated not in cpu.text
    assert cpu.fusions == tpu.fusions == 0


def test_only_the_last_stage_has_fusions(call, tmp_path):
    file = tmp_path / "step.txt"
    said = call("hlo", "--stage", "optimized", "--batch-size", 2, "--out", file)
    assert said.code == 0, said.err
    assert file.read_text().startswith("HloModule")
    operations, fusions = said.out.split(" fusions: ")[0].split(" kinds, ")
    assert int(fusions) > 10
    assert operations.split()[1] == "operations"


def test_the_text_goes_to_the_terminal(call):
    said = call("hlo", "--stage", "jaxpr", "--batch-size", 2)
    assert said.code == 0, said.err
    assert "{ lambda ;" in said.out
    assert " operations of " in said.out.splitlines()[-1]


def test_a_step_op_by_op_is_timed_beside_the_compiled_one():
    timing = _hlo.measure("reference", batch_size=2)
    assert timing.eager > timing.compiled > 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--stage", "x"], "invalid choice: 'x'"),
        (["--stage", "jaxpr", "--recipe", "x"], "recipe 'x': there is none"),
        (["--stage", "jaxpr", "--out", "/dev/null/x"], "--out /dev/null/x: /dev/null"),
        (
            ["--stage", "jaxpr", "--batch-size", "1", "--out", "/"],
            "--out /: is a folder; name",
        ),
    ],
)
def test_what_cannot_be_done_is_said(call, arguments, complaint):
    said = call("hlo", *arguments)
    assert (said.code, complaint in said.err) == (2, True), said.err
