"""Haiku networks that work out of the box: the MNIST GAN pair and parameter tables."""

from haiku_nets._parameters import ParameterRow, count_parameters, parameter_table
from haiku_nets._reference import ReferenceDiscriminator, ReferenceGenerator

__all__ = [
    "ParameterRow",
    "ReferenceDiscriminator",
    "ReferenceGenerator",
    "count_parameters",
    "parameter_table",
]
