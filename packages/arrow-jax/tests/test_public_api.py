import inspect
import subprocess
import sys

import pytest

import arrow_jax

HEAVY = (
    "PIL",
    "huggingface_hub",
    "yaml",
    "fsspec",
    "pandas",
    "polars",
    "datasets",
    "pyarrow.compute",
    "pyarrow.dataset",
)


def loaded_by(code):
    """The heavy modules in memory, and whether a backend runs, after some code."""
    report = (
        f"{code}\nimport sys, jax\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])\n"
        # jax refuses another number of devices once a backend runs.
        "try: print(jax.config.update('jax_num_cpu_devices', 3))\n"
        "except RuntimeError: print('a backend runs')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, check=True, text=True
    )
    return done.stdout.split("\n")[:2]


def test_all_is_what_can_be_seen():
    visible = [
        n
        for n, x in vars(arrow_jax).items()
        if not n.startswith("_") and not inspect.ismodule(x)
    ]
    assert sorted(arrow_jax.__all__) == sorted(visible)
    assert arrow_jax.__all__ == sorted(arrow_jax.__all__, key=str)


def test_only_private_modules_lie_inside():
    modules = [n for n, x in vars(arrow_jax).items() if inspect.ismodule(x)]
    assert all(name.startswith("_") for name in modules)


@pytest.mark.parametrize("name", arrow_jax.__all__)
def test_every_public_name_has_words_and_an_example(name):
    words = getattr(arrow_jax, name).__doc__
    assert ">>>" in words
    assert words.split("\n")[0].endswith(".")


def test_importing_is_light_and_touches_no_device():
    assert loaded_by("import arrow_jax") == ["[]", "None"]


def test_the_test_above_can_fail():
    assert loaded_by("import PIL, jax; jax.devices()") == ["['PIL']", "a backend runs"]


def test_numbers_need_no_pillow_and_images_say_what_to_type():
    code = (
        "import sys; sys.modules['PIL'] = None; sys.modules['fsspec'] = None\n"
        "from arrow_jax import *\n"
        "ds = Dataset.from_dict({'x': [1, 2]}); print(ds.with_format('jax')[0]['x'])\n"
        "im = Features({'im': Image(shape=(1, 1))})\n"
        "im = Dataset.from_dict({'im': [b'?']}, im)\n"
        "for f in (lambda: im.with_format('jax')[0], lambda: read_parquet('s3://x')):\n"
        "    try: f()\n"
        "    except ArrowJaxError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    number, vision, remote = done.stdout.strip().split("\n")
    assert number == "1"
    assert 'pip install "arrow-jax[vision]"' in vision
    assert 'pip install "arrow-jax[remote]"' in remote
