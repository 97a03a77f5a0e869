# ruff: noqa: PLR0917 (each takes one sequence of everything, in the oracle only)
"""Returns by their definitions: one sequence, one step at a time, in float64."""

import numpy as np

T, B = 7, 5


def batch(seed=0, *, ends=True):
    """A batch of sequences with terminations, truncations and masked steps."""
    rng = np.random.default_rng(seed)
    shape = (T, B)
    discount_t = rng.uniform(0.5, 1.0, shape)
    if ends:
        discount_t[rng.random(shape) < 0.2] = 0.0
    return {
        "r_t": rng.normal(size=shape),
        "discount_t": discount_t,
        "v_tm1": rng.normal(size=shape),
        "v_t": rng.normal(size=shape),
        "rho_tm1": rng.exponential(size=shape),
        "truncated_t": rng.random(shape) < 0.2 if ends else np.zeros(shape, bool),
        "mask_t": rng.random(shape) < 0.8 if ends else np.ones(shape, bool),
        "lambda_": rng.uniform(size=shape),
    }


def leads_on(truncated, mask, t):
    """Whether the return of step t may use that of step t + 1."""
    return t + 1 < len(mask) and not truncated[t] and mask[t + 1]


def one_sequence(rule):
    """Makes a rule for one sequence one for a batch [time, batch]."""

    def over_batch(truncated_t, mask_t, *arrays, **options):
        columns = [
            rule(truncated_t[:, i], mask_t[:, i], *(a[:, i] for a in arrays), **options)
            for i in range(mask_t.shape[1])
        ]
        return np.stack(columns, axis=1)

    return over_batch


@one_sequence
def lambda_return(truncated, mask, r, discount, v, *, lambda_):
    out = np.zeros(len(r))
    for t in reversed(range(len(r))):
        if mask[t]:
            later = v[t]
            if leads_on(truncated, mask, t):
                later = (1 - lambda_) * v[t] + lambda_ * out[t + 1]
            out[t] = r[t] + discount[t] * later
    return out


@one_sequence
def n_step_return(truncated, mask, r, discount, v, *, n):
    out = np.zeros(len(r))
    for t in range(len(r)):
        if not mask[t]:
            continue
        weight, last = 1.0, t
        for k in range(t, t + n):
            out[t] += weight * r[k]
            weight *= discount[k]
            last = k
            if not leads_on(truncated, mask, k):
                break
        out[t] += weight * v[last]
    return out


@one_sequence
def advantage(truncated, mask, r, discount, v_tm1, v_t, *, lambda_):
    out = np.zeros(len(r))
    for t in range(len(r)):
        weight = 1.0
        for k in range(t, len(r)):
            if not mask[t]:
                break
            out[t] += weight * (r[k] + discount[k] * v_t[k] - v_tm1[k])
            weight *= discount[k] * lambda_
            if not leads_on(truncated, mask, k):
                break
    return out


@one_sequence
def v_trace_target(truncated, mask, r, discount, v_tm1, v_t, rho, *, lambda_, clip):
    """Equation 1 of the paper: a sum over steps of products of traces."""
    out = np.zeros(len(r))
    for t in range(len(r)):
        if not mask[t]:
            continue
        out[t], weight = v_tm1[t], 1.0
        for k in range(t, len(r)):
            delta = min(rho[k], clip) * (r[k] + discount[k] * v_t[k] - v_tm1[k])
            out[t] += weight * delta
            weight *= discount[k] * lambda_ * min(rho[k], 1.0)
            if not leads_on(truncated, mask, k):
                break
    return out


@one_sequence
def trace_return(truncated, mask, r, discount, q, v, c):
    """Equation 3 of the paper, run backwards."""
    out = np.zeros(len(r))
    for t in reversed(range(len(r))):
        if mask[t]:
            later = v[t]
            if leads_on(truncated, mask, t):
                later += c[t] * (out[t + 1] - q[t])
            out[t] = r[t] + discount[t] * later
    return out
