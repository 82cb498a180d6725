"""The recipes of docs/howto for records that fail, with a real Kafka and SIGKILL."""

import random
import signal
import subprocess
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from prokurist import ConsumerRecord, KafkaConsumer, KafkaProducer, TopicPartition
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Asking
from tests.child import begun

pytestmark = pytest.mark.kafka

RECORDS: Final = 150
PARTITIONS: Final = 3
KILLS: Final = 4
LONGEST_LIFE: Final = 35
"""Records that a service which is killed works on: all of them leave some of the work."""
HEADERS: Final = {
    "failed.topic",
    "failed.partition",
    "failed.offset",
    "failed.error.class",
    "failed.error.text",
    "failed.attempts",
}

SERVICE: Final = """
import itertools, os, sys, threading, time
from prokurist import KafkaConsumer, KafkaProducer
from tests.documents import names_of

program, servers, topic, journal, most = sys.argv[1:]
calls = itertools.count(1)
names = names_of(program)
worked = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def work(record):
    time.sleep(0.02 if next(calls) <= int(most) else 3600)
    headers = dict(record.headers)
    attempts = int(headers.get("failed.attempts", b"0"))
    if attempts < int(headers["fails"]):
        raise ConnectionError(f"no {record.key.decode()} at {attempts}")
    os.write(worked, record.key + b"\\n")

with (
    KafkaProducer(bootstrap_servers=servers) as producer,
    KafkaConsumer(
        bootstrap_servers=servers, group_id=topic, auto_offset_reset="earliest",
        # A static member: what takes the place of one that was killed need not wait for the
        # end of its session.
        group_instance_id="one", auto_commit_interval_ms=100, max_poll_records=20,
    ) as consumer,
):
    print("begun", flush=True)
    if program == "dead_letters.py":
        consumer.subscribe(topic)
        letters = names["DeadLetters"](producer, f"{topic}.dead")
        names["run"](consumer, letters, work, threading.Event())
    else:
        names["RetryTopics"](consumer, producer, topic, (0.3, 0.6), work).run(threading.Event())
"""


def fails(number: int, program: str) -> int:
    """How often the work on a record fails."""
    return number * 7919 % 7 if program == "retry_topics.py" else number * 7919 % 3 // 2


def written(kafka: RealKafka, topic: str, program: str) -> dict[bytes, ConsumerRecord]:
    """Write the records, and read them: by key."""
    with KafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
        for number in range(RECORDS):
            producer.send(
                topic,
                b"order %d" % number,
                key=b"%d" % number,
                headers=[("fails", b"%d" % fails(number, program))],
            )
    with reader(kafka, topic, PARTITIONS) as consumer:
        return {each.key: each for each in read(consumer)}


def reader(kafka: RealKafka, topic: str, partitions: int) -> KafkaConsumer:
    """What reads a topic from its beginning."""
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
    return consumer


def read(consumer: KafkaConsumer) -> list[ConsumerRecord]:
    """What there is of it yet."""
    ends = consumer.end_offsets(consumer.assignment(), 30.0)
    found: list[ConsumerRecord] = []
    while any(consumer.position(tp, 30.0) < end for tp, end in ends.items()):
        found += consumer.poll(5.0)
    return found


@pytest.mark.minutes
@pytest.mark.parametrize("program", ["dead_letters.py", "retry_topics.py"])
def test_no_record_is_lost_when_the_service_is_killed(
    prokurist_kafka: RealKafka, tmp_path: Path, eventually: Asking, program: str
) -> None:
    """B319: each is worked on or a dead letter, at least once, and none is both."""
    kafka, journal = prokurist_kafka, tmp_path / "journal"
    topic = kafka.unique_topic("orders", partitions=PARTITIONS)
    for name in ("retry.1", "retry.2", "dead"):
        kafka.create_topic(f"{topic}.{name}", partitions=2)
    orders = written(kafka, topic, program)
    tries = 3 if program == "retry_topics.py" else 1
    bad = {key for key in orders if fails(int(key), program) >= tries}
    good = orders.keys() - bad
    assert len(orders) == RECORDS
    assert bad
    lot = random.Random(program)  # noqa: S311 - a lot to be drawn again
    journal.touch()
    arguments = program, kafka.bootstrap, topic, str(journal)

    def worked() -> Counter[bytes]:
        return Counter(journal.read_bytes().split())

    with ExitStack() as stack:
        dead = stack.enter_context(reader(kafka, f"{topic}.dead", 2))
        letters: list[ConsumerRecord] = []

        def all_are_done() -> bool:
            letters.extend(read(dead))
            return {each.key for each in letters} == bad and worked().keys() == good

        for _ in range(KILLS):
            before = worked().total()
            with begun(SERVICE, *arguments, str(LONGEST_LIFE)) as service:
                # In the middle of the work: joining is not in question.
                eventually(lambda at=before: worked().total() > at)  # type: ignore[misc]
                with pytest.raises(subprocess.TimeoutExpired):
                    service.wait(lot.uniform(0.0, 0.8))
                service.send_signal(signal.SIGKILL)
        assert not all_are_done()
        with begun(SERVICE, *arguments, "1000000"):
            eventually(all_are_done)

    assert worked().total() > len(good)
    for letter in letters:
        order = orders[letter.key]
        headers = {name: (value or b"").decode() for name, value in letter.headers}
        assert headers.keys() == HEADERS | {"fails"}
        assert letter.value == order.value
        assert headers["failed.topic"] == topic
        assert int(headers["failed.partition"]) == order.partition
        assert int(headers["failed.offset"]) == order.offset
        assert headers["failed.error.class"] == "builtins.ConnectionError"
        assert headers["failed.error.text"] == f"no {letter.key.decode()} at {tries - 1}"
        assert headers["failed.attempts"] == str(tries)
