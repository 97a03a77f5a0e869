import json
import subprocess
import sys

import jax
import numpy as np
import pytest

from mnist_gan import _export, _game
from mnist_gan._devices import place
from mnist_gan._recipes import RECIPES

STRANGER = """
import sys
import numpy as np
import jax

assert "mnist_gan" not in sys.modules
file, given, out = sys.argv[1:]
step = jax.export.deserialize(open(file, "rb").read())
arrays = np.load(given)
leaves = [arrays[f"arr_{i}"] for i in range(len(arrays.files) - 1)]
images = arrays[f"arr_{len(leaves)}"]
for _ in range(2):
    leaves, losses = step.call(leaves, images)
np.savez(out, *leaves, *losses)
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    file = folder / "step.jaxexport"
    _export.write_export(
        "reference", batch_size=4, platforms=["cpu", "cuda", "tpu"], out=file
    )
    return file


def test_another_process_without_this_package_takes_the_same_steps(exported, tmp_path):
    recipe = RECIPES["reference"]
    state = _game.init(recipe, 0)
    images = np.random.default_rng(0).integers(0, 256, (4, 28, 28), np.uint8)
    given, out = tmp_path / "given.npz", tmp_path / "out.npz"
    np.savez(given, *map(np.asarray, _export.flatten(state)), images)
    done = subprocess.run(
        [sys.executable, "-c", STRANGER, exported, given, out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    update = jax.jit(_game.update(recipe, place(1).mesh))
    for _ in range(2):
        state, losses = update(state, [images])
    wanted = [*_export.flatten(state), losses.gen[0], losses.disc[0]]
    with np.load(out) as found:
        for i, value in enumerate(wanted):
            np.testing.assert_allclose(
                found[f"arr_{i}"], value, rtol=1e-5, atol=1e-6, err_msg=str(i)
            )


def test_the_file_beside_it_says_what_goes_in(exported):
    about = json.loads((exported.parent / "step.jaxexport.json").read_text())
    assert about["platforms"] == ["cpu", "cuda", "tpu"]
    names = [entry["name"] for entry in about["takes"]]
    assert names[0] == "params/gen/reference_generator/conv2_d_transpose/b"
    assert names[-3:] == ["key", "step", "images"]
    assert about["takes"][-1] == {
        "name": "images",
        "shape": [4, 28, 28],
        "dtype": "uint8",
    }
    assert about["returns"][-2:] == ["gen_loss", "disc_loss"]


def test_the_command(call, tmp_path):
    file = tmp_path / "new" / "step"
    said = call("compile", "--platform", "cpu", "--batch-size", 2, "--out", file)
    assert (said.code, said.out) == (0, f"{file}, {file}.json\n")


@pytest.mark.parametrize(("platform", "odd"), [("cpu,gpu", "gpu"), ("", "")])
def test_an_unknown_platform_is_said(call, tmp_path, platform, odd):
    said = call("compile", "--platform", platform, "--out", tmp_path / "x")
    assert said.code == 2
    assert f"there is no {odd!r}; take some of cpu,cuda,rocm,tpu" in said.err
    assert not list(tmp_path.iterdir())
