import numpy as np
import pyarrow.parquet as pq

from mnist_gan._metrics import Metrics, Row


def metrics(tmp_path, after):
    return Metrics(tmp_path / "m.parquet", tmp_path / "events", after=after)


def test_rows_after_the_checkpoint_are_dropped_on_resume(tmp_path):
    first = metrics(tmp_path, None)
    for step in range(1, 6):
        first.add(Row(step, step / 2, 1.0, 100.0, 0.0))
    first.write()
    first.close()

    again = metrics(tmp_path, 3)
    again.add(Row(4, 9.0, 1.0, 100.0, 0.0))
    again.write()
    again.close()
    table = pq.read_table(tmp_path / "m.parquet")
    np.testing.assert_array_equal(table["step"], [1, 2, 3, 4])
    np.testing.assert_array_equal(table["disc_loss"], [0.5, 1.0, 1.5, 9.0])


def test_a_new_run_starts_empty(tmp_path):
    first = metrics(tmp_path, None)
    first.write()
    first.close()
    assert pq.read_table(tmp_path / "m.parquet").num_rows == 0
