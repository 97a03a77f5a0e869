"""`python -m arrow_jax`; see `_cli`."""

import sys

from arrow_jax._cli import main

sys.exit(main())
