"""Runs the tasks of this repository on a machine that has Python and nothing else.

    python3 tools/run.py tests                  all tests
    python3 tools/run.py train                  the MNIST GAN
    python3 tools/run.py train -- --steps 30    options for the task go behind --
    python3 tools/run.py -l                     all tasks

It keeps an environment with nox and uv in .quiver/, and hands its arguments to nox.
"""

import hashlib
import json
import os
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


def make_environment(folder: Path) -> None:
    """Makes the environment; the mark comes last, so half of one does not count."""
    shutil.rmtree(str(folder), ignore_errors=True)
    if has_ensurepip():
        venv.create(str(folder), with_pip=True)
        pip = ["-m", "pip"]
    else:
        venv.create(str(folder), with_pip=False)
        pip = [str(download_pip(folder) / "pip")]
    python = str(folder / "bin" / "python")
    options = ["-qq", "--disable-pip-version-check"]
    subprocess.run([python, *pip, "install", *options, *NEEDS], check=True)
    (folder / "whole").write_text("\n".join(NEEDS))


def is_whole(folder: Path) -> bool:
    """Whether the environment is there and holds what is needed today."""
    mark = folder / "whole"
    whole = mark.exists() and mark.read_text().split("\n") == NEEDS
    return whole and (folder / "bin" / "python").exists()


def run(arguments: list, folder: Path) -> int:
    """Runs nox, waits for it even through Ctrl-C, and returns its exit code."""
    if not arguments[0].startswith("-"):
        arguments = ["-s", *arguments]
    say("nox " + " ".join(arguments))
    environment = dict(os.environ, QUIVER_TYPED="python3 tools/run.py")
    environment["PATH"] = os.pathsep.join(
        [str(folder / "bin"), os.environ.get("PATH", os.defpath)]
    )
    nox = [str(folder / "bin" / "nox"), "-f", str(ROOT / "noxfile.py")]
    process = subprocess.Popen(nox + arguments, env=environment)
    # Ctrl-C reaches the task as well, and the task decides what to do with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    return process.wait()


def main(arguments: list) -> int:
    """Returns the exit code."""
    wrong = check_python(sys.version_info[:2])
    if wrong:
        say(wrong)
        return 2
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if arguments else 2
    folder = HOME / "python{}.{}".format(*sys.version_info)
    if not is_whole(folder):
        say(f"making an environment with nox and uv in {folder}")
        try:
            make_environment(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            say(f"that failed ({error}); is pypi.org within reach?")
            return 2
    return run(arguments, folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
