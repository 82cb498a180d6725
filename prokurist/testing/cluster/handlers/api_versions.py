"""ApiVersions: what may be asked, and in which versions."""

from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.apis import KEYS
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


def handle(state: State, _request: Any, context: Context) -> Values:
    """Name every API of this cluster with its range."""
    return {
        "error_code": context.refusals.whole() or ErrorCode.none,
        "api_keys": [
            {"api_key": key, "min_version": oldest, "max_version": newest}
            for key, (oldest, newest) in sorted(context.offered.items())
        ],
        "finalized_features_epoch": state.features_epoch,
        "finalized_features": [
            {"name": name, "max_version_level": level, "min_version_level": 1}
            for name, level in sorted(state.features.items())
        ],
    }


def too_new(oldest: int, newest: int) -> Values:
    """The answer to a version that is not offered: in the form of version 0.

    Like a broker's it names the range of ApiVersions itself, and nothing else.
    """
    key = KEYS["ApiVersions"]
    return {
        "error_code": ErrorCode.unsupported_version,
        "api_keys": [{"api_key": key, "min_version": oldest, "max_version": newest}],
    }
