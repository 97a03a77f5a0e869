"""The discriminator moves, then the generator, against the discriminator as it is."""

from typing import Any

import jax
import jax.numpy as jnp

from optax_chains._checks import check_counts
from optax_chains._moves import check_game, check_players, init_both, move
from optax_chains._players import Players, TwoPlayer


def alternating(chains: Players, gradients: Players) -> TwoPlayer:
    """Alternating updates: first the discriminator, then the generator.

    The generator's gradient is taken at the discriminator's new parameters. Where
    simultaneous steps spiral out of a bilinear game, these go round it for ever.

    Args:
      chains: an `optax.GradientTransformation` for each player.
      gradients: for each player a function `(params: Players, *args) -> (value,
        gradients)`; `own_gradients` makes them from losses.

    Returns:
      The game. The generator's value is that at the discriminator's new parameters.

    Raises:
      TypeError: if `chains`, `gradients` or the parameters are not `Players`, or a
        chain is none.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> from optax_chains import own_gradients
      >>> price = lambda params: params.gen * params.disc
      >>> gradients = own_gradients(Players(gen=price, disc=lambda p: -price(p)))
      >>> game = alternating(Players(optax.sgd(0.1), optax.sgd(0.1)), gradients)
      >>> params = Players(gen=jnp.float32(1), disc=jnp.float32(0))
      >>> params, state, values = game.update(params, game.init(params))
      >>> round(float(params.disc), 3), round(float(params.gen), 3)
      (0.1, 0.99)

    References:
      Goodfellow et al., 2014, [Generative Adversarial
      Networks](https://arxiv.org/abs/1406.2661), algorithm 1 with k = 1; Gidel et al.,
      2019, [Negative Momentum for Improved Game
      Dynamics](https://arxiv.org/abs/1807.04740), section 3, for what it does to
      bilinear games.
    """
    check_game("alternating", chains, gradients)

    def init(params: Players) -> Players:
        return init_both("alternating", chains, params)

    def update(
        params: Players, state: Players, *args: Any
    ) -> tuple[Players, Players, Players]:
        check_players("alternating", params=params)
        disc_value, grads = gradients.disc(params, *args)
        disc, disc_state = move(chains.disc, grads, state.disc, params.disc)
        params = Players(params.gen, disc)
        gen_value, grads = gradients.gen(params, *args)
        gen, gen_state = move(chains.gen, grads, state.gen, params.gen)
        return (
            Players(gen, disc),
            Players(gen_state, disc_state),
            Players(gen_value, disc_value),
        )

    return TwoPlayer(init, update)


def several_disc_steps(chains: Players, gradients: Players, *, n: int) -> TwoPlayer:
    """The discriminator moves `n` times, on a batch each, then the generator once.

    Wasserstein critics are trained so, with n = 5: the generator's gradient is only
    right against a critic that has caught up.

    Args:
      chains: an `optax.GradientTransformation` for each player.
      gradients: for each player a function `(params: Players, *args) -> (value,
        gradients)`; `own_gradients` makes them from losses.
      n: the discriminator's moves to one of the generator.

    Returns:
      The game. Every array in the `args` of `update` has a leading axis of `n`: the
      discriminator's i-th move sees the i-th, and the generator the last. The
      discriminator's value is that of its last move.

    Raises:
      TypeError: if `chains`, `gradients` or the parameters are not `Players`, a chain
        is none, or `n` is no whole number.
      ValueError: if `n` is below 1, or an argument of `update` is not `n` long.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> from optax_chains import own_gradients
      >>> losses = Players(gen=lambda p, x: p.gen, disc=lambda p, x: p.disc * x)
      >>> chains = Players(optax.sgd(1.0), optax.sgd(1.0))
      >>> game = several_disc_steps(chains, own_gradients(losses), n=2)
      >>> params = Players(gen=jnp.float32(0), disc=jnp.float32(0))
      >>> x = jnp.array([1.0, 10.0])
      >>> params, state, values = game.update(params, game.init(params), x)
      >>> float(params.gen), float(params.disc)
      (-1.0, -11.0)

    References:
      Arjovsky, Chintala, Bottou, 2017, [Wasserstein
      GAN](https://arxiv.org/abs/1701.07875), algorithm 1.
    """
    check_game("several_disc_steps", chains, gradients)
    check_counts("several_disc_steps", n=n)

    def init(params: Players) -> Players:
        return init_both("several_disc_steps", chains, params)

    def update(
        params: Players, state: Players, *args: Any
    ) -> tuple[Players, Players, Players]:
        check_players("several_disc_steps", params=params)
        for leaf in jax.tree.leaves(args):
            if jnp.shape(leaf)[:1] != (n,):
                raise ValueError(
                    f"several_disc_steps: an argument has the shape {jnp.shape(leaf)}, "
                    f"wanted one batch for each of the n = {n} moves, "
                    f"({n}, ...); stack them"
                )

        def one(carry: tuple[Any, Any], args: Any) -> tuple[tuple[Any, Any], Any]:
            disc, disc_state = carry
            value, grads = gradients.disc(Players(params.gen, disc), *args)
            return move(chains.disc, grads, disc_state, disc), value

        (disc, disc_state), values = jax.lax.scan(
            one, (params.disc, state.disc), args, length=n
        )
        last_args, last_value = jax.tree.map(lambda x: x[-1], (args, values))
        gen_value, grads = gradients.gen(Players(params.gen, disc), *last_args)
        gen, gen_state = move(chains.gen, grads, state.gen, params.gen)
        return (
            Players(gen, disc),
            Players(gen_state, disc_state),
            Players(gen_value, last_value),
        )

    return TwoPlayer(init, update)
