"""B115: bytes of a real Kafka, written by clients that are not ours, read by both twins."""

import time
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest
from kio.schema.errors import ErrorCode

from prokurist.records.compression import Compression
from prokurist.records.encode import NewRecord, encode_batch
from prokurist.records.headers import extent, headers
from prokurist.records.implementation import Codec
from prokurist.records.reader import PartitionReader
from prokurist.records.record import ConsumerRecord, told
from prokurist.testing.kafka import RealKafka
from prokurist.types import TimestampType
from tests.broker.java_programs import java
from tests.broker.raw import fetched, produced
from tests.unit.records.twins import SOME, twin

pytestmark = pytest.mark.kafka

Producing = Callable[..., confluent_kafka.Producer]
Consuming = Callable[..., confluent_kafka.Consumer]


@pytest.fixture(params=["python", "native"])
def codec(request: pytest.FixtureRequest) -> Codec:
    """Each twin in turn."""
    return twin(request.param)


def read(
    codec: Codec, kafka: RealKafka, topic: str, *, committed: bool = False
) -> tuple[list[ConsumerRecord], PartitionReader]:
    """All records of a topic's partition 0."""
    data, aborted = fetched(kafka, topic, committed=committed)
    found = reader_of(codec, topic, data, 0, aborted if committed else None)
    return [record for run in found.take(1 << 30) for record in run], found


def reader_of(
    codec: Codec,
    topic: str,
    data: bytes,
    position: int,
    aborted: list[tuple[int, int]] | None = None,
) -> PartitionReader:
    """A reader as the fetch path makes one."""
    return PartitionReader(
        topic,
        0,
        data,
        position=position,
        aborted=aborted,
        check_crcs=True,
        cap=1 << 24,
        codec=codec,
    )


def plain(records: list[ConsumerRecord]) -> list[tuple[Any, ...]]:
    """Timestamp, key, value and headers, as they were produced."""
    return [(each.timestamp, each.key, each.value, each.headers) for each in records]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_librdkafka_wrote(
    codec: Codec,
    prokurist_kafka: RealKafka,
    prokurist_topic: str,
    producer_of: Producing,
    compression: str,
) -> None:
    """B115: headers, null keys and values, timestamps, under each compression."""
    producer = producer_of(
        prokurist_kafka.bootstrap, compression_type=compression, linger_ms=50
    )
    long: list[NewRecord] = [
        (1_700_000_000_000 + each, b"k", b"value %d " % each * 20, []) for each in range(300)
    ]
    for timestamp, key, value, each in [*SOME, *long]:
        producer.produce(
            prokurist_topic, value, key, partition=0, timestamp=timestamp, headers=list(each)
        )
    assert producer.flush(20) == 0
    records, found = read(codec, prokurist_kafka, prokurist_topic)
    assert plain(records) == [*SOME, *long]
    assert [record.offset for record in records] == list(range(304))
    assert records[0].leader_epoch == 0
    assert records[0].timestamp_type is TimestampType.CREATE_TIME
    assert (found.position, found.exhausted) == (304, True)
    data, _ = fetched(prokurist_kafka, prokurist_topic)
    used = {Compression(header.codec).name.lower() for header in headers(data)}
    assert used <= {compression, "none"}
    assert compression in used
    assert extent(data)[1:] == (304, 0, len(data), None)


@pytest.mark.parametrize("compression", list(Compression))
@pytest.mark.parametrize("size", [0, 200_000])
def test_what_we_write(
    codec: Codec,
    prokurist_kafka: RealKafka,
    prokurist_topic: str,
    consumer_of: Consuming,
    compression: Compression,
    size: int,
) -> None:
    """The broker checks and takes it, and librdkafka reads it."""
    records = [*SOME, (1_700_000_000_009, b"big", bytes(range(256)) * (size // 256), [])]
    batch = encode_batch(records, codec=compression, write=codec.encode_records)
    assert produced(prokurist_kafka, prokurist_topic, batch) is ErrorCode.none
    assert plain(read(codec, prokurist_kafka, prokurist_topic)[0]) == records
    consumer = consumer_of(prokurist_kafka.bootstrap, prokurist_topic)
    consumer.assign([confluent_kafka.TopicPartition(prokurist_topic, 0, 0)])
    seen = consumer.consume(len(records), timeout=20)
    assert [
        (each.timestamp()[1], each.key(), each.value(), each.headers() or []) for each in seen
    ] == records


def test_the_broker_sees_what_we_see(prokurist_kafka: RealKafka, prokurist_topic: str) -> None:
    """A flipped bit is damage to both."""
    batch = bytearray(encode_batch(SOME))
    batch[-1] ^= 1
    assert produced(prokurist_kafka, prokurist_topic, bytes(batch)) is ErrorCode.corrupt_message


def test_a_topic_that_the_broker_stamps(codec: Codec, prokurist_kafka: RealKafka) -> None:
    """LOG_APPEND_TIME: its time, for all records of a batch."""
    topic = prokurist_kafka.unique_topic(configs={"message.timestamp.type": "LogAppendTime"})
    for kind in (Compression.NONE, Compression.ZSTD):
        assert (
            produced(prokurist_kafka, topic, encode_batch(SOME, codec=kind)) is ErrorCode.none
        )
    records, _ = read(codec, prokurist_kafka, topic)
    assert all(record.timestamp_type is TimestampType.LOG_APPEND_TIME for record in records)
    assert len({record.timestamp for record in records[:4]}) == 1
    assert records[0].timestamp > 1_700_000_000_005


def test_transactions(
    codec: Codec, prokurist_kafka: RealKafka, prokurist_topic: str, producer_of: Producing
) -> None:
    """B104, B105: aborted ones are not returned, a control record may be the last."""
    producer = producer_of(
        prokurist_kafka.bootstrap, transactional_id=prokurist_topic, linger_ms=5
    )
    producer.init_transactions(20)
    for name, end in (
        ("a", producer.abort_transaction),
        ("b", producer.commit_transaction),
        ("c", producer.abort_transaction),
    ):
        producer.begin_transaction()
        for each in range(3):
            producer.produce(prokurist_topic, f"{name}{each}", partition=0)
        producer.flush(20)
        end(20)
    # A coordinator may answer before the end of a transaction stands in the log.
    until = time.monotonic() + 20
    while True:
        committed, found = read(codec, prokurist_kafka, prokurist_topic, committed=True)
        if found.position == 12 or time.monotonic() > until:
            break
        time.sleep(0.05)
    assert [record.value for record in committed] == [b"b0", b"b1", b"b2"]
    assert (found.position, found.exhausted) == (12, True)
    records, _ = read(codec, prokurist_kafka, prokurist_topic)
    assert [record.value for record in records] == [
        f"{name}{each}".encode() for name in "abc" for each in range(3)
    ]


def test_a_compacted_topic(prokurist_kafka: RealKafka, eventually: Callable[..., Any]) -> None:
    """B115: gaps within batches and between them, under each compression."""
    topic = prokurist_kafka.unique_topic(
        configs={
            "cleanup.policy": "compact",
            "segment.ms": 50,
            "min.cleanable.dirty.ratio": 0.001,
            "max.compaction.lag.ms": 1,
        }
    )
    written = 0

    def write() -> None:
        nonlocal written
        for kind in Compression:
            keys = (
                (written + at, b"k%d" % (at % 7), b"%d" % (written + at)) for at in range(10)
            )
            batch = encode_batch([(*each, ()) for each in keys], codec=kind)
            assert produced(prokurist_kafka, topic, batch) is ErrorCode.none
            written += 10

    def found() -> list[ConsumerRecord]:
        records: list[ConsumerRecord] = []
        position = 0
        while position < written:  # a broker answers with one segment at a time
            data, _ = fetched(prokurist_kafka, topic, position)
            # The same bytes for both: by the next answer the broker has compacted more.
            some, reached = read_by("python", data, position)
            same, reached_too = read_by("native", data, position)
            assert [told(each) for each in same] == [told(each) for each in some]
            assert reached_too == reached > position
            records += some
            position = reached
        return records

    def read_by(name: str, data: bytes, position: int) -> tuple[list[ConsumerRecord], int]:
        reader = reader_of(twin(name), topic, data, position)
        some = [record for run in reader.take(1 << 30) for record in run]
        return some, reader.position

    def compacted() -> list[ConsumerRecord]:
        write()  # the active segment is never compacted: have it become an old one
        records = found()
        return records if len(records) < written else []

    records = eventually(compacted, within=60)
    offsets = [record.offset for record in records]
    assert offsets == sorted(set(offsets))
    assert all(record.value == b"%d" % record.offset for record in records)


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_what_the_java_client_wrote(
    prokurist_kafka: RealKafka, prokurist_topic: str, compression: str
) -> None:
    """B115: the frames of its own libraries, snappy's above all."""
    lines = [f"k{each}\tvalue {each} of many" for each in range(500)]
    java(
        *("org.apache.kafka.tools.ConsoleProducer", "--topic", prokurist_topic),
        *("--bootstrap-server", prokurist_kafka.bootstrap),
        *("--compression-codec", compression),
        *("--reader-property", "parse.key=true"),
        given="\n".join(lines).encode(),
    )
    for name in ("python", "native"):
        records, _ = read(twin(name), prokurist_kafka, prokurist_topic)
        assert sorted((each.key + b"\t" + each.value).decode() for each in records) == sorted(
            lines
        )
    data, _ = fetched(prokurist_kafka, prokurist_topic)
    assert compression in {Compression(each.codec).name.lower() for each in headers(data)}
