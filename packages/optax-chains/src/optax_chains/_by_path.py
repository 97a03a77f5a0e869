"""A chain for each group of parameters, the groups given by the parameters' paths."""

import fnmatch
import re
from collections.abc import Hashable, Mapping
from typing import Any

import jax
import optax

from optax_chains._checks import check_chains
from optax_chains._paths import path_of, paths_of
from optax_chains._stand_still import stand_still

Pattern = str | re.Pattern[str]
_REST = "<rest>"


def freeze() -> optax.GradientTransformation:
    """A chain for parameters that never change, for `by_path`.

    It has no state, and its updates are minus zero: the one number that leaves every
    bit of a parameter as it is when added (plus zero would turn -0.0 into 0.0). Under
    `jit` the gradients of frozen parameters are not computed, since nobody reads them.

    Example:
      >>> import jax.numpy as jnp
      >>> freeze().update(jnp.ones(2), freeze().init(jnp.ones(2)))[0]
      Array([-0., -0.], dtype=float32)
    """

    def update(updates: Any, state: Any, params: Any = None) -> Any:
        del params
        return stand_still(updates), state

    return optax.GradientTransformation(optax.init_empty_state, update)


def by_path(
    groups: Mapping[Pattern, optax.GradientTransformation],
    *,
    rest: optax.GradientTransformation | None = None,
) -> optax.GradientTransformationExtraArgs:
    """Gives each parameter to the chain whose pattern matches its path.

    Paths are written with slashes, `mlp/~/linear_0/w`, for dicts, NamedTuples,
    dataclasses and lists alike. A chain sees only its own parameters: norms, clipping
    and state are those of the group. What adds to the updates must be inside the
    groups; weight decay in front of or behind `by_path` moves frozen parameters too.
    In a group of another `by_path`, or under a mask, a pattern that matches nothing is
    no error: the chain cannot see whether the parameters it would match are hidden.

    Args:
      groups: pattern -> chain. A string is a glob over the whole path, in which `*`
        stands for anything, slashes too; a compiled `re.Pattern` must match the whole
        path. Use `freeze()` for parameters that stay as they are.
      rest: the chain of the parameters that no pattern matches; None if there must be
        none.

    Returns:
      A transformation. Its state keeps each group's under the group's pattern, and
      nothing for parameters of other groups.

    Raises:
      ValueError: when the chain meets the parameters, if a path matches two patterns,
        or none and there is no `rest`, or if a pattern matches no path; when it is
        made, if two patterns read the same.
      TypeError: if `groups` is no mapping, a pattern is no text, or a chain none.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> groups = {"encoder/*": freeze(), "*/b": optax.sgd(1.0)}
      >>> chain = by_path(groups, rest=optax.sgd(0.5))
      >>> params = {"encoder": {"w": jnp.ones(1)}, "head": {"w": jnp.ones(1)}}
      >>> params["head"]["b"] = jnp.ones(1)
      >>> updates, _ = chain.update(params, chain.init(params))
      >>> [float(u[0]) for u in jax.tree.leaves(updates)]
      [-0.0, -1.0, -0.5]
    """
    _check_groups(groups, rest)
    texts = [p if isinstance(p, str) else p.pattern for p in groups]
    for text in texts:
        if texts.count(text) > 1 or text == _REST:
            raise ValueError(
                f"by_path: two groups read {text!r}, a glob and a regular expression; "
                "type them so that they differ"
            )
    chains: dict[Hashable, optax.GradientTransformation] = dict(
        zip(texts, groups.values(), strict=True)
    )
    if rest is not None:
        chains[_REST] = rest

    def labels_of(tree: Any) -> Any:
        matched: set[str] = set()

        def label(key_path: Any, leaf: Any) -> str:
            del leaf
            path = path_of(key_path)
            found = [t for t, p in zip(texts, groups, strict=True) if _matches(p, path)]
            matched.update(found)
            if len(found) > 1:
                raise ValueError(
                    f"by_path: {path!r} matches {len(found)} patterns, "
                    f"{_listed(found)}; narrow all but one of them"
                )
            if not found and rest is None:
                raise ValueError(
                    f"by_path: {path!r} matches none of the patterns {_listed(texts)}; "
                    "add one that does, or type rest=chain for what is left over"
                )
            return found[0] if found else _REST

        labels = jax.tree.map_with_path(label, tree)
        if _is_whole(tree) and (unused := set(texts) - matched):
            raise ValueError(
                f"by_path: {_listed(sorted(unused))} matches no parameter; the paths "
                f"are {_listed(paths_of(tree))}"
            )
        return labels

    return optax.partition(chains, labels_of)


def _check_groups(groups: Any, rest: Any) -> None:
    if not isinstance(groups, Mapping):
        raise TypeError(
            f"by_path: groups is a {type(groups).__name__}, wanted a mapping; type "
            '{"encoder/*": freeze(), "*/b": optax.sgd(0.1)}'
        )
    for pattern, chain in groups.items():
        text = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
        if not isinstance(text, str):
            raise TypeError(
                f"by_path: the pattern {pattern!r} is no text; type a glob such as "
                '"encoder/*", or re.compile of a text'
            )
        check_chains("by_path", **{f"groups[{text!r}]": chain})
    if rest is not None:
        check_chains("by_path", rest=rest)


def _is_whole(tree: Any) -> bool:
    """Whether these are all parameters: a mask around the chain may hide some."""
    hidden = jax.tree.leaves(
        tree, is_leaf=lambda node: isinstance(node, optax.MaskedNode)
    )
    masked = any(isinstance(node, optax.MaskedNode) for node in hidden)
    return bool(hidden) and not masked


def _matches(pattern: Pattern, path: str) -> bool:
    if isinstance(pattern, str):
        return fnmatch.fnmatchcase(path, pattern)
    return pattern.fullmatch(path) is not None


def _listed(texts: list[str]) -> str:
    shown = ", ".join(repr(text) for text in texts[:20])
    return shown + (f" and {len(texts) - 20} more" if len(texts) > 20 else "")
