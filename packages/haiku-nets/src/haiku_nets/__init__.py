"""Haiku networks that work out of the box: the MNIST GAN pair, fast convolutions, parameter tables."""
