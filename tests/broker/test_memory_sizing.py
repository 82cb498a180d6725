"""The formula for memory in docs/howto/operations.md, with a slow reader."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from prokurist import KafkaProducer
from prokurist.testing.kafka import RealKafka

pytestmark = pytest.mark.kafka

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "operations.md"
MIB = 1 << 20
BATCH = MIB // 4
READER = """
import sys, time
from prokurist import KafkaConsumer, TopicPartition

bootstrap, topic, partitions, buffer = sys.argv[1:]
with KafkaConsumer(
    bootstrap_servers=bootstrap,
    fetch_buffer_max_bytes=int(buffer),
    auto_offset_reset="earliest",
) as consumer:
    consumer.assign(TopicPartition(topic, number) for number in range(int(partitions)))
    count = 0
    for _ in range(60):
        for record in consumer.poll(5.0):
            count += len(record.value) > 0
        time.sleep(0.03)
print(count, next(each for each in open("/proc/self/status") if each.startswith("VmHWM")))
"""


def formula(partitions: int, buffer: int) -> int:
    """What the page says, in bytes."""
    found = re.search(
        r"^    (\d+) MiB \+ fetch\.buffer\.max\.bytes \+ partitions × largest batch "
        r"\+ (\d+) MiB$",
        PAGE.read_text("utf-8"),
        re.MULTILINE,
    )
    assert found is not None
    base, pages = map(int, found.groups())
    return base * MIB + buffer + partitions * BATCH + pages * MIB


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("partitions", "buffer"), [(6, 4 * MIB), (6, 64 * MIB), (60, 16 * MIB)]
)
def test_the_peak_is_within_the_formula(
    prokurist_kafka: RealKafka, partitions: int, buffer: int
) -> None:
    """In a process of its own, which reads 60 polls' worth of a longer log."""
    topic = prokurist_kafka.unique_topic("sizing", partitions=partitions)
    value = bytes(600)
    with KafkaProducer(
        bootstrap_servers=prokurist_kafka.bootstrap, batch_size=BATCH, linger_ms=20
    ) as producer:
        for number in range(150_000):
            producer.send(topic, value, partition=number % partitions)
    asked = (prokurist_kafka.bootstrap, topic, partitions, buffer)
    ended = subprocess.run(
        [sys.executable, "-c", READER, *map(str, asked)],
        capture_output=True,
        check=True,
        text=True,
        timeout=120,
    )
    count, _, peak, _ = ended.stdout.split()
    assert int(count) > 20_000
    assert int(peak) * 1024 <= formula(partitions, buffer)
