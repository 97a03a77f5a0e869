"""The harness beside pytest-xdist and pytest-randomly, in sessions of their own."""

TESTS = """
    import os, jax, pytest
    from chex_harness import assert_compiles

    @pytest.mark.parametrize("n", [2, 4, 8])
    def test_devices(devices, mesh, n):
        assert len(devices) == 8 and mesh.size == 8

    @pytest.mark.devices(3)
    @pytest.mark.variants("jit", "shard_map")
    def test_variants(variant):
        assert variant(lambda x: x + 1)(1) == 2

    @pytest.mark.processes(2, devices=1)
    def test_processes(tmp_path):
        assert jax.device_count() == 2 and tmp_path.exists()

    def test_leaves_something_wrong():
        with assert_compiles(1):
            raise KeyError
"""
README = (
    "```python\nx = 1\n```\n```python\ny = x + 1\n```\n```python\nassert y == 2\n```\n"
)


def run(pytester, *args):
    pytester.makepyfile(TESTS)
    pytester.path.joinpath("README.md").write_text(README)
    named = ("-p", "no:cacheprovider", "README.md", ".")
    return pytester.runpytest_subprocess(*named, *args)


def test_workers_of_xdist_have_the_devices_and_whole_readmes(pytester):
    result = run(pytester, "-n2")
    result.assert_outcomes(passed=9, failed=1)
    result.stdout.fnmatch_lines(["*KeyError*"])


def test_any_order_gives_the_same(pytester):
    result = run(
        pytester,
        "-p",
        "randomly",
        "-p",
        "no:xdist",
        "-p",
        "randomly",
        "-k",
        "not processes",
    )
    result.assert_outcomes(passed=8, failed=1, deselected=1)
    result.stdout.fnmatch_lines(["Using --randomly-seed=*"])
