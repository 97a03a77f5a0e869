"""What a run would find here: versions, hosts, devices, and whether they add up."""

import os
import time
from pathlib import Path

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from rich.console import Console
from rich.table import Table

from mnist_gan._agreement import check_same
from mnist_gan._devices import describe, place
from mnist_gan._errors import HostsError
from mnist_gan._run import versions
from mnist_gan._runtime import Runtime

_PATIENCE = 30.0
# Device files that an accelerator shows, the extra that runs on it, its platform.
_ACCELERATORS = (
    ("an NVIDIA GPU", "nvidia[0-9]*", "cuda", "gpu"),
    ("a TPU", "accel[0-9]*", "tpu", "tpu"),
    ("a TPU", "vfio/[0-9]*", "tpu", "tpu"),
)


def examine(runtime: Runtime, out: Console) -> bool:
    """Looks at devices and processes, and tries one sum and one barrier.

    Args:
      runtime: the processes; all of them call this.
      out: where to report.

    Returns:
      Whether nothing sits unused.

    Raises:
      HostsError: if the sum is wrong, versions differ, or a process is missing.
    """
    hosts = runtime.hosts
    table = Table.grid(padding=(0, 2))
    found = versions()
    table.add_row("versions", " ".join(f"{k} {v}" for k, v in found.items()))
    check_same(hosts, {"version": found}, seconds=_PATIENCE)
    own = f"{jax.local_device_count()} x {jax.local_devices()[0].device_kind}"
    for name, has in zip(
        hosts.names, hosts.gather("devices", own, seconds=_PATIENCE), strict=True
    ):
        table.add_row(name, has)
    placement = place(None)
    table.add_row("devices", describe(placement))
    start = time.perf_counter()
    n = placement.mesh.size
    total = _sum(placement.mesh)
    if total != n * (n + 1) / 2:
        raise HostsError(
            f"a sum over {n} devices is {total}, wanted {n * (n + 1) / 2}; look for a "
            "faulty device or link"
        )
    seconds = time.perf_counter() - start
    table.add_row("sum over all", f"right, {seconds:.1f} s with its compilation")
    start = time.perf_counter()
    hosts.barrier("a barrier", seconds=_PATIENCE)
    table.add_row("barrier", f"{(time.perf_counter() - start) * 1000:.1f} ms")
    idle = unused(jax.default_backend(), Path("/dev"))
    for line in idle:
        table.add_row("unused", f"[bold]{line}[/bold]")
    out.print(table)
    return not idle


def _sum(mesh: jax.sharding.Mesh) -> float:
    one_each = PartitionSpec(mesh.axis_names)
    add = jax.shard_map(
        lambda x: jax.lax.psum(x.sum(), mesh.axis_names),
        mesh=mesh,
        in_specs=one_each,
        out_specs=PartitionSpec(),
    )
    spread = jax.sharding.NamedSharding(mesh, one_each)
    numbers = jax.jit(lambda: jnp.arange(1.0, mesh.size + 1), out_shardings=spread)()
    return float(jax.jit(add)(numbers))


def unused(backend: str, devices: Path) -> list[str]:
    """Says which accelerators the machine has and jax does not use.

    Args:
      backend: what jax uses, as `jax.default_backend()` says.
      devices: the folder of device files.

    Returns:
      A line for each.
    """
    lines = {}
    for name, pattern, extra, platform in _ACCELERATORS:
        if backend != platform and any(devices.glob(pattern)):
            asked = os.environ.get("JAX_PLATFORMS")
            cure = f"unset JAX_PLATFORMS={asked}, or " if asked else ""
            lines[name] = (
                f"{name} is here, and jax runs on the {backend}: {cure}"
                f"pip install 'mnist-gan[{extra}]'"
            )
    return list(lines.values())
