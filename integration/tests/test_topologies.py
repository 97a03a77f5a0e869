import pytest

from mnist_gan._errors import UserError
from mnist_gan._topologies import find_topology


@pytest.mark.parametrize(
    ("name", "kind", "shape", "chips"),
    [
        ("v5litepod-16", "v5e", "4x4", 16),
        ("v5e-8", "v5e", "2x4", 8),
        ("v5e:1x1", "v5e", "1x1", 1),
        ("v4-8", "v4", "2x2x1", 4),  # a cloud's name counts two cores a chip
        ("v4-32", "v4", "2x2x4", 16),
        ("v5p-128", "v5p", "4x4x4", 64),
        ("v6e-256", "v6e", "16x16", 256),
    ],
)
def test_names_of_clouds_and_shapes(name, kind, shape, chips):
    found = find_topology(name)
    assert (found.kind, found.shape, found.chips) == (kind, shape, chips)
    assert (found.name, found.slices) == (name, 1)
    assert "num_slices" not in found.options
    assert ("chip_config_name" in found.options) == (kind == "v4")


def test_slices_multiply():
    found = find_topology("v5e:4x4", slices=2)
    assert (found.chips, found.options) == (32, {"num_slices": 2})


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("v9-4", "there is none; take v4, v5e, v5p, v6e with a size"),
        ("tpu", "there is none"),
        ("v5e", "there is none"),
        ("", "there is none"),
        ("v4-7", "v4 has no slice of that size; take v4-8, v4-16"),
        ("v5litepod-3", "v5e has no slice of that size; take v5litepod-1, v5litepod-4"),
        ("v5e:32x32", "v5e has no slice of that shape; take one of v5e:1x1"),
        ("v4:4x4", "v4 has no slice of that shape; take one of v4:2x2x1"),
        ("v5e:4x4x", "there is none"),
    ],
)
def test_other_names_are_refused(name, complaint):
    with pytest.raises(UserError, match=complaint):
        find_topology(name)
