import jax
import pytest
from jax.experimental import multihost_utils

from chex_harness import Outcome
from chex_harness._process_tests import verdict


@pytest.mark.parametrize("n", [3])
@pytest.mark.processes(2, devices=3)
def test_the_body_runs_in_every_process(n, tmp_path):
    assert (jax.process_count(), jax.device_count()) == (2, 2 * n)
    (tmp_path / str(jax.process_index())).touch()
    multihost_utils.sync_global_devices("both wrote")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0", "1"]


class TestMethods:
    @pytest.mark.processes(1, devices=5)
    def test_a_method_runs_too(self):
        assert jax.device_count() == 5


FAILING = """
    import jax, pytest, threading, time
    @pytest.mark.processes(2, devices=1)
    def test_one_fails():
        me = jax.process_index()
        if me == 1:
            assert me == 7
        time.sleep(60)
    @pytest.mark.processes(1)
    def test_skips(): pytest.skip("not here")
    @pytest.fixture
    def lock(): return threading.Lock()
    @pytest.mark.processes
    def test_fixture(lock): pass
"""


def test_failures_skips_and_what_cannot_travel(pytester):
    pytester.makepyfile(FAILING)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-rs")
    result.assert_outcomes(failed=2, skipped=1)
    result.stdout.fnmatch_lines_random(
        [
            "process 1 raised AssertionError*",
            "*assert me == 7",
            "*  me = 1",
            "process 0 was still running 2 s after process 1 raised AssertionError*",
            "*process 0: not here",
            "argument 'lock' of test_fixture, a lock, cannot be taken*",
        ]
    )
    text = result.stdout.str()
    assert "During handling" not in text
    assert text.count("process 1 raised AssertionError, after") == 1


SKIPPING = """
    import jax, os, pytest, time
    @pytest.mark.processes(2, devices=1)
    def test_skip_and_assert():
        if jax.process_index() == 0:
            pytest.skip("not here")
        time.sleep(0.5)
        assert jax.process_index() == 7
    @pytest.mark.processes(2, devices=1)
    def test_skip_and_exit():
        if jax.process_index() == 0:
            pytest.skip("not here")
        os._exit(9)
    @pytest.mark.processes(2, devices=1)
    def test_skip_and_return():
        if jax.process_index() == 1:
            pytest.skip("not here")
    @pytest.mark.processes(2, devices=1)
    def test_all_skip():
        time.sleep(1.5 * jax.process_index())
        pytest.skip("nowhere")
"""


def test_any_failure_wins_over_a_skip_and_only_all_skip_together(pytester):
    pytester.makepyfile(SKIPPING)
    result = pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "-p", "no:randomly", "-rs"
    )
    result.assert_outcomes(failed=3, skipped=1)
    wanted = "a test is skipped if all its processes skip: "
    result.stdout.fnmatch_lines(
        [
            wanted + "process 0 did (not here), process 1 did not*",
            "process 1 raised AssertionError*",
            wanted + "process 0 did (not here), process 1 did not*",
            "process 1 exited with code 9*",
            wanted + "process 1 did (not here), process 0 did not*",
            "process 0 returned*",
            "SKIPPED*process 0: nowhere",
        ]
    )


EXPECTED = """
    import jax, pytest, time
    from jax.experimental import multihost_utils
    @pytest.mark.processes(2, devices=1, timeout=30)
    def test_xfail_and_wait():
        if jax.process_index() == 0:
            pytest.xfail("known")
        multihost_utils.sync_global_devices("never")
    @pytest.mark.processes(2, devices=1, timeout=30)
    def test_skip_and_wait():
        if jax.process_index() == 0:
            pytest.skip("not here")
        time.sleep(60)
    @pytest.mark.xfail(reason="marked", strict=True)
    @pytest.mark.processes(0)  # fails without a start
    def test_marked():
        pass
    @pytest.mark.xfail(raises=AssertionError)
    @pytest.mark.processes(0)
    def test_marked_raises():
        pass
"""


def test_an_expected_failure_is_one_unless_another_process_fails(pytester):
    pytester.makepyfile(EXPECTED)
    result = pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "-p", "no:randomly", "-rx"
    )
    result.assert_outcomes(xfailed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "a test is skipped if all its processes skip: process 0 did (not here)*",
            "process 1 was still running 2 s after process 0 skipped (not here), and*",
            "*xfail(raises=AssertionError) cannot tell what a process raises*leave*",
            "XFAIL*test_xfail_and_wait - *process 0: known; process 1 was ended*",
            "XFAIL*test_marked - marked",
        ]
    )
    assert "was stuck" not in result.stdout.str()


def outcome(index, fate):
    match fate:
        case "skip":
            return Outcome(process=index, status="raised", error="Skipped", message="s")
        case "xfail":
            return Outcome(process=index, status="raised", error="XFailed", message="x")
        case "assert":
            return Outcome(process=index, status="raised", error="AssertionError")
        case "kill":
            return Outcome(process=index, status="killed", message="2 s after that")
    return Outcome(process=index, status=fate)


KILLED = "process 1: x; process 0, 2 was ended, still running 2 s after that"


@pytest.mark.parametrize(
    ("fates", "wanted"),
    [
        ("skip skip", ("skip", "process 0: s")),
        ("returned xfail", ("xfail", "process 1: x")),
        ("skip xfail xfail", ("xfail", "process 1: x")),
        ("kill xfail kill", ("xfail", KILLED)),
        ("xfail assert", ("fail", "told")),
        ("xfail died kill", ("fail", "told")),
        ("xfail stuck", ("fail", "told")),
        ("", ("fail", "told")),
    ],
)
def test_a_failing_process_wins_over_one_that_xfails(fates, wanted):
    outcomes = [outcome(i, fate) for i, fate in enumerate(fates.split())]
    assert verdict(outcomes, "told") == wanted
    assert verdict(outcomes[::-1], "told") == wanted  # the order is by cause


def test_a_skip_beside_what_is_no_skip_is_told():
    outcomes = [outcome(i, f) for i, f in enumerate(["xfail", "skip", "assert"])]
    told = "process 1 did (s), process 0, 2 did not\n\ntold"
    how, text = verdict(outcomes, "told")
    assert (how, text.partition(": ")[2]) == ("fail", told)


RUN_XFAIL = """
    import jax, pytest
    @pytest.mark.processes(1)
    def test_goes_on():
        pytest.xfail("known")
        assert jax.process_index() == 7
"""


def test_runxfail_holds_in_processes_too(pytester):
    pytester.makepyfile(RUN_XFAIL)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--runxfail")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["process 0 raised AssertionError*"])


WRONG = {
    "processes(0)": "processes=0",
    "processes('2')": "processes='2'",
    "processes(1, 2, 3)": "processes() takes from 0 to 2 positional arguments",
    "processes(1, check=False)": "check=False",
    "processes(1, args=(1,))": "args=(1,)",
    "processes(1, walls=2)": "walls",
}


def test_wrong_markers_are_told_without_a_traceback(pytester):
    pytester.makepyfile(
        "import pytest\n"
        + "".join(
            f"@pytest.mark.{marker}\ndef test_{i}(): pass\n"
            for i, marker in enumerate(WRONG)
        )
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=len(WRONG))
    text = result.stdout.str()
    assert "Traceback" not in text
    assert "_process_tests.py" not in text
    assert text.count("E   ") == 0
    for told in WRONG.values():
        assert told in text
