import jax

from mnist_gan import _estimate


def test_the_estimate_grows_with_the_digits():
    device = jax.devices()[0]
    few, many = (_estimate.seconds(n, device) for n in (1_000, 100_000))
    assert 0 < few < many / 10


def test_durations_are_spelt_in_the_unit_that_reads_best():
    spelt = [_estimate.spell(s) for s in (0.2, 89, 91, 5_300, 5_401)]
    assert spelt == ["0 s", "89 s", "2 min", "88 min", "1.5 h"]
