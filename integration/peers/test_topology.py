"""The train step compiled for real slices, which needs libtpu and no TPU.

`nox -s peers-mnist_gan` has libtpu; the other sessions leave this file out.
"""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mnist_gan import _compile
from mnist_gan._compile import compile_step
from mnist_gan._compile_report import check_budget
from mnist_gan._errors import UserError
from mnist_gan._topologies import find_topology


def test_a_slice_of_four_chips(tmp_path):
    topology = find_topology("v5e:2x2")
    report = compile_step(topology, recipe="reference", batch_size=256, cache=tmp_path)
    assert (report.devices, report.hosts) == (4, 1)
    # Two networks, two moments each, and little else; all of it donated.
    state = 3 * 4 * (117_889 + 276_546)
    assert report.argument_bytes > state
    assert report.donated_bytes > 0.99 * state
    assert set(report.collectives) == {"all-reduce"}
    assert report.flops == pytest.approx(6.2e9, rel=0.1)
    (kept,) = tmp_path.iterdir()
    again = dataclasses.replace(report, code_bytes=1)
    kept.write_text(again.text())  # so that it shows where the second one is from
    found = compile_step(topology, recipe="reference", batch_size=256, cache=tmp_path)
    assert found == again


def test_two_slices(tmp_path):
    """Gradients cross the slices, and nothing else does; each is cached by itself."""
    kept = {}
    for slices in (1, 2):
        topology = find_topology("v5e:1x1", slices=slices)
        options = {"recipe": "reference", "batch_size": 64 * topology.chips}
        kept[slices] = compile_step(topology, cache=tmp_path, **options)
    assert (kept[2].topology, kept[2].devices) == ("2 x v5e:1x1", 2)
    assert kept[2].hosts == 2
    assert kept[1].collectives == {}
    assert kept[2].collectives
    assert "all-to-all" not in kept[2].collectives
    assert len(list(tmp_path.iterdir())) == 2
    assert kept[2].flops == pytest.approx(kept[1].flops, rel=0.02)
    assert check_budget(kept[2], kept[2]) == []
    assert check_budget(kept[2], kept[1])


LAID_OUT = """
from mnist_gan._compile import _devices
from mnist_gan._topologies import find_topology

print([device.process_index for device in _devices(find_topology("v5e:4x4")).flat])
"""


def test_the_order_of_the_pod_that_is_simulated_is_that_of_a_slice():
    done = subprocess.run(
        [sys.executable, "-c", LAID_OUT],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | _compile._ENVIRONMENT,
    )
    simulated = Path(__file__).parents[1] / "tests/pod/test_pod.py"
    hosts = re.search(r"^HOSTS = \((.*)\)$", simulated.read_text(), re.MULTILINE)[1]
    assert done.stdout.strip() == f"[{hosts}]"


def test_a_batch_that_one_chip_cannot_hold():
    with pytest.raises(UserError, match="the step does not fit"):
        compile_step(
            find_topology("v5e:1x1"), recipe="reference", batch_size=2**22, cache=None
        )
