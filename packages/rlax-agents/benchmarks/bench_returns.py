"""Returns beside rlax under vmap: `nox -s bench-rlax_agents`.

Each row runs both in turns in one process and takes the best of each.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import rlax

import rlax_agents as ra

SHAPES = (128, 64), (2048, 1024)
N_ACTIONS = 4


def best_seconds(functions: dict[str, Any], *, rounds: int) -> dict[str, float]:
    """The least seconds of a call of each function, taken in turns."""
    best = dict.fromkeys(functions, float("inf"))
    for call in functions.values():
        jax.block_until_ready(call())
    for _ in range(rounds):
        for name, call in functions.items():
            start = time.perf_counter()
            jax.block_until_ready(call())
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def pairs(shape: tuple[int, int]) -> dict[str, tuple]:
    """By name: ours, rlax's for one sequence, and the arrays of each."""
    rng = np.random.default_rng(0)
    r, v, w, rho = (jnp.asarray(rng.normal(size=shape), jnp.float32) for _ in range(4))
    discount, rho = jnp.full(shape, 0.99), jnp.exp(0.1 * rho)
    values = jnp.concatenate([v[:1], w])
    q_tm1, q_t = (
        jnp.asarray(rng.normal(size=(*shape, N_ACTIONS)), jnp.float32) for _ in "ab"
    )
    pi_t = jax.nn.softmax(q_t)
    a_tm1, a_t = jnp.asarray(rng.integers(0, N_ACTIONS, (2, *shape)), jnp.int32)
    mu_t = jnp.full(shape, 1 / N_ACTIONS)
    retrace = (q_tm1, q_t, a_tm1, a_t, r, discount, pi_t, mu_t)
    return {
        "discounted": (
            ra.discounted_returns,
            rlax.discounted_returns,
            (r, discount, v),
            (r, discount, v),
        ),
        "lambda": (
            lambda *xs, **how: ra.lambda_returns(*xs, lambda_=0.9, **how),
            lambda *xs: rlax.lambda_returns(*xs, 0.9),
            (r, discount, v),
            (r, discount, v),
        ),
        "n-step, n=5": (
            lambda *xs, **how: ra.n_step_returns(*xs, n=5, **how),
            lambda *xs: rlax.n_step_bootstrapped_returns(*xs, n=5),
            (r, discount, v),
            (r, discount, v),
        ),
        "GAE": (
            ra.gae,
            lambda r, d, v: rlax.truncated_generalized_advantage_estimation(
                r, d, 0.95, v
            ),
            (r, discount, values[:-1] + 0, values[1:] + 0),
            (r, discount, values),
        ),
        "V-trace": (
            ra.vtrace,
            rlax.vtrace_td_error_and_advantage,
            (v, w, r, discount, rho),
            (v, w, r, discount, rho),
        ),
        "Retrace": (
            ra.retrace,
            lambda *xs: rlax.retrace(*xs, 0.95),
            retrace,
            retrace,
        ),
        "Q(lambda)": (
            ra.q_lambda,
            lambda *xs: rlax.q_lambda(*xs, 0.95),
            (q_tm1, a_tm1, r, discount, q_t),
            (q_tm1, a_tm1, r, discount, q_t),
        ),
    }


def rows(
    shape: tuple[int, int], *, time_axis: int, rounds: int
) -> Iterator[dict[str, Any]]:
    """Times every pair at a shape with time on that axis."""
    for name, (ours, theirs, *arrays) in pairs(shape).items():
        our_arrays, their_arrays = (
            [jnp.swapaxes(x, 0, 1) + 0 if time_axis else x for x in xs] for xs in arrays
        )
        batch_axis = 1 - time_axis
        peer = jax.jit(jax.vmap(theirs, in_axes=batch_axis, out_axes=batch_axis))
        of_peer = jax.block_until_ready(peer(*their_arrays))
        calls = {"rlax": lambda peer=peer, xs=their_arrays: peer(*xs)}
        for method in ("scan", "associative_scan"):
            if name.startswith("n-step") and method != "scan":
                continue
            how = {} if name.startswith("n-step") else {"method": method}
            jitted = jax.jit(
                lambda *xs, f=ours, k=how: f(*xs, time_axis=time_axis, **k)
            )
            worst = [
                float(jnp.abs(a - b).max())
                for a, b in zip(
                    jax.tree.leaves(jitted(*our_arrays))[:1],
                    jax.tree.leaves(of_peer)[:1],
                    strict=True,
                )
            ]
            assert max(worst) < 1e-2, (name, worst)  # noqa: S101 (they have to agree)
            calls[method] = lambda f=jitted, xs=our_arrays: f(*xs)
        best = best_seconds(calls, rounds=rounds)
        yield {
            "return": name,
            "shape": list(shape),
            "layout": "[batch, time]" if time_axis else "[time, batch]",
            "rlax_ms": 1e3 * best["rlax"],
            **{f"{k}_x": best["rlax"] / best[k] for k in best if k != "rlax"},
        }


def memory_limit(shape: tuple[int, int], *, rounds: int) -> tuple[float, float]:
    """Milliseconds of reading GAE's four arrays and writing one, and of GAE."""
    ours, _, arrays, _ = pairs(shape)["GAE"]
    bare = jax.jit(lambda r, discount, v_tm1, v_t: r + discount * v_t - v_tm1)
    gae = jax.jit(ours)
    calls = {"bare": lambda: bare(*arrays), "GAE": lambda: gae(*arrays)}
    best = best_seconds(calls, rounds=rounds)
    return 1e3 * best["bare"], 1e3 * best["GAE"]


def main() -> None:
    """Prints the table, and JSON to a file where one is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    found = []
    print(f"{'return':12} {'T, B':>11}  {'layout':13} {'rlax':>9} {'scan':>6} assoc.")
    for shape in SHAPES:
        for time_axis in (0, 1):
            for row in rows(shape, time_axis=time_axis, rounds=options.rounds):
                found.append(row)
                other = row.get("associative_scan_x")
                print(
                    f"{row['return']:12} {shape[0]:>5}, {shape[1]:>4}  "
                    f"{row['layout']:13} {row['rlax_ms']:6.2f} ms "
                    f"{row['scan_x']:5.1f}x {f'{other:5.1f}x' if other else '     -'}",
                    flush=True,
                )
    bare, gae = memory_limit(SHAPES[-1], rounds=options.rounds)
    print(
        f"\nGAE of {SHAPES[-1]}, time first: {gae:.2f} ms; reading its four arrays and "
        f"writing one: {bare:.2f} ms"
    )
    if options.json:
        limit = {"bare_ms": bare, "gae_ms": gae}
        options.json.write_text(json.dumps({"rows": found, "limit": limit}, indent=1))


if __name__ == "__main__":
    main()
