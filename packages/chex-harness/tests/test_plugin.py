import subprocess
import sys

import pytest


def run(pytester, *args):
    """Runs pytest in a process of its own, where jax has not started."""
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)


def test_the_session_has_eight_cpu_devices(devices):
    assert len(devices) == 8


@pytest.mark.devices(3)
def test_the_marker_hands_over_exactly_n(devices, mesh):
    assert len(devices) == 3
    assert mesh.shape == {"data": 3}


def test_flags_and_variables_of_the_user_do_not_win(pytester, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "3")
    pytester.makeconftest("import os; os.environ['XLA_FLAGS'] = ''; import jax")
    pytester.makepyfile("def test_it(devices): assert len(devices) == 8")
    run(pytester).assert_outcomes(passed=1)


def test_the_option_sets_the_number(pytester):
    pytester.makepyfile("def test_it(devices): assert len(devices) == 2")
    run(pytester, "--cpu-devices=2").assert_outcomes(passed=1)


@pytest.mark.parametrize(("before", "cheap"), [(None, True), ("0", False)])
def test_cheap_compiles_are_asked_of_jax_unless_the_user_says_otherwise(
    pytester, monkeypatch, before, cheap
):
    name = "JAX_DISABLE_MOST_OPTIMIZATIONS"
    monkeypatch.delenv(name, raising=False)
    if before:
        monkeypatch.setenv(name, before)
    pytester.makeini("[pytest]\ncheap_compiles = true")
    pytester.makepyfile(f"""
        import jax

        def test_it(devices):
            assert jax.config.values["{name.lower()}"] is {cheap}
    """)
    run(pytester).assert_outcomes(passed=1)


def test_compiles_are_not_cheap_unless_asked_for(pytester, monkeypatch):
    monkeypatch.delenv("JAX_DISABLE_MOST_OPTIMIZATIONS", raising=False)
    pytester.makepyfile("""
        import jax

        def test_it(devices):
            assert not jax.config.values["jax_disable_most_optimizations"]
    """)
    run(pytester).assert_outcomes(passed=1)


def test_too_few_devices_is_a_failure_that_says_what_to_type(pytester):
    pytester.makepyfile("""
        import pytest
        @pytest.mark.devices(4)
        def test_it(mesh): pass
    """)
    result = run(pytester, "--cpu-devices=2")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*devices(4) and jax has 2*--cpu-devices=4*"])


def test_jax_started_too_early_is_a_usage_error(pytester, monkeypatch):
    monkeypatch.delenv("JAX_NUM_CPU_DEVICES")
    pytester.makepyfile(early="import jax; jax.devices()")
    pytester.syspathinsert()
    pytester.makepyfile("def test_it(): pass")
    program = "import early, sys, pytest; sys.exit(pytest.main(['-q']))"
    result = pytester.run(sys.executable, "-c", program)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*jax has already started, with 1 CPU device(s)*"])


def test_loading_the_plugin_loads_no_jax():
    heavy = "bool({'jax', 'numpy'} & set(sys.modules))"
    program = f"import chex_harness._plugin, sys; sys.exit({heavy})"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_check_for_jax_can_fail():
    program = "import chex_harness._trees, sys; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 1


SKIPS = """
    import pytest
    @pytest.mark.skip(reason="no reason")
    def test_marked(): pass
    def test_skipped(): pytest.skip("half way")
    def test_passed(): pass
    @pytest.mark.xfail(strict=True)
    def test_expected(): assert False
"""


def test_skips_are_allowed_by_default(pytester):
    pytester.makepyfile(SKIPS)
    run(pytester).assert_outcomes(passed=1, skipped=2, xfailed=1)


def test_forbid_skips_turns_a_skip_into_a_failure(pytester):
    pytester.makepyfile(SKIPS)
    result = run(pytester, "--forbid-skips")
    result.assert_outcomes(passed=1, errors=1, failed=1, xfailed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_marked was skipped under --forbid-skips*no reason*",
            "*test_skipped was skipped under --forbid-skips*half way*",
        ]
    )


def test_forbid_skips_sees_a_skipped_module(pytester):
    pytester.makepyfile("import pytest; pytest.importorskip('no_such_module_here')")
    result = run(pytester, "--forbid-skips")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no_such_module_here*"])
