"""The train step compiled for a TPU pod on a machine that has none.

libtpu, from PyPI, holds the whole compiler, and layouts of every slice. What comes out
is what a pod would run: its memory, its work, its collectives, or the error that it
does not fit. Nothing is executed.
"""

import hashlib
import importlib.metadata
import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from mnist_gan._compile_report import CompileReport, count_collectives
from mnist_gan._errors import UserError
from mnist_gan._topologies import Topology, find_topology

_ENVIRONMENT = {
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # two compilations at a time
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",  # no TPU is asked for, so no metadata server either
    "TPU_WORKER_HOSTNAMES": "localhost",
}


def compile_step(
    topology: Topology, *, recipe: str, batch_size: int, cache: Path | None
) -> CompileReport:
    """Compiles a recipe's train step for a topology, in a process of its own.

    libtpu ends the process on some errors, so it gets one to end.

    Args:
      topology: what to compile for.
      recipe: name of the recipe.
      batch_size: digits a step, over all devices.
      cache: folder of earlier reports, which the compiled program itself has no cache
        for; None to compile anew.

    Returns:
      The report.

    Raises:
      UserError: if libtpu is not there, or the step does not compile or fit.
    """
    if importlib.util.find_spec("libtpu") is None:
        raise UserError(
            "--topology needs libtpu, for its compiler: pip install 'mnist-gan[tpu]' "
            "(Linux x86-64)"
        )
    job = {
        "topology": [topology.name, topology.slices],
        "recipe": recipe,
        "batch_size": batch_size,
        "cache": str(cache) if cache else None,
    }
    command = [sys.executable, "-m", "mnist_gan._compile", json.dumps(job)]
    done = subprocess.run(  # noqa: S603  (this very module)
        command,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **_ENVIRONMENT},
    )
    if done.returncode == 0:
        return CompileReport(**json.loads(done.stdout.splitlines()[-1]))
    raise UserError(f"--topology {topology.name}: {_explain(done)}")


def _explain(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    told = [line for line in lines if "RESOURCE_EXHAUSTED" in line or "Error" in line]
    if any("RESOURCE_EXHAUSTED" in line for line in told):
        said = next(line for line in told if "RESOURCE_EXHAUSTED" in line)
        return f"the step does not fit ({said[:300]}); take a smaller --batch-size"
    said = (told or lines or ["no reason given"])[-1][:300]
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        return f"the compiler ended with {name} ({said}); take another topology"
    return f"the step does not compile ({said})"


def _devices(topology: Topology) -> Any:
    """The slice's devices in the order of its torus, as an array to make a mesh of."""
    from jax.experimental import mesh_utils, topologies  # noqa: PLC0415

    name = f"{topology.kind}:{topology.shape}"
    found = topologies.get_topology_desc(name, platform="tpu", **topology.options)
    n = len(found.devices)
    if topology.slices == 1:
        return mesh_utils.create_device_mesh((n,), found.devices)
    each = (n // topology.slices,)
    return mesh_utils.create_hybrid_device_mesh(each, (topology.slices,), found.devices)


def _compile(job: dict[str, Any]) -> CompileReport:
    """Does the work, in the process that was made for it."""
    import jax  # noqa: PLC0415  (the environment had to be set first)
    import numpy as np  # noqa: PLC0415
    from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: PLC0415

    from mnist_gan import _game  # noqa: PLC0415
    from mnist_gan._recipes import find_recipe  # noqa: PLC0415

    name, slices = job["topology"]
    topology = find_topology(name, slices=slices)
    mesh = Mesh(_devices(topology), ("data",))
    replicated = NamedSharding(mesh, PartitionSpec())
    spread = NamedSharding(mesh, PartitionSpec("data"))
    recipe, batch_size = find_recipe(job["recipe"]), job["batch_size"]
    state = jax.eval_shape(lambda: _game.init(recipe, 0))
    image = jax.ShapeDtypeStruct((batch_size, *_game.IMAGE_SHAPE), np.uint8)
    step = jax.jit(
        _game.update(recipe, mesh),
        donate_argnums=0,
        in_shardings=(replicated, spread),
        out_shardings=(replicated, replicated),
    )
    lowered = step.lower(state, [image])
    program = hashlib.sha256(lowered.as_text().encode()).hexdigest()
    versions = {
        package: importlib.metadata.version(package) for package in ("jax", "libtpu")
    }
    key = json.dumps([program, topology, versions])
    kept = job["cache"] and Path(
        job["cache"], f"{hashlib.sha256(key.encode()).hexdigest()}.json"
    )
    if kept and kept.exists():
        return CompileReport.read(kept)
    compiled = lowered.compile()
    # XLA has all of these for TPUs; for some platforms it has none.
    memory: Any = compiled.memory_analysis()
    cost: Any = compiled.cost_analysis()
    text: Any = compiled.as_text()
    devices = mesh.devices.flat
    report = CompileReport(
        topology=name if slices == 1 else f"{slices} x {name}",
        devices=math.prod(mesh.devices.shape),
        hosts=len({(getattr(d, "slice_index", 0), d.process_index) for d in devices}),
        recipe=job["recipe"],
        batch_size=batch_size,
        flops=float(cost["flops"]),
        bytes_accessed=float(cost["bytes accessed"]),
        peak_bytes=memory.peak_memory_in_bytes,
        argument_bytes=memory.argument_size_in_bytes,
        donated_bytes=memory.alias_size_in_bytes,
        temporary_bytes=memory.temp_size_in_bytes,
        code_bytes=memory.generated_code_size_in_bytes,
        collectives=count_collectives(text),
        program_sha256=program,
        versions=versions,
    )
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(report.text(), encoding="utf-8")
    return report


if __name__ == "__main__":
    import dataclasses

    sys.stdout.write(json.dumps(dataclasses.asdict(_compile(json.loads(sys.argv[1])))))
