"""What a private run gives away, and how much noise it takes to give away no more.

The accounting is that of `dp-accounting`, which is installed by the extra `privacy`.
"""

import operator
from typing import Any, Literal

from optax_chains._checks import (
    BOUNDED,
    CHANCE,
    NOT_NEGATIVE,
    SHARE,
    check_counts,
    check_numbers,
)

Accountant = Literal["pld", "rdp"]
# Below it the privacy loss spreads so far that composing it takes minutes, and more
# memory the less noise there is.
_LEAST_NOISE_OF_PLD = 0.1
_LARGEST_TARGET_OF_PLD = 500.0


def epsilon(
    *,
    noise_multiplier: float,
    sampling_rate: float,
    steps: int,
    delta: float,
    accountant: Accountant = "pld",
) -> float:
    """The epsilon of (epsilon, delta)-differential privacy after steps of `dp_sgd`.

    For data sets that differ by one example added or removed, and Poisson batches.
    Batches that are shuffled, or of a fixed size, have another epsilon, which may be
    larger.

    Args:
      noise_multiplier: as in `dp_sgd`.
      sampling_rate: the chance of an example to be in a batch.
      steps: how many batches are used.
      delta: the chance that the promise does not hold; below one over the number of
        examples.
      accountant: `"pld"` composes the distribution of the privacy loss, which is
        tight; `"rdp"` its Renyi moments, which is the older bound and always larger.

    Returns:
      epsilon; infinite without noise.

    Raises:
      ValueError: if an argument is out of its range.
      TypeError: if one is no number, or `steps` no whole one.
      ModuleNotFoundError: if `dp-accounting` is not installed.

    Example:
      >>> found = epsilon(
      ...     noise_multiplier=1.1, sampling_rate=256 / 60000, steps=14000, delta=1e-5
      ... )
      >>> round(found, 2)
      2.38

    References:
      Abadi et al., 2016, [Deep Learning with Differential
      Privacy](https://arxiv.org/abs/1607.00133); Mironov, Talwar, Zhang, 2019, [Renyi
      Differential Privacy of the Sampled Gaussian
      Mechanism](https://arxiv.org/abs/1908.10530); Doroshenko et al., 2022, [Connect
      the Dots](https://arxiv.org/abs/2207.04380), for `"pld"`.
    """
    _check("epsilon", sampling_rate, delta, steps)
    check_numbers(
        "epsilon", NOT_NEGATIVE, traced=False, noise_multiplier=noise_multiplier
    )
    if noise_multiplier == 0:
        return float("inf")
    if accountant == "pld" and noise_multiplier < _LEAST_NOISE_OF_PLD:
        raise ValueError(
            f"epsilon: noise_multiplier is {noise_multiplier}, wanted "
            f"{_LEAST_NOISE_OF_PLD} or more for accountant='pld', which would run out "
            "of memory; type accountant='rdp' for a bound"
        )
    event = _run(noise_multiplier, sampling_rate, steps)
    return float(_new(accountant).compose(event).get_epsilon(delta))


def noise_multiplier_for(
    *,
    target_epsilon: float,
    sampling_rate: float,
    steps: int,
    delta: float,
    accountant: Accountant = "pld",
) -> float:
    """The least noise multiplier with which a run gives away no more than a target.

    Args:
      target_epsilon: the largest epsilon allowed.
      sampling_rate: the chance of an example to be in a batch.
      steps: how many batches are used.
      delta: the chance that the promise does not hold.
      accountant: as in `epsilon`.

    Returns:
      The noise multiplier, to 1e-3, for `dp_sgd`.

    Raises:
      ValueError: if an argument is out of its range; for `"pld"`, too, if the target is
        above 500, or less noise than 0.1 meets it.
      TypeError: if one is no number, or `steps` no whole one.
      ModuleNotFoundError: if `dp-accounting` is not installed.

    Example:
      >>> found = noise_multiplier_for(
      ...     target_epsilon=2.0, sampling_rate=256 / 60000, steps=14000, delta=1e-5,
      ...     accountant="rdp",
      ... )
      >>> round(found, 1)
      1.3
    """
    _check("noise_multiplier_for", sampling_rate, delta, steps)
    check_numbers(
        "noise_multiplier_for", BOUNDED, traced=False, target_epsilon=target_epsilon
    )
    bracket = None
    if accountant == "pld":
        low, high = _bracket_of_pld(target_epsilon, sampling_rate, steps, delta)
        bracket = _accounting().ExplicitBracketInterval(low, high)
    found = _accounting().calibrate_dp_mechanism(
        lambda: _new(accountant),
        lambda noise: _run(noise, sampling_rate, steps),
        float(target_epsilon),
        float(delta),
        bracket,
        tol=1e-3,
    )
    return float(found)


def _bracket_of_pld(
    target_epsilon: float, sampling_rate: float, steps: int, delta: float
) -> tuple[float, float]:
    """Noise that gives away too much, and enough of it.

    Never far beyond the target, where one try takes minutes.
    """
    if target_epsilon > _LARGEST_TARGET_OF_PLD:
        raise ValueError(
            f"noise_multiplier_for: target_epsilon is {target_epsilon}, wanted "
            f"{_LARGEST_TARGET_OF_PLD:.0f} or less for accountant='pld', which takes "
            "minutes for such; type accountant='rdp' for a bound"
        )

    def fits(noise: float, accountant: Accountant = "pld") -> bool:
        event = _run(noise, sampling_rate, steps)
        return _new(accountant).compose(event).get_epsilon(delta) <= target_epsilon

    least = _LEAST_NOISE_OF_PLD
    too_large = ValueError(
        f"noise_multiplier_for: target_epsilon is {target_epsilon}, which noise below "
        f"{least} meets, where accountant='pld' would run out of memory; type "
        "accountant='rdp' for a bound"
    )
    if fits(least, "rdp"):  # then the other does, and this is known at once
        raise too_large
    low = high = 1.0
    while not fits(high):
        low, high = high, 2 * high
    while low == high or fits(low):
        if low == least:
            raise too_large
        low, high = max(low / 2, least), low
    return low, high


def _run(noise_multiplier: float, sampling_rate: float, steps: int) -> Any:
    dp = _accounting()
    step = dp.GaussianDpEvent(float(noise_multiplier))
    sampled = dp.PoissonSampledDpEvent(float(sampling_rate), step)
    return dp.SelfComposedDpEvent(sampled, operator.index(steps))


def _new(accountant: str) -> Any:
    dp = _accounting()
    if accountant == "pld":
        return dp.pld.PLDAccountant()
    if accountant == "rdp":
        return dp.rdp.RdpAccountant()
    raise ValueError(f"accountant is {accountant!r}; type 'pld' or 'rdp'")


def _check(where: str, sampling_rate: float, delta: float, steps: int) -> None:
    check_numbers(where, SHARE, traced=False, sampling_rate=sampling_rate)
    check_numbers(where, CHANCE, traced=False, delta=delta)
    check_counts(where, steps=steps)


def _accounting() -> Any:
    try:
        import dp_accounting  # noqa: PLC0415  (an extra, and slow to import)
        import dp_accounting.pld  # noqa: PLC0415
        import dp_accounting.rdp  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{error.name} is missing, which computes epsilon; type "
            "pip install 'dp-accounting>=0.6', or install optax-chains with its extra "
            "[privacy]",
            name=error.name,
        ) from error
    return dp_accounting
