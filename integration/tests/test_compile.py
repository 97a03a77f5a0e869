import dataclasses
import json
import subprocess

import pytest

from mnist_gan import _compile
from mnist_gan._compile_report import CompileReport
from mnist_gan._errors import UserError
from mnist_gan._topologies import find_topology

from .test_compile_report import REPORT as ONE_SLICE


def compile_with(monkeypatch, code, stderr):
    """Compiles in a process that ends like that."""
    monkeypatch.setattr(_compile.importlib.util, "find_spec", lambda name: True)
    done = subprocess.CompletedProcess([], code, stdout="", stderr=stderr)
    monkeypatch.setattr(_compile.subprocess, "run", lambda *a, **k: done)
    topology = find_topology("v5e-16")
    return _compile.compile_step(
        topology, recipe="reference", batch_size=64, cache=None
    )


def test_without_libtpu_the_error_says_what_to_type(monkeypatch):
    monkeypatch.setattr(_compile.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'mnist-gan\[tpu\]'"):
        _compile.compile_step(
            find_topology("v5e-16"), recipe="reference", batch_size=64, cache=None
        )


@pytest.mark.parametrize(
    ("code", "stderr", "complaint"),
    [
        (
            1,
            "Traceback\nJaxRuntimeError: RESOURCE_EXHAUSTED: 34.00G of 16G\n---\nFor",
            r"the step does not fit \(.*34\.00G.*take a smaller --batch-size",
        ),
        (1, "ValueError: no", r"the step does not compile \(ValueError: no\)"),
        (1, "", r"the step does not compile \(no reason given\)"),
        (-6, "F1 Check failed: bounds\n", r"ended with SIGABRT \(F1 Check failed: b"),
    ],
)
def test_how_the_compiler_ended_is_said(monkeypatch, code, stderr, complaint):
    with pytest.raises(UserError, match=complaint):
        compile_with(monkeypatch, code, stderr)


REPORT = dataclasses.replace(
    ONE_SLICE,
    topology="2 x v5e:4x4",
    devices=32,
    hosts=8,
    batch_size=2048,
    collectives={"all-reduce": 1, "send": 2, "recv": 2},
)


@pytest.fixture
def asked(monkeypatch):
    """What the compiler's process was asked for; it answers with `REPORT`."""
    jobs = []

    def run(command, **_):
        jobs.append(json.loads(command[-1]))
        text = json.dumps(dataclasses.asdict(REPORT))
        return subprocess.CompletedProcess(command, 0, f"a warning\n{text}", "")

    monkeypatch.setattr(_compile.importlib.util, "find_spec", lambda name: True)
    monkeypatch.setattr(_compile.subprocess, "run", run)
    return jobs


SLICES = ("compile", "--topology", "v5e:4x4", "--slices", "2")


def test_slices_are_compiled_for_and_tabulated(call, asked, tmp_path):
    file = tmp_path / "report.json"
    said = call(*SLICES, "--out", file)
    assert said.code == 0, said.err
    assert asked[0]["topology"] == ["v5e:4x4", 2]
    assert asked[0]["batch_size"] == 64 * 32
    assert asked[0]["cache"].endswith("mnist-gan/compile")
    rows = [line.split() for line in said.out.splitlines()]
    assert ["devices", "32"] in rows
    assert ["hosts", "8"] in rows
    assert "2 send, 2 recv" in said.out
    assert CompileReport.read(file) == REPORT
    call(*SLICES, "--no-cache")
    assert asked[1]["cache"] is None


@pytest.mark.parametrize(
    ("changes", "code", "complaint"),
    [
        ({}, 0, ""),
        ({"peak_bytes": 9_000_000}, 2, "exceeded: peak bytes: 23,000,000"),
        ({"flops": 1e9}, 2, "exceeded: flops: 6,000,000,000"),
        ({"collectives": {"all-reduce": 1}}, 2, "exceeded: collectives: 1 all-reduce"),
        ({"topology": "v5e:4x4"}, 2, "exceeded: topology: 2 x v5e:4x4, the budget is"),
    ],
)
@pytest.mark.usefixtures("asked")
def test_a_budget_is_a_gate(call, tmp_path, changes, code, complaint):
    budget, out = tmp_path / "budget.json", tmp_path / "out.json"
    budget.write_text(dataclasses.replace(REPORT, **changes).text())
    said = call(*SLICES, "--budget", budget, "--out", out)
    assert said.code == code
    assert complaint in said.err
    assert (f"{budget}: exceeded" in said.err) == bool(complaint)
    assert CompileReport.read(out) == REPORT  # to look at, or to accept


def test_a_batch_that_does_not_divide_is_said_before_anything_is_compiled(call):
    said = call("compile", "--topology", "v5litepod-16", "--batch-size", "100")
    assert said.code == 2
    assert "--batch-size 100: does not divide over 16 chips; take 112" in said.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "one of the arguments --topology --platform is required"),
        (["--topology", "v9-1"], "--topology v9-1: there is none"),
        (["--topology", "v4-8", "--recipe", "x"], "recipe 'x': there is none"),
        (
            ["--topology", "v4-8", "--budget", "none"],
            "none: cannot be read as a report",
        ),
        (["--platform", "cpu"], "add --out FILE to say where to"),
    ],
)
def test_what_cannot_be_done_is_said(call, arguments, complaint):
    said = call("compile", *arguments)
    assert (said.code, complaint in said.err) == (2, True), said.err
