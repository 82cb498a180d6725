"""Many records in one call: columns of bytes into batches.

Thread: any application thread, as in `send`. All waits of one call share one `max.block.ms`.

Invariants: arguments are looked at, and serializers called, before the first record is sent;
which records were sent is known to the record, whatever ends the call.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from prokurist.application.driving import Steps
from prokurist.errors import KafkaException, RecordTooLargeException
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.appending import (
    Headers,
    as_bytes,
    as_headers,
    require_timestamp,
)
from prokurist.events.accumulator.deliveries import Deliveries
from prokurist.events.accumulator.implementation import Delivery, Places
from prokurist.events.accumulator.record_metadata import OnDelivery
from prokurist.events.accumulator.rows import Rows
from prokurist.events.clock import Deadline
from prokurist.producer.columns import Columns
from prokurist.producer.sending import Sending
from prokurist.producer.user_code import ProducerRecord, UserCode
from prokurist.types import counted, require_int

AT_ONCE: Final = 8192
"""Rows that are appended without a look at other threads: about a millisecond."""


class SendingMany:
    """The path of many records.

    Args:
        accumulator: Where records go.
        sending: Takes a record that cannot be appended at once.
    """

    def __init__(self, accumulator: RecordAccumulator, sending: Sending) -> None:
        self._accumulator = accumulator
        self._sending = sending

    def send(
        self,
        topic: str,
        chunks: Sequence[Rows],
        partition: int | None,
        on_delivery: OnDelivery | None,
    ) -> Steps[Deliveries]:
        """Append records until one has no place by the deadline."""
        if not isinstance(topic, str):
            raise TypeError(f"a topic is a str, not {topic!r}")
        if partition is not None:
            require_int("partition", partition, 31)
        appender = self._accumulator.appender
        if appender.refusal is not None:
            appender.refusal()
        deadline = self._sending.deadline()
        given = sum(rows.count for rows in chunks)
        places = Places(given)
        error: KafkaException | None = None
        behind = 0
        for rows in chunks:
            chunk = topic, rows, partition, on_delivery, places, behind, deadline
            error = yield from unless_closed(places, self._send_chunk(*chunk))
            if error is not None:
                break
            behind += rows.count
        return Deliveries(self._accumulator, places, given, error)

    def send_columns(
        self,
        topic: str,
        data: Any,
        columns: Columns,
        partition: int | None,
        on_delivery: OnDelivery | None,
    ) -> Steps[Deliveries]:
        """Append the records of a table."""
        with columns.rows_of(data) as chunks:
            return (yield from self.send(topic, chunks, partition, on_delivery))

    def _send_chunk(
        self,
        topic: str,
        rows: Rows,
        partition: int | None,
        on_delivery: OnDelivery | None,
        places: Places,
        behind: int,
        deadline: Deadline,
    ) -> Steps[KafkaException | None]:
        """Append one chunk; why not all of it was appended."""
        appender = self._accumulator.appender
        end = behind + rows.count
        while places.count < end:
            before = places.count
            upto = min(end, before + AT_ONCE)
            appender.append_rows(topic, rows, partition, on_delivery, places, behind, upto)
            if places.count > before:
                continue
            now = appender.time_of_day()
            key, value, headers, timestamp = rows.row(before - behind, now)
            record = topic, value, key, headers, partition, timestamp, on_delivery
            error = yield from self._place(places, deadline, *record)
            if error is not None:
                return error
        return None

    def _place(
        self,
        places: Places,
        deadline: Deadline,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: bytes,
        partition: int | None,
        timestamp: int,
        on_delivery: OnDelivery | None,
    ) -> Steps[KafkaException | None]:
        """Append one record that may have to be waited for; why the call ends with it."""
        record = topic, value, key, headers, partition, timestamp, on_delivery
        placed: Delivery | KafkaException = yield from self._sending.place(*record, deadline)
        if isinstance(placed, RecordTooLargeException):
            # About this record, and none behind it.
            where = -1 if partition is None else partition
            placed = self._sending.failed(topic, where, timestamp, placed, on_delivery)
        if isinstance(placed, KafkaException):
            self._sending.fail_transaction(placed)
            self._sending.counters.errors.of(type(placed).__name__).number += 1
            return placed
        places.add(placed._batch, placed._index)  # noqa: SLF001 - what the handle is made of
        return None

    def send_by(
        self, code: UserCode, records: Iterable[ProducerRecord], on_delivery: OnDelivery | None
    ) -> Steps[Deliveries]:
        """Append what the user's own code makes of records.

        Raises:
            IllegalStateException: The producer is closed; no code of the user's has run.
            SerializationException: A serializer has raised; nothing was sent.
        """
        appender = self._accumulator.appender
        if appender.refusal is not None:
            appender.refusal()
        prepared = [code.prepared(record) for record in records]
        places = Places(len(prepared))
        error = yield from unless_closed(
            places, self._send_prepared(code, prepared, on_delivery, places)
        )
        return Deliveries(self._accumulator, places, len(prepared), error)

    def _send_prepared(
        self,
        code: UserCode,
        prepared: Sequence[ProducerRecord],
        on_delivery: OnDelivery | None,
        places: Places,
    ) -> Steps[KafkaException | None]:
        """Append records one by one; why not all of them were appended."""
        as_sent = [
            (as_bytes("value", each.value), as_bytes("key", each.key), as_headers(each.headers))
            for each in prepared
        ]
        deadline = self._sending.deadline()
        for record, parts in zip(prepared, as_sent, strict=True):
            where = yield from code.partition_of(record)
            if isinstance(where, KafkaException):
                self._sending.fail_transaction(where)
                return where
            when = record.timestamp
            if when is None:
                when = self._accumulator.appender.time_of_day()
            error = yield from self._place(
                places, deadline, record.topic, *parts, where, when, code.heard(on_delivery)
            )
            if error is not None:
                return error
        return None


def unless_closed(
    places: Places, work: Steps[KafkaException | None]
) -> Steps[KafkaException | None]:
    """Do some work; a refusal of further records leaves those taken as they are.

    The producer is closed, or its transaction over.
    """
    try:
        return (yield from work)
    except KafkaException as refusal:
        if places.count == 0:
            raise
        return refusal


def rows_of(
    values: Iterable[Any],
    keys: Iterable[Any] | None,
    headers: Headers,
    timestamp: int | None,
) -> Rows:
    """Values and keys as rows.

    Raises:
        TypeError: One is not of a type that can be sent.
        ValueError: There are not as many keys as values.
    """
    listed, key_list = listed_of(values, keys)
    if timestamp is not None:
        require_timestamp(timestamp)
    return Rows(
        len(listed),
        None if key_list is None else all_bytes("key", key_list),
        all_bytes("value", listed),
        as_headers(headers),
        timestamp,
    )


def listed_of(
    values: Iterable[Any], keys: Iterable[Any] | None
) -> tuple[list[Any], list[Any] | None]:
    """Values and keys as lists of the call's own.

    Raises:
        TypeError: The values are one value.
        ValueError: There are not as many keys as values.
    """
    for what, given in (("values", values), ("keys", keys)):
        if isinstance(given, bytes | bytearray | memoryview | str):
            raise TypeError(
                f"{what} are many, not one {type(given).__name__}: use send for one"
            )
    listed = list(values)
    if keys is None:
        return listed, None
    key_list = list(keys)
    if len(key_list) != len(listed):
        keys_of = f"{counted(len(key_list), 'key')} for {counted(len(listed), 'value')}"
        raise ValueError(f"{keys_of}: each value has one")
    return listed, key_list


def all_bytes(what: str, column: list[Any]) -> list[bytes | None]:
    """A column whose rows are all bytes or None.

    Raises:
        TypeError: A row is of no type that bytes can be taken from.
    """
    if set(map(type, column)) <= PLAIN:
        return column
    return [as_bytes(what, each) for each in column]


PLAIN: Final[frozenset[type]] = frozenset((bytes, type(None)))
"""Types of rows that are taken as they are."""
