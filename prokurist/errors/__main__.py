"""`python -m prokurist.errors`: writes docs/errors.md to standard output."""

import sys

from prokurist.errors.errors_page import document

if __name__ == "__main__":
    sys.stdout.write(document())
