import math
import sys

import numpy as np
import pytest
from scipy.special import logsumexp

from optax_chains import _epsilon, epsilon, noise_multiplier_for

# Abadi et al., 2016, section 3.2: q = 0.01, sigma = 4, delta = 1e-5, 100 epochs.
PUBLISHED = {
    "noise_multiplier": 4.0,
    "sampling_rate": 0.01,
    "steps": 10_000,
    "delta": 1e-5,
}


def renyi(sigma, q, order):
    """Of the sampled Gaussian, Mironov, Talwar, Zhang, 2019, equation 6."""
    terms = [
        math.log(math.comb(order, k))
        + (order - k) * math.log1p(-q)
        + k * math.log(q)
        + k * (k - 1) / (2 * sigma**2)
        for k in range(order + 1)
    ]
    return logsumexp(terms) / (order - 1)


def by_moments(conversion):
    return min(
        conversion(10_000 * renyi(4.0, 0.01, order), order) for order in range(2, 200)
    )


def test_the_moments_accountant_of_abadi_is_above_both():
    """The paper prints 1.26, by the classical conversion to epsilon."""
    classical = by_moments(lambda r, a: r + math.log(1e5) / (a - 1))
    assert classical == pytest.approx(1.26, abs=0.01)
    pld, rdp = (epsilon(**PUBLISHED, accountant=a) for a in ("pld", "rdp"))
    assert 0.9 < pld < rdp < classical


def test_rdp_is_our_own_computation():
    """With the conversion of Canonne, Kamath, Steinke, 2020, proposition 12."""
    ours = by_moments(
        lambda r, a: r + math.log1p(-1 / a) + (math.log(1e5) - math.log(a)) / (a - 1)
    )
    assert epsilon(**PUBLISHED, accountant="rdp") == pytest.approx(ours, rel=2e-3)


def test_one_step_on_all_examples_is_the_gaussian_mechanism():
    """delta(epsilon) of Balle, Wang, 2018, theorem 8."""
    sigma, eps = (
        2.0,
        epsilon(noise_multiplier=2.0, sampling_rate=1.0, steps=1, delta=1e-3),
    )

    def below(x):
        return 0.5 * math.erfc(-x / math.sqrt(2))

    delta = below(0.5 / sigma - eps * sigma) - math.exp(eps) * below(
        -0.5 / sigma - eps * sigma
    )
    assert delta == pytest.approx(1e-3, rel=0.01)


def test_more_of_anything_risky_is_a_larger_epsilon():
    base = epsilon(**PUBLISHED)
    for more in ({"steps": 20_000}, {"sampling_rate": 0.02}, {"noise_multiplier": 3.0}):
        assert epsilon(**(PUBLISHED | more)) > base
    assert epsilon(**(PUBLISHED | {"noise_multiplier": 0.0})) == np.inf


def test_the_noise_for_an_epsilon_gives_that_epsilon():
    run = {"sampling_rate": 0.02, "steps": 50, "delta": 1e-5, "accountant": "rdp"}
    found = noise_multiplier_for(target_epsilon=2.0, **run)
    assert epsilon(noise_multiplier=found, **run) == pytest.approx(2.0, abs=0.01)


@pytest.fixture
def tried(monkeypatch):
    """The noise multipliers that are tried."""
    tried, run = [], _epsilon._run

    def note(noise, *rest):
        tried.append(noise)
        return run(noise, *rest)

    monkeypatch.setattr(_epsilon, "_run", note)
    return tried


def test_the_search_stays_where_pld_is_quick(tried):
    run = {"sampling_rate": 0.02, "steps": 5, "delta": 1e-5}
    found = noise_multiplier_for(target_epsilon=2.0, **run)
    assert min(tried) >= 0.1
    assert len(tried) < 20
    assert epsilon(noise_multiplier=found, **run) <= 2.0
    assert epsilon(noise_multiplier=found - 2e-3, **run) > 2.0


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (1e4, "is 10000.0, wanted 500 or less .* type accountant='rdp'"),
        (400.0, "is 400.0, which noise below 0.1 meets, .* type accountant='rdp'"),
    ],
)
def test_targets_out_of_the_reach_of_pld_are_refused_at_once(tried, target, message):
    run = {"sampling_rate": 0.02, "steps": 1, "delta": 1e-5}
    with pytest.raises(
        ValueError, match=f"noise_multiplier_for: target_ep.* {message}"
    ):
        noise_multiplier_for(target_epsilon=target, **run)
    assert len(tried) < 2
    assert noise_multiplier_for(target_epsilon=target, **run, accountant="rdp") < 0.1


def test_what_only_pld_knows_to_be_out_of_its_reach_is_refused(tried, monkeypatch):
    monkeypatch.setattr(_epsilon, "_LEAST_NOISE_OF_PLD", 0.8)  # of 0.1 it takes long
    run = {"sampling_rate": 0.02, "steps": 5, "delta": 1e-5}
    target = epsilon(noise_multiplier=0.8, **run) + 1e-3
    assert epsilon(noise_multiplier=0.8, **run, accountant="rdp") > target
    with pytest.raises(ValueError, match=r"which noise below 0\.8 meets"):
        noise_multiplier_for(target_epsilon=target, **run)
    assert min(tried) == 0.8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"sampling_rate": 1.5},
            "epsilon: sampling_rate is 1.5; type a number above 0",
        ),
        ({"delta": 0.0}, "delta is 0.0; type a number between"),
        ({"steps": 0}, "steps is 0; type 1 or more"),
        ({"noise_multiplier": -1.0}, "noise_multiplier is -1.0; type 0 or more"),
        ({"noise_multiplier": float("inf")}, "noise_multiplier is inf; type 0 or more"),
        ({"noise_multiplier": 1e-9}, "is 1e-09, wanted 0.1 .* type accountant='rdp'"),
        ({"accountant": "moments"}, "'moments'; type 'pld' or 'rdp'"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        epsilon(**(PUBLISHED | change))


@pytest.mark.parametrize("target", [0.0, float("inf"), float("nan")])
def test_a_target_of_nothing_and_of_everything_is_refused(target):
    run = {"sampling_rate": 0.02, "steps": 500, "delta": 1e-5}
    message = f"target_epsilon is {target}; type a number above 0 that is finite"
    with pytest.raises(ValueError, match=message):
        noise_multiplier_for(target_epsilon=target, **run)


def test_with_little_noise_the_older_bound_is_left():
    run = {"sampling_rate": 0.02, "steps": 500, "delta": 1e-5, "accountant": "rdp"}
    assert epsilon(noise_multiplier=1e-3, **run) > 1e8


def test_the_extra_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ModuleNotFoundError, match=r"missing.*extra \[privacy\]"):
        epsilon(**PUBLISHED)
