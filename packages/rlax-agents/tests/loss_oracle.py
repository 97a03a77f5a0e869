"""Losses in NumPy, one step at a time, in float64, as the papers write them."""

import numpy as np


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(x):
    return np.log(softmax(x))


def steps(mask):
    """Where the steps that count are."""
    return [tuple(at) for at in np.argwhere(mask)]


def mean_over(mask, of_step):
    """The mean of a function of a step's place."""
    return np.mean([of_step(at) for at in steps(mask)])


def huber(x, delta):
    if delta is None or abs(x) <= delta:
        return x * x / 2
    return delta * (abs(x) - delta / 2)


def squash(x, eps=1e-3):
    return np.sign(x) * (np.sqrt(abs(x) + 1) - 1) + eps * x


def expand(y, eps=1e-3):
    root = (np.sqrt(1 + 4 * eps * (abs(y) + 1 + eps)) - 1) / (2 * eps)
    return np.sign(y) * (root**2 - 1)


def project(z_p, p, z_q):
    """Each mass in turn, to the two atoms beside it."""
    found = np.zeros(len(z_q))
    within = [min(max(z, z_q[0]), z_q[-1]) for z in z_p]
    for z, mass in zip(within, p, strict=True):
        high = next(i for i, atom in enumerate(z_q) if atom >= z)
        if z_q[high] == z:
            found[high] += mass
            continue
        part = (z - z_q[high - 1]) / (z_q[high] - z_q[high - 1])
        found[high - 1] += mass * (1 - part)
        found[high] += mass * part
    return found


def quantile_regression(theta, tau, target, delta):
    """The sum over predicted quantiles of the mean over the target's."""
    total = 0.0
    for value, level in zip(theta, tau, strict=True):
        losses = []
        for goal in target:
            u = goal - value
            size = abs(u) if delta is None else huber(u, delta)
            losses.append(abs(level - (u < 0)) * size)
        total += np.mean(losses)
    return total
