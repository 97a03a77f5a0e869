"""Agents that learn, and how fast: `nox -s bench-rlax_agents`.

    python benchmarks/bench_agents.py [--only NAME ...] [--json FILE] [--plot FILE]

Every recipe is trained with seeds 0 to 4, all at once, and evaluated on 100 episodes
without exploration. Then PPO on CartPole beside the same PPO, with the same compiled
networks and updates, whose environments are stepped from Python by Gymnasium.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

import rlax_agents as ra

SEEDS = 5


def learn(name: tuple[str, str], recipe: ra.Recipe) -> dict[str, Any]:
    """Trains a recipe with all seeds, and evaluates each."""
    keys = jax.vmap(jax.random.key)(jnp.arange(SEEDS))
    start = time.perf_counter()
    trained = ra.train(
        recipe.agent,
        recipe.env,
        updates=recipe.updates,
        num_envs=recipe.num_envs,
        seeds=keys,
    )
    seconds = time.perf_counter() - start
    key = jax.random.key(1000)
    returns = jax.vmap(
        lambda state: ra.evaluate(recipe.agent, recipe.env, state, key=key)
    )(trained.state.agent).mean(1)
    found = np.asarray(returns, np.float64)
    # Before the first episode of a seed has ended there is no return to show.
    ended = trained.metrics["episodes"] > 0
    curve = np.where(ended, trained.metrics["episode_return"], np.nan)
    return {
        "agent": name[0],
        "env": name[1],
        "steps": int(trained.metrics["steps"][0, -1]),
        "seconds_of_all_seeds": seconds,
        "returns": found.round(3).tolist(),
        "target": recipe.target,
        "ok": None if recipe.target is None else bool((found >= recipe.target).all()),
        "curve": curve.mean(0).tolist(),
    }


def compiled_rate(recipe: ra.Recipe, updates: int) -> float:
    """Environment steps a second of the whole compiled program, acting and learning."""
    options = {"num_envs": recipe.num_envs, "updates": updates}
    key = jax.random.key(0)
    state = ra.train(recipe.agent, recipe.env, key=key, **options).state
    start = time.perf_counter()
    ra.train(recipe.agent, recipe.env, state=state, **options)
    steps = updates * recipe.num_envs * recipe.agent.unroll_length
    return steps / (time.perf_counter() - start)


def python_rate(recipe: ra.Recipe, updates: int) -> float:
    """The same, with environments of Gymnasium stepped from a Python loop."""
    agent, num_envs = recipe.agent, recipe.num_envs
    same_step = gymnasium.vector.AutoresetMode.SAME_STEP
    envs = gymnasium.make_vec(
        "CartPole-v1",
        num_envs=num_envs,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": same_step},
    )
    act, learn_from = jax.jit(agent.act), jax.jit(agent.update)
    state = agent.init(jax.random.key(0), num_envs)
    seen, _ = envs.reset(seed=0)
    key = jax.random.key(1)

    def update(state: Any, seen: Any, key: jax.Array) -> tuple[Any, Any, jax.Array]:
        steps = []
        for _ in range(agent.unroll_length):
            key, now = jax.random.split(key)
            a, extras = act(state, now, seen)
            following, reward, ended, cut, facts = envs.step(np.asarray(a))
            last, true = ended | cut, following
            if last.any():
                true = following.copy()
                for i in np.flatnonzero(last):
                    true[i] = facts["final_obs"][i]
            discount = 1 - ended.astype(np.float32)
            reward = reward.astype(np.float32)
            steps.append(
                ra.Rollout(seen, a, reward, discount, cut & ~ended, last, true, extras)
            )
            seen = following
        rollout = jax.tree.map(lambda *xs: jnp.stack(xs), *steps)
        key, now = jax.random.split(key)
        state, metrics = learn_from(state, now, rollout)
        return state, seen, jax.block_until_ready((key, metrics))[0]

    state, seen, key = update(state, seen, key)
    start = time.perf_counter()
    for _ in range(updates):
        state, seen, key = update(state, seen, key)
    steps = updates * num_envs * agent.unroll_length
    return steps / (time.perf_counter() - start)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draws the mean return curve of each recipe, with its target."""
    figure = Figure(figsize=(13, 2.6 * -(-len(rows) // 5)), layout="constrained")
    grid = figure.subplots(-(-len(rows) // 5), 5, squeeze=False).ravel()
    for axes in grid[len(rows) :]:
        axes.set_axis_off()
    for axes, row in zip(grid, rows, strict=False):
        curve = np.asarray(row["curve"], float)
        steps = np.linspace(0, row["steps"] / 1000, len(curve))
        axes.plot(steps, curve, color="#1b4965")
        if row["target"] is not None:
            axes.axhline(row["target"], color="#c44536", linewidth=1, linestyle="--")
        axes.set_title(f"{row['agent']} {row['env']}", fontsize=10)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("thousand environment steps", fontsize=9)
    figure.supylabel("return while exploring", fontsize=9)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ["+".join(name) for name in ra.RECIPES]
    parser.add_argument("--only", nargs="*", choices=[*names, "rate"], metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE")
    options = parser.parse_args()
    only = [*names, "rate"] if options.only is None else options.only
    print(f"jax {jax.__version__}, {jax.default_backend()}, seeds 0 to {SEEDS - 1}")
    rows = []
    for name, recipe in ra.RECIPES.items():
        if "+".join(name) not in only:
            continue
        row = learn(name, recipe)
        rows.append(row)
        said = {None: "", True: "reached", False: "MISSED"}[row["ok"]]
        wanted = "" if row["target"] is None else f"wanted {row['target']:7.2f}"
        returns = " ".join(f"{x:8.2f}" for x in row["returns"])
        print(
            f"{name[0]:10} {name[1]:10} {returns}  {wanted:15} {said:7} "
            f"{row['steps']:8,} steps a seed, {row['seconds_of_all_seeds']:5.1f} s",
            flush=True,
        )
    found: dict[str, Any] = {"jax": jax.__version__, "recipes": rows}
    if "rate" in only:
        recipe = ra.RECIPES["ppo", "cartpole"]
        pairs = [(compiled_rate(recipe, 50), python_rate(recipe, 4)) for _ in range(3)]
        compiled, stepped = (max(rates) for rates in zip(*pairs, strict=True))
        found["steps_per_second"] = {"compiled": compiled, "python": stepped}
        print(
            f"\nPPO on CartPole: {compiled:,.0f} steps a second compiled, "
            f"{stepped:,.0f} stepped from Python: {compiled / stepped:.0f} times"
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    if options.plot:
        draw(rows, options.plot)


if __name__ == "__main__":
    main()
