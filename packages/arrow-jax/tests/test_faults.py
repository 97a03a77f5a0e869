"""What goes wrong around a loader ends in an error or a clean exit, never in a hang."""

import gc
import subprocess
import sys
import textwrap
import threading
import tracemalloc

import jax
import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import ArrowJaxError, Dataset, Loader


def run_script(text, timeout=60):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def test_a_fork_is_told_so_and_ends():
    done = run_script(
        """
        import os, numpy as np
        from arrow_jax import ArrowJaxError, Dataset, Loader
        run = iter(Loader(Dataset.from_dict({"x": np.arange(99)}), 4, prefetch=2))
        next(run)
        child = os.fork()
        if not child:
            try:
                next(run)
            except ArrowJaxError as error:
                print(error, flush=True)
            run.close()
            del run
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(sum(1 for _ in run))
        """
    )
    assert "is a fork of it, where its thread does not live" in done.stdout
    assert '("spawn") and make the loader there' in done.stdout
    assert done.stdout.split()[-2:] == ["7", "24"], done.stderr


@pytest.mark.parametrize("how", ["sys.exit(3)", "1 / 0", "os.kill(os.getpid(), 2)"])
def test_a_program_that_ends_in_the_middle_ends(how):
    done = run_script(
        f"""
        import os, sys, numpy as np
        from arrow_jax import Dataset, Loader
        ds = Dataset.from_dict({{"x": np.arange(9999)}})
        for i, batch in enumerate(Loader(ds, 4, epochs=None, prefetch=2)):
            if i == 3:
                {how}
        """
    )
    wanted = {"sys.exit(3)": 3, "1 / 0": 1}.get(how, -2)
    assert done.returncode in (wanted, 130 if wanted == -2 else wanted), done.stderr


def test_no_more_is_made_than_the_prefetch_and_one():
    made = []

    def count(batch):
        made.append(1)
        return batch

    ds = Dataset.from_dict({"x": np.arange(1000)})
    loader = Loader(ds, 10, prefetch=3, host_transform=count)
    made.clear()
    with iter(loader) as run:
        next(run)
        for _ in range(200):
            if len(made) >= 4:
                break
            threading.Event().wait(0.01)
        threading.Event().wait(0.1)
        # One given, three that wait; the next is begun when one of these is taken.
        assert len(made) == 4


def test_memory_is_flat_over_epochs():
    ds = Dataset.from_dict(
        {
            "x": np.zeros((4000, 64), np.float32),
            "t": [[1] * (i % 9) for i in range(4000)],
        }
    )
    loader = Loader(ds, 100, shuffle=True, epochs=4, ragged={"t": 8})
    tracemalloc.start()
    held = []
    for i, batch in enumerate(loader):
        jax.block_until_ready(batch)
        if i % 40 == 39:
            del batch
            gc.collect()
            held.append(
                (pa.total_allocated_bytes(), tracemalloc.get_traced_memory()[0])
            )
    tracemalloc.stop()
    arrow, python = zip(*held, strict=True)
    # A few batches wait at any time; nothing else may.
    assert max(arrow) - min(arrow) <= 4 * 100 * (64 + 9 + 1) * 4
    assert max(python) - min(python[1:]) < 20 * 100 * 64 * 4


def test_a_run_that_an_error_ended_says_so_when_asked_again():
    ds = Dataset.from_dict({"x": np.arange(40)})

    def bad(batch):
        if batch["x"].max() > 20:
            raise RuntimeError("no more")
        return batch

    run = iter(Loader(ds, 10, host_transform=bad))
    assert len(next(run)["x"]) == 10
    next(run)
    state = run.state()
    with pytest.raises(RuntimeError, match="no more"):
        next(run)
    with pytest.raises(ArrowJaxError, match="ended with RuntimeError: no more, before"):
        next(run)
    assert not [t for t in threading.enumerate() if t.name.startswith("arrow-jax")]
    rest = Loader(ds, 10).resume(state)
    assert [b["x"].tolist()[0] for b in rest] == [20, 30]
