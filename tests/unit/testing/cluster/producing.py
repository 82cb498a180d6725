"""Batches and produce requests by hand, with any header."""

import struct
from typing import TYPE_CHECKING, Any

from crc32c import crc32c

from prokurist.testing.cluster import Record
from prokurist.testing.cluster.batches import make_batch

if TYPE_CHECKING:
    from tests.unit.testing.cluster.conftest import Lab


def batch(
    count: int = 1, *, producer: tuple[int, int, int] = (-1, -1, -1), attributes: int = 0
) -> bytes:
    """A batch of so many records; of a producer's id, epoch and first sequence."""
    data = bytearray(make_batch([Record(b"v")] * count).data)
    struct.pack_into(">h", data, 21, attributes)
    struct.pack_into(">qhi", data, 43, *producer)
    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return bytes(data)


def producing(records: bytes, partition: int = 0, **more: Any) -> dict[str, Any]:
    """The fields of a produce request of one batch."""
    asked = {
        "name": more.pop("topic", "orders"),
        "topic_id": more.pop("topic_id", None),
        "partition_data": [{"index": partition, "records": records}],
    }
    return {"acks": -1, "topic_data": [asked], "transactional_id": None, **more}


def produce(lab: "Lab", records: bytes, version: int = 9, node: int = 1, **more: Any) -> Any:
    """Produce one batch; the code and the offset it got."""
    body = lab.ask("Produce", version, node=node, **producing(records, **more))
    [part] = body.responses[0].partition_responses
    return part.error_code, part.base_offset
