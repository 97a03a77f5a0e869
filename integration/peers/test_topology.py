"""The train step compiled for real slices, which needs libtpu and no TPU.

`nox -s peers-mnist_gan` has libtpu; the other sessions leave this file out.
"""

import dataclasses

import pytest

from mnist_gan._compile import compile_step
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


def test_a_batch_that_one_chip_cannot_hold():
    with pytest.raises(UserError, match="the step does not fit"):
        compile_step(
            find_topology("v5e:1x1"), recipe="reference", batch_size=2**22, cache=None
        )
