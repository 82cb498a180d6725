"""All logs of a topic, read by a client that is not ours.

Thread: the caller's, and the client's own.
Invariants: what is read ends where the logs ended at its beginning; it ends in time, or
raises.
"""

import logging
import time
from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer, TopicPartition

from tests.chaos.judge_of_logs import Entry
from tests.chaos.writing import key_of, value_of

WITHIN: Final = 120.0


def read_logs(bootstrap: str, topic: str, within: float = WITHIN) -> Mapping[int, list[Entry]]:
    """Read every partition from its beginning to its end.

    Args:
        bootstrap: Where the cluster is.
        topic: The topic.
        within: Seconds for all of it.

    Raises:
        TimeoutError: It took longer.
    """
    quiet = logging.getLogger("prokurist.chaos.reader")
    quiet.propagate = False
    quiet.addHandler(logging.NullHandler())
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "the-judge",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "check.crcs": True,
        },
        logger=quiet,
    )
    until = time.monotonic() + within
    try:
        partitions = consumer.list_topics(topic, within).topics[topic].partitions
        logs: dict[int, list[Entry]] = {each: [] for each in partitions}
        left = {}
        for each in partitions:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, each), within)
            if high > low:
                left[each] = high
        consumer.assign([TopicPartition(topic, each, 0) for each in left])
        while left:
            if time.monotonic() > until:
                raise TimeoutError(f"logs were not read within {within} s: {left} are left")
            for message in consumer.consume(5000, 1.0):
                if message.error() is not None:
                    continue
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                assert offset is not None
                logs[partition].append(entry_of(offset, message.key(), message.value()))
                if offset + 1 >= left.get(partition, 0):
                    left.pop(partition, None)
    finally:
        consumer.close()
    return logs


def entry_of(offset: int, key: object, value: object) -> Entry:
    """Which record it is, and whether it is as it was sent."""
    head = value.split(b":", 3) if isinstance(value, bytes) else []
    try:
        record = (head[0].decode(), int(head[1]), int(head[2]))
    except (ValueError, IndexError):
        return Entry(offset, None)
    differs = ""
    if value != value_of(*record):
        differs = "has another value"
    elif key != key_of(*record[1:]):
        differs = f"has the key {key!r}"
    return Entry(offset, record, differs)
