"""`python -m prokurist`: the command line.

Thread: the main one.
"""

import sys

from prokurist.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
