"""mnist-gan with a recipe that compiles in a second, and what can go wrong in it.

Started by its path. `TINY_FAULT` holds, as JSON, which process does what at which step;
`once`, a file, makes it happen in the first try only.
"""

import errno
import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import haiku as hk
import jax.numpy as jnp

from mnist_gan import _agreement, _checkpoints, _cli, _loop, _recipes, _watch


class Generator(hk.Module):
    def __call__(self, z):
        return jnp.tanh(hk.Linear(784)(z)).reshape(-1, 28, 28, 1)


class Discriminator(hk.Module):
    def __call__(self, x):
        return hk.Linear(2)(hk.Flatten()(x))


TINY = _recipes.RECIPES["reference"]._replace(
    generator=Generator, discriminator=Discriminator
)


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def stop():
    os.kill(os.getpid(), signal.SIGSTOP)


def sleep():
    time.sleep(600)


def crash():
    raise RuntimeError("the thirteenth digit is a letter")


def fill_disk():
    def save(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    _checkpoints.ocp.CheckpointManager.save = save


def flip_bit():
    """From now on this process reports other numbers than it has."""
    parts = _agreement.parts
    _agreement.parts = lambda tree: {k: v[::-1] for k, v in parts(tree).items()}


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)


FAULTS = [kill, stop, sleep, crash, fill_disk, flip_bit, terminate]


def install(process, step, kind, once=None):
    """Makes it happen when this process comes to the step."""
    index = sys.argv[sys.argv.index("--process-id") + 1]
    if str(process) != index or (once and Path(once).exists()):
        return
    fault = {fault.__name__: fault for fault in FAULTS}[kind]
    beat = _watch.Watch.beat

    def faulty(self, at):
        beat(self, at)
        if at == step:
            if once:
                Path(once).touch()
            fault()
        elif kind == "terminate" and at > step:
            time.sleep(0.25)  # or the run is over before all have been told

    _watch.Watch.beat = faulty


def kill_within(folder, seconds, most, seed):
    """Kills this process, or another, at a random moment of each of `most` tries."""
    tries = len(list(Path(folder).iterdir()))
    index = int(sys.argv[sys.argv.index("--process-id") + 1])
    chosen = random.Random(f"{seed} {tries // 2}")
    victim, moment = chosen.randrange(2), chosen.uniform(0, seconds)
    Path(folder, f"{tries}-{index}").touch()
    if index == victim and tries // 2 < most:
        threading.Timer(moment, kill).start()


def main():
    _recipes.RECIPES["tiny"] = TINY
    _loop._CHECKPOINT_EVERY = 5
    fault = json.loads(os.environ.get("TINY_FAULT", "{}"))
    if fault:
        install(**fault)
    return _cli.main()


if __name__ == "__main__":
    sys.exit(main())
