"""Counts what the parts of this package cost and gain: `nox -s bench-optax_chains`.

    python benchmarks/bench_chains.py [--json FILE]

Bytes and FLOPs are XLA's own counts of compiled programs, errors and variances are
measured, and seconds are the medians of calls that take turns.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import optax

import optax_chains as oc
from optax_chains import Players

KEY = jax.random.key(0)
BATCH = 256
Row = dict[str, Any]


def mlp() -> dict[str, jax.Array]:
    """784 - 256 - 10: 203,530 parameters."""
    k1, k2 = jax.random.split(KEY)
    return {
        "w1": 0.03 * jax.random.normal(k1, (784, 256)),
        "b1": jnp.zeros(256),
        "w2": 0.05 * jax.random.normal(k2, (256, 10)),
        "b2": jnp.zeros(10),
    }


def nll(params: Any, example: Any) -> jax.Array:
    """Cross entropy of one example."""
    x, y = example
    hidden = jax.nn.relu(x @ params["w1"] + params["b1"])
    logits = hidden @ params["w2"] + params["b2"]
    return -jax.nn.log_softmax(logits)[y]


def batch(n: int) -> tuple[jax.Array, jax.Array]:
    """Examples of noise."""
    return jax.random.normal(KEY, (n, 784)), jnp.arange(n) % 10


def tree_bytes(tree: Any) -> int:
    """Bytes of all leaves."""
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree))


def medians(calls: dict[str, Callable[[], Any]], rounds: int = 5) -> dict[str, float]:
    """Milliseconds a call of each, the calls taking turns."""
    seen: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            jax.block_until_ready(call())
            seen[name].append(1e3 * (time.perf_counter() - start))
    return {name: statistics.median(times[1:]) for name, times in seen.items()}


def private_gradients() -> list[Row]:
    """dp_sgd by micro-batch, beside optax's, which wants all gradients at once."""
    params, examples = mlp(), batch(BATCH)
    tree = tree_bytes(params)
    aggregate = optax.contrib.differentially_private_aggregate(1.0, 1.0, KEY)

    def theirs(params: Any, examples: Any, key: jax.Array) -> Any:
        del key
        grads = jax.vmap(jax.grad(nll), (None, 0))(params, examples)
        return aggregate.update(grads, aggregate.init(params))[0]

    def ours(size: int | None) -> Callable[..., Any]:
        return oc.dp_sgd(
            nll,
            clip_norm=1.0,
            noise_multiplier=1.0,
            expected_batch_size=BATCH,
            microbatch_size=size,
        )

    def plain(params: Any, examples: Any, key: jax.Array) -> Any:
        del key
        each = jax.vmap(nll, (None, 0))
        return jax.grad(lambda p: jnp.mean(each(p, examples)))(params)

    functions = {
        "plain gradient, not private": plain,
        "optax differentially_private_aggregate": theirs,
        **{f"dp_sgd, micro-batch {m}": ours(m) for m in (256, 64, 16, 4, 1)},
    }
    compiled = {
        name: jax.jit(f).lower(params, examples, KEY).compile()
        for name, f in functions.items()
    }
    ms = medians({n: lambda f=f: f(params, examples, KEY) for n, f in compiled.items()})
    return [
        {
            "gradient of 256 examples": name,
            "temporaries (trees)": round(
                f.memory_analysis().temp_size_in_bytes / tree, 1
            ),
            "ms": round(ms[name], 1),
        }
        for name, f in compiled.items()
    ]


def states() -> list[Row]:
    """Bytes of state, for bfloat16 parameters, and how often a wrapped chain runs."""
    params = jax.tree.map(lambda p: p.astype(jnp.bfloat16), mlp())
    tree = tree_bytes(params)
    adam = oc.gan_adam()
    multi = optax.MultiSteps(optax.sgd(1.0), 16).gradient_transformation()
    ours = oc.accumulate(optax.sgd(1.0), every=16)

    def runs(wrap: Callable[[Any], Any]) -> int:
        seen = []

        def counted(updates: Any, state: Any, params: Any = None) -> Any:
            del params
            jax.debug.callback(lambda: seen.append(1))
            return updates, state

        chain = wrap(optax.GradientTransformation(optax.init_empty_state, counted))
        state, update = chain.init(jnp.float32(0)), jax.jit(chain.update)
        for _ in range(16):
            _, state = update(jnp.float32(1), state)
        jax.effects_barrier()
        return len(seen)

    frozen = oc.by_path({"[wb]1": oc.freeze()}, rest=adam)
    chains = {
        "gan_adam": adam,
        "by_path, first layer frozen": frozen,
        "with_ema(gan_adam)": oc.with_ema(adam, 0.999),
        "accumulate(sgd)": ours,
        "optax.MultiSteps(sgd)": multi,
    }
    ran = {
        "accumulate(sgd)": runs(lambda c: oc.accumulate(c, every=16)),
        "optax.MultiSteps(sgd)": runs(
            lambda c: optax.MultiSteps(c, 16).gradient_transformation()
        ),
    }
    return [
        {
            "state of bfloat16 parameters": name,
            "trees": round(tree_bytes(chain.init(params)) / tree, 2),
            "runs of the chain in 16 calls": ran.get(name, ""),
        }
        for name, chain in chains.items()
    ]


def frozen_flops() -> list[Row]:
    """FLOPs of a step with and without frozen layers, by XLA's count."""
    params = {f"layer_{i}": jnp.ones((64, 64)) for i in range(8)}

    def loss(params: Any, x: jax.Array) -> jax.Array:
        for i in range(8):
            x = jnp.tanh(x @ params[f"layer_{i}"])
        return jnp.sum(x)

    def flops(chain: Any) -> float:
        def step(params: Any, state: Any, x: jax.Array) -> Any:
            updates, state = chain.update(jax.grad(loss)(params, x), state, params)
            return optax.apply_updates(params, updates), state

        lowered = jax.jit(step).lower(params, chain.init(params), jnp.ones((32, 64)))
        return lowered.compile().cost_analysis()["flops"]

    full = flops(oc.gan_adam())
    rows = []
    for k in (0, 4, 7):
        groups = {f"layer_{i}": oc.freeze() for i in range(k)}
        share = flops(oc.by_path(groups, rest=oc.gan_adam())) / full
        rows.append({"frozen layers of 8": k, "FLOPs of the step": f"{share:.0%}"})
    return rows


def games() -> list[Row]:
    """The distance from the solution of min_x max_y xy after 200 steps of 0.1."""

    def price(params: Players) -> jax.Array:
        return params.gen * params.disc

    gradients = oc.own_gradients(Players(price, lambda params: -price(params)))
    chains = Players(optax.sgd(0.1), optax.sgd(0.1))
    found = {
        "two_player": (oc.two_player(chains, gradients), 1),
        "alternating": (oc.alternating(chains, gradients), 1),
        "lookahead(two_player, every=20)": (
            oc.lookahead(oc.two_player(chains, gradients), every=20),
            1,
        ),
        "optimistic": (oc.optimistic(chains, gradients), 1),
        "extragradient": (oc.extragradient(chains, gradients), 2),
    }
    rows = []
    for name, (game, cost) in found.items():
        params = Players(jnp.float32(1), jnp.float32(0))
        state, update = game.init(params), jax.jit(game.update)
        for _ in range(200):
            params, state, _ = update(params, state)
        distance = float(jnp.hypot(params.gen, params.disc))
        row = {"game": name, "gradients a step and player": cost}
        rows.append({**row, "distance after 200 steps": round(distance, 3)})
    return rows


def variances() -> list[Row]:
    """The variance of one sample of d/d mean E[sum cos(x) + 10], x of 5 Gaussians."""
    mean, n = jnp.linspace(-1, 1, 5), 20_000

    def f(x: jax.Array) -> jax.Array:
        return jnp.sum(jnp.cos(x)) + 10

    def dist(mean: jax.Array) -> oc.Normal:
        return oc.Normal(mean, 0.3 * jnp.ones(5))

    def plain(estimator: Any) -> jax.Array:
        return estimator(f, mean, dist, KEY, num_samples=n)

    def controlled(variate: oc.ControlVariate, estimator: Any) -> jax.Array:
        options = {"key": KEY, "num_samples": n}
        _, state = oc.control_variates_jacobians(
            f, variate, estimator, mean, dist, **options
        )
        return oc.control_variates_jacobians(
            f, variate, estimator, mean, dist, state=state, **options
        )[0]

    score, path = oc.score_function_jacobians, oc.pathwise_jacobians
    found = {
        "score function": plain(score),
        "score function, moving_average_baseline": controlled(
            oc.moving_average_baseline(), score
        ),
        "score function, delta_method": controlled(oc.delta_method(f), score),
        "measure-valued": plain(oc.measure_valued_jacobians),
        "pathwise": plain(path),
        "pathwise, delta_method": controlled(oc.delta_method(f), path),
    }
    return [
        {"estimator": name, "variance of a sample": f"{jacobians.var(0).mean():.2g}"}
        for name, jacobians in found.items()
    ]


def accounts() -> list[Row]:
    """Epsilon of the run that Abadi et al., 2016, print 1.26 for."""
    run = {"noise_multiplier": 4.0, "sampling_rate": 0.01, "steps": 10_000}
    return [
        {
            "accountant": a,
            "epsilon": round(oc.epsilon(**run, delta=1e-5, accountant=a), 3),
        }
        for a in ("rdp", "pld")
    ]


def as_text(rows: list[Row]) -> str:
    """A table in Markdown."""
    lines = [list(rows[0]), ["---"] * len(rows[0])]
    lines += [[str(value) for value in row.values()] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Prints all tables, and writes them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    path = parser.parse_args().json
    print(f"jax {jax.__version__}, optax {optax.__version__}, {jax.devices()[0]}\n")
    tables = {}
    for make in (private_gradients, states, frozen_flops, games, variances, accounts):
        tables[make.__name__] = make()
        print(as_text(tables[make.__name__]) + "\n", flush=True)
    if path:
        path.write_text(json.dumps(tables, indent=2) + "\n")


if __name__ == "__main__":
    main()
