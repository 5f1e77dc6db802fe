"""`python -m tminus` is the command line."""

import sys

from tminus.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
