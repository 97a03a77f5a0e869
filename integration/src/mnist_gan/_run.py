"""A run's folder: what lies where, and what it was started with."""

import dataclasses
import importlib.metadata
import json
import platform
from pathlib import Path
from typing import Any

from mnist_gan._errors import UserError
from mnist_gan._files import write_whole

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
    """

    recipe: str
    steps: int
    batch_size: int
    seed: int
    data: str
    rows: int
    sha256: str

    @property
    def address(self) -> str | None:
        """The address to load the digits from; None for those that are shipped."""
        return None if self.data == SHIPPED else self.data


class RunFolder:
    """Paths below `--out`.

    Args:
      path: the folder; it is not made before `create`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.json"
        self.checkpoints = path / "checkpoints"
        self.metrics = path / "metrics.parquet"
        self.samples = path / "samples.parquet"
        self.sample_sheet = path / "samples.png"
        self.loss_plot = path / "losses.png"
        self.events = path / "tensorboard"

    def __str__(self) -> str:
        return str(self.path)

    def check_new(self) -> None:
        """Checks that nothing would be overwritten.

        Raises:
          UserError: if the folder holds a run, or is a file.
        """
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"--out {self}: is a file, wanted a folder; name another")
        if self.config.exists():
            raise UserError(
                f"--out {self}: holds a run already; add --resume to go on with it, or "
                "name another folder"
            )
        ours = (self.checkpoints, self.metrics, self.sample_sheet, self.loss_plot)
        found = [path.name for path in ours if path.exists()]
        if found:
            raise UserError(
                f"--out {self}: holds {', '.join(found)} and no config.json, so this "
                "is not a whole run; name another folder"
            )

    def create(self, config: Config) -> None:
        """Makes the folder and states in it what the run is."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.save(config)

    def save(self, config: Config) -> None:
        """Writes `config.json`, with the versions that it is run with."""
        versions = {name: importlib.metadata.version(name) for name in _PACKAGES}
        content: dict[str, Any] = dataclasses.asdict(config)
        content["versions"] = {"python": platform.python_version(), **versions}
        text = json.dumps(content, indent=2) + "\n"
        write_whole(self.config, lambda file: file.write(text.encode()))

    def load(self) -> Config:
        """Reads `config.json`.

        Returns:
          What the run was started with.

        Raises:
          UserError: if there is none, or it cannot be read.
        """
        names = [field.name for field in dataclasses.fields(Config)]
        try:
            content = json.loads(self.config.read_text(encoding="utf-8"))
            return Config(**{name: content[name] for name in names})
        except (FileNotFoundError, NotADirectoryError):
            raise UserError(
                f"{self}: holds no run (there is no config.json); train one with "
                f"--out {self}"
            ) from None
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(
                f"{self.config}: cannot be read ({type(error).__name__}: {error}); "
                "put it back, or start another run"
            ) from error
