"""Training the classifier: LeNet on shifted digits, to 99 per cent and more."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from rich.console import Console

import arrow_jax
from mnist_gan import _classifier, _game, _labelled
from mnist_gan._errors import UserError
from mnist_gan._files import check_writable
from mnist_gan._interrupts import Interrupts

_BATCH = 128
_RATE = 2e-3
_SHIFT = 2  # pixels, either way


class Trained(NamedTuple):
    """What training led to.

    Attributes:
      params: LeNet's.
      accuracy: share of the test digits that it gets right.
    """

    params: Any
    accuracy: float


class _State(NamedTuple):
    params: Any
    opt_state: optax.OptState
    key: jax.Array


def train_classifier(
    data: Path | None,
    out: Path,
    *,
    epochs: int,
    seed: int,
    console: Console,
    interrupted: Interrupts,
) -> Trained | None:
    """Trains the classifier and writes it to a file.

    Args:
      data: folder of MNIST; None for the shipped digits, with which it gets fewer
        right.
      out: the safetensors file.
      epochs: passes over the training digits.
      seed: of the parameters, the order and the shifts.
      console: where to report.
      interrupted: true once the user wants to stop.

    Returns:
      The parameters and the accuracy; None if it was stopped, and nothing is written.

    Raises:
      UserError: if the data are something else, or the file cannot be written.
    """
    if out.suffix != ".safetensors" or out.is_dir():
        raise UserError(f"--out {out}: wanted the name of a file.safetensors")
    check_writable(out, "--out")
    digits = _labelled.load(data, "train")
    test = _labelled.load(data, "test")
    if len(digits.images) < _BATCH:
        raise UserError(
            f"{data}: {len(digits.images)} training digits, wanted {_BATCH} at least"
        )
    trained = None
    for epoch, params in enumerate(_epochs(digits, epochs=epochs, seed=seed), 1):
        if interrupted:
            return None
        trained = Trained(params, accuracy(params, test))
        console.print(
            f"epoch {epoch} of {epochs}  "
            f"{trained.accuracy:.2%} of {len(test.images):,} test digits right"
        )
    assert trained is not None  # noqa: S101  (one epoch at least)
    out.parent.mkdir(parents=True, exist_ok=True)
    about = {
        "network": "haiku_nets.LeNet",
        "accuracy": f"{trained.accuracy:.4f} of {len(test.images)} test digits",
        "trained on": f"{len(digits.images)} digits, sha256 {digits.sha256}",
        "epochs": str(epochs),
        "seed": str(seed),
        "data": "MNIST by Y. LeCun, C. Cortes and C. Burges, CC BY-SA 3.0",
    }
    judged = _classifier.judge(trained.params, test.images)
    _classifier.save(out, trained.params, judged, metadata=about)
    return trained


def accuracy(params: Any, digits: _labelled.Labelled) -> float:
    """The share of digits that the classifier gets right."""
    judged = _classifier.judge(params, digits.images)
    return float(np.mean(np.argmax(judged.log_probs, 1) == digits.labels))


def _epochs(digits: _labelled.Labelled, *, epochs: int, seed: int) -> Iterator[Any]:
    """Yields the parameters after each epoch; the next one takes their memory."""
    net = _classifier.network()
    params_key, key = jax.random.split(jax.random.key(seed))
    loader = arrow_jax.Loader(
        arrow_jax.Dataset.from_dict({"image": digits.images, "label": digits.labels}),
        _BATCH,
        shuffle=True,
        seed=seed,
        epochs=epochs,
        last="drop",
    )
    chain = optax.adam(optax.cosine_decay_schedule(_RATE, len(loader)))
    params = net.init(params_key, jnp.zeros((1, *_game.IMAGE_SHAPE, 1)))
    state = _State(params, chain.init(params), key)
    step = jax.jit(_step(net.apply, chain), donate_argnums=0)
    steps = len(loader)
    with loader:
        for i, batch in enumerate(loader, 1):
            state = step(state, batch["image"], batch["label"])
            if i * epochs // steps > (i - 1) * epochs // steps:
                yield state.params


def _step(
    apply: Callable[..., Any], chain: optax.GradientTransformation
) -> Callable[[_State, jax.Array, jax.Array], _State]:
    def loss(params: Any, images: jax.Array, labels: jax.Array) -> jax.Array:
        logits = apply(params, _game.scale(images)).logits
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return jnp.mean(losses)

    def step(state: _State, images: jax.Array, labels: jax.Array) -> _State:
        key, shift_key = jax.random.split(state.key)
        shifted = _shift(shift_key, images)
        grads = jax.grad(loss)(state.params, shifted, labels)
        updates, opt_state = chain.update(grads, state.opt_state, state.params)
        return _State(optax.apply_updates(state.params, updates), opt_state, key)

    return step


def _shift(key: jax.Array, images: jax.Array) -> jax.Array:
    """Moves each image by up to two pixels each way, and fills with black."""
    corners = jax.random.randint(key, (len(images), 2), 0, 2 * _SHIFT + 1)
    edges = ((0, 0), (_SHIFT, _SHIFT), (_SHIFT, _SHIFT))
    padded = jnp.pad(images, edges)

    def cut(image: jax.Array, corner: jax.Array) -> jax.Array:
        return jax.lax.dynamic_slice(image, corner, images.shape[1:])

    return jax.vmap(cut)(padded, corners)
