"""The interface of administrative work: an event's content, by items.

Thread: any; frozen values. Each kind of work is a class of its own (`topics`, `configs` …),
and `network_thread/admin/operations/` says how it is done.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol

WHOLE: Final = ""
"""The only item of a question that is answered as a whole."""

ONE: Final[Mapping[str, None]] = MappingProxyType({WHOLE: None})
"""The items of such a question."""


class Work(Protocol):
    """One kind of work."""

    @property
    def items(self) -> Mapping[Any, Any]:
        """The items, and what is asked for each."""
        ...
