"""`python -m prokurist.metrics docs`: writes the page generated from the catalogue."""

import sys
from collections.abc import Sequence

from prokurist.metrics.metrics_page import document

_PAGES = {"docs": document}


def main(arguments: Sequence[str]) -> int:
    """Write one page to standard output.

    Args:
        arguments: The page: "docs".

    Returns:
        The exit status: 0, or 2 for anything else than one known page.
    """
    page = _PAGES.get(arguments[0]) if len(arguments) == 1 else None
    if page is None:
        sys.stderr.write(f"usage: python -m prokurist.metrics {' | '.join(_PAGES)}\n")
        return 2
    sys.stdout.write(page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
