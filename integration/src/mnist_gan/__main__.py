"""`python -m mnist_gan` is `mnist-gan`."""

import sys

from mnist_gan._cli import main

sys.exit(main())
