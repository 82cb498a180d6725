"""Batches in parts, for a broker that takes no batch as large.

Thread: the network thread alone. It happens once in a while: the parts are made of records
that are decoded again.
"""

from prokurist.events.accumulator.batch import Batch
from prokurist.records.columns import pack_headers
from prokurist.records.encode import batch_header
from prokurist.records.headers import BATCH_HEADER, header_at
from prokurist.records.implementation import CODEC


def split(batch: Batch) -> list[Batch]:
    """The records of a batch in two batches of about the same size, in their order."""
    body = batch.body()
    head = batch_header(
        body,
        attributes=0,
        count=batch.count,
        base_timestamp=batch.base_timestamp,
        max_timestamp=batch.max_timestamp,
    )
    header = header_at(head + body, 0)
    if header is None:
        raise AssertionError(f"{batch!r} has no header")
    columns = CODEC.decode_batch(batch.topic, batch.partition, header, body, 0, len(body))
    half = BATCH_HEADER + batch.payload // 2
    first, second = part_of(batch), part_of(batch)
    for index, record in enumerate(CODEC.RecordRun(columns, 0, batch.count)):
        # Neither part is empty, wherever the large records stand.
        is_first = index == 0 or (index < batch.count - 1 and first.size < half)
        (first if is_first and not second.count else second).append(
            record.timestamp, record.key, record.value, pack_headers(record.headers)
        )
    return [first, second]


def part_of(batch: Batch) -> Batch:
    """An empty batch that goes on for another one."""
    part = Batch(
        batch.owner,
        batch.topic,
        batch.partition,
        batch.created,
        batch.deadline,
        # What stands behind the first half may be larger than it, by one record.
        batch.size + BATCH_HEADER,
    )
    part.attempts = list(batch.attempts)
    return part
