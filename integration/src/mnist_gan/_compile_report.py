"""What a compiled train step needs, and whether that is within a budget."""

import dataclasses
import json
import re
import typing
from pathlib import Path
from typing import Any

from rich.table import Table

from mnist_gan._errors import UserError

_KINDS = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "send",
    "recv",
)
# More FLOPs than that beyond the budget are another program.
_FLOP_TOLERANCE = 0.02
_MEMORY_TOLERANCE = 0.05


@dataclasses.dataclass(frozen=True)
class CompileReport:
    """What XLA says of a program, for one device.

    Attributes:
      topology: the slice's name.
      devices: in all slices.
      hosts: that they hang on.
      recipe: what is trained.
      batch_size: digits a step, over all devices.
      flops: a device, a step.
      bytes_accessed: a device, a step.
      peak_bytes: the most memory a device needs at a time.
      argument_bytes: of parameters, states and batch on a device.
      donated_bytes: of those, how many the result takes over.
      temporary_bytes: what is needed in between.
      code_bytes: of the program itself.
      collectives: kind -> how many are in the program.
      program_sha256: of the lowered program's text.
      versions: of jax and libtpu.
    """

    topology: str
    devices: int
    hosts: int
    recipe: str
    batch_size: int
    flops: float
    bytes_accessed: float
    peak_bytes: int
    argument_bytes: int
    donated_bytes: int
    temporary_bytes: int
    code_bytes: int
    collectives: dict[str, int]
    program_sha256: str
    versions: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> "CompileReport":
        """Reads a report.

        Raises:
          UserError: if it is something else.
        """
        if path.exists() and not path.is_file():  # a device may have no end
            raise UserError(f"{path}: is no file, wanted a report")
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            return cls(**_checked(content))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(
                f"{path}: cannot be read as a report ({reason}); write one with "
                "mnist-gan compile --out FILE"
            ) from error

    def text(self) -> str:
        """The report as JSON."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"


def _checked(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise TypeError(f"it holds a {type(content).__name__}")
    fields = typing.get_type_hints(CompileReport)
    for what, names in (
        ("has no", fields.keys() - content.keys()),
        ("has too much:", content.keys() - fields.keys()),
    ):
        if names:
            raise ValueError(f"it {what} {', '.join(sorted(names))}")
    for name, kind in fields.items():
        wanted = typing.get_origin(kind) or kind
        if not isinstance(content[name], (int, float) if wanted is float else wanted):
            raise TypeError(f"{name} is {content[name]!r}, wanted {wanted.__name__}")
    return content


def count_collectives(program: str) -> dict[str, int]:
    r"""Counts the collectives in an optimised program's text.

    Args:
      program: HLO, as `compiled.as_text()` gives it.

    Returns:
      kind -> how many; an asynchronous pair is one, absent kinds are left out.

    Example:
      >>> count_collectives("%a = f32[2] all-reduce-start(%x)\n %b = f32[] send(%y)")
      {'all-reduce': 1, 'send': 1}
    """
    found = {
        kind: len(re.findall(rf"\s{kind}(?:-start)?\(", program)) for kind in _KINDS
    }
    return {kind: n for kind, n in found.items() if n}


def check_budget(report: CompileReport, budget: CompileReport) -> list[str]:
    """Compares a report with one that was accepted before.

    Time is not compared: the compiler's own estimate can be negative.

    Args:
      report: of the program at hand.
      budget: of the one that was accepted.

    Returns:
      A sentence for each thing that is worse; empty if none is.
    """
    complaints = []

    def at_most(what: str, share: float) -> None:
        found, allowed = getattr(report, what), getattr(budget, what)
        if found > allowed * (1 + share):
            complaints.append(
                f"{what.replace('_', ' ')}: {found:,.0f}, the budget is {allowed:,.0f} "
                f"and {share:.0%}"
            )

    at_most("peak_bytes", _MEMORY_TOLERANCE)
    at_most("flops", _FLOP_TOLERANCE)
    if report.donated_bytes < budget.donated_bytes * (1 - _MEMORY_TOLERANCE):
        complaints.append(
            f"donated bytes: {report.donated_bytes:,}, the budget has "
            f"{budget.donated_bytes:,}"
        )
    if set(report.collectives) != set(budget.collectives):
        complaints.append(
            f"collectives: {_listed(report.collectives)}, the budget has "
            f"{_listed(budget.collectives)}"
        )
    for name in ("topology", "recipe", "batch_size"):
        found, wanted = getattr(report, name), getattr(budget, name)
        if found != wanted:
            complaints.append(f"{name}: {found}, the budget is for {wanted}")
    return complaints


def table(report: CompileReport) -> Table:
    """Tabulates a report for a terminal."""
    shown = Table(box=None, show_header=False, pad_edge=False)
    shown.add_column()
    shown.add_column(justify="right")
    rows = {
        "topology": report.topology,
        "devices": f"{report.devices:,}",
        "hosts": f"{report.hosts:,}",
        "digits a step, a device": f"{report.batch_size // report.devices:,}",
        "GFLOP a step, a device": f"{report.flops / 1e9:.2f}",
        "MB read and written": f"{report.bytes_accessed / 1e6:,.0f}",
        "peak memory, MB": f"{report.peak_bytes / 1e6:,.1f}",
        "arguments, MB": f"{report.argument_bytes / 1e6:,.1f}",
        "donated, MB": f"{report.donated_bytes / 1e6:,.1f}",
        "temporary, MB": f"{report.temporary_bytes / 1e6:,.1f}",
        "program, MB": f"{report.code_bytes / 1e6:,.1f}",
        "collectives": _listed(report.collectives),
    }
    for name, value in rows.items():
        shown.add_row(name, value)
    return shown


def _listed(collectives: dict[str, Any]) -> str:
    return ", ".join(f"{n} {kind}" for kind, n in collectives.items()) or "none"
