import shlex
from pathlib import Path

import pytest

from mnist_gan._typed import resume_command


@pytest.mark.parametrize("out", ["runs/a", "my rün", "it's", "a;b $HOME", "new\nline"])
def test_a_shell_reads_back_what_was_meant(out):
    words = shlex.split(resume_command(Path(out)))
    assert words == ["mnist-gan", "train", "--resume", "--out", out]


def test_a_task_runner_says_what_its_user_types(monkeypatch):
    monkeypatch.setenv("MNIST_GAN_TYPED", "python3 tools/run.py train --")
    said = resume_command(Path("a"), 8)
    assert said == "python3 tools/run.py train -- --resume --out a --devices 8"
