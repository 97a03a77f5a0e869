"""RLax assembled into agents that learn: batched, jitted, on many devices."""

from rlax_agents._auto_reset import AutoReset, Outcome
from rlax_agents._cartpole import CartPole
from rlax_agents._catch import Catch
from rlax_agents._checks import ArgumentError
from rlax_agents._deep_sea import DeepSea
from rlax_agents._distributional import (
    categorical_q_loss,
    categorical_q_td_errors,
    project_categorical,
    quantile_q_loss,
    quantile_q_td_errors,
)
from rlax_agents._dm_env import to_dm_env
from rlax_agents._environment import Environment, StepType, TimeStep, advance, restart
from rlax_agents._grid_world import GridWorld, OptimalValues, value_iteration
from rlax_agents._gymnasium import to_gymnasium
from rlax_agents._gymnax import from_gymnax
from rlax_agents._mean import Metrics
from rlax_agents._off_policy import (
    general_off_policy_returns,
    q_lambda,
    retrace,
)
from rlax_agents._pendulum import Pendulum
from rlax_agents._q_learning import (
    double_q_loss,
    double_q_td_errors,
    q_loss,
    q_td_errors,
)
from rlax_agents._recurrence import Method
from rlax_agents._regression import error_loss
from rlax_agents._returns import discounted_returns, gae, lambda_returns, n_step_returns
from rlax_agents._spaces import Continuous, Discrete
from rlax_agents._td import (
    expected_sarsa_loss,
    expected_sarsa_td_errors,
    sarsa_loss,
    sarsa_td_errors,
    td_errors,
    td_loss,
)
from rlax_agents._transforms import ValueTransform, muzero, signed_hyperbolic, two_hot
from rlax_agents._vtrace import VTrace, vtrace

__all__ = [
    "ArgumentError",
    "AutoReset",
    "CartPole",
    "Catch",
    "Continuous",
    "DeepSea",
    "Discrete",
    "Environment",
    "GridWorld",
    "Method",
    "Metrics",
    "OptimalValues",
    "Outcome",
    "Pendulum",
    "StepType",
    "TimeStep",
    "VTrace",
    "ValueTransform",
    "advance",
    "categorical_q_loss",
    "categorical_q_td_errors",
    "discounted_returns",
    "double_q_loss",
    "double_q_td_errors",
    "error_loss",
    "expected_sarsa_loss",
    "expected_sarsa_td_errors",
    "from_gymnax",
    "gae",
    "general_off_policy_returns",
    "lambda_returns",
    "muzero",
    "n_step_returns",
    "project_categorical",
    "q_lambda",
    "q_loss",
    "q_td_errors",
    "quantile_q_loss",
    "quantile_q_td_errors",
    "restart",
    "retrace",
    "sarsa_loss",
    "sarsa_td_errors",
    "signed_hyperbolic",
    "td_errors",
    "td_loss",
    "to_dm_env",
    "to_gymnasium",
    "two_hot",
    "value_iteration",
    "vtrace",
]
