import numpy as np
import pyarrow as pa

from arrow_jax._column import prepare


def test_limits_are_those_of_what_is_there():
    column = prepare("c", [pa.array([3, None, -4]), pa.array([9])])
    assert column.limits == (-4, 9)
    ragged = prepare("c", [pa.array([[1, 7], None, [2, None]])])
    assert ragged.limits == (1, 7)
    assert prepare("c", [pa.array([], pa.int64())]).limits == (0, 0)
    floats = prepare("c", [pa.array([1.0, float("inf"), float("nan"), -2.0])])
    assert floats.limits == (-2, 1)


def test_limits_leave_out_what_masks_hide():
    values = pa.array([1, 100, 2], mask=np.array([False, True, False]))
    array = pa.FixedSizeListArray.from_arrays(values, 1)
    assert prepare("c", [array]).limits == (1, 2)


def test_a_range_within_a_chunk_is_a_view():
    array = pa.array(np.arange(200_000.0))
    column = prepare("c", [array, array])
    assert len(column) == 400_000
    inside = column.gather(range(10, 20)).values
    assert inside.__array_interface__["data"][0] == array.buffers()[1].address + 80
    across = column.gather(range(199_999, 200_001)).values
    assert across.tolist() == [199_999, 0]
