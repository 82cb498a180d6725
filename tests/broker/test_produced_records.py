"""What our producer writes, seen by other clients: Java's, and confluent-kafka's."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import confluent_kafka
import pyarrow as pa
import pytest

from prokurist import KafkaProducer
from prokurist.records.compression import Compression
from prokurist.records.headers import headers
from prokurist.testing.kafka import RealKafka
from tests.broker.java_programs import WITHIN, java
from tests.broker.raw import fetched

pytestmark = pytest.mark.kafka

Consuming = Callable[..., confluent_kafka.Consumer]

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
PLACING: Final = Path(__file__).parent / "java" / "Placing.java"


def written(kafka: RealKafka, topic: str, codec: str) -> list[tuple[bytes, bytes]]:
    """Write full batches, and some of a few records: the keys and values."""
    records = [(b"k%d" % each, b"value %d of many" % each * 9) for each in range(2000)]
    with KafkaProducer(
        bootstrap_servers=kafka.bootstrap, compression_type=codec, linger_ms=50
    ) as producer:
        for sizes in (1, 3, 1000, 7, 989):
            for key, value in records[:sizes]:
                producer.send(topic, value, key, headers=[("codec", codec.encode())])
            producer.flush(30.0)
            records = records[sizes:] + records[:sizes]
    return records


@pytest.mark.parametrize("codec", CODECS)
def test_others_read_what_is_compressed(
    prokurist_kafka: RealKafka, prokurist_topic: str, consumer_of: Consuming, codec: str
) -> None:
    """P27: Java and confluent-kafka read batches of all codecs, full and part-filled."""
    records = written(prokurist_kafka, prokurist_topic, codec)
    data, _ = fetched(prokurist_kafka, prokurist_topic)
    found = {Compression(each.codec).name.lower() for each in headers(data)}
    assert found == {codec}
    assert len(list(headers(data))) >= 5

    lines = java(
        *("org.apache.kafka.tools.consumer.ConsoleConsumer", "--topic", prokurist_topic),
        *("--bootstrap-server", prokurist_kafka.direct_bootstrap, "--from-beginning"),
        *("--max-messages", str(len(records)), "--timeout-ms", "30000"),
        *("--formatter-property", "print.key=true"),
        *("--formatter-property", "print.headers=true"),
    )
    assert lines == [
        f"codec:{codec}\t{key.decode()}\t{value.decode()}" for key, value in records
    ]

    theirs = consumer_of(prokurist_kafka.bootstrap, "reads-ours")
    theirs.assign([confluent_kafka.TopicPartition(prokurist_topic, 0, 0)])
    read: list[Any] = []
    while len(read) < len(records):
        messages = theirs.consume(len(records) - len(read), 30.0)
        assert messages
        read += messages
    assert [(each.key(), each.value()) for each in read] == records
    assert {tuple(each.headers()) for each in read} == {(("codec", codec.encode()),)}


def test_java_places_keys_alike(prokurist_kafka: RealKafka) -> None:
    """P28: ten thousand random keys land where Java's producer puts them."""
    if shutil.which("javac") is None:
        pytest.skip("there is no JDK on the path")
    lot = random.Random(28)  # noqa: S311 - a lot to be drawn again
    keys = [lot.randbytes(lot.randrange(40)) for _ in range(10_000)]
    topic = prokurist_kafka.unique_topic("placed", partitions=23)
    lines = "\n".join(each.hex() for each in keys)
    direct = prokurist_kafka.direct_bootstrap
    placed = java(str(PLACING), direct, topic, given=lines.encode())
    with KafkaProducer(bootstrap_servers=prokurist_kafka.bootstrap) as producer:
        deliveries = [producer.send(topic, b"", key) for key in keys]
        producer.flush(30.0)
        ours = [each.result(1.0) for each in deliveries]
    assert [each.partition for each in ours] == [int(each) for each in placed]
    assert {each.partition for each in ours} == set(range(23))


def test_columns_are_read_by_others(
    prokurist_kafka: RealKafka, prokurist_topic: str, consumer_of: Consuming
) -> None:
    """B317: confluent-kafka reads what `send_batch` was given, each part of a record."""
    rows = [
        {
            "key": None if number % 3 == 1 else b"k%d" % number,
            "value": None if number % 5 == 4 else f"v{number}" * 50,
            "when": 1_700_000_000_000 + number,
            "more": [("n", b"%d" % number)] if number % 2 else [],
        }
        for number in range(3000)
    ]
    schema = pa.schema(
        [
            ("key", pa.binary()),
            ("value", pa.string()),
            ("when", pa.int64()),
            ("more", pa.map_(pa.string(), pa.binary())),
        ]
    )
    table = pa.Table.from_pylist(rows, schema=schema)
    with KafkaProducer(bootstrap_servers=prokurist_kafka.bootstrap) as producer:
        deliveries = producer.send_batch(
            prokurist_topic, table.slice(1), headers="more", timestamp="when"
        )
        runs = deliveries.result(WITHIN)
        assert sum(run.records for run in runs) == deliveries.count == 2999
        assert runs[0].offset == 0
    theirs = consumer_of(prokurist_kafka.bootstrap, "reads-columns")
    theirs.assign([confluent_kafka.TopicPartition(prokurist_topic, 0, 0)])
    read: list[Any] = []
    while len(read) < 2999:
        messages = theirs.consume(2999 - len(read), 30.0)
        assert messages
        read += messages
    for row, message in zip(rows[1:], read, strict=True):
        assert message.key() == row["key"]
        assert message.value() == (row["value"] and str(row["value"]).encode())
        assert message.timestamp()[1] == row["when"]
        assert (message.headers() or []) == row["more"]
