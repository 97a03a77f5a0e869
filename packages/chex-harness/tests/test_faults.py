import signal

import pytest

from chex_harness import CutOff, CutOffError, Delay, Kill, Stop, at_step
from chex_harness._faults import decode, encode, environment

FAULTS = [
    Kill(process=1, step=3),
    Kill(process=0, step=1, signum=signal.SIGTERM),
    Stop(process=1, step=2),
    Delay(process=0, step=0, seconds=0.5),
    CutOff(process=2, step=9),
]


def test_faults_survive_the_environment():
    assert decode(encode(FAULTS)) == FAULTS


def test_outside_a_job_nothing_happens(monkeypatch):
    monkeypatch.delenv("CHEX_HARNESS_PROCESS", raising=False)
    at_step(3)


@pytest.fixture
def as_process(monkeypatch, tmp_path):
    def become(process, faults):
        steps = tmp_path / "steps"
        for item in environment(process, faults, str(steps)).items():
            monkeypatch.setenv(*item)
        return steps

    return become


def test_it_happens_in_its_process_at_its_step(as_process):
    steps = as_process(1, [CutOff(process=1, step=2), CutOff(process=0, step=0)])
    at_step(0)
    at_step(1)
    with pytest.raises(CutOffError, match="process 1 is cut off at step 2"):
        at_step(2)
    assert steps.read_text().split() == ["0", "1", "2"]


def test_a_signal_is_sent(as_process):
    got = []
    before = signal.signal(signal.SIGUSR2, lambda *_: got.append(1))
    try:
        as_process(0, [Kill(process=0, step=5, signum=signal.SIGUSR2)])
        at_step(5)
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert got == [1]


def test_a_delay_sleeps(as_process, monkeypatch):
    slept = []
    monkeypatch.setattr("time.sleep", slept.append)
    as_process(0, [Delay(process=0, step=0, seconds=7)])
    at_step(0)
    assert slept == [7]
