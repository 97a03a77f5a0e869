"""Second derivatives of a loss, on trees of parameters as they are.

Products with a vector cost a few gradients, whatever the number of parameters;
diagonals and full matrices are for small models, or estimated.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree

from optax_chains._checks import check_counts, check_key
from optax_chains._microbatches import rows_of, sum_over_microbatches
from optax_chains._wide import wide, wide_zeros


def hvp(loss: Callable[..., Any], params: Any, v: Any, *args: Any) -> Any:
    """The product of the Hessian of a loss with a vector, forward over reverse.

    Args:
      loss: `(params, *args) -> scalar`.
      params: where, a pytree of arrays.
      v: the vector, a tree like `params`.
      *args: what else the loss takes.

    Returns:
      H v, a tree like `params`.

    Example:
      >>> import jax.numpy as jnp
      >>> cube = lambda params: jnp.sum(params["x"] ** 3)
      >>> hvp(cube, {"x": jnp.array([1.0, 2.0])}, {"x": jnp.array([1.0, 1.0])})
      {'x': Array([ 6., 12.], dtype=float32)}

    References:
      Pearlmutter, 1994, [Fast Exact Multiplication by the
      Hessian](https://doi.org/10.1162/neco.1994.6.1.147).
    """
    return jax.jvp(lambda p: jax.grad(loss)(p, *args), (params,), (v,))[1]


def gauss_newton_operator(
    model: Callable[[Any], Any], loss: Callable[[Any], Any], params: Any
) -> Callable[[Any], Any]:
    """The Gauss-Newton matrix of a loss of a model's outputs, as a function of v.

    G = J^T H J with J the model's Jacobian and H the Hessian of the loss by the
    outputs. It is the Hessian without the model's own curvature, and positive where
    the loss is convex. The model is linearised once, for any number of products.

    Args:
      model: `params -> outputs`.
      loss: `outputs -> scalar`.
      params: where, a pytree of arrays.

    Returns:
      `v -> G v`, from and to trees like `params`.

    Example:
      >>> import jax.numpy as jnp
      >>> product = gauss_newton_operator(jnp.exp, jnp.sum, jnp.array([1.0]))
      >>> product(jnp.array([1.0]))  # the loss is linear in the outputs
      Array([0.], dtype=float32)

    References:
      Schraudolph, 2002, [Fast Curvature Matrix-Vector Products for Second-Order
      Gradient Descent](https://doi.org/10.1162/08997660260028683); Martens, 2020, [New
      insights and perspectives on the natural gradient
      method](https://arxiv.org/abs/1412.1193), section 8.
    """
    outputs, jacobian = jax.linearize(model, params)
    transposed = jax.linear_transpose(jacobian, params)

    def product(v: Any) -> Any:
        return transposed(hvp(loss, outputs, jacobian(v)))[0]

    return product


def gauss_newton_vp(
    model: Callable[[Any], Any], loss: Callable[[Any], Any], params: Any, v: Any
) -> Any:
    """The product of the Gauss-Newton matrix with one vector.

    Args:
      model: `params -> outputs`.
      loss: `outputs -> scalar`.
      params: where, a pytree of arrays.
      v: the vector, a tree like `params`.

    Returns:
      G v, a tree like `params`; see `gauss_newton_operator` for many.

    Example:
      >>> import jax.numpy as jnp
      >>> a = jnp.array([[1.0, 2.0], [0.0, 1.0]])
      >>> half = lambda outputs: 0.5 * jnp.sum(outputs**2)
      >>> gauss_newton_vp(lambda x: a @ x, half, jnp.zeros(2), jnp.array([1.0, 0.0]))
      Array([1., 2.], dtype=float32)
    """
    return gauss_newton_operator(model, loss, params)(v)


def hessian(loss: Callable[..., Any], params: Any, *args: Any) -> Any:
    """The whole Hessian, forward over reverse, for small models.

    Args:
      loss: `(params, *args) -> scalar`.
      params: where, a pytree of arrays.
      *args: what else the loss takes.

    Returns:
      A tree of trees: for leaves a and b of `params`, at a then b, d^2 loss / da db of
      shape [*a.shape, *b.shape].

    Example:
      >>> import jax.numpy as jnp
      >>> product = lambda params: params["a"] * params["b"] ** 2
      >>> params = {"a": jnp.float32(2), "b": jnp.float32(3)}
      >>> float(hessian(product, params)["a"]["b"])
      6.0
    """
    return jax.jacfwd(jax.jacrev(loss))(params, *args)


def hessian_matrix(loss: Callable[..., Any], params: Any, *args: Any) -> jax.Array:
    """The whole Hessian as a matrix [n, n], for small models.

    Args:
      loss: `(params, *args) -> scalar`.
      params: where, a pytree of arrays, n numbers in all.
      *args: what else the loss takes.

    Returns:
      The matrix. Rows and columns are in the order of `jax.flatten_util.ravel_pytree`:
      the leaves as `jax.tree.leaves` has them, dicts by sorted keys, each row by row.

    Example:
      >>> import jax.numpy as jnp
      >>> product = lambda params: params["a"] * params["b"] ** 2
      >>> hessian_matrix(product, {"a": jnp.float32(2), "b": jnp.float32(3)})
      Array([[0., 6.],
             [6., 4.]], dtype=float32)
    """
    flat, unravel = ravel_pytree(params)
    return hessian(lambda x: loss(unravel(x), *args), flat)


def hessian_diag(
    loss: Callable[..., Any], params: Any, *args: Any, at_once: int = 32
) -> Any:
    """The exact diagonal of the Hessian, at the price of n products, for small models.

    Args:
      loss: `(params, *args) -> scalar`.
      params: where, a pytree of arrays, n numbers in all.
      *args: what else the loss takes.
      at_once: products in memory at a time, 1 or more.

    Returns:
      A tree like `params`.

    Raises:
      ValueError: if `at_once` is below 1.
      TypeError: if it is no whole number.

    Example:
      >>> import jax.numpy as jnp
      >>> cube = lambda params: jnp.sum(params["x"] ** 3)
      >>> hessian_diag(cube, {"x": jnp.array([1.0, 2.0])})
      {'x': Array([ 6., 12.], dtype=float32)}
    """
    check_counts("hessian_diag", at_once=at_once)
    flat, unravel = ravel_pytree(params)
    if not flat.size:
        return params

    def entry(i: jax.Array) -> jax.Array:
        v = jnp.zeros_like(flat).at[i].set(1)
        return hvp(lambda x: loss(unravel(x), *args), flat, v)[i]

    n = flat.size
    return unravel(jax.lax.map(entry, jnp.arange(n), batch_size=min(at_once, n)))


def hessian_diag_hutchinson(
    loss: Callable[..., Any], params: Any, *args: Any, key: jax.Array, num_samples: int
) -> Any:
    """An unbiased estimate of the Hessian's diagonal, for models of any size.

    The mean of z (H z) over random signs z. An entry's variance is the sum of the
    squares of the rest of its row, over the samples; a diagonal Hessian is exact.

    Args:
      loss: `(params, *args) -> scalar`.
      params: where, a pytree of arrays.
      *args: what else the loss takes.
      key: for the signs.
      num_samples: products, 1 or more; they are taken one after the other, and added
        up in float32 at least.

    Returns:
      A tree like `params`.

    Raises:
      ValueError: if `num_samples` is below 1.
      TypeError: if it is no whole number, or `key` no key.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> cube = lambda params: jnp.sum(params["x"] ** 3)
      >>> params = {"x": jnp.array([1.0, 2.0])}
      >>> hessian_diag_hutchinson(cube, params, key=jax.random.key(0), num_samples=1)
      {'x': Array([ 6., 12.], dtype=float32)}

    References:
      Bekas, Kokiopoulou, Saad, 2007, [An estimator for the diagonal of a
      matrix](https://doi.org/10.1016/j.apnum.2007.01.003), equation 2.
    """
    check_counts("hessian_diag_hutchinson", num_samples=num_samples)
    check_key("hessian_diag_hutchinson", key)

    def add(total: Any, key: jax.Array) -> tuple[Any, None]:
        z = optax.tree.random_like(key, params, jax.random.rademacher)
        h_z = hvp(loss, params, z, *args)
        return jax.tree.map(lambda t, z, h: t + z * h, total, z, wide(h_z)), None

    keys = jax.random.split(key, num_samples)
    total, _ = jax.lax.scan(add, wide_zeros(params), keys)
    return jax.tree.map(lambda t, p: (t / num_samples).astype(p.dtype), total, params)


def fisher_diag(
    nll: Callable[[Any, Any], Any],
    params: Any,
    examples: Any,
    *,
    microbatch_size: int | None = None,
) -> Any:
    """The diagonal of the empirical Fisher matrix: the mean of squared gradients.

    Of each example's own gradient: the square of the batch's gradient, which
    `optax.second_order.fisher_diag` gives, is not an estimate of it. With labels drawn
    from the model instead of the data's, it is the Fisher matrix proper.

    Args:
      nll: the negative log likelihood of one example, `(params, example) -> scalar`.
      params: where, a pytree of arrays.
      examples: a tree of arrays with a leading axis of examples.
      microbatch_size: examples whose gradients are in memory at once; it must divide
        their number. None for all.

    Returns:
      A tree like `params`, float32 at least.

    Raises:
      ValueError: if `microbatch_size` is below 1 or does not divide the examples, or if
        there are none and no `microbatch_size`, or if the leaves of `examples` are
        not equally long.
      TypeError: if `microbatch_size` is no whole number.

    Example:
      >>> import jax.numpy as jnp
      >>> nll = lambda mean, x: 0.5 * (x - mean) ** 2
      >>> float(fisher_diag(nll, jnp.float32(0), jnp.array([1.0, 3.0])))
      5.0

    References:
      Kunstner, Balles, Hennig, 2019, [Limitations of the Empirical Fisher
      Approximation](https://arxiv.org/abs/1905.12558), equation 3.
    """

    def squares(examples: Any) -> Any:
        grads = jax.vmap(jax.grad(nll), (None, 0))(params, examples)
        return jax.tree.map(lambda g: jnp.sum(g**2, 0), wide(grads))

    n = rows_of("fisher_diag", "examples", examples)
    total = sum_over_microbatches(
        "fisher_diag", squares, examples, size=microbatch_size, zero=wide_zeros(params)
    )
    return jax.tree.map(lambda t: t / n, total)
