import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from matplotlib.image import imread

from rlax_agents import _curves
from rlax_agents._curves import (
    MetricsError,
    draw_returns,
    missing_extra,
    number,
    read_metrics,
    write_metrics,
)

NAN = np.nan
METRICS = {
    "step": np.arange(1, 5, dtype=np.int64) * 100,
    "episode_return": np.array([NAN, 0.1, 0.5, 0.7], np.float32),
    "loss": np.array([NAN, np.inf, 0.1, -0.0], np.float32),
    "steps_per_second": np.array([NAN, 1e5, 2e5, 1e5]),
}


def test_metrics_come_back_bit_by_bit(tmp_path):
    write_metrics(tmp_path / "m.parquet", METRICS)
    found = read_metrics(tmp_path / "m.parquet")
    assert list(found) == list(METRICS)
    for name, column in METRICS.items():
        assert found[name].dtype == column.dtype
        np.testing.assert_array_equal(found[name], column)


def test_what_is_not_known_is_null_but_a_loss_that_is_nan_is_not(tmp_path):
    write_metrics(tmp_path / "m.parquet", METRICS)
    table = pq.read_table(tmp_path / "m.parquet")
    assert table["episode_return"].null_count == 1
    assert table["steps_per_second"].null_count == 1
    assert table["loss"].null_count == 0


def test_a_damaged_and_a_foreign_file_are_named(tmp_path):
    path = tmp_path / "m.parquet"
    write_metrics(path, METRICS)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(MetricsError, match=r"m\.parquet: no Parquet file, or a dam"):
        read_metrics(path)
    write_metrics(path, {"x": np.zeros(2)})
    with pytest.raises(MetricsError, match=r"columns \['x'\], wanted step and episode"):
        read_metrics(path)


def colours(path):
    picture = np.rint(imread(path)[..., :3] * 255).astype(int)
    return {tuple(c) for c in picture.reshape(-1, 3)[::1].tolist()}


def rgb(name):
    return tuple(bytes.fromhex(getattr(_curves, name).removeprefix("#")))


def test_the_picture_has_the_curve_and_the_target(tmp_path):
    with_line, without = tmp_path / "a.png", tmp_path / "b.png"
    draw_returns(with_line, METRICS, title="t", target=0.9, evaluated=0.8)
    draw_returns(without, METRICS, title="t", target=None)
    assert imread(without).shape[:2] == (672, 1152)
    assert rgb("_LINE") in colours(with_line) & colours(without)
    assert rgb("_GOAL") in colours(with_line) - colours(without)


def test_a_run_of_one_update_without_an_episode_has_a_picture(tmp_path):
    first = {name: column[:1] for name, column in METRICS.items()}
    draw_returns(tmp_path / "a.png", first, title="t", target=-250.0)
    assert rgb("_GOAL") in colours(tmp_path / "a.png")


@pytest.mark.parametrize(
    ("value", "said"),
    [(500.0, "500"), (0.99, "0.99"), (-178.345, "-178.3"), (-1234.5, "-1,234")],
)
def test_numbers_are_short(value, said):
    assert number(value) == said


def test_a_missing_extra_is_found(monkeypatch):
    assert missing_extra() is None
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert missing_extra() == "pyarrow"
