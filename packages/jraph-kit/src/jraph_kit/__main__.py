"""`python -m jraph_kit`."""

import sys

from jraph_kit._inspect import main

if __name__ == "__main__":
    sys.exit(main())
