"""What runs in each process that `run_processes` starts.

It is run by its path, and gets the import path of the parent before it imports
anything else. A process never leaves by way of the interpreter's exit: jax would wait
there, at its shutdown barrier, for processes that have died.
"""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

RUN_XFAIL = "CHEX_HARNESS_RUN_XFAIL"  # set where pytest was given --runxfail


def main(folder: str, index: int) -> None:
    """Runs one process of the job in `folder`, and exits.

    Args:
      folder: where `job.json` and `call.pickle` are, and the answer goes.
      index: the index of this process.
    """
    job = json.loads(Path(folder, "job.json").read_text(encoding="utf-8"))
    sys.path[:] = job["path"]
    parent = threading.Event()
    threading.Thread(target=_follow_parent, args=(parent,), daemon=True).start()
    try:
        code, stays, data = 0, True, _call(folder, index, job)
    except BaseException as error:  # noqa: BLE001  (whatever it is, the parent shows it)
        described = _described(error, job["module_file"])
        code, data = _exit_code(error), _pickled(described)
        # Like one that has returned: others may skip too, and die with process 0.
        stays = described["error"] in {"Skipped", "XFailed"}  # as in _outcome
    temporary = Path(folder, f"answer-{index}.tmp")
    temporary.write_bytes(data)
    temporary.rename(Path(folder, f"answer-{index}"))
    sys.stdout.flush()
    sys.stderr.flush()
    if stays:
        parent.wait()
    os._exit(code)


def _follow_parent(let_go: threading.Event) -> None:
    """Waits for the parent's word; its death closes the pipe, and ends the job."""
    word = os.read(0, 1)
    if word:
        let_go.set()
        return
    import signal  # noqa: PLC0415  (rarely needed, and the others are started)

    os.killpg(0, signal.SIGKILL)


def _exit_code(error: BaseException) -> int:
    """The code that Python would exit with."""
    if not isinstance(error, SystemExit):
        return 1
    if error.code is None:
        return 0
    return error.code & 0xFF if isinstance(error.code, int) else 1


def _call(folder: str, index: int, job: dict[str, Any]) -> bytes:
    import faulthandler  # noqa: PLC0415  (after the import path is set)
    import signal  # noqa: PLC0415

    stack = Path(folder, f"stack-{index}").open("w", encoding="utf-8")  # noqa: SIM115
    faulthandler.enable(stack)
    faulthandler.register(signal.SIGUSR1, file=stack, all_threads=True)
    import jax  # noqa: PLC0415

    if job["processes"] > 1:
        jax.distributed.initialize(
            job["address"],
            job["processes"],
            index,
            coordinator_bind_address=job["address"],
            heartbeat_timeout_seconds=job["heartbeat"],
            shutdown_timeout_seconds=job["heartbeat"],
            initialization_timeout=job["initialization"],
        )
    import pickle  # noqa: PLC0415

    from chex_harness import _target  # noqa: PLC0415

    if RUN_XFAIL in os.environ:
        import pytest  # noqa: PLC0415

        vars(pytest)["xfail"] = _no_xfail  # as pytest does in its own process
    _target.load_module(job["module"], job["module_file"])
    data = Path(folder, "call.pickle").read_bytes()
    fn, args, kwargs = pickle.loads(data)  # noqa: S301  (the parent wrote it)
    Path(folder, f"began-{index}").touch()
    value = _target.as_numpy(fn(*args, **kwargs))
    jax.effects_barrier()
    name = getattr(fn, "__qualname__", type(fn).__name__)
    told = _pickled({"status": "returned", "name": name})
    return told + _target.pickled_result(name, value)


def _no_xfail(reason: str = "") -> None:
    """What `pytest.xfail` is under `--runxfail`."""


def _pickled(answer: dict[str, Any]) -> bytes:
    import pickle  # noqa: PLC0415

    return pickle.dumps(answer)


def _described(error: BaseException, module_file: str | None) -> dict[str, Any]:
    """An exception as text, with the variables where a bare assert has failed."""
    import traceback  # noqa: PLC0415

    lines = traceback.format_exception(error)
    # The frames that led here say nothing to whoever reads the test.
    own = [i for i, line in enumerate(lines) if f'"{__file__}"' in line]
    lines = lines[:1] + lines[own[-1] + 1 :] if own else lines
    where = [f for f, _ in traceback.walk_tb(error.__traceback__)]
    where = [f for f in where if f.f_code.co_filename == module_file]
    if isinstance(error, AssertionError) and where:
        lines.append("where\n")
        for name, value in where[-1].f_locals.items():
            lines.append(f"  {name} = {_short(value)}\n")
    return {
        "status": "raised",
        "error": type(error).__name__,
        "message": str(error),
        "traceback": "".join(lines),
    }


def _short(value: object) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001  (a broken repr must not hide the failure)
        text = f"<{type(value).__name__}: {error!r}>"
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:117] + "..."


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
