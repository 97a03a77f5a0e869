"""The frozen classifier that judges samples: LeNet, trained once, shipped with a hash.

Fréchet distances in the features of different networks, or to different digits, are not
comparable. So its file holds, beside the parameters, what it makes of MNIST's 10,000
test digits, and the file's hash is part of every evaluation.
"""

import hashlib
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import haiku as hk
import jax
import numpy as np

from haiku_nets import Judgement, LeNet, load_safetensors, save_safetensors
from mnist_gan import _game
from mnist_gan._errors import UserError
from mnist_gan._frechet import Moments, moments
from mnist_gan._labelled import CLASSES
from mnist_gan._scores import class_shares

_BATCH = 500
_REAL = "real"  # the module's name in the file; no module of LeNet is called so


class Classifier(NamedTuple):
    """A trained LeNet, and real digits in its eyes.

    Attributes:
      params: its parameters.
      real: the Gaussian of the test digits' features.
      shares: float64[10], the test digits' classes as it sees them.
      sha256: of the file that all this is from.
    """

    params: Any
    real: Moments
    shares: np.ndarray
    sha256: str


class Opinions(NamedTuple):
    """What the classifier makes of digits, in NumPy.

    Attributes:
      log_probs: float64[n, 10], logarithms of the probabilities of the classes.
      features: float64[n, 84], its last hidden layer.
    """

    log_probs: np.ndarray
    features: np.ndarray


def network() -> hk.Transformed:
    """LeNet as pure functions of images in [-1, 1]."""

    def judge(images: jax.Array) -> Judgement:
        return LeNet(CLASSES)(images)

    return hk.without_apply_rng(hk.transform(judge))


def _shapes() -> Any:
    """Shapes and dtypes of what the file holds."""
    images = jax.ShapeDtypeStruct((1, *_game.IMAGE_SHAPE, 1), np.float32)
    params = jax.eval_shape(network().init, jax.random.key(0), images)
    features = jax.eval_shape(network().apply, params, images).features.shape[1]
    shapes = {
        "mean": (features,),
        "covariance": (features, features),
        "shares": (CLASSES,),
    }
    real = {k: jax.ShapeDtypeStruct(v, np.float32) for k, v in shapes.items()}
    return {**params, _REAL: real}


def load(path: Path | None = None) -> Classifier:
    """Reads the classifier.

    Args:
      path: a file that `mnist-gan classifier` wrote; None for the one that ships with
        the package.

    Returns:
      The classifier.

    Raises:
      UserError: if the file is something else.
    """
    if path is None:
        shipped = resources.files("mnist_gan") / "classifier" / "lenet.safetensors"
        with resources.as_file(shipped) as file:
            return load(file)
    try:
        params = load_safetensors(path, like=_shapes())
    except ValueError as error:
        raise UserError(
            f"{error}; make a classifier with: mnist-gan classifier --out FILE"
        ) from error
    real = {k: np.asarray(v, np.float64) for k, v in params.pop(_REAL).items()}
    return Classifier(
        params,
        Moments(real["mean"], real["covariance"]),
        real["shares"],
        hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def save(
    path: Path, params: Any, judged: Opinions, *, metadata: dict[str, str]
) -> None:
    """Writes a classifier.

    Args:
      path: the file.
      params: LeNet's.
      judged: what it says of real digits that it was not trained on.
      metadata: texts to keep with it.
    """
    mean, covariance = moments(judged.features)
    real = {
        "mean": mean,
        "covariance": covariance,
        "shares": class_shares(judged.log_probs),
    }
    real = {name: value.astype(np.float32) for name, value in real.items()}
    save_safetensors(path, {**params, _REAL: real}, metadata=metadata)


@jax.jit
def _judge(params: Any, images: jax.Array) -> Judgement:
    judged = network().apply(params, _game.scale(images))
    return Judgement(jax.nn.log_softmax(judged.logits), judged.features)


def judge(params: Any, images: np.ndarray) -> Opinions:
    """Judges digits, a batch at a time.

    Args:
      params: LeNet's.
      images: uint8[n, 28, 28].

    Returns:
      Log-probabilities and features, a row a digit.
    """
    parts = []
    for start in range(0, len(images), _BATCH):
        batch = images[start : start + _BATCH]
        short = _BATCH - len(batch)  # one shape compiles once
        padded = np.pad(batch, ((0, short), (0, 0), (0, 0)))
        judged = _judge(params, padded)
        parts.append([np.asarray(x, np.float64)[: len(batch)] for x in judged])
    return Opinions(*map(np.concatenate, zip(*parts, strict=True)))
