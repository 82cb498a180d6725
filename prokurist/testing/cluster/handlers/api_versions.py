"""ApiVersions: the APIs offered, with their versions."""

import re
from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.apis import KEYS
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

NAMED_FROM: Final = 3
LEGAL_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""Valid names and versions of client software (KIP-511)."""


def handle(state: State, request: Any, context: Context) -> Values:
    """Name every API of this cluster with its range."""
    code = context.refusals.whole() or name_refusal(request, context)
    return {
        "error_code": code,
        "api_keys": []
        if code == ErrorCode.invalid_request
        else [
            {"api_key": key, "min_version": oldest, "max_version": newest}
            for key, (oldest, newest) in sorted(context.offered.items())
        ],
        "finalized_features_epoch": state.features_epoch,
        "finalized_features": [
            {"name": name, "max_version_level": level, "min_version_level": 1}
            for name, level in sorted(state.features.items())
        ],
    }


def name_refusal(request: Any, context: Context) -> ErrorCode:
    """Return the error code for the name of the client's software; `none` if it is valid."""
    if context.version >= NAMED_FROM:
        for text in (request.client_software_name, request.client_software_version):
            if not LEGAL_SOFTWARE.fullmatch(text):
                return ErrorCode.invalid_request
    return ErrorCode.none


def too_new(oldest: int, newest: int) -> Values:
    """The answer to a version that is not offered: in the form of version 0.

    Like a broker's it names the range of ApiVersions itself, and nothing else.
    """
    key = KEYS["ApiVersions"]
    return {
        "error_code": ErrorCode.unsupported_version,
        "api_keys": [{"api_key": key, "min_version": oldest, "max_version": newest}],
    }
