"""Two processes of four devices give what one device gives, and know when they do not.

One start of processes for all of it: `work` runs there, the tests look at what it
returned. Four processes of two devices do the same in the nightly session.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh

import arrow_jax
from chex_harness import assert_trees_close, run_processes
from mnist_gan import _agreement, _digits, _game, _runtime
from mnist_gan._checkpoints import Checkpoint, Checkpoints
from mnist_gan._devices import on_mesh, place
from mnist_gan._errors import HostsError
from mnist_gan._hosts import Hosts
from mnist_gan._interrupts import Interrupts
from mnist_gan._layout import layout
from mnist_gan._recipes import RECIPES

BATCH = 16
STEPS = 10
GREY = 2 / 255  # a step of grey, in [-1, 1]
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
RECIPE = RECIPES["reference"]
IN_BLOCKS = RECIPE._replace(blocks=8)
IMAGES = np.random.default_rng(0).integers(0, 256, (40, 28, 28), np.uint8)
# As on a v5e 4 x 4: the devices of one host are not neighbours.
TORUS = (0, 6, 1, 7, 4, 2, 5, 3)


def numbered():
    """Noise whose first pixel is the number of its row."""
    images = IMAGES.copy()
    images[:, 0, 0] = np.arange(len(images))
    return arrow_jax.Dataset.from_dict({"image": images})


def loader(placement, dataset=None):
    return arrow_jax.Loader(
        dataset or numbered(),
        BATCH,
        shuffle=True,
        seed=3,
        epochs=None,
        last="drop",
        sharding=placement.spread,
    )


def initial(placement, recipe):
    lies = layout(jax.eval_shape(lambda: _game.init(recipe, 0)), placement)
    return jax.jit(lambda: _game.init(recipe, 0), out_shardings=lies)()


def run(
    placement, recipe=RECIPE, *, steps=STEPS, dataset=None, state=None, options=None
):
    """Losses of some steps, the samples after them, and the state."""
    state = initial(placement, recipe) if state is None else state
    lies = layout(jax.eval_shape(lambda: state), placement)
    update = jax.jit(
        _game.update(recipe, placement.mesh),
        donate_argnums=0,
        in_shardings=(lies, placement.spread),
        out_shardings=(lies, placement.replicated),
        compiler_options=options,
    )
    losses = []
    with loader(placement, dataset) as batches, iter(batches) as it:
        for _ in range(steps):
            state, loss = update(state, [next(it)["image"]])
            losses.append([float(loss.gen[0]), float(loss.disc[0])])
        position = it.state()
    draw = jax.jit(
        lambda params: _game.networks(recipe).gen.apply(params, jnp.ones((2, 20))),
        out_shardings=placement.replicated,
    )
    samples = np.asarray(draw(state.average).addressable_data(0))
    return np.asarray(losses), samples, state, position


# Unoptimised, as programs of tests are, convolutions in float64 take long.
WIDE = {"xla_backend_optimization_level": 2}


def run_wide(placement):
    """In float64, where rounding leaves nothing to see: losses and samples."""
    state = initial(placement, RECIPE)
    with jax.enable_x64(True):  # noqa: FBT003  (as jax has it)
        state = jax.tree.map(
            lambda x: x.astype(float) if jnp.issubdtype(x.dtype, jnp.floating) else x,
            state,
        )
        return run(placement, state=state, options=WIDE)[:2]


def rows(placement):
    """The rows of the first two batches that this process holds: place -> row."""
    with loader(placement) as batches, iter(batches) as it:
        return [
            {
                (shard.index[0].start or 0) + i: int(row)
                for shard in next(it)["image"].addressable_shards
                for i, row in enumerate(np.asarray(shard.data)[:, 0, 0])
            }
            for _ in range(2)
        ]


def refused(hosts, facts):
    """What `check_same` says, if it does."""
    try:
        _agreement.check_same(hosts, facts, seconds=20)
    except HostsError as error:
        return str(error)
    return None


def from_another_thread(placement):
    """What jax says to a collective that is not the main thread's, in a run."""
    spread = jax.jit(
        lambda: jnp.zeros(jax.device_count()), out_shardings=placement.spread
    )
    with _runtime.runtime(_runtime.Join(), Interrupts()), ThreadPoolExecutor(1) as pool:
        return str(pool.submit(spread).exception())


def work(folder):
    hosts, found = Hosts(), {}
    whole = place(None, {"data": jax.device_count()})
    losses, samples, state, position = run(whole)
    found["losses"], found["samples"] = losses, samples
    found["wide"] = run_wide(whole)
    found["blocks"] = run(whole, IN_BLOCKS)[:2]
    devices = np.array(jax.devices())[list(TORUS)]
    permuted = on_mesh(Mesh(devices, ("data",), axis_types=(AxisType.Auto,)))
    found["rows"] = rows(whole), rows(permuted)

    split = place(None, {"data": jax.device_count() // 2, "model": 2})
    found["split"], _, state, position = run(split)
    checkpoints = Checkpoints(folder)
    checkpoints.save(Checkpoint(state, position))
    checkpoints.finish()
    checkpoints.close()

    found["same"] = refused(hosts, {"the state": _agreement.parts(state), "seed": 0})
    found["seed"] = refused(hosts, {"seed": hosts.index == 1})
    # Each host makes its own numbers and calls them replicated; jax believes it.
    lie = jax.make_array_from_callback(
        (4,), whole.replicated, lambda _: np.full(4, float(hosts.index))
    )
    found["is_fully_replicated"] = lie.is_fully_replicated
    found["lie"] = refused(hosts, {"the state": _agreement.parts(lie)})
    programs = jax.jit(lambda x: x + hosts.index).lower(1.0).as_text()
    found["program"] = refused(hosts, {"program": _agreement.digest(programs)})
    found["thread"] = from_another_thread(whole)
    try:
        if hosts.index == 1:
            time.sleep(3)
        hosts.barrier("a test", seconds=1)
    except HostsError as error:
        found["barrier"] = str(error)
    return found


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.nightly)])
def found(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared") / "checkpoints"
    n = request.param
    with pytest.MonkeyPatch.context() as patch:
        # As many threads as here, where eight devices have them; see `fix_threads`.
        patch.setenv("NPROC", str(max(8, len(os.sched_getaffinity(0)))))
        results = run_processes(
            work, processes=n, devices=8 // n, timeout=400, args=(str(folder),)
        )
    return results, folder


@pytest.fixture(scope="module")
def alone():
    losses, samples, _, position = run(place(1))
    return losses, samples, position


def test_losses_and_samples_are_those_of_one_device(found, alone):
    """Samples less closely: Adam moves a weight whose gradient is rounding alone."""
    for result in found[0]:
        np.testing.assert_allclose(result["losses"], alone[0], **CLOSE)
        np.testing.assert_allclose(result["samples"], alone[1], rtol=0, atol=GREY / 10)


def test_in_float64_losses_and_samples_are_those_of_one_device(found):
    """So what float32 leaves between them is rounding, and nothing else."""
    alone = run_wide(place(1))
    for result in found[0]:
        for here, there in zip(result["wide"], alone, strict=True):
            assert here.dtype == np.float64
            np.testing.assert_allclose(here, there, rtol=0, atol=1e-12)


def test_in_blocks_the_bits_are_those_of_one_device(found):
    alone = run(place(1), IN_BLOCKS)[:2]
    for result in found[0]:
        assert_trees_close(result["blocks"], alone, rtol=0)


def test_losses_with_split_weights_are_those_of_one_device(found, alone):
    for result in found[0]:
        np.testing.assert_allclose(result["split"], alone[0], **CLOSE)


@pytest.mark.parametrize("order", [0, 1], ids=["in order", "as on a torus"])
def test_each_host_reads_the_rows_of_its_devices(found, order):
    """Every place of the batch has the row that it has on one device, once."""
    wanted = rows(place(1))
    for step in range(2):
        union = {}
        for result in found[0]:
            here = result["rows"][order][step]
            assert not union.keys() & here.keys()
            union |= here
        assert union == wanted[step]
    counts = [len(result["rows"][order][0]) for result in found[0]]
    assert counts == [BATCH // len(found[0])] * len(found[0])


def test_a_torus_gives_a_host_rows_that_are_not_neighbours(found):
    places = sorted(found[0][0]["rows"][1][0])
    assert places != list(range(places[0], places[0] + len(places)))


@pytest.mark.parametrize("axes", [{"data": 1}, {"data": 8}, {"data": 2, "model": 4}])
def test_the_checkpoint_is_restored_on_other_devices_and_processes(found, alone, axes):
    placement = place(int(np.prod(list(axes.values()))), axes)
    abstract = jax.eval_shape(lambda: _game.init(RECIPE, 0))
    checkpoints = Checkpoints(found[1])
    one = checkpoints.restore(abstract, None)
    here = checkpoints.restore(abstract, layout(abstract, placement))
    checkpoints.close()
    assert int(here.state.step) == STEPS
    assert here.data == alone[2]  # the same continuation of the data
    assert_trees_close(here.state, one.state, rtol=0)
    assert len(here.state.step.sharding.device_set) == placement.mesh.size


def test_processes_that_agree_are_left_alone(found):
    assert [result["same"] for result in found[0]] == [None] * len(found[0])


@pytest.mark.parametrize("what", ["seed", "lie"])
def test_the_process_that_differs_is_named_on_all(found, what):
    for result in found[0][:2]:
        text = result[what]
        assert "differs between the processes" in text
        if len(found[0]) == 4 and what == "seed":
            assert "process 1 (" in text
            assert "process 2" not in text


def test_jax_believes_a_host_that_lies(found):
    """The reason for the check: to jax these values are one array's copies."""
    assert found[0][0]["is_fully_replicated"]


def test_another_program_on_one_host_is_found(found):
    assert "program differs" in found[0][0]["program"]


def test_only_one_thread_starts_collectives(found):
    """Two could start theirs in another order on each host, which nothing notices."""
    for result in found[0]:
        assert "was called from thread" in result["thread"]


def test_a_barrier_names_who_is_missing(found):
    text = found[0][0]["barrier"]
    assert "a test: waited 1 s for process 1 (" in text


# Adam divides by the size of a gradient, so what begins as rounding grows: in fifty
# steps to a ten thousandth on digits, and to a thousandth on noise.
LONG = 50
MESHES = {"data=8": {"data": 8}, "data=4,model=2": {"data": 4, "model": 2}}


def train_on_digits(placement):
    losses, samples, *_ = run(placement, steps=LONG, dataset=_digits.load(None).dataset)
    return losses, samples


def train_long():
    return {name: train_on_digits(place(None, axes)) for name, axes in MESHES.items()}


@pytest.fixture(scope="module")
def alone_for_long():
    return train_on_digits(place(1))


@pytest.fixture(scope="module", params=[1, 2, 4], ids=lambda n: f"{n}x{8 // n}")
def found_later(request):
    n = request.param
    if n == 1:
        return [train_long()]
    return run_processes(train_long, processes=n, devices=8 // n, timeout=600)


@pytest.mark.nightly
@pytest.mark.parametrize("name", MESHES)
def test_fifty_steps_are_those_of_one_device(found_later, alone_for_long, name):
    for result in found_later:
        losses, samples = result[name]
        np.testing.assert_allclose(losses, alone_for_long[0], rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(samples, alone_for_long[1], rtol=0, atol=GREY / 2)
