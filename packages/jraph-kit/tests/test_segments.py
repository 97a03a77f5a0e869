import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jraph_kit as jk

OPS = {
    "sum": jk.segment_sum,
    "mean": jk.segment_mean,
    "variance": jk.segment_variance,
    "max": jk.segment_max,
    "min": jk.segment_min,
    "logsumexp": jk.segment_logsumexp,
}
BY_ROW = {"softmax": jk.segment_softmax, "normalize": jk.segment_normalize}
ALL = OPS | BY_ROW
each = pytest.mark.parametrize("name", ALL)

IDS = np.array([3, 0, 3, 1, 3, 0, 5, 3], np.int32)  # 2 and 4 are empty
DATA = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")


def oracle(name, data, ids, n):
    """A loop over segments in float64."""
    data = data.astype(np.float64)
    empty = {"logsumexp": -np.inf}.get(name, 0.0)
    whole = {
        "sum": lambda x: x.sum(0),
        "mean": lambda x: x.mean(0),
        "variance": lambda x: x.var(0),
        "max": lambda x: x.max(0),
        "min": lambda x: x.min(0),
        "logsumexp": lambda x: np.log(np.exp(x).sum(0)),
        "softmax": lambda x: np.exp(x) / np.exp(x).sum(0),
        "normalize": lambda x: (x - x.mean(0)) / np.sqrt(np.maximum(x.var(0), 1e-8)),
    }[name]
    rows = [ids == i for i in range(n)]
    if name in BY_ROW:
        out = np.zeros_like(data)
        for row in rows:
            if row.any():
                out[row] = whole(data[row])
        return out
    wanted = [
        whole(data[r]) if r.any() else np.full(data.shape[1:], empty) for r in rows
    ]
    return np.stack(wanted)


@each
@pytest.mark.parametrize("trailing", [(), (3,), (3, 2)], ids=str)
def test_equals_a_loop_over_segments(name, trailing):
    data = np.random.default_rng(1).normal(size=(8, *trailing)).astype("float32")
    found = ALL[name](data, IDS, 6)
    np.testing.assert_allclose(found, oracle(name, data, IDS, 6), atol=1e-5)


@each
def test_sorted_ids_change_nothing(name):
    order = np.argsort(IDS, kind="stable")
    plain = ALL[name](DATA[order], IDS[order], 6)
    fast = ALL[name](DATA[order], IDS[order], 6, indices_are_sorted=True)
    np.testing.assert_allclose(fast, plain, rtol=1e-6)


def test_sorted_ids_reach_xla():
    def text(**how):
        return str(jax.make_jaxpr(lambda x: jk.segment_sum(x, IDS, 6, **how))(DATA))

    assert "indices_are_sorted=True" in text(indices_are_sorted=True)
    assert "indices_are_sorted=True" not in text()


@pytest.mark.parametrize("name", OPS)
def test_ids_out_of_range_are_dropped(name):
    beyond = np.concatenate([IDS, [-1, 6, 100]]).astype("int32")
    data = np.concatenate([DATA, np.full((3, 3), 50.0, "float32")])
    np.testing.assert_allclose(
        OPS[name](data, beyond, 6), OPS[name](DATA, IDS, 6), rtol=1e-6
    )


@each
def test_one_id_for_each_row_is_wanted(name):
    for ids in (IDS[:7], IDS[:1], np.zeros((8, 3), int)):
        with pytest.raises(jk.GraphsError, match="wanted one id for each row"):
            ALL[name](DATA, ids, 6)
    with pytest.raises(jk.GraphsError, match=r"shape \[1, 3\] and segment_ids \[8\]"):
        ALL[name](DATA[:1], IDS, 6)


def test_negative_ids_stay_sorted():
    """As told to XLA: none may be moved behind the others."""
    ids = jnp.array([-1, 0, 1])
    text = str(jax.make_jaxpr(lambda i: jk.segment_sum(jnp.ones(3), i, 2))(ids))
    assert "select_n" not in text


@each
def test_gradients_are_those_of_finite_differences(name):
    weights = np.cos(np.arange(24.0)).reshape(8, 3)
    empty = {"empty": 0.0} if name in {"max", "min", "logsumexp"} else {}

    def loss(data):
        out = ALL[name](data, IDS, 6, **empty)
        return jnp.sum(out * jnp.asarray(weights[: out.shape[0]], out.dtype))

    with jax.enable_x64(new_val=True):
        data = jnp.asarray(DATA, jnp.float64)
        found = jax.grad(loss)(data)
        step = 1e-6
        for i, j in [(0, 0), (1, 2), (3, 1), (6, 0), (7, 2)]:
            move = np.zeros((8, 3))
            move[i, j] = step
            wanted = (loss(data + move) - loss(data - move)) / (2 * step)
            np.testing.assert_allclose(found[i, j], wanted, atol=2e-7)


@each
def test_gradients_are_finite_at_equal_rows_infinities_and_empty_segments(name):
    flat = jnp.zeros((8, 3))
    low = flat.at[3].set(-jnp.inf) if name in {"softmax", "logsumexp", "max"} else flat

    def loss(data):
        out = ALL[name](data, IDS, 6)
        return jnp.sum(jnp.where(jnp.isfinite(out), out, 0.0))

    for data in (flat, low):
        assert np.isfinite(jax.grad(loss)(data)).all()


def test_rows_that_share_an_extreme_share_its_gradient():
    def loss(x):
        return jnp.sum(jk.segment_max(x, np.array([0, 0, 0]), 2))

    assert jax.grad(loss)(jnp.array([1.0, 2.0, 2.0])).tolist() == [0, 0.5, 0.5]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_narrow_floats_are_accumulated_in_float32(dtype):
    ones = jnp.ones(4096, dtype)
    ids = np.zeros(4096, np.int32)
    found = jk.segment_sum(ones, ids, 1)
    assert found.dtype == dtype
    assert float(found[0]) == 4096
    assert float(jk.segment_mean(ones * jnp.asarray(3, dtype), ids, 1)[0]) == 3
    assert float(jk.segment_logsumexp(jnp.zeros(4096, dtype), ids, 1)[0]) == (
        float(jnp.asarray(np.log(4096), dtype))
    )
    total = jnp.sum(jk.segment_softmax(ones, ids, 1).astype("float32"))
    assert float(total) == pytest.approx(1, abs=2e-3)


def test_narrow_integers_do_not_wrap_and_booleans_are_counted():
    ids = np.zeros(300, np.int32)
    assert jk.segment_sum(jnp.ones(300, "int8"), ids, 1).tolist() == [300]
    assert jk.segment_sum(jnp.ones(300, bool), ids, 1).tolist() == [300]
    assert jk.segment_mean(jnp.ones(300, bool), ids, 2).tolist() == [1.0, 0.0]
    assert jk.segment_max(jnp.ones(300, "uint8"), ids, 2).tolist() == [1, 0]
    assert jk.segment_max(jnp.zeros(300, bool), ids, 2, empty=True).tolist() == [0, 1]


def test_empty_segments_have_the_value_that_is_asked_for():
    assert jk.segment_max(DATA, IDS, 6, empty=-jnp.inf)[2].tolist() == [-np.inf] * 3
    assert jk.segment_min_or_constant(DATA, IDS, 6, constant=7.0)[4, 0] == 7
    assert jk.segment_max_or_constant(DATA, IDS, 6, constant=-7.0)[4, 0] == -7


def test_no_rows_at_all():
    none = jnp.zeros((0, 2))
    for op in OPS.values():
        assert op(none, jnp.zeros(0, int), 3).shape == (3, 2)
    assert jk.segment_sum(none, jnp.zeros(0, int)).shape == (0, 2)


def test_the_number_of_segments_is_found_outside_jit():
    assert jk.segment_sum(DATA, IDS).shape == (6, 3)


def test_nan_stays_in_its_segment():
    data = np.where(IDS[:, None] == 3, np.nan, DATA).astype("float32")
    for name, op in OPS.items():
        found, wanted = op(data, IDS, 6), oracle(name, DATA, IDS, 6)
        np.testing.assert_allclose(
            np.delete(found, 3, 0), np.delete(wanted, 3, 0), 1e-4
        )


def test_partition_softmax():
    found = jk.partition_softmax(DATA, np.array([2, 0, 6]), 8)
    ids = np.repeat([0, 1, 2], [2, 0, 6])
    np.testing.assert_allclose(found, oracle("softmax", DATA, ids, 3), rtol=1e-5)


KINDS = {"auto": jax.sharding.AxisType.Auto, "explicit": jax.sharding.AxisType.Explicit}
SPECS = [
    (P("data"), P("data")),
    (P(), P("data")),
    (P(None, "data"), P("data")),
]


@each
@pytest.mark.devices(4)
@pytest.mark.parametrize("kind", KINDS)
def test_sharded_rows_give_the_same_values_and_gradients(name, kind, devices):
    mesh = jax.make_mesh((4,), ("data",), axis_types=(KINDS[kind],), devices=devices)
    data = np.random.default_rng(2).normal(size=(8, 4)).astype("float32")

    def loss(data, ids):
        out = ALL[name](data, ids, 6)
        return jnp.sum(jnp.where(jnp.isfinite(out), jnp.sin(out), 0.0))

    both = jax.jit(
        lambda d, i: (ALL[name](d, i, 6), jax.grad(loss)(d, i)),
        compiler_options={"xla_backend_optimization_level": 0},
    )
    wanted = both(data, IDS)
    with jax.set_mesh(mesh):
        for data_spec, ids_spec in SPECS if kind == "explicit" else SPECS[:1]:
            sharded = jax.device_put(data, NamedSharding(mesh, data_spec))
            ids = jax.device_put(IDS, NamedSharding(mesh, ids_spec))
            for a, b in zip(both(sharded, ids), wanted, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-5)


@each
@pytest.mark.devices(4)
def test_rows_spread_over_devices_reduce_as_on_one(name, mesh):
    data = np.random.default_rng(2).normal(size=(8, 4)).astype("float32")

    def loss(data, ids, how):
        out = ALL[name](data, ids, 6, **how)
        total = jnp.sum(jnp.where(jnp.isfinite(out), jnp.sin(out), 0.0))
        if how and name in BY_ROW:  # each device has its own rows
            total = jax.lax.psum(total, "data")
        return total

    spread = jax.shard_map(
        lambda data, ids: loss(data, ids, {"axis_name": "data"}),
        mesh=mesh,
        in_specs=(P("data"), P("data")),
        out_specs=P(),
    )
    wanted = jax.value_and_grad(lambda data: loss(data, IDS, {}))(jnp.asarray(data))
    found = jax.jit(jax.value_and_grad(lambda data: spread(data, IDS)))
    with jax.set_mesh(mesh):
        lies = NamedSharding(mesh, P("data"))
        spread = jax.jit(spread, in_shardings=(lies, lies))
        for a, b in zip(found(jax.device_put(data, lies)), wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)


def test_nan_and_infinity_spoil_their_segment_and_no_other():
    ids = np.array([0, 0, 1])
    found = jk.segment_softmax(np.array([np.nan, 1, 2], "float32"), ids, 2)
    np.testing.assert_array_equal(found, [np.nan, np.nan, 1])
    found = jk.segment_logsumexp(np.array([np.nan, 1, 2], "float32"), ids, 3, empty=-9)
    np.testing.assert_array_equal(found, [np.nan, 2, -9])
    assert float(jk.segment_logsumexp([np.inf, 1.0], [0, 0], 1)[0]) == np.inf


@each
def test_rows_of_no_segment_have_no_value_and_no_gradient(name):
    """Such as the edges that make up the number for all devices."""
    beyond = np.concatenate([IDS, [-1, 6, 100]]).astype("int32")
    far = np.concatenate([DATA, np.array([[1e3], [1e30], [np.nan]]) * np.ones(3)])

    def loss(data, ids):
        out = ALL[name](data, ids, 6)
        return jnp.sum(jnp.where(jnp.isfinite(out), jnp.sin(out), 0.0)), out

    both = jax.grad(loss, has_aux=True)
    (found, out), (wanted, _) = (
        both(jnp.asarray(far, "float32"), beyond),
        both(DATA, IDS),
    )
    np.testing.assert_allclose(found[:8], wanted, rtol=1e-5, atol=1e-6)
    assert not found[8:].any()
    if name in BY_ROW:
        assert not out[8:].any()


def test_means_count_rows_beyond_float32():
    n = 2**24 + 2**23
    data = np.zeros(n, "float32")
    data[0] = n
    assert float(jk.segment_mean(data, np.zeros(n, np.int32), 1)[0]) == 1


@each
def test_ids_are_integers_of_any_width(name):
    wanted = ALL[name](DATA, IDS, 300)
    for dtype in ("int8", "uint8", "uint32"):
        np.testing.assert_array_equal(ALL[name](DATA, IDS.astype(dtype), 300), wanted)
    for ids in (IDS > 2, IDS.astype("float32")):
        with pytest.raises(
            jk.GraphsError, match=r"segment_ids are .*; wanted integers"
        ):
            ALL[name](DATA, ids, 6)
    if name not in BY_ROW:
        assert len(ALL[name](DATA[:1], [-5])) == 0
    for n in (-5, 2.5):
        with pytest.raises(jk.GraphsError, match=f"num_segments is {n}; wanted an int"):
            ALL[name](DATA, IDS, n)
    with pytest.raises(jk.GraphsError, match=r"num_segments is .*; wanted an integer"):
        jax.jit(ALL[name])(DATA, IDS, 6)
    with pytest.raises(jk.GraphsError, match=r"num_segments is None, .*; give it"):
        jax.jit(ALL[name])(DATA, IDS)


@each
def test_no_rows_and_no_segments(name):
    none = ALL[name]([], [], 2)
    assert none.shape == ((0,) if name in BY_ROW else (2,))
    found = ALL[name](DATA, IDS, 0)
    assert found.shape == ((8, 3) if name in BY_ROW else (0, 3))
    assert not found.any()


def test_complex_numbers_are_added_up_only():
    data = np.array([1 + 2j, 3 + 4j], "complex64")
    assert jk.segment_sum(data, [0, 0], 1).tolist() == [4 + 6j]
    for name in ALL.keys() - {"sum"}:
        with pytest.raises(jk.GraphsError, match=r"complex64; wanted real numbers"):
            ALL[name](data, [0, 0], 1)
    with pytest.raises(jk.GraphsError, match=r"complex64; wanted real numbers"):
        jk.masked_mean(data, [True, True])


def test_partitions_that_do_not_add_up_leave_rows_out():
    assert jk.partition_softmax(np.ones(4, "float32"), [1, 2]).tolist() == [
        1,
        0.5,
        0.5,
        0,
    ]
    with pytest.raises(jk.GraphsError, match="sum_partitions is 3, and there are 4"):
        jk.partition_softmax(np.ones(4, "float32"), [1, 3], 3)
