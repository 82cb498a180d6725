"""Reads a topic once, from its beginning to its end, and says how fast, as a line of JSON.

    python straight.py CLIENT BOOTSTRAP TOPIC COUNT KEYS BUSY

A fresh process, one pass, every value looked at; measured from before the first poll. KEYS are
the client's further configuration, as JSON. With BUSY a second thread of the application
computes in Python all the while.
"""

import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

PARTITIONS = 6

Take = Callable[[], list[bytes]]


def of_prokurist(keys: Mapping[str, Any], topic: str) -> Take:
    """Ours, in its natural use."""
    from prokurist import KafkaConsumer, TopicPartition  # noqa: PLC0415

    consumer = KafkaConsumer({"auto.offset.reset": "earliest", "max.poll.records": 500, **keys})
    consumer.assign([TopicPartition(topic, each) for each in range(PARTITIONS)])
    return lambda: [record.value for record in consumer.poll(1.0)]


def of_confluent(keys: Mapping[str, Any], topic: str) -> Take:
    """confluent-kafka, in batches of 500."""
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415

    consumer = Consumer({"group.id": "straight", "enable.auto.commit": False, **keys})
    consumer.assign([TopicPartition(topic, each, 0) for each in range(PARTITIONS)])
    return lambda: [each.value() for each in consumer.consume(500, 1.0)]


def compute() -> None:
    """What a busy application does."""
    number = 0
    while True:
        number = (number * 31 + 7) % 1_000_003


def main() -> None:
    """Read, and print."""
    client, bootstrap, topic, count, keys, busy = sys.argv[1:]
    made = {"bootstrap.servers": bootstrap, **json.loads(keys)}
    take = (of_prokurist if client.startswith("prokurist") else of_confluent)(made, topic)
    if busy == "busy":
        threading.Thread(target=compute, daemon=True).start()
    left = measured = int(count)
    size = 0
    spent = resource.getrusage(resource.RUSAGE_SELF)
    began = time.perf_counter()
    while left > 0:
        for value in (values := take()):
            size += len(value)
        left -= len(values)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - spent.ru_utime - spent.ru_stime
    print(
        json.dumps(
            {
                "rate": measured / seconds,
                "cpu": cpu / measured * 1e6,
                "mb": size / seconds / 1e6,
            }
        ),
        flush=True,
    )
    os._exit(0)  # How long a client takes to close is another benchmark's.


if __name__ == "__main__":
    main()
