"""What a step sees of the digits: shuffled batches, or drawn ones with a mask."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax

import arrow_jax
from mnist_gan._devices import Placement, check_batch_size
from mnist_gan._errors import UserError
from mnist_gan._private import capacity
from mnist_gan._recipes import Recipe


class Drawn(NamedTuple):
    """A batch of random size, padded.

    Attributes:
      images: uint8[b, 28, 28].
      valid: bool[b], False for rows that are padding.
    """

    images: jax.Array
    valid: jax.Array


def rows_of(recipe: Recipe) -> int:
    """The rows of a recipe's batches, with padding."""
    return capacity(recipe.batch_size) if recipe.privacy else recipe.batch_size


def check_divides(recipe: Recipe, placement: Placement) -> None:
    """Checks that each device gets the same number of rows.

    Args:
      recipe: with the number of digits a step.
      placement: the devices.

    Raises:
      UserError: if it does not divide.
    """
    rows, n = rows_of(recipe), placement.mesh.shape["data"]
    if recipe.privacy and rows % n:
        raise UserError(
            f"batches of {recipe.batch_size} digits on average are padded to {rows}, "
            f"which do not divide over {n} devices; take another --batch-size, or a "
            "number of devices that divides 32"
        )
    check_batch_size(rows, placement)


def open_loader(
    recipe: Recipe, digits: arrow_jax.Dataset, *, seed: int, sharding: Any
) -> arrow_jax.Loader:
    """Opens the endless stream of a recipe's batches.

    Args:
      recipe: with the number of digits a step.
      digits: one column, `image`.
      seed: of the order, or of the draws.
      sharding: how a batch lies on the devices.

    Returns:
      The loader. A private recipe's draws each digit by itself into each batch, which
      the account of what is given away rests on.
    """
    if recipe.privacy:
        return arrow_jax.Loader(
            digits,
            rows_of(recipe),
            sampling=arrow_jax.Poisson(recipe.batch_size / len(digits)),
            seed=seed,
            epochs=None,
            sharding=sharding,
        )
    return arrow_jax.Loader(
        digits,
        recipe.batch_size,
        shuffle=True,
        seed=seed,
        epochs=None,
        last="drop",
        sharding=sharding,
    )


def seen(batch: Mapping[str, Any]) -> Any:
    """Takes what a step wants out of a batch of `open_loader`, or out of its spec."""
    if "valid" in batch:
        return Drawn(batch["image"], batch["valid"])
    return batch["image"]
