"""Which module computes in which dtype."""

import haiku as hk
import jax
import jax.numpy as jnp
import jmp
import pytest

from haiku_nets import mixed_precision

HALF = jmp.get_policy("params=float32,compute=bfloat16,output=bfloat16")
FULL = jmp.get_policy("float32")


def run(policies, rest=None):
    """Dtypes that each linear layer saw: {name: (input, output)}."""
    seen = {}

    def watch(next_fn, args, kwargs, context):
        out = next_fn(*args, **kwargs)
        if isinstance(context.module, hk.Linear) and context.method_name == "__call__":
            name = context.module.module_name
            seen[name] = (str(args[0].dtype), str(out.dtype))
        return out

    def f(x):
        with hk.intercept_methods(watch):
            return hk.nets.MLP((8, 4, 2))(x)

    net = hk.without_apply_rng(hk.transform(mixed_precision(f, policies, rest=rest)))
    params = net.init(jax.random.key(0), jnp.ones((3, 5)))
    out = net.apply(params, jnp.ones((3, 5)))
    return seen, params, out


def test_modules_follow_the_pattern_of_their_path():
    seen, params, out = run({"mlp/~/linear_2": FULL, "mlp": FULL}, rest=HALF)
    assert {str(x.dtype) for x in jax.tree.leaves(params)} == {"float32"}
    assert seen["mlp/~/linear_0"] == ("bfloat16", "bfloat16")
    assert seen["mlp/~/linear_1"] == ("bfloat16", "bfloat16")
    assert seen["mlp/~/linear_2"] == ("float32", "float32")
    assert out.dtype == jnp.float32


def test_without_patterns_nothing_changes():
    x = jnp.ones((3, 5))

    def f(x):
        return hk.nets.MLP((8, 2))(x)

    plain = hk.without_apply_rng(hk.transform(f))
    ours = hk.without_apply_rng(hk.transform(mixed_precision(f, {})))
    params = plain.init(jax.random.key(0), x)
    assert (ours.apply(params, x) == plain.apply(params, x)).all()


def test_what_is_computed_in_half_is_computed_in_half():
    x = jax.random.normal(jax.random.key(1), (3, 5))

    def f(x):
        return hk.Linear(2, with_bias=False)(x)

    net = hk.without_apply_rng(hk.transform(mixed_precision(f, {"linear": HALF})))
    params = net.init(jax.random.key(0), x)
    wanted = x.astype(jnp.bfloat16) @ params["linear"]["w"].astype(jnp.bfloat16)
    assert (net.apply(params, x) == wanted).all()


def test_gradients_come_in_the_dtype_of_the_parameters():
    def f(x):
        return hk.nets.MLP((8, 1))(x)

    net = hk.without_apply_rng(hk.transform(mixed_precision(f, {}, rest=HALF)))
    x = jnp.ones((3, 5))
    params = net.init(jax.random.key(0), x)
    grads = jax.grad(lambda p: net.apply(p, x).astype(jnp.float32).sum())(params)
    assert {str(g.dtype) for g in jax.tree.leaves(grads)} == {"float32"}


def test_a_path_of_two_patterns_is_refused():
    with pytest.raises(ValueError, match="'mlp/~/linear_0' matches 2 patterns"):
        run({"*linear_0": HALF, "mlp/*": FULL})


def test_apply_may_run_some_of_the_modules():
    def f(x, *, whole):
        x = hk.Linear(2, name="first")(x)
        return hk.Linear(2, name="last")(x) if whole else x

    net = hk.without_apply_rng(
        hk.transform(mixed_precision(f, {"first": HALF, "last": FULL}))
    )
    params = net.init(jax.random.key(0), jnp.ones((1, 2)), whole=True)
    assert net.apply(params, jnp.ones((1, 2)), whole=False).dtype == HALF.output_dtype


def test_init_warns_of_a_pattern_of_no_module():
    def f(x):
        return hk.Linear(2)(x)

    net = hk.transform(mixed_precision(f, {"lin_ear": HALF}))
    wanted = "'lin_ear' matches no module that ran; they are 'linear': correct the pat"
    with pytest.warns(UserWarning, match=wanted):
        params = net.init(jax.random.key(0), jnp.ones((1, 2)))
    net.apply(params, None, jnp.ones((1, 2)))  # says nothing
    with pytest.warns(UserWarning, match=r"'mlp/linear_0' matches no .* 'mlp', 'mlp"):
        run({"mlp/linear_0": HALF})
    with pytest.warns(UserWarning, match="they are none"):
        hk.transform(mixed_precision(lambda x: x, {"*": HALF})).init(None, 1.0)


def test_one_dict_of_patterns_may_be_shared_by_two_functions():
    def both():
        policies = {"gen": HALF, "disc": FULL}
        gen = mixed_precision(hk.Linear(2, name="gen"), policies)
        disc = mixed_precision(hk.Linear(2, name="disc"), policies)
        return lambda x: disc(gen(x)), (gen, disc)

    net = hk.without_apply_rng(hk.multi_transform(both))
    x = jnp.ones((1, 2))
    with pytest.warns(UserWarning, match="matches no module") as caught:
        params = net.init(jax.random.key(0), x)
    assert [str(w.message).split(";")[0] for w in caught] == [
        "mixed_precision: 'disc' matches no module that ran",
        "mixed_precision: 'gen' matches no module that ran",
    ]
    assert [str(f(params, x).dtype) for f in net.apply] == ["bfloat16", "float32"]


def test_a_module_that_only_makes_its_parameters_is_seen():
    class Table(hk.Module):
        def __init__(self):
            super().__init__()
            self.w = hk.get_parameter("w", (3,), init=jnp.ones)

    half = jmp.get_policy("params=bfloat16,compute=float16,output=float32")
    net = hk.transform(mixed_precision(lambda: Table().w, {"table": half}))
    params = net.init(None)  # without a warning, which would be an error here
    assert params["table"]["w"].dtype == jnp.bfloat16
    assert net.apply(params, None).dtype == jnp.float16


@pytest.mark.parametrize("policies", [{"linear": "half"}, {"linear": None}])
def test_a_policy_that_is_none_is_refused(policies):
    with pytest.raises(TypeError, match=r"for 'linear', wanted a policy: pass jmp"):
        mixed_precision(lambda x: x, policies)
    with pytest.raises(TypeError, match="found 'half' for 'rest', wanted a policy"):
        mixed_precision(lambda x: x, {}, rest="half")
