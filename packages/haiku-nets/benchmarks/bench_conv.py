"""Times convolutions as Haiku and as this package gives them to XLA.

    python benchmarks/bench_conv.py [--rounds 7] [--json FILE]

Each layer of the reference GAN, a few shapes of other nets, and the whole GAN step:
the output and both gradients. The variants of a row run in turn, so that what else the
machine does falls on all of them. "Alone" is one call of a compiled function; "in scan"
is the time of one step inside `jax.lax.scan`, as in a training loop.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
from jax import lax

import haiku_nets

_SCANNED = 3
_MOST_SECONDS_A_VARIANT = 10


class Layer(NamedTuple):
    """A convolution with the shape of its input."""

    kind: str
    batch: int
    size: int
    channels: int
    features: int
    kernel: int
    stride: int

    def __str__(self) -> str:
        """Names the layer as the table has it."""
        return (
            f"{self.kind} {self.batch}x{self.size}x{self.size}x{self.channels} to "
            f"{self.features}, {self.kernel}x{self.kernel}, stride {self.stride}"
        )


_DISCRIMINATOR = [(28, 1, 8, 2), (14, 8, 16, 1), (14, 16, 32, 2)]
_DISCRIMINATOR += [(7, 32, 64, 1), (7, 64, 128, 2)]
_GENERATOR = [(7, 64, 32, 2), (14, 32, 1, 2)]
_LAYERS = [
    *(
        Layer("conv", batch, size, channels, features, 5, stride)
        for batch in (64, 128)
        for size, channels, features, stride in _DISCRIMINATOR
    ),
    *(
        Layer("transpose", batch, size, channels, features, 5, stride)
        for batch in (64, 128)
        for size, channels, features, stride in _GENERATOR
    ),
    Layer("conv", 8, 56, 64, 64, 3, 1),
    Layer("conv", 8, 56, 64, 128, 3, 2),
    Layer("conv", 8, 56, 64, 128, 1, 2),
    Layer("conv", 8, 56, 64, 64, 1, 1),
    Layer("conv", 8, 64, 3, 64, 7, 2),
    Layer("conv", 64, 32, 3, 64, 4, 4),
    Layer("transpose", 8, 16, 64, 32, 4, 2),
]


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    print(f"jax {jax.__version__}, {jax.default_backend()}, milliseconds, minimum")
    sides = f"{'alone':>8}{'in scan':>9} |"
    print(
        f"{'':42}|{'native':>17} |{'patches':>8} |{'canonical':>17} |"
        " chosen, native / chosen"
    )
    print(f"{'':42}|{sides}{'alone':>8} |{sides}")
    rows = [_row(str(layer), _layer_variants(layer), options) for layer in _LAYERS]
    rows.append(_row("GAN step, batch 64", _gan_variants(), options))
    if options.json:
        facts = {"jax": jax.__version__, "backend": jax.default_backend()}
        options.json.write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n")


def _row(name: str, variants: Mapping[str, Any], options: Any) -> dict[str, Any]:
    seconds = _times(variants, options.rounds)
    fastest = {name: f"{min(times) * 1e3:.2f}" for name, times in seconds.items()}
    chosen = haiku_nets.conv_lowering(platform=jax.default_backend())
    native, ours = min(seconds["native"]), min(seconds[chosen])
    looped = min(seconds["native in scan"]) / min(seconds[f"{chosen} in scan"])
    print(
        f"{name:42}|{fastest['native']:>8}{fastest['native in scan']:>9} |"
        f"{fastest.get('patches', ''):>8} |"
        f"{fastest['canonical']:>8}{fastest['canonical in scan']:>9} |"
        f" {chosen}, {native / ours:.1f}; in scan {looped:.1f}",
        flush=True,
    )
    return {
        "name": name,
        "chosen": chosen,
        "ratio": native / ours,
        "ratio in scan": looped,
        "milliseconds": {
            name: {
                "min": min(times) * 1e3,
                "median": statistics.median(times) * 1e3,
            }
            for name, times in seconds.items()
        },
    }


def _times(variants: Mapping[str, Any], rounds: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for name, (step, operands) in variants.items():
        compiled = jax.jit(step), jax.jit(_scanned(step))
        for suffix, run, steps in zip(
            ("", " in scan"), compiled, (1, _SCANNED), strict=True
        ):
            jax.block_until_ready(run(*operands))
            seconds[name + suffix] = []
            variants = {**variants, name + suffix: (run, operands, steps)}
    for _ in range(rounds):
        for name, times in seconds.items():
            run, operands, steps = variants[name]
            if sum(times) * steps > _MOST_SECONDS_A_VARIANT:
                continue
            # Once untimed: what ran before has emptied the caches and freed the heap.
            jax.block_until_ready(run(*operands))
            start = time.perf_counter()
            jax.block_until_ready(run(*operands))
            times.append((time.perf_counter() - start) / steps)
    return seconds


def _scanned(step: Callable[..., Any]) -> Callable[..., Any]:
    def run(*operands: Any) -> Any:
        def body(operands: Any, _: None) -> tuple[Any, None]:
            out = jax.tree.leaves(step(*operands))
            # Every step depends on all of the step before it.
            nothing = sum(jnp.ravel(leaf)[0] * 1e-30 for leaf in out)
            operands, _ = lax.optimization_barrier((operands, out))
            return jax.tree.map(lambda leaf: leaf + nothing, operands), None

        return lax.scan(body, operands, length=_SCANNED)[0]

    return run


def _layer_variants(layer: Layer) -> dict[str, Any]:
    keys = jax.random.split(jax.random.key(0), 3)
    shape = (layer.batch, layer.size, layer.size, layer.channels)
    x = jax.random.normal(keys[0], shape)
    cls = haiku_nets.Conv2D if layer.kind == "conv" else haiku_nets.Conv2DTranspose

    def applied(lowering: haiku_nets.Lowering) -> Any:
        def forward(x: jax.Array) -> jax.Array:
            return cls(
                layer.features,
                layer.kernel,
                stride=layer.stride,
                with_bias=False,
                lowering=lowering,
            )(x)

        return hk.without_apply_rng(hk.transform(forward))

    params = applied("native").init(keys[1], x)
    (held,) = params.values()
    out = jax.eval_shape(applied("native").apply, params, x)
    cotangent = jax.random.normal(keys[2], out.shape)

    def step_of(f: Callable[..., Any]) -> Callable[..., Any]:
        def step(w: jax.Array, x: jax.Array, cotangent: jax.Array) -> Any:
            out, pull = jax.vjp(f, w, x)
            return out, pull(cotangent)

        return step

    def by_layer(lowering: haiku_nets.Lowering) -> Callable[..., Any]:
        (name,) = params
        return lambda w, x: applied(lowering).apply({name: {"w": w}}, x)

    operands = (held["w"], x, cotangent)
    return {
        "native": (step_of(by_layer("native")), operands),
        "patches": (step_of(lambda w, x: _patches(w, x, layer)), operands),
        "canonical": (step_of(by_layer("canonical")), operands),
    }


def _patches(w: jax.Array, x: jax.Array, layer: Layer) -> jax.Array:
    """The same layer as slices, put side by side, and one matrix product."""
    k, stride = layer.kernel, layer.stride
    if layer.kind == "conv":
        n = -(-layer.size // stride)
        low = max((n - 1) * stride + k - layer.size, 0) // 2
        high, interior = (n - 1) * stride + k - layer.size - low, 0
    else:
        n = layer.size * stride
        low = -(-(k + stride - 2) // 2)
        high, interior, stride = k + layer.stride - 2 - low, layer.stride - 1, 1
        w = w.swapaxes(2, 3)
    pads = [(0, 0, 0), (low, high, interior), (low, high, interior), (0, 0, 0)]
    x = lax.pad(x, jnp.zeros((), x.dtype), pads)
    end = (n - 1) * stride + 1
    slices = [
        x[:, i : i + end : stride, j : j + end : stride]
        for i in range(k)
        for j in range(k)
    ]
    flat = jnp.concatenate(slices, axis=-1).reshape(-1, k * k * x.shape[-1])
    return (flat @ w.reshape(flat.shape[1], -1)).reshape(x.shape[0], n, n, -1)


def _gan_variants() -> dict[str, Any]:
    keys = jax.random.split(jax.random.key(0), 5)
    real = jnp.tanh(jax.random.normal(keys[0], (64, 28, 28, 1)))
    latents = jax.random.normal(keys[1], (2, 64, 20))

    def generator(z: jax.Array, transpose: Any) -> jax.Array:
        x = hk.Linear(7 * 7 * 64)(z).reshape(-1, 7, 7, 64)
        for channels in (32, 1):
            x = transpose(channels, 5, stride=2)(jax.nn.relu(x))
        return jnp.tanh(x)

    def discriminator(x: jax.Array, conv: Any) -> jax.Array:
        for channels, stride in zip((8, 16, 32, 64, 128), (2, 1, 2, 1, 2), strict=True):
            x = jax.nn.leaky_relu(conv(channels, 5, stride=stride)(x), 0.2)
        return hk.Linear(2)(hk.Flatten()(x))

    def variant(conv: Any, transpose: Any) -> Any:
        g = hk.without_apply_rng(hk.transform(lambda z: generator(z, transpose)))
        d = hk.without_apply_rng(hk.transform(lambda x: discriminator(x, conv)))

        def d_loss(d_params: Any, g_params: Any, z: jax.Array) -> jax.Array:
            images = jnp.concatenate([real, g.apply(g_params, z)])
            scores = jax.nn.log_softmax(d.apply(d_params, images))
            return -scores[:64, 1].mean() - scores[64:, 0].mean()

        def g_loss(g_params: Any, d_params: Any, z: jax.Array) -> jax.Array:
            return -jax.nn.log_softmax(d.apply(d_params, g.apply(g_params, z)))[
                :, 1
            ].mean()

        def step(g_params: Any, d_params: Any, z: jax.Array) -> Any:
            return (
                jax.value_and_grad(d_loss)(d_params, g_params, z[0]),
                jax.value_and_grad(g_loss)(g_params, d_params, z[1]),
            )

        g_params = jax.jit(g.init)(keys[2], latents[0])
        return step, (g_params, jax.jit(d.init)(keys[3], real), latents)

    return {
        "native": variant(hk.Conv2D, hk.Conv2DTranspose),
        "canonical": variant(haiku_nets.Conv2D, haiku_nets.Conv2DTranspose),
    }


if __name__ == "__main__":
    main()
