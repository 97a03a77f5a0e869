"""Sessions that test the tests: by small changes to the code, and by their order."""

import time
from pathlib import Path

import nox

from .places import INTEGRATION, NEWEST, PACKAGES, ROOT, test_group


@nox.session(python=NEWEST, default=False)
def mutation(session: nox.Session) -> None:
    """List changes to the code that no test notices: `-- arrow-jax [-m buckets]`."""
    names = {path.name: path for path in PACKAGES} | {"mnist-gan": INTEGRATION}
    path = names.get(next(iter(session.posargs), ""))
    if path is None:
        session.error(f"name a project: {', '.join(names)}")
    session.install("-e", str(path), test_group(path), "mutmut>=3.8")
    away = Path(session.create_tmp()) / path.name
    session.run("python", "tools/mutation.py", *session.posargs, f"--away={away}")


@nox.session(name="random-order", python=NEWEST, default=False)
def random_order(session: nox.Session) -> None:
    """Run tests in another order each time: `-- [optax-chains ...] [--seed 3]`."""
    words = list(session.posargs)
    seed = str(int(time.time()))
    if "--seed" in words[:-1]:
        at = words.index("--seed")
        seed = words[at + 1]
        del words[at : at + 2]
    names = {path.name: path for path in PACKAGES} | {"mnist-gan": INTEGRATION}
    if unknown := set(words) - set(names):
        session.error(f"{min(unknown)}: there is none; take {', '.join(names)}")
    for name in words or names:
        path = names[name]
        session.install("-e", str(path), test_group(path), "pytest-randomly>=3.16")
        session.log(f"{name} in the order of --seed {seed}")
        session.chdir(path)
        session.run("pytest", "--forbid-skips", f"--randomly-seed={seed}")
        session.chdir(ROOT)
