"""`python -m telex` is the same as `telex`."""

import sys

from telex.surfaces.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
