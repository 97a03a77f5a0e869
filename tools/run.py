"""Runs the tasks of this repository on a machine that has Python and nothing else.

    python3 tools/run.py tests                  all tests
    python3 tools/run.py train                  the MNIST GAN
    python3 tools/run.py train -- --steps 30    options for the task go behind --
    python3 tools/run.py -l                     all tasks

It keeps an environment with nox and uv in .quiver/, and hands its arguments to nox.
"""

import fcntl
import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
import venv
from pathlib import Path

# Whatever `python3` is reads this file, so it must parse on Python 3.6.
OLDEST, NEWEST = (3, 11), (3, 13)
NEEDS = ["nox>=2025.2.9", "uv>=0.8"]
ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".quiver"
PIP = "https://pypi.org/pypi/pip/json"


def say(text: str) -> None:
    """Tells the user what happens; on stderr, since stdout is the task's."""
    print("run.py: " + text, file=sys.stderr, flush=True)


def check_python(version: tuple) -> str:
    """Says what serves instead when this Python does not; otherwise nothing."""
    if OLDEST <= version <= NEWEST:
        return ""
    return (
        "this is Python {}.{}; Python 3.11, 3.12 or 3.13 serves: type "
        "python3.12 tools/run.py ...".format(*version)
    )


def has_ensurepip() -> bool:
    """Whether this Python can put pip into an environment; Debian's alone cannot."""
    code = "import ensurepip"
    command = [sys.executable, "-c", code]
    return not subprocess.run(
        command, check=False, stderr=subprocess.DEVNULL
    ).returncode


def download_pip(folder: Path) -> Path:
    """Gets pip's wheel from PyPI."""
    with urllib.request.urlopen(PIP) as answer:
        files = json.load(answer)["urls"]
    wheel = next(file for file in files if file["packagetype"] == "bdist_wheel")
    url = urllib.parse.urljoin(PIP, wheel["url"])  # a mirror's may be relative
    with urllib.request.urlopen(url) as answer:  # noqa: S310  (PyPI's)
        content = answer.read()
    if hashlib.sha256(content).hexdigest() != wheel["digests"]["sha256"]:
        raise OSError(url + " has another hash than PyPI states")
    path = folder / wheel["filename"]
    path.write_bytes(content)
    return path


def mark() -> str:
    """What an environment is made for; one that was made for another is made anew."""
    return "\n".join([str(ROOT), *NEEDS])


def make_environment(folder: Path) -> None:
    """Makes the environment; the mark comes last, so half of one does not count."""
    shutil.rmtree(str(folder), ignore_errors=True)
    if (HOME / "root").exists() and (HOME / "root").read_text() != str(ROOT):
        # The programs of nox's environments name the place that they were made in.
        shutil.rmtree(str(ROOT / ".nox"), ignore_errors=True)
    (HOME / "root").write_text(str(ROOT))
    if has_ensurepip():
        venv.create(str(folder), with_pip=True)
        pip = ["-m", "pip"]
    else:
        venv.create(str(folder), with_pip=False)
        pip = [str(download_pip(folder) / "pip")]
    python = str(folder / "bin" / "python")
    options = ["-qq", "--disable-pip-version-check"]
    subprocess.run([python, *pip, "install", *options, *NEEDS], check=True)
    (folder / "whole").write_text(mark())


def is_whole(folder: Path) -> bool:
    """Whether the environment is there and holds what is needed today."""
    whole = folder / "whole"
    return whole.exists() and whole.read_text() == mark()


def ensure_environment(folder: Path) -> None:
    """Makes the environment unless it is there, while others that want it wait."""
    HOME.mkdir(exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_whole(folder):
            say(f"making an environment with nox and uv in {folder}")
            make_environment(folder)


def run(arguments: list, folder: Path) -> int:
    """Runs nox, hands signals on to it and its tasks, and returns its exit code."""
    if not arguments[0].startswith("-"):
        arguments = ["-s", *arguments]
    say("nox " + " ".join(arguments))
    typed = "python3 " + shlex.quote(sys.argv[0])
    environment = dict(os.environ, QUIVER_TYPED=typed)
    environment["PATH"] = os.pathsep.join(
        [str(folder / "bin"), os.environ.get("PATH", os.defpath)]
    )
    python = str(folder / "bin" / "python")
    nox = [python, "-m", "nox", "-f", str(ROOT / "noxfile.py")]
    # A group of their own, so that a signal reaches all of them and each of them once.
    process = subprocess.Popen(nox + arguments, env=environment, start_new_session=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os.killpg(process.pid, signal.SIGINT))
    code = process.wait()
    return code if code >= 0 else 128 - code


def misplaced_option(arguments: list) -> str:
    """The first option of a task that stands before the --, or nothing."""
    if arguments[0].startswith("-"):
        return ""
    tasks = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return next((word for word in tasks if word.startswith("-")), "")


def main(arguments: list) -> int:
    """Returns the exit code."""
    wrong = check_python(sys.version_info[:2])
    if wrong:
        say(wrong)
        return 2
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if arguments else 2
    option = misplaced_option(arguments)
    if option:
        task = arguments[0]
        say(f"{option}: options of a task go behind --, as in: {task} -- {option} ...")
        return 2
    folder = HOME / "python{}.{}".format(*sys.version_info)
    try:
        ensure_environment(folder)
    except (OSError, subprocess.CalledProcessError) as error:
        pip = isinstance(error, subprocess.CalledProcessError)
        say(f"{'see above' if pip else error}; is pypi.org within reach?")
        return 2
    except KeyboardInterrupt:
        say("stopped")
        return 130
    return run(arguments, folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
