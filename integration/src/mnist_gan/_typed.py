"""What to type to go on, as the user would type it here."""

import os
import shlex
from pathlib import Path


def resume_command(out: Path | str, devices: int | None = None) -> str:
    """Spells the command that goes on with a run.

    A task runner that stands in front of `mnist-gan train` says what its user types
    instead, in the variable `MNIST_GAN_TYPED`.

    Args:
      out: the run's folder, or address.
      devices: what `--devices` was given, for on others the result is another.

    Returns:
      A line for a shell.

    Example:
      >>> resume_command(Path("my runs/a"), 8)
      "mnist-gan train --resume --out 'my runs/a' --devices 8"
    """
    typed = os.environ.get("MNIST_GAN_TYPED", "mnist-gan train")
    words = ["--resume", "--out", str(out)]
    words += ["--devices", str(devices)] if devices else []
    return f"{typed} {shlex.join(words)}"
