import numpy as np

from arrow_jax import Masked
from arrow_jax._join_parts import join_host, join_parts
from arrow_jax._step import Draft, Layout


def test_rows_go_where_they_belong():
    parts = [
        (
            np.array([2, 0]),
            {"x": Masked(np.array([20, 0]), np.array([True, False]))},
            {},
        ),
        (np.array([1]), {"x": Masked(np.array([10]), np.array([True]))}, {}),
    ]
    joined = join_parts(parts, Draft(range(3), 3, 3))
    assert joined["x"].values.tolist() == [0, 10, 20]
    assert joined["x"].valid.tolist() == [False, True, True]
    assert joined["x"].values.ctypes.data % 64 == 0


def test_packed_parts_are_laid_over_each_other():
    layout = Layout(*[np.zeros(2, np.int64)] * 4)
    parts = [
        (np.array([0]), {"t": np.array([[1, 0]]), "m": np.array([[True, False]])}, {}),
        (np.array([1]), {"t": np.array([[0, 2]]), "m": np.array([[False, True]])}, {}),
    ]
    joined = join_parts(parts, Draft(np.arange(2), 1, 1, layout=layout))
    assert joined["t"].tolist() == [[1, 2]]
    assert joined["m"].tolist() == [[True, True]]


def test_what_stays_keeps_its_kind():
    parts = [
        (np.array([2, 0]), {}, {"s": ["c", "a"], "n": np.array([2, 0])}),
        (np.array([1]), {}, {"s": ["b"], "n": np.array([1])}),
    ]
    joined = join_host(parts)
    assert joined["s"] == ["a", "b", "c"]
    assert joined["n"].tolist() == [0, 1, 2]
    assert join_host(parts[:1])["s"] == ["c", "a"]
