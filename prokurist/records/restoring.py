"""Restores records from a pickle, as the twin that runs where it is read.

Thread: any; nothing here keeps state.
"""

from typing import Any

from prokurist.records.implementation import CODEC
from prokurist.records.record import ConsumerRecord


def restored(
    place: tuple[Any, ...], rest: dict[str, Any], deserialized: tuple[Any, Any] | None
) -> ConsumerRecord:
    """Make a record again; a pickle names this function."""
    record = CODEC.ConsumerRecord(*place, **rest)
    return record if deserialized is None else record.with_values(*deserialized)
