import subprocess
import sys
import types

import haiku_nets

_STARTS_NO_BACKEND = """
import jax
def fail(*args, **kwargs):
    raise SystemExit("a backend was asked for")
for name in ("devices", "local_devices", "device_count", "default_backend"):
    setattr(jax, name, fail)
jax.config.update("jax_platforms", "no_such_platform")
{statement}
"""


def _run(statement):
    code = _STARTS_NO_BACKEND.format(statement=statement)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )


def test_all_names_what_is_visible():
    visible = {
        name
        for name, value in vars(haiku_nets).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert visible == set(haiku_nets.__all__)
    assert len(visible) == len(haiku_nets.__all__)


def test_importing_starts_no_backend():
    done = _run("import haiku_nets")
    assert done.returncode == 0, done.stderr


def test_the_test_above_can_fail():
    done = _run("import haiku_nets, jax.numpy; jax.numpy.ones(3)")
    assert done.returncode != 0
    assert "no_such_platform" in done.stderr
