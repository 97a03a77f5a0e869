"""TPU slices by the names that clouds and people use, and as libtpu knows them."""

import math
import re
from typing import Any, NamedTuple

from mnist_gan._errors import UserError

# Chips of a slice -> its shape: flat tori, and cubic ones.
_SQUARES = {1: "1x1", 4: "2x2", 8: "2x4", 16: "4x4", 32: "4x8", 64: "8x8"}
_SQUARES |= {128: "8x16", 256: "16x16"}
_CUBES = {4: "2x2x1", 8: "2x2x2", 16: "2x2x4", 32: "2x4x4", 64: "4x4x4"}
_CUBES |= {128: "4x4x8", 256: "4x8x8", 512: "8x8x8"}


class _Kind(NamedTuple):
    """A generation of chips.

    Attributes:
      shapes: chips -> shape of the slice.
      cores: how many a cloud's name counts for one chip.
      options: for libtpu.
    """

    shapes: dict[int, str]
    cores: int
    options: dict[str, Any]


_KINDS = {
    "v4": _Kind(_CUBES, 2, {"chip_config_name": "megacore"}),
    "v5e": _Kind(_SQUARES, 1, {}),
    "v5p": _Kind(_CUBES, 2, {}),
    "v6e": _Kind(_SQUARES, 1, {}),
}
_ALIASES = {"v5litepod": "v5e", "v5lite": "v5e"}
_NAME = re.compile(r"(?P<kind>v\w+?)(?:-(?P<size>\d+)|:(?P<shape>\d+(?:x\d+){1,2}))")


class Topology(NamedTuple):
    """A slice, or several of them.

    Attributes:
      name: as it was asked for.
      kind: the chips' generation, such as `v5e`.
      shape: chips along each axis of the torus, such as `4x4`.
      slices: how many; more than one talk over the data centre's network.
      options: what libtpu needs to know besides.
    """

    name: str
    kind: str
    shape: str
    slices: int
    options: dict[str, Any]

    @property
    def chips(self) -> int:
        """Chips in all slices."""
        return math.prod(map(int, self.shape.split("x"))) * self.slices


def find_topology(name: str, *, slices: int = 1) -> Topology:
    """Looks a slice up.

    Args:
      name: as Cloud TPU has it, `v5litepod-16`, `v4-32` (cores), `v6e-8` (chips), or as
        a shape, `v5e:4x4`.
      slices: how many of them.

    Returns:
      The topology.

    Raises:
      UserError: if there is no such generation or size.

    Example:
      >>> find_topology("v4-32").shape, find_topology("v5litepod-16").chips
      ('2x2x4', 16)
    """
    found = _NAME.fullmatch(name)
    kind = found and _ALIASES.get(found["kind"], found["kind"])
    if not found or kind not in _KINDS:
        raise UserError(
            f"--topology {name}: there is none; take {', '.join(_KINDS)} with a size, "
            "such as v5litepod-16, v4-32 or v6e-8, or with a shape, such as v5e:4x4"
        )
    about = _KINDS[kind]
    shapes = about.shapes
    if found["shape"]:
        shape = found["shape"]
        if shape not in shapes.values():
            raise UserError(
                f"--topology {name}: {kind} has no slice of that shape; take one of "
                f"{', '.join(f'{kind}:{known}' for known in shapes.values())}"
            )
    else:
        chips, odd = divmod(int(found["size"]), about.cores)
        if odd or chips not in shapes:
            sizes = ", ".join(f"{found['kind']}-{n * about.cores}" for n in shapes)
            raise UserError(
                f"--topology {name}: {kind} has no slice of that size; take {sizes}"
            )
        shape = shapes[chips]
    options = dict(about.options)
    if slices > 1:
        options["num_slices"] = slices
    return Topology(name, kind, shape, slices, options)
