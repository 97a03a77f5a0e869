import jax
import pytest
from jax.experimental import multihost_utils


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
            "process 0 was still running when another had failed*",
            "*process 0: not here",
            "argument 'lock' of test_fixture, a lock, cannot be taken*",
        ]
    )
