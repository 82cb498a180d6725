"""`python -m prokurist.logs`: writes docs/logging.md to standard output."""

import sys

from prokurist.logs.logging_page import document

if __name__ == "__main__":
    sys.stdout.write(document())
