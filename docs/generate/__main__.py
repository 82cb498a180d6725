"""`python -m docs.generate`: writes the pages and the module that are generated from tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from docs.generate import admin_calls, configuration, errors, log_events, metrics, spark_options

ROOT: Final = Path(__file__).parents[2]
PAGES: Final[dict[str, Callable[[], str]]] = {
    "docs/config.md": configuration.document,
    "docs/errors.md": errors.document,
    "docs/logging.md": log_events.document,
    "docs/metrics.md": metrics.document,
    "docs/spark_options.md": spark_options.document,
    "prokurist/aio/admin_calls.py": admin_calls.document,
    "prokurist/config/typed.py": configuration.typed,
}
"""Generated files, and the functions that return their texts."""

if __name__ == "__main__":
    for name, document in PAGES.items():
        (ROOT / name).write_text(document(), encoding="utf-8")
