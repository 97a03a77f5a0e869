"""mnist-gan with a recipe that compiles in a second, and what can go wrong in it.

Started by its path. `TINY_FAULT` holds, as JSON, the arguments of `faults.install`.
"""

import json
import os
import random
import signal
import sys
import threading
from pathlib import Path

import haiku as hk
import jax.numpy as jnp

from mnist_gan import _cli, _loop, _recipes


class Generator(hk.Module):
    def __call__(self, z):
        return jnp.tanh(hk.Linear(784)(z)).reshape(-1, 28, 28, 1)


class Discriminator(hk.Module):
    def __call__(self, x):
        return hk.Linear(2)(hk.Flatten()(x))


TINY = _recipes.RECIPES["reference"]._replace(
    generator=Generator, discriminator=Discriminator
)


def kill_within(folder, seconds, most, seed):
    """Kills this process, or another, at a random moment of each of `most` tries."""
    tries = len(list(Path(folder).iterdir()))
    index = int(sys.argv[sys.argv.index("--process-id") + 1])
    chosen = random.Random(f"{seed} {tries // 2}")
    victim, moment = chosen.randrange(2), chosen.uniform(0, seconds)
    Path(folder, f"{tries}-{index}").touch()
    if index == victim and tries // 2 < most:
        kill = (os.getpid(), signal.SIGKILL)
        threading.Timer(moment, os.kill, kill).start()


def main():
    _recipes.RECIPES["tiny"] = TINY
    _loop._CHECKPOINT_EVERY = 5
    fault = json.loads(os.environ.get("TINY_FAULT", "{}"))
    if fault:
        import faults  # beside this file, which is started by its path

        faults.install(**fault)
    return _cli.main()


if __name__ == "__main__":
    sys.exit(main())
