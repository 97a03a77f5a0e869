"""Every derivative against finite differences."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mnist_gan import _game
from mnist_gan._inspect import Derivatives, inspect, opinion
from mnist_gan._recipes import RECIPES

H = 1e-2  # float32: truncation and rounding are both below a per cent here


def make_smoothly(latents):
    images = hk.nets.MLP((16, 28 * 28), activation=jnp.tanh)(latents)
    return jnp.tanh(images).reshape(-1, 28, 28, 1)


def judge_smoothly(images):
    return hk.nets.MLP((16, 1), activation=jnp.tanh)(hk.Flatten()(images))


@pytest.fixture(scope="module")
def looked_at():
    """Derivatives of a pair, with what they are taken at and found.

    The pair is smooth: a difference steps over the kinks of relu, where a derivative
    of second order sees nothing.
    """
    recipe = RECIPES["best"]._replace(
        generator=lambda: make_smoothly, discriminator=lambda: judge_smoothly
    )
    params = _game.init(recipe, 0).params
    disc = params.disc
    keys = jax.random.split(jax.random.key(1), 3)
    others = jax.random.normal(keys[0], (7, recipe.latents))
    latents = jax.random.normal(keys[1], (2, recipe.latents))
    real = jax.random.uniform(keys[2], (2, 28, 28), minval=-1.0)
    derivatives = Derivatives(recipe, params.gen, disc, others)
    return derivatives, latents, real, inspect(derivatives, latents, real)


def test_the_curvature_is_that_of_second_differences(looked_at):
    derivatives, latents, _, found = looked_at
    slope = jax.jit(jax.grad(derivatives.judge_made))
    for z, eigenvalues in zip(latents, found.hessian_eigenvalues, strict=True):
        steps = H * jnp.eye(len(z))
        hessian = jnp.stack([(slope(z + s) - slope(z - s)) / (2 * H) for s in steps])
        wanted = np.linalg.eigvalsh((hessian + hessian.T) / 2)[::-1]
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(eigenvalues, wanted, atol=0.01 * scale)
        assert (np.diff(eigenvalues) <= 0).all()


def test_singular_values_and_directions_are_those_of_first_differences(looked_at):
    derivatives, latents, _, found = looked_at
    make = jax.jit(derivatives.make)
    for row, z in enumerate(latents):
        steps = 1e-3 * jnp.eye(len(z))
        columns = [(make(z + s) - make(z - s)).ravel() / 2e-3 for s in steps]
        jacobian = np.stack(columns, 1)
        wanted = np.linalg.svd(jacobian, compute_uv=False)
        np.testing.assert_allclose(
            found.singular_values[row], wanted, rtol=0.02, atol=1e-3 * wanted[0]
        )
        first = found.directions[row, 0].ravel()
        assert np.linalg.norm(first) == pytest.approx(1, rel=1e-4)
        along = np.linalg.norm(first @ jacobian)
        assert along == pytest.approx(wanted[0], rel=0.02)


def test_saliency_is_the_slope_by_each_pixel(looked_at):
    derivatives, _, real, found = looked_at
    judge = jax.jit(derivatives.judge)
    random = np.random.default_rng(0)
    for image, slope in zip(real, found.saliency, strict=True):
        for _ in range(5):
            direction = random.normal(size=image.shape).astype(np.float32)
            direction /= np.linalg.norm(direction)
            difference = judge(image + H * direction) - judge(image - H * direction)
            np.testing.assert_allclose(
                (slope * direction).sum(),
                difference / (2 * H),
                atol=0.02 * np.linalg.norm(slope),
            )


def scaled(tree, by):
    return jax.tree.map(lambda x: by * x, tree)


def test_gradient_norms_are_those_of_digits_taken_alone(looked_at):
    derivatives, _, real, found = looked_at
    for image, norm in zip(real, found.gradient_norms, strict=True):
        grads = jax.grad(derivatives.real_loss)(derivatives.disc_params, image)
        alone = np.sqrt(sum(float(jnp.sum(g**2)) for g in jax.tree.leaves(grads)))
        np.testing.assert_allclose(norm, alone, rtol=1e-4)
        # and a step along the gradient changes the loss by its square
        step = 1e-3 / norm

        up, down = (
            derivatives.real_loss(
                jax.tree.map(jnp.add, derivatives.disc_params, scaled(grads, by)), image
            )
            for by in (step, -step)
        )
        slope = float(up - down) / (2 * step)
        assert slope == pytest.approx(norm**2, rel=0.05)


def test_an_opinion_is_a_log_odds_of_one_number_or_two():
    one, two = jnp.array([[3.0]]), jnp.array([[1.0, 4.0]])
    assert opinion(one).tolist() == opinion(two).tolist() == [3.0]
