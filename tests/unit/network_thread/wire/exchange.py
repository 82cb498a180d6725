"""An API asked and answered once, in kio's words and in ours."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from prokurist.network_thread.wire.request import Request

Fields = Mapping[str, Any]

ID = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
THROTTLED = {"throttle_time": 250}


@dataclass(frozen=True)
class Exchange:
    """One API: a request and its answer, each in kio's words and in ours."""

    module: str
    versions: range
    request: Callable[[int], Request[object]]
    sent: Fields
    answered: Fields
    expected: Callable[[int], object]


def since(first: int, version: int, value: Any, before: Any = None) -> Any:
    """What a version can say only from some version on."""
    return value if version >= first else before
