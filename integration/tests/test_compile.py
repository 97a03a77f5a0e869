import subprocess

import pytest

from mnist_gan import _compile
from mnist_gan._errors import UserError
from mnist_gan._topologies import find_topology


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
