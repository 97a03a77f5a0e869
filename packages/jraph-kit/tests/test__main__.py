import subprocess
import sys


def test_the_module_runs_and_a_wrong_file_is_no_traceback():
    run = [sys.executable, "-m", "jraph_kit", "inspect", "/no/such.parquet"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("jraph_kit: cannot read /no/such.parquet")
    assert "Traceback" not in done.stderr
