"""Optax chains by name, and updates for two players."""

from optax_chains._accumulate import AccumulateState, accumulate
from optax_chains._adamw_cosine import adamw_cosine
from optax_chains._alternating import alternating, several_disc_steps
from optax_chains._by_path import by_path, freeze
from optax_chains._clip import clip_adaptive, clip_by_global, clip_by_layer
from optax_chains._control_variates import (
    BaselineState,
    ControlVariate,
    control_variates_jacobians,
    delta_method,
    moving_average_baseline,
)
from optax_chains._curvature import (
    fisher_diag,
    gauss_newton_operator,
    gauss_newton_vp,
    hessian,
    hessian_diag,
    hessian_diag_hutchinson,
    hessian_matrix,
    hvp,
)
from optax_chains._decay_mask import decay_mask
from optax_chains._distributions import (
    Distribution,
    HasWeakDerivatives,
    Normal,
    WeakDerivative,
)
from optax_chains._dp_sgd import dp_sgd
from optax_chains._ema import WithEmaState, ema_params, with_ema
from optax_chains._epsilon import epsilon, noise_multiplier_for
from optax_chains._estimators import (
    measure_valued_jacobians,
    pathwise_jacobians,
    score_function_jacobians,
)
from optax_chains._extragradient import extragradient, optimistic
from optax_chains._gan_adam import gan_adam
from optax_chains._lamb_large_batch import lamb_large_batch
from optax_chains._lazy import LazyState, lazy
from optax_chains._lookahead import LookaheadState, lookahead
from optax_chains._migrate import migrate
from optax_chains._players import Players, TwoPlayer, own_gradients
from optax_chains._report import ReportState, read_report, report
from optax_chains._rmsprop import rmsprop
from optax_chains._scale_by_rate import RateState, scale_by_rate
from optax_chains._second_order import gauss_newton_cg, natural_gradient
from optax_chains._sgd_momentum import sgd_momentum
from optax_chains._skip_nonfinite import SkipState, skip_nonfinite
from optax_chains._two_player import two_player

__all__ = [
    "AccumulateState",
    "BaselineState",
    "ControlVariate",
    "Distribution",
    "HasWeakDerivatives",
    "LazyState",
    "LookaheadState",
    "Normal",
    "Players",
    "RateState",
    "ReportState",
    "SkipState",
    "TwoPlayer",
    "WeakDerivative",
    "WithEmaState",
    "accumulate",
    "adamw_cosine",
    "alternating",
    "by_path",
    "clip_adaptive",
    "clip_by_global",
    "clip_by_layer",
    "control_variates_jacobians",
    "decay_mask",
    "delta_method",
    "dp_sgd",
    "ema_params",
    "epsilon",
    "extragradient",
    "fisher_diag",
    "freeze",
    "gan_adam",
    "gauss_newton_cg",
    "gauss_newton_operator",
    "gauss_newton_vp",
    "hessian",
    "hessian_diag",
    "hessian_diag_hutchinson",
    "hessian_matrix",
    "hvp",
    "lamb_large_batch",
    "lazy",
    "lookahead",
    "measure_valued_jacobians",
    "migrate",
    "moving_average_baseline",
    "natural_gradient",
    "noise_multiplier_for",
    "optimistic",
    "own_gradients",
    "pathwise_jacobians",
    "read_report",
    "report",
    "rmsprop",
    "scale_by_rate",
    "score_function_jacobians",
    "several_disc_steps",
    "sgd_momentum",
    "skip_nonfinite",
    "two_player",
    "with_ema",
]
