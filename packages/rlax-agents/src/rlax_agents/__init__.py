"""RLax assembled into agents that learn: batched, jitted, on many devices."""

from rlax_agents._agent import Agent, Rollout
from rlax_agents._auto_reset import AutoReset, Outcome
from rlax_agents._auxiliary import (
    cumulant_loss,
    feature_control_loss,
    feature_control_rewards,
    pixel_control_loss,
    pixel_control_rewards,
)
from rlax_agents._bonus_agent import WithBonus
from rlax_agents._cartpole import CartPole
from rlax_agents._catch import Catch
from rlax_agents._checkpoint import CheckpointError, load_state, save_state
from rlax_agents._checks import ArgumentError
from rlax_agents._counts import CountBonus, Counts, simhash
from rlax_agents._deep_sea import DeepSea
from rlax_agents._distributional import (
    categorical_q_loss,
    categorical_q_td_errors,
    project_categorical,
    quantile_q_loss,
    quantile_q_td_errors,
)
from rlax_agents._distributions import (
    Categorical,
    DiagonalGaussian,
    Policy,
    TanhGaussian,
)
from rlax_agents._dm_env import to_dm_env
from rlax_agents._dqn_agent import DQN, Atoms
from rlax_agents._duals import MPODuals, init_duals, project_duals
from rlax_agents._environment import Environment, StepType, TimeStep, advance, restart
from rlax_agents._evaluate import evaluate
from rlax_agents._exploration import boltzmann, epsilon_greedy, gaussian_noise, ucb
from rlax_agents._grid_world import GridWorld, OptimalValues, value_iteration
from rlax_agents._gymnasium import to_gymnasium
from rlax_agents._gymnax import from_gymnax
from rlax_agents._impala import impala_loss
from rlax_agents._impala_agent import IMPALA
from rlax_agents._intrinsic import EpisodicMemory, MemoryState
from rlax_agents._mpo import mpo_loss, vmpo_loss
from rlax_agents._mpo_agent import MPO
from rlax_agents._networks import (
    action_critic,
    action_values,
    actor_critic,
    mlp,
    policy_head,
    stochastic_policy,
)
from rlax_agents._off_policy import (
    general_off_policy_returns,
    q_lambda,
    retrace,
)
from rlax_agents._offline import from_episodes, to_columns, to_episodes
from rlax_agents._ornstein_uhlenbeck import OrnsteinUhlenbeck
from rlax_agents._parameter_noise import adapt_noise_scale, parameter_noise
from rlax_agents._pendulum import Pendulum
from rlax_agents._policy_gradient import a2c_loss, policy_gradient_loss
from rlax_agents._popart import PopArt, PopArtState
from rlax_agents._ppo import normalise_advantages, ppo_loss
from rlax_agents._ppo_agent import PPO
from rlax_agents._prioritised import PrioritisedReplay, PrioritisedState
from rlax_agents._q_learning import (
    double_q_loss,
    double_q_td_errors,
    q_loss,
    q_td_errors,
)
from rlax_agents._recipes import RECIPES, Recipe, recipe
from rlax_agents._regression import error_loss
from rlax_agents._replay import Replay, ReplayState, Sample
from rlax_agents._returns import discounted_returns, gae, lambda_returns, n_step_returns
from rlax_agents._sequences import SequenceReplay
from rlax_agents._spaces import Continuous, Discrete
from rlax_agents._td import (
    expected_sarsa_loss,
    expected_sarsa_td_errors,
    sarsa_loss,
    sarsa_td_errors,
    td_errors,
    td_loss,
)
from rlax_agents._train import (
    Episodes,
    Trained,
    TrainState,
    init_train,
    train,
    train_step,
)
from rlax_agents._transforms import ValueTransform, muzero, signed_hyperbolic, two_hot
from rlax_agents._vtrace import VTrace, vtrace

__all__ = [
    "DQN",
    "IMPALA",
    "MPO",
    "PPO",
    "RECIPES",
    "Agent",
    "ArgumentError",
    "Atoms",
    "AutoReset",
    "CartPole",
    "Catch",
    "Categorical",
    "CheckpointError",
    "Continuous",
    "CountBonus",
    "Counts",
    "DeepSea",
    "DiagonalGaussian",
    "Discrete",
    "Environment",
    "Episodes",
    "EpisodicMemory",
    "GridWorld",
    "MPODuals",
    "MemoryState",
    "OptimalValues",
    "OrnsteinUhlenbeck",
    "Outcome",
    "Pendulum",
    "Policy",
    "PopArt",
    "PopArtState",
    "PrioritisedReplay",
    "PrioritisedState",
    "Recipe",
    "Replay",
    "ReplayState",
    "Rollout",
    "Sample",
    "SequenceReplay",
    "StepType",
    "TanhGaussian",
    "TimeStep",
    "TrainState",
    "Trained",
    "VTrace",
    "ValueTransform",
    "WithBonus",
    "a2c_loss",
    "action_critic",
    "action_values",
    "actor_critic",
    "adapt_noise_scale",
    "advance",
    "boltzmann",
    "categorical_q_loss",
    "categorical_q_td_errors",
    "cumulant_loss",
    "discounted_returns",
    "double_q_loss",
    "double_q_td_errors",
    "epsilon_greedy",
    "error_loss",
    "evaluate",
    "expected_sarsa_loss",
    "expected_sarsa_td_errors",
    "feature_control_loss",
    "feature_control_rewards",
    "from_episodes",
    "from_gymnax",
    "gae",
    "gaussian_noise",
    "general_off_policy_returns",
    "impala_loss",
    "init_duals",
    "init_train",
    "lambda_returns",
    "load_state",
    "mlp",
    "mpo_loss",
    "muzero",
    "n_step_returns",
    "normalise_advantages",
    "parameter_noise",
    "pixel_control_loss",
    "pixel_control_rewards",
    "policy_gradient_loss",
    "policy_head",
    "ppo_loss",
    "project_categorical",
    "project_duals",
    "q_lambda",
    "q_loss",
    "q_td_errors",
    "quantile_q_loss",
    "quantile_q_td_errors",
    "recipe",
    "restart",
    "retrace",
    "sarsa_loss",
    "sarsa_td_errors",
    "save_state",
    "signed_hyperbolic",
    "simhash",
    "stochastic_policy",
    "td_errors",
    "td_loss",
    "to_columns",
    "to_dm_env",
    "to_episodes",
    "to_gymnasium",
    "train",
    "train_step",
    "two_hot",
    "ucb",
    "value_iteration",
    "vmpo_loss",
    "vtrace",
]
