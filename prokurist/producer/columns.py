"""Columns of a table as records: which of them are what.

Thread: any application thread, inside `send_batch`.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from prokurist.events.accumulator.appending import require_timestamp
from prokurist.events.accumulator.rows import NO_HEADERS, Rows
from prokurist.lazy_dataclasses import dataclass
from prokurist.records.columns import RecordColumns

T = TypeVar("T")
OPTIONAL: Final = "key"
"""The column that need not be there, by its usual name."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of a table, by their role in records.

    Attributes:
        value: Their values.
        key: Their keys; need not be there by its usual name.
        headers: Their headers; None where they have none.
        timestamp: Their timestamps; a number for all of them, None for now.
        own_headers: The headers of each record, encoded, where no column has them.
    """

    value: str
    key: str
    headers: str | None
    timestamp: str | int | None
    own_headers: bytes = NO_HEADERS

    @contextmanager
    def rows_of(self, data: Any) -> Iterator[Sequence[Rows]]:
        """The records of a table, chunk by chunk, as long as the block lasts.

        Raises:
            TypeError: The data has no columns that can be read, or one is of another type.
            ValueError: There is no such column, or there are several.
        """
        if isinstance(self.timestamp, int):
            require_timestamp(self.timestamp)
        if isinstance(data, RecordColumns):
            yield [self._consumed(data)]
            return
        # Imported here: who sends no tables does not load ctypes.
        from prokurist.records import arrow_interface  # noqa: PLC0415

        if not arrow_interface.is_arrow(data):
            raise TypeError(
                f"data is a table that speaks Arrow's C interface (of pyarrow 14 or later, "
                f"polars, …) or RecordColumns, not {type(data).__name__}: for a list of values "
                f"use send_many"
            )
        with arrow_interface.chunks_of(data) as chunks:
            yield [self._of_table(chunk, arrow_interface) for chunk in chunks]

    def _of_table(self, chunk: Sequence[Any], arrow: Any) -> Rows:
        names = [each.name for each in chunk]

        def taken(name: str, read: Callable[[Any], T]) -> T:
            if names.count(name) > 1:
                raise ValueError(
                    f"{names.count(name)} columns are named {name!r}: rename all but the one "
                    f"that is meant"
                )
            if name not in names:
                raise no_column(name, names)
            return read(chunk[names.index(name)])

        values = taken(self.value, arrow.byte_strings)
        keys = None
        if self.key in names or self.key != OPTIONAL:
            keys = taken(self.key, arrow.byte_strings)
        headers = self.own_headers
        if self.headers is not None:
            headers = taken(self.headers, arrow.packed_headers)
        timestamps: array[int] | int | None = None
        if isinstance(self.timestamp, str):
            timestamps = taken(self.timestamp, arrow.milliseconds)
        else:
            timestamps = self.timestamp
        return Rows(chunk[0].length, keys, values, headers, timestamps)

    def _consumed(self, columns: RecordColumns) -> Rows:
        def taken(name: str) -> Any:
            there = {
                "key": columns.keys,
                "value": columns.values,
                "headers": columns.headers,
                "timestamp": columns.timestamps,
            }
            if name not in there:
                raise no_column(name, there)
            return there[name]

        return Rows(
            len(columns.offsets),
            taken(self.key),
            taken(self.value),
            self.own_headers if self.headers is None else taken(self.headers),
            taken(self.timestamp) if isinstance(self.timestamp, str) else self.timestamp,
        )


def no_column(name: str, there: Iterable[str]) -> ValueError:
    """The error of a column that is asked for and not there."""
    names = ", ".join(there) or "none"
    return ValueError(f"there is no column {name!r}; the columns are: {names}")
