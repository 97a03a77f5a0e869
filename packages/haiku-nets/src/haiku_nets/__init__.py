"""Haiku networks that work out of the box: the GAN pair, convolutions, tables."""

from haiku_nets._batch_norm import BatchNormGenerator, BatchStatisticsNorm
from haiku_nets._conv import Conv2D
from haiku_nets._conv_transpose import Conv2DTranspose
from haiku_nets._lenet import Judgement, LeNet
from haiku_nets._lowering import Lowering, conv_lowering
from haiku_nets._parameters import ParameterRow, count_parameters, parameter_table
from haiku_nets._reference import ReferenceDiscriminator, ReferenceGenerator
from haiku_nets._safetensors import load_safetensors, save_safetensors

__all__ = [
    "BatchNormGenerator",
    "BatchStatisticsNorm",
    "Conv2D",
    "Conv2DTranspose",
    "Judgement",
    "LeNet",
    "Lowering",
    "ParameterRow",
    "ReferenceDiscriminator",
    "ReferenceGenerator",
    "conv_lowering",
    "count_parameters",
    "load_safetensors",
    "parameter_table",
    "save_safetensors",
]
