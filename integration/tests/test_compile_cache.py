import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from mnist_gan._compile_cache import cache_folder

# A program that takes a while to compile, and says whether it had to.
PROGRAM = """
import jax, jax.numpy as jnp
from mnist_gan._compile_cache import keep_programs

keep_programs()
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
events = []
jax.monitoring.register_event_listener(lambda name, **_: events.append(name))
jax.jit(lambda x: jnp.sin(x) @ x)(jnp.ones((3, 3)))
print(events.count("/jax/compilation_cache/cache_hits"))
"""


def run(**environment):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    assert done.stderr == ""
    return int(done.stdout)


def test_the_second_process_finds_what_the_first_compiled(tmp_path):
    """But for an older jax, which would not be quiet about it."""
    kept = jax.__version_info__ >= (0, 11)
    assert run(XDG_CACHE_HOME=str(tmp_path)) == 0
    assert any(tmp_path.glob("mnist-gan/xla/*")) == kept
    assert (run(XDG_CACHE_HOME=str(tmp_path)) > 0) == kept


def test_a_place_that_the_user_names_is_taken(tmp_path):
    theirs = tmp_path / "theirs"
    run(XDG_CACHE_HOME=str(tmp_path), JAX_COMPILATION_CACHE_DIR=str(theirs))
    assert any(theirs.iterdir())
    assert not (tmp_path / "mnist-gan").exists()


def test_without_a_place_nothing_is_kept_and_nothing_is_said(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert run(XDG_CACHE_HOME=str(file)) == 0


@pytest.mark.parametrize("home", ["/x", ""])
def test_the_folder_is_where_xdg_has_it(monkeypatch, home):
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    wanted = Path(home) if home else Path.home() / ".cache"
    assert cache_folder("compile") == wanted / "mnist-gan/compile"
