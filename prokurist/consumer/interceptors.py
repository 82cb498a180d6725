"""Calls the user's interceptors (`interceptor.classes`).

Thread: the application's, inside a call. An object has any of `on_consume(records)`,
`on_commit(offsets)` and `close()`, and is called in the order of the configuration. Its errors
are logged, and affect neither the call nor the others.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from prokurist.events.log_events import INTERCEPTOR_RAISED
from prokurist.events.trace import UNREAD, Trace
from prokurist.types import OffsetAndMetadata, TopicPartition

Records = TypeVar("Records")


class Interceptors:
    """The configured interceptors, called in order.

    Args:
        objects: The user's.
        trace: The client's trace, for their errors.
    """

    def __init__(self, objects: Sequence[object], trace: Trace = UNREAD) -> None:
        self._trace = trace
        self._objects = tuple(objects)

    def on_consume(self, records: Records) -> Records:
        """Call `on_consume` of each with the result of the one before."""
        for method in self._having("on_consume"):
            try:
                records = method(records)
            except Exception as error:  # noqa: BLE001 - a user's object may raise anything
                self._complain(method, error)
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Call `on_commit` of each with the committed offsets."""
        for method in self._having("on_commit"):
            try:
                method(dict(offsets))
            except Exception as error:  # noqa: BLE001 - as above
                self._complain(method, error)

    def close(self) -> None:
        """Call `close` of each."""
        for method in self._having("close"):
            try:
                method()
            except Exception as error:  # noqa: BLE001 - as above
                self._complain(method, error)

    def _complain(self, method: Callable[..., Any], error: Exception) -> None:
        self._trace.emit(INTERCEPTOR_RAISED, method=repr(method), error=error)

    def _having(self, name: str) -> list[Callable[..., Any]]:
        methods = (getattr(each, name, None) for each in self._objects)
        return [method for method in methods if method is not None]

    def __repr__(self) -> str:
        return f"Interceptors({len(self._objects)})"
