import numpy as np

from arrow_jax import Buckets, Pack
from arrow_jax._block_order import BlockOrder
from arrow_jax._choose_order import choose_order
from arrow_jax._order import RowOrder
from arrow_jax._split_order import SplitOrder
from arrow_jax._stream import Sequential


def test_each_form_has_its_order_and_says_so():
    def of(form):
        block = form and (form, np.array([1, 2, 3]))
        return choose_order(Sequential(3), epochs=1, last="mask", block=block)

    assert isinstance(of(None), RowOrder)
    assert isinstance(of(Buckets([3])), BlockOrder)
    assert isinstance(of(Pack(3)), BlockOrder)
    assert isinstance(of(Pack(3, split=True)), SplitOrder)
    described = [of(f).describe() for f in (None, Buckets([3]), Pack(3), Pack(4))]
    assert all(a != b for i, a in enumerate(described) for b in described[:i])
