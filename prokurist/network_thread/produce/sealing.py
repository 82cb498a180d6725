"""Batches as they are on the wire.

Thread: the network thread alone.
"""

from typing import Final

from prokurist.events.accumulator.batch import Batch, Numbers
from prokurist.lazy_dataclasses import dataclass
from prokurist.records.compression import Compression, compress
from prokurist.records.encode import batch_header

UNNUMBERED: Final = Numbers(-1, -1, -1)


@dataclass(frozen=True, slots=True)
class Codec:
    """Codec of batches: `compression.type`, and its level where one is given."""

    kind: Compression
    level: int | None = None


def sealed(batch: Batch, codec: Codec, flags: int = 0) -> bytes | memoryview:
    """A batch with its header; its records are compressed once.

    Args:
        batch: The batch.
        codec: Its codec.
        flags: Its attributes beside the codec.
    """
    numbers = batch.numbers or UNNUMBERED
    if codec.kind is Compression.NONE:
        return batch.seal(*numbers, flags)
    body = batch.sealed
    if body is None:
        body = batch.sealed = compress(codec.kind, batch.body(), codec.level)
    head = batch_header(
        body,
        attributes=codec.kind | flags,
        count=batch.count,
        base_timestamp=batch.base_timestamp,
        max_timestamp=batch.max_timestamp,
        producer_id=numbers.producer_id,
        producer_epoch=numbers.epoch,
        base_sequence=numbers.first,
    )
    return head + body
