"""What the markers `devices` and `variants` say, and what they cannot say."""

import numbers

import pytest

VARIANTS = ("eager", "jit", "vmap", "devices", "shard_map")


def marked_devices(item: pytest.Item) -> int | None:
    """The number of devices that a test is marked with.

    Args:
      item: a test, whatever its fixtures.

    Returns:
      The number, or None where it has no marker. The test fails if the marker has no
      number or a wrong one, or jax has fewer devices.
    """
    marker = item.get_closest_marker("devices")
    if marker is None:
        return None
    given = [*marker.args, *marker.kwargs.values()]
    n = given[0] if len(given) == 1 and set(marker.kwargs) <= {"n"} else None
    if not isinstance(n, numbers.Integral) or isinstance(n, bool) or n < 1:
        pytest.fail(
            f"{_shown(marker)}: wanted a number of devices, 1 or more. Type "
            "@pytest.mark.devices(8).",
            pytrace=False,
        )
    import jax  # noqa: PLC0415  (the plugin loads without jax)

    count, found = int(n), jax.devices()
    if len(found) < count:
        pytest.fail(
            f"the test is marked devices({count}) and jax has {len(found)}: "
            f"{', '.join(map(str, found))}. On the CPU run pytest with "
            f"--cpu-devices={count}.",
            pytrace=False,
        )
    return count


def marked_variants(item: pytest.Item) -> tuple[str, ...]:
    """The variants that a test is marked with.

    Args:
      item: a test.

    Returns:
      The names; all of them without a marker. The test fails if the marker has none,
      or one that is unknown.
    """
    marker = item.get_closest_marker("variants")
    if marker is None:
        return VARIANTS
    if (
        marker.kwargs
        or not marker.args
        or any(name not in VARIANTS for name in marker.args)
    ):
        pytest.fail(
            f"{_shown(marker)}: wanted names, of {', '.join(VARIANTS)}. Type "
            "@pytest.mark.variants('jit'), or take the marker away for all of them.",
            pytrace=False,
        )
    return marker.args


def _shown(marker: pytest.Mark) -> str:
    given = [repr(value) for value in marker.args]
    given += [f"{name}={value!r}" for name, value in marker.kwargs.items()]
    return f"@pytest.mark.{marker.name}({', '.join(given)})"
