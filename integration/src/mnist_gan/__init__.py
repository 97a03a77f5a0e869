"""The MNIST GAN: Parquet in, trained networks and pictures out.

Type `mnist-gan --help`. The modules are an application, not an interface: what others
can build on is in the packages that this one composes.
"""
