"""A run's folder: what lies where, and what it was started with."""

import contextlib
import dataclasses
import fcntl
import importlib.metadata
import json
import platform
import shutil
import tempfile
import weakref
from collections.abc import Generator
from pathlib import Path
from typing import Any

from mnist_gan import _mirror
from mnist_gan._errors import UserError
from mnist_gan._files import check_writable, remove_leftovers, write_whole
from mnist_gan._secret import is_secret
from mnist_gan._typed import resume_command

_TYPES = dict.fromkeys(("recipe", "data", "sha256"), str) | dict.fromkeys(
    ("steps", "batch_size", "seed", "rows", "blocks"), int
)
SHIPPED = "(shipped)"
_PACKAGES = ("jax", "jaxlib", "dm-haiku", "optax", "arrow-jax", "haiku-nets")


@dataclasses.dataclass(frozen=True)
class Config:
    """What decides a run's numbers.

    Attributes:
      recipe: name of the recipe.
      steps: how many steps it is to take.
      batch_size: real digits a step.
      seed: of the parameters, the latents and the order of the digits.
      data: address of the digits.
      rows: how many there are.
      sha256: of their pixels.
      blocks: into how many blocks a batch is split to be computed; 0 for none.
    """

    recipe: str
    steps: int
    batch_size: int
    seed: int
    data: str
    rows: int
    sha256: str
    blocks: int = 0

    def __post_init__(self) -> None:
        for name, wanted in _TYPES.items():
            value = getattr(self, name)
            if type(value) is not wanted:
                raise TypeError(f"{name} is {value!r}, wanted {wanted.__name__}")
        counts = self.steps, self.batch_size, self.rows
        if min(counts) < 1 or min(self.seed, self.blocks) < 0:
            names = "steps, batch_size, rows, seed or blocks"
            raise ValueError(f"{names} is out of range")

    @property
    def address(self) -> str | None:
        """The address to load the digits from; None for those that are shipped."""
        return None if self.data == SHIPPED else self.data


class RunFolder:
    """Paths below `--out`.

    Of a run at an address, the small files are written here, in a temporary folder that
    goes with this object, and copied there by `push`; checkpoints go straight there,
    from all processes.

    Args:
      place: the folder, which is not made before `claimed`, or an address such as
        `gs://bucket/run`.
    """

    def __init__(self, place: Path | str) -> None:
        self._place = place
        self.address = str(place) if "://" in str(place) else None
        self.checkpoints: Path | str = Path(place) / "checkpoints"
        path = Path(place)
        if self.address:
            path = Path(tempfile.mkdtemp(prefix="mnist-gan-"))
            self._remove = weakref.finalize(
                self, shutil.rmtree, path, ignore_errors=True
            )
            self.checkpoints = _mirror.below(self.address, "checkpoints")
        self.path = path
        self.config = path / "config.json"
        self.metrics = path / "metrics.parquet"
        self.samples = path / "samples.parquet"
        self.sample_sheet = path / "samples.png"
        self.loss_plot = path / "losses.png"
        self.events = path / "tensorboard"
        self.evaluation = path / "evaluation.json"
        self.evaluation_page = path / "evaluation.png"
        self.inspection_page = path / "inspection.png"
        self.secret = path / "secret.key"
        self.account = path / "privacy.json"

    def __str__(self) -> str:
        return str(self._place)

    def pull(self) -> None:
        """Brings the small files of a run at an address here."""
        if self.address:
            _mirror.copy_new(self.address, self.path, self._mirrored)

    def push(self, *written: Path) -> None:
        """Brings what has been written here to the run's address.

        Args:
          *written: the files; by default all that a training run writes.

        Raises:
          UserError: if the address takes no more; the files stay here, and it says
            where.
        """
        if not self.address:
            return
        names = [path.name for path in written] or self._mirrored
        try:
            _mirror.copy_out(self.path, self.address, names)
        except OSError as error:
            self._remove.detach()
            raise UserError(
                f"{self}: cannot be written to ({error}); what is to go there is in "
                f"{self.path}"
            ) from error

    @property
    def _mirrored(self) -> list[str]:
        return [path.name for path in (self.config, *self._files, self.events)]

    def check_new(self) -> None:
        """Checks that a run can be made here, and nothing would be overwritten.

        Raises:
          UserError: if the folder holds a run or a part of one, or cannot be made.
        """
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"--out {self}: is a file, wanted a folder; name another")
        check_writable(self.path, "--out")
        if self.config.exists():
            raise UserError(
                f"--out {self}: holds a run already; name another folder, or go on "
                f"with: {resume_command(self._place)}"
            )
        ours = (*self._files, self.path / "checkpoints", self.events)
        found = [path.name for path in ours if path.exists()]
        if found:
            raise UserError(
                f"--out {self}: holds {', '.join(found)} and no config.json, so this "
                "is not a whole run; name another folder"
            )

    @contextlib.contextmanager
    def claimed(
        self, config: Config, *, resume: bool, secret: str | None = None
    ) -> Generator[None]:
        """Holds the folder for this process, and states in it what the run is.

        Args:
          config: the run.
          resume: whether the run is there already.
          secret: of a private run.

        Yields:
          Nothing; the folder is given up after the block, or when the process dies.

        Raises:
          UserError: if another process holds it, or has made a run in it since
            `check_new`.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / ".lock").open("w")
        except OSError as error:
            raise UserError(
                f"--out {self}: cannot be made ({error.strerror}); name another folder"
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(
                    f"--out {self}: another process is training there; name another "
                    "folder, or wait until it has ended"
                ) from None
            if not resume:
                self.check_new()
            check_writable(self.path / "checkpoints", "--out")
            for path in (*self._files, self.config):
                remove_leftovers(path)
            if secret and not resume:  # once: cut short, it would end the run
                self.secret.touch(mode=0o600)
                self.secret.write_text(f"{secret}\n")
            self.save(config)
            self.push()
            yield

    @property
    def _files(self) -> tuple[Path, ...]:
        kept = self.metrics, self.samples, self.sample_sheet, self.loss_plot
        return *kept, self.secret, self.account

    def save(self, config: Config) -> None:
        """Writes `config.json`, with the versions that it is run with."""
        content: dict[str, Any] = dataclasses.asdict(config)
        content["versions"] = versions()
        text = json.dumps(content, indent=2) + "\n"
        write_whole(self.config, lambda file: file.write(text.encode()))

    def load(self) -> Config:
        """Reads `config.json`.

        Returns:
          What the run was started with.

        Raises:
          UserError: if there is none, or it cannot be read.
        """
        try:
            content = json.loads(self.config.read_text(encoding="utf-8"))
            # Runs of before say nothing of blocks, and have none.
            names = [name for name in _TYPES if name in content or name != "blocks"]
            return Config(**{name: content[name] for name in names})
        except (FileNotFoundError, NotADirectoryError):
            raise UserError(
                f"{self}: holds no run (there is no config.json); train one with "
                f"--out {self}"
            ) from None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise UserError(
                f"{self.config}: cannot be read ({type(error).__name__}: {error}); "
                "put it back, or start another run"
            ) from error

    def load_secret(self) -> str:
        """Reads what a private run keeps to itself.

        Raises:
          UserError: if it is not there, or was cut short.
        """
        try:
            found = self.secret.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            found = getattr(error, "strerror", None) or str(error)
        if not is_secret(found):
            raise UserError(
                f"{self}/secret.key: holds no secret ({found[:40]}), and a private run "
                "cannot go on without its own; put it back, or start another run"
            )
        return found

    def save_account(self, account: dict[str, Any]) -> None:
        """Writes `privacy.json`."""
        text = json.dumps(account, indent=2) + "\n"
        write_whole(self.account, lambda file: file.write(text.encode()))
        self.push(self.account)


def versions() -> dict[str, str]:
    """The versions of what decides a run's numbers beside its config."""
    packages = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), **packages}
