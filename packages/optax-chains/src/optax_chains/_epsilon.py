"""What a private run gives away, and how much noise it takes to give away no more.

The accounting is that of `dp-accounting`, which is installed by the extra `privacy`.
"""

from typing import Any, Literal

Accountant = Literal["pld", "rdp"]


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
    _check(sampling_rate=sampling_rate, delta=delta, steps=steps)
    if not noise_multiplier >= 0:
        raise ValueError(
            f"epsilon: noise_multiplier is {noise_multiplier}; type 0 or more"
        )
    if noise_multiplier == 0:
        return float("inf")
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
      ValueError: if an argument is out of its range.
      ModuleNotFoundError: if `dp-accounting` is not installed.

    Example:
      >>> found = noise_multiplier_for(
      ...     target_epsilon=2.0, sampling_rate=256 / 60000, steps=14000, delta=1e-5,
      ...     accountant="rdp",
      ... )
      >>> round(found, 1)
      1.3
    """
    _check(sampling_rate=sampling_rate, delta=delta, steps=steps)
    if not target_epsilon > 0:
        raise ValueError(
            f"noise_multiplier_for: target_epsilon is {target_epsilon}; type a number "
            "above 0"
        )
    found = _accounting().calibrate_dp_mechanism(
        lambda: _new(accountant),
        lambda noise: _run(noise, sampling_rate, steps),
        target_epsilon,
        delta,
        tol=1e-3,
    )
    return float(found)


def _run(noise_multiplier: float, sampling_rate: float, steps: int) -> Any:
    dp = _accounting()
    step = dp.GaussianDpEvent(noise_multiplier)
    sampled = dp.PoissonSampledDpEvent(sampling_rate, step)
    return dp.SelfComposedDpEvent(sampled, steps)


def _new(accountant: str) -> Any:
    dp = _accounting()
    if accountant == "pld":
        return dp.pld.PLDAccountant()
    if accountant == "rdp":
        return dp.rdp.RdpAccountant()
    raise ValueError(f"accountant is {accountant!r}; type 'pld' or 'rdp'")


def _check(*, sampling_rate: float, delta: float, steps: int) -> None:
    for name, value, fine in (
        ("sampling_rate", sampling_rate, 0 < sampling_rate <= 1),
        ("delta", delta, 0 < delta < 1),
    ):
        if not fine:
            raise ValueError(f"{name} is {value}; type a number between 0 and 1")
    if steps < 1:
        raise ValueError(f"steps is {steps}; type 1 or more")


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
