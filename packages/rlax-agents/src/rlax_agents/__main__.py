"""`python -m rlax_agents`."""

import sys

from rlax_agents._cli import main

if __name__ == "__main__":
    sys.exit(main())
