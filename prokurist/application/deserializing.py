"""Keys and values out of their bytes, by the user's own code.

Thread: the application's, inside a `poll`. A deserializer is a callable of the bytes, of the
topic and the bytes, or of the topic, the headers and the bytes; or an object whose method
`deserialize` is one of the latter two. It is never called for null, which stays null.

An object whose `deserialize_now` raises `Pending` has its record come later, where the client
can wait for that; elsewhere its `deserialize` waits.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from prokurist.application.user_callables import needed_by
from prokurist.errors import RecordDeserializationException
from prokurist.events.pending import Pending
from prokurist.records.consumer_records import ConsumerRecord, DeserializedRun
from prokurist.records.run import RecordRun
from prokurist.types import TopicPartition

Headers: TypeAlias = list[tuple[str, bytes | None]]
Deserialize: TypeAlias = Callable[[ConsumerRecord, bytes], Any]


class Deserializers:
    """Applies the user's deserializers to keys and values.

    Args:
        key: The user's for keys; None to leave them bytes.
        value: The same for values.
        may_pend: True if the client takes `Pending` for an error of `made`.
    """

    def __init__(
        self, key: object | None, value: object | None, *, may_pend: bool = False
    ) -> None:
        self._key = None if key is None else of_record_and_bytes(key, may_pend=may_pend)
        self._value = None if value is None else of_record_and_bytes(value, may_pend=may_pend)

    @property
    def are_there(self) -> bool:
        """True if any deserializer is configured."""
        return self._key is not None or self._value is not None

    def made(self, run: RecordRun) -> tuple[DeserializedRun, Exception | None]:
        """Deserialize a run of records, up to the first one that fails.

        Returns:
            The records made so far, and the error that ended it, or `Pending`.
        """
        records: list[ConsumerRecord] = []
        try:
            for record in run:
                records.append(self._one(record))  # noqa: PERF401 - those before a failure are kept
        except (RecordDeserializationException, Pending) as error:
            rest = type(run)(run.columns, run.start, run.start + len(records))
            return DeserializedRun(rest, records), error
        return DeserializedRun(run, records), None

    def _one(self, record: ConsumerRecord) -> ConsumerRecord:
        key, value = record.key, record.value
        what = "key"
        try:
            made_key = key if self._key is None or key is None else self._key(record, key)
            what = "value"
            made_value = (
                value if self._value is None or value is None else self._value(record, value)
            )
        except Pending:
            raise
        except Exception as error:
            tp = TopicPartition(record.topic, record.partition)
            raise RecordDeserializationException(
                f"the {what} of {tp} at offset {record.offset} cannot be deserialized "
                f"({type(error).__name__}: {error}); to leave the record out, seek to "
                f"{record.offset + 1}",
                partition=tp,
                offset=record.offset,
                key=key,
                value=value,
            ) from error
        return record.with_values(made_key, made_value)

    def __repr__(self) -> str:
        return f"Deserializers({self._key}, {self._value})"


def of_record_and_bytes(given: object, *, may_pend: bool = False) -> Deserialize:
    """A deserializer of any form, as a function of the record and the bytes."""
    method = getattr(given, "deserialize", None)
    if may_pend:
        method = getattr(given, "deserialize_now", method)
    if method is not None:
        # An object's method takes the topic in any case, as Java's does.
        return partial(FORMS[max(2, needed_by(method))], method)
    if not callable(given):
        raise TypeError(f"{given!r} is no deserializer: it is not callable")
    return partial(FORMS[needed_by(given)], given)


def of_bytes(function: Callable[[bytes], Any], _record: ConsumerRecord, data: bytes) -> Any:
    """Call a deserializer of the bytes alone."""
    return function(data)


def of_topic(function: Callable[[str, bytes], Any], record: ConsumerRecord, data: bytes) -> Any:
    """Call a deserializer of the topic and the bytes."""
    return function(record.topic, data)


def of_headers(
    function: Callable[[str, Headers, bytes], Any], record: ConsumerRecord, data: bytes
) -> Any:
    """Call a deserializer of the topic, the headers and the bytes."""
    # A list, as confluent-kafka's deserializers ask for one.
    return function(record.topic, list(record.headers), data)


FORMS: Final = (of_bytes, of_bytes, of_topic, of_headers)
"""Call of a deserializer, by its number of arguments."""
