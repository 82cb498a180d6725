"""Scenarios of Produce: batches that are appended, and batches that are refused."""

import struct
import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from crc32c import crc32c

from prokurist.records.compression import Compression, compress
from prokurist.testing.cluster.batches import HEADER, Record, make_batch
from tests.conformance.normalising import BEGAN
from tests.conformance.reading import fetch, list_offsets, wanted
from tests.conformance.sides import Topic
from tests.conformance.stage import Stage

WAITS: Final = timedelta(seconds=20)
CRC_AT: Final = 17
CRC_COUNTS_FROM: Final = 21


class Producer(NamedTuple):
    """The numbers of an idempotent producer's batch."""

    id: int = -1
    epoch: int = -1
    sequence: int = -1


NO_PRODUCER: Final = Producer()


def batch(
    *values: bytes,
    keys: Sequence[bytes | None] = (),
    producer: Producer = NO_PRODUCER,
    stamp: int = BEGAN,
    attributes: int = 0,
    codec: Compression = Compression.NONE,
    **header: int,
) -> bytes:
    """A batch, and what its header is to say otherwise than it should.

    Args:
        values: The values of its records.
        keys: Their keys; none by default.
        producer: Who wrote it.
        stamp: The first timestamp; the next ones follow by a millisecond.
        attributes: More bits of the attributes.
        codec: How its records are compressed.
        header: `base_offset`, `last_offset_delta`, `count`.
    """
    keyed = [*keys, *([None] * len(values))]
    records = [
        Record(value, keyed[at], timestamp=stamp + at) for at, value in enumerate(values)
    ]
    plain = make_batch(records).data
    body = compress(codec, plain[HEADER.size :])
    base, _, epoch, magic, _, _, delta, first, most, *_, count = HEADER.unpack_from(plain)
    fields = [
        header.get("base_offset", base),
        HEADER.size + len(body) - 12,
        epoch,
        magic,
        0,
        attributes | int(codec),
        header.get("last_offset_delta", delta),
        first,
        most,
        *producer,
        header.get("count", count),
    ]
    made = bytearray(HEADER.pack(*fields) + body)
    struct.pack_into(">I", made, CRC_AT, crc32c(bytes(made[CRC_COUNTS_FROM:])))
    return bytes(made)


def with_bytes(data: bytes, at: int, other: bytes) -> bytes:
    """Bytes with others in their place."""
    return data[:at] + other + data[at + len(other) :]


def topic_data(topic: Topic, *rows: tuple[int, bytes]) -> dict[str, Any]:
    """A topic of a request: partitions and batches."""
    parts = [{"index": index, "records": records} for index, records in rows]
    return {"name": topic.name, "topic_id": topic.id, "partition_data": parts}


def request(*topics: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The values of a request."""
    usual = {"acks": -1, "timeout": WAITS, "transactional_id": None}
    return {**usual, "topic_data": list(topics), **more}


def produce(
    stage: Stage,
    topic: Topic,
    *rows: tuple[int, bytes],
    who: str = "a",
    version: int | None = None,
    **more: Any,
) -> Any:
    """Produce to some partitions of a topic."""
    return stage.ask(who, "Produce", version, **request(topic_data(topic, *rows), **more))


def produced_batches(stage: Stage) -> None:
    """One batch and several, at every level of acknowledgement; and what the log has then."""
    topic, other = stage.topic(3), stage.topic()
    for acks in (-1, 1):
        produce(stage, topic, (0, batch(b"a")), acks=acks)
        produce(stage, topic, (0, batch(b"b", b"c")), (2, batch(b"d")), acks=acks)
    both = [topic_data(topic, (1, batch(b"e"))), topic_data(other, (0, batch(b"f")))]
    stage.ask("a", "Produce", **request(*both))
    stage.ask("a", "Produce", **request())
    produce(stage, topic)
    produce(stage, topic, (0, batch(b"once")), (0, batch(b"twice", b"twice")))
    twice = [topic_data(topic, (0, batch(b"g"))), topic_data(topic, (1, batch(b"h")))]
    stage.ask("a", "Produce", **request(*twice))
    stage.side.delete_records(topic.name, 0, 3)
    produce(stage, topic, (0, batch(b"i")))
    produce(stage, topic, (0, batch(b"j")), transactional_id="of-no-transaction")
    produce(stage, topic, (0, batch(b"k")), timeout=timedelta(0))
    for partition in range(3):
        fetch(stage, wanted(topic, (partition, 3 if partition == 0 else 0)))


def compressed_batches(stage: Stage) -> None:
    """Each codec, bytes that are none of the codec's, and codecs that there are not."""
    topic = stage.topic()
    for codec in Compression:
        produce(stage, topic, (0, batch(b"a" * 100, b"b" * 100, codec=codec)))
    for number in range(1, 8):
        produce(stage, topic, (0, batch(b"a", attributes=number)))
    squeezed = batch(b"a" * 100, b"b" * 100, codec=Compression.GZIP, count=3)
    produce(stage, topic, (0, squeezed))
    list_offsets(stage, topic, -1)


def places_refused(stage: Stage) -> None:
    """Topics and partitions that are not there, and acknowledgements that are none."""
    topic, gone = stage.topic(2), stage.topic()
    never = Topic("no-such-topic", uuid.UUID(int=9))
    stage.side.delete_topic(gone.name)
    good = batch(b"a")
    for where in (never, gone, Topic(topic.name, gone.id)):
        produce(stage, where, (0, good))
    produce(stage, topic, (7, good))
    produce(stage, topic, (-1, good))
    both = [topic_data(never, (0, good)), topic_data(topic, (0, good), (9, good))]
    stage.ask("a", "Produce", **request(*both))
    for acks in (2, -2):
        produce(stage, topic, (0, good), acks=acks)
        produce(stage, topic, (0, good), (1, b""), (9, good), acks=acks)
        stage.ask("a", "Produce", **request(*both, acks=acks))
    before = stage.topic()
    again = stage.recreate(before)
    produce(stage, before, (0, good))
    produce(stage, again, (0, good))


def frames_refused(stage: Stage) -> None:
    """Bytes that are no batch, two, a part of one, or one of another format."""
    topic = stage.topic(2)
    good = batch(b"a")
    for data in (
        b"",
        good[:-1],
        good[:16],
        good + good,
        good + good[:-1],
        good + bytes(12),
        good + b"\1" * 30,
        with_bytes(good, 16, b"\0"),
        with_bytes(good, 16, b"\1"),
        with_bytes(good, 16, b"\3"),
        with_bytes(good, 16, b"\xff"),
        with_bytes(good, 8, struct.pack(">i", 13)),
        with_bytes(good, 8, struct.pack(">i", -1)),
        with_bytes(good, 8, struct.pack(">i", 20))[:32],
        good + with_bytes(good, 16, b"\3"),
        batch(b"a", attributes=0x10),
        batch(b"a", attributes=0x10, producer=Producer(5, 0, 0)),
    ):
        produce(stage, topic, (0, data))
        produce(stage, topic, (0, good), (1, data))
    list_offsets(stage, topic, -1)
    list_offsets(stage, topic, -1, partition=1)


def batches_refused(stage: Stage) -> None:
    """Batches that are whole, and that the log does not take."""
    topic = stage.topic()
    stage.produce(topic, b"a", b"b")
    stage.side.delete_records(topic.name, 0, 1)
    good = batch(b"a", b"b")
    for data in (
        good[:-1] + b"x",
        with_bytes(good, CRC_AT, b"\0\0\0\0"),
        batch(b"a", base_offset=5),
        batch(b"a", count=2),
        batch(b"a", count=0),
        batch(b"a", count=-1),
        batch(b"a", last_offset_delta=3),
        batch(b"a", last_offset_delta=-1),
        batch(b"a", last_offset_delta=1, count=2),
        batch(b"a", b"b", last_offset_delta=0, count=1),
        batch(b"a", attributes=0x20),
        batch(b"a", attributes=0x08),
        batch(b"a", producer=Producer(7, 0, -1)),
        batch(b"a", producer=Producer(7, -1, 0)),
        batch(b"a", producer=Producer(-1, -1, 4)),
        batch(b"a", producer=Producer(-2, 0, 0)),
        batch(b"x" * 1_100_000),
        batch(b"x" * 1_100_000)[:-1] + b"y",
    ):
        produce(stage, topic, (0, data))
    list_offsets(stage, topic, -1)


def limits_of_topics(stage: Stage) -> None:
    """Sizes, keys and timestamps that a topic's configuration refuses, and its own stamps."""
    small = stage.made(f"{stage.name}-small", max_message_bytes="100")
    for size in (20, 31, 32, 33, 200):
        produce(stage, small, (0, batch(b"x" * size)))
    compact = stage.made(f"{stage.name}-compact", cleanup_policy="compact")
    values = (b"a", b"b", b"c", b"d", b"e")
    for keys in ((b"k", None, b"k", None), (b"k",) * 5, ()):
        for codec in (Compression.NONE, Compression.GZIP):
            produce(stage, compact, (0, batch(*values, keys=keys, codec=codec)))
    idempotent = Producer(7, 0, 0)
    produce(stage, compact, (0, batch(b"a", producer=idempotent)))
    produce(stage, compact, (0, batch(b"a", keys=(b"k",), producer=idempotent)))
    limits = {
        "message_timestamp_before_max_ms": "7200000",
        "message_timestamp_after_max_ms": "1000000",
    }
    stamps = stage.made(f"{stage.name}-stamps", 1, **limits)
    for stamp in (BEGAN, BEGAN - 7_200_000, BEGAN + 7_200_000, 0, -1):
        produce(stage, stamps, (0, batch(b"a", stamp=stamp)))
    both = stage.made(f"{stage.name}-both", 1, cleanup_policy="compact", **limits)
    produce(stage, both, (0, batch(b"a", b"b", keys=(None, b"k"), stamp=0)))


def stamps_of_brokers(stage: Stage) -> None:
    """A topic whose records are stamped when they are appended."""
    topic = stage.made(
        f"{stage.name}-append-time",
        message_timestamp_type="LogAppendTime",
        message_timestamp_before_max_ms="1000",
    )
    mine = Producer(7, 0, 0)
    produce(stage, topic, (0, batch(b"a", b"b")))
    produce(stage, topic, (0, batch(b"c", producer=mine)))
    produce(stage, topic, (0, batch(b"c", producer=mine)))
    produce(stage, topic, (0, batch(b"d", codec=Compression.GZIP)))
    fetch(stage, wanted(topic, (0, 0)))
    list_offsets(stage, topic, -1, BEGAN)
    plain = stage.topic()
    produce(stage, plain, (0, batch(b"c", producer=mine)))
    produce(stage, plain, (0, batch(b"c", producer=mine)))


def unacknowledged_batches(stage: Stage) -> None:
    """With acks=0 there is no answer, and an error ends the connection."""
    topic = stage.topic()
    for number in range(3):
        data = batch(b"a", producer=Producer(7, 0, number))
        stage.tell("a", "Produce", **request(topic_data(topic, (0, data)), acks=0))
    list_offsets(stage, topic, -1)
    for data, index in ((batch(b"a"), 9), (b"", 0), (batch(b"a")[:-1] + b"x", 0)):
        stage.tell("b", "Produce", **request(topic_data(topic, (index, data)), acks=0))
        stage.ended("b")
    gap = batch(b"a", producer=Producer(7, 0, 9))
    stage.tell("b", "Produce", **request(topic_data(topic, (0, gap)), acks=0))
    stage.ended("b")
    list_offsets(stage, topic, -1)
