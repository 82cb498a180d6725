"""`python -m prokurist.spark docs`: writes the page generated from the table of options."""

import sys
from collections.abc import Sequence

from prokurist.spark.options_page import document


def main(arguments: Sequence[str]) -> int:
    """Write the page to standard output.

    Args:
        arguments: The page: "docs".

    Returns:
        The exit status: 0, or 2 for anything else.
    """
    if list(arguments) != ["docs"]:
        sys.stderr.write("usage: python -m prokurist.spark docs\n")
        return 2
    sys.stdout.write(document())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
