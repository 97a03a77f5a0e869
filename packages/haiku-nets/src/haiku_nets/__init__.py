"""Haiku networks that work out of the box, and what one does with parameters."""

from haiku_nets._batch_norm import BatchNormGenerator, BatchStatisticsNorm
from haiku_nets._conv import Conv2D
from haiku_nets._conv_transpose import Conv2DTranspose
from haiku_nets._dcgan import DCGANDiscriminator, DCGANGenerator
from haiku_nets._ema import Ema, ema_init, ema_params, ema_update
from haiku_nets._lenet import Judgement, LeNet
from haiku_nets._lowering import Lowering, conv_lowering
from haiku_nets._parameters import ParameterRow, count_parameters, parameter_table
from haiku_nets._partition import partition, partition_like
from haiku_nets._precision import mixed_precision
from haiku_nets._reference import ReferenceDiscriminator, ReferenceGenerator
from haiku_nets._safetensors import load_safetensors, save_safetensors
from haiku_nets._spectral_norm import largest_singular_value, spectral_norm
from haiku_nets._summary import Summary, summarize
from haiku_nets._torsos import MLP, ActorCritic, ActorCriticOutput

__all__ = [
    "MLP",
    "ActorCritic",
    "ActorCriticOutput",
    "BatchNormGenerator",
    "BatchStatisticsNorm",
    "Conv2D",
    "Conv2DTranspose",
    "DCGANDiscriminator",
    "DCGANGenerator",
    "Ema",
    "Judgement",
    "LeNet",
    "Lowering",
    "ParameterRow",
    "ReferenceDiscriminator",
    "ReferenceGenerator",
    "Summary",
    "conv_lowering",
    "count_parameters",
    "ema_init",
    "ema_params",
    "ema_update",
    "largest_singular_value",
    "load_safetensors",
    "mixed_precision",
    "parameter_table",
    "partition",
    "partition_like",
    "save_safetensors",
    "spectral_norm",
    "summarize",
]
