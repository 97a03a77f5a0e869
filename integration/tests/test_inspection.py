import pytest


def test_a_run_is_inspected(call, run_folder, pixels):
    said = call("inspect", run_folder, "--n", 4)
    assert said.code == 0, said.err
    assert "differentiating at 4 made and 4 real digits of step 12" in said.out
    for row in ("curvature of D(G(z)): largest", "generator's singular values: last"):
        (line,) = [line for line in said.out.splitlines() if line.startswith(row)]
        least, median, most = map(float, line.split()[-3:])
        assert least <= median <= most
    assert pixels(run_folder / "inspection.png").shape[:2] == (800, 1100)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["nowhere"], "holds no run"), (["x", "--n", "0"], "wanted 1 to 10000")],
)
def test_what_cannot_be_done_is_said(call, arguments, complaint):
    said = call("inspect", *arguments)
    assert (said.code, complaint in said.err) == (2, True), said.err
