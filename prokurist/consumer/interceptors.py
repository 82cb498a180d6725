"""The user's objects that look on: `interceptor.classes`.

Thread: the application's, inside a call. An object has any of `on_consume(records)`,
`on_commit(offsets)` and `close()`, and is asked in the order of the configuration.
What one of them raises is logged, and harms nobody: neither the call nor the others.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from prokurist.types import OffsetAndMetadata, TopicPartition

LOG: Final = logging.getLogger("prokurist.consumer")

Records = TypeVar("Records")


class Interceptors:
    """See the module.

    Args:
        objects: The user's.
    """

    def __init__(self, objects: Sequence[object]) -> None:
        self._objects = tuple(objects)

    def on_consume(self, records: Records) -> Records:
        """Show them records; each sees what the one before it returned."""
        for method in self._having("on_consume"):
            try:
                records = method(records)
            except Exception as error:  # noqa: BLE001 - whatever a user's object raises
                complain(method, error)
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Tell them what has been committed."""
        for method in self._having("on_commit"):
            try:
                method(dict(offsets))
            except Exception as error:  # noqa: BLE001 - as above
                complain(method, error)

    def close(self) -> None:
        """Tell them that this was all."""
        for method in self._having("close"):
            try:
                method()
            except Exception as error:  # noqa: BLE001 - as above
                complain(method, error)

    def _having(self, name: str) -> list[Callable[..., Any]]:
        methods = (getattr(each, name, None) for each in self._objects)
        return [method for method in methods if method is not None]

    def __repr__(self) -> str:
        return f"Interceptors({len(self._objects)})"


def complain(method: Callable[..., Any], error: Exception) -> None:
    """Log what an interceptor has raised."""
    LOG.warning("interceptor %r raised and is passed over", method, exc_info=error)
