"""The columns of a frame that is written, and the parts of a batch that go to one place.

Thread: any; a frozen value and one generator.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from prokurist.errors import ConfigException
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.row_schema import HEADERS, HEADERS_TYPE

TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "topic": ("string",),
    "partition": ("int",),
    HEADERS: (HEADERS_TYPE,),
    "timestamp": ("timestamp",),
}
"""The columns that are written, and the types that each may have."""


@dataclass(frozen=True, slots=True)
class SinkColumns:
    """The columns of a frame that decide where its rows go.

    Attributes:
        topic: The topic of all rows; None where the column `topic` has it.
        partition: True if there is a column `partition`.
        headers: The column of headers, if there is one.
        timestamp: The column of timestamps, if there is one.
    """

    topic: str | None
    partition: bool
    headers: str | None
    timestamp: str | None

    @classmethod
    def of(cls, fields: Iterable[tuple[str, str]], topic: str | None) -> "SinkColumns":
        """Check the columns of a frame; others than those of `TYPES` are passed over.

        Args:
            fields: Their names and types, as Spark writes them.
            topic: The option `topic`.

        Raises:
            ConfigException: `value` or the topic is missing, or a column has another type.
        """
        found: dict[str, str] = {}
        for name, kind in fields:
            if name in found and name in TYPES:
                raise ConfigException(f"two columns are named {name!r}: rename one of them")
            found[name] = kind
            # A collation of text does not change its bytes.
            bare = "string" if kind.startswith("string collate") else kind
            if name in TYPES and bare not in TYPES[name]:
                raise ConfigException(
                    f"the column {name} is of type {kind}, and is written as "
                    f"{' or '.join(TYPES[name])}: cast it"
                )
        if "value" not in found:
            names = ", ".join(found) or "none"
            raise ConfigException(
                f"there is no column 'value' to write; the columns are: {names}. Make one, by "
                f"to_json(struct(...)) for example"
            )
        if topic is None and "topic" not in found:
            raise ConfigException(
                "neither the option topic nor a column 'topic' tells where rows go: give one"
            )
        headers, timestamp = (
            name if name in found else None for name in (HEADERS, "timestamp")
        )
        return cls(topic, "partition" in found, headers, timestamp)


@dataclass(frozen=True, slots=True)
class RoutedRows:
    """Rows of one batch that go to one topic, and perhaps one partition.

    Attributes:
        topic: The topic; None where rows have none.
        partition: The partition; None to have one chosen for each row.
        rows: The rows.
        places: The place of each row in its batch; None where it is that of the part.
    """

    topic: str | None
    partition: int | None
    rows: pa.RecordBatch
    places: pa.Array | None

    def place(self, row: int) -> int:
        """Return the place of one of the rows in its batch."""
        return row if self.places is None else int(self.places[row].as_py())


def parts_of(batch: pa.RecordBatch, columns: SinkColumns) -> Iterator[RoutedRows]:
    """Cut a batch into parts, each in the batch's order.

    Args:
        batch: The rows.
        columns: Their columns.
    """
    if batch.num_rows == 0:
        return
    by = [] if columns.topic is not None else ["topic"]
    by += ["partition"] if columns.partition else []
    if not by:
        yield RoutedRows(columns.topic, None, batch, None)
        return
    deciding = pa.table({name: batch.column(name) for name in by})
    ascending = [(name, "ascending") for name in by]
    groups = deciding.group_by(by).aggregate([([], "count_all")]).sort_by(ascending)
    places, rows, start = None, batch, 0
    if groups.num_rows > 1:
        # Stable, so that the rows of a part keep their order.
        places = pc.sort_indices(deciding, sort_keys=ascending)
        rows = batch.take(places)
    for group in groups.to_pylist():
        count: Any = group["count_all"]
        yield RoutedRows(
            columns.topic if columns.topic is not None else group["topic"],
            group.get("partition"),
            rows.slice(start, count),
            None if places is None else places.slice(start, count),
        )
        start += count
