"""A member of a group that does nothing but `poll(0.2)`, and notes every poll.

    python member.py CLIENT PROTOCOL BOOTSTRAP GROUP TOPIC JOURNAL

It imports its client, prints "ready", and joins when it is given a line; at the next line
it closes, and prints when it began to. PROTOCOL is `range`, `cooperative` or `consumer`.
The journal gets a line for each poll, written at once, since members are killed: when it
began and ended by the monotonic clock, and how many records of which partitions it
returned. java/Member.java does the same.

The client `bare` polls nothing: it waits 0.2 s each time, which is what the machine
makes of such a wait meanwhile.

Thread: the main one. The process ends by `os._exit`.
"""

import asyncio
import json
import os
import select
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import import_module

POLL = 0.2
SESSION_MS = 6000
HEARTBEAT_MS = 1000

Polling = tuple[Callable[[], Iterable[int]], Callable[[], object]]
"""One poll, which returns the partition of each record; and the end, which leaves."""


def of_bare(_protocol: str, _bootstrap: str, _group: str, _topic: str) -> Polling:
    """No client: it only waits."""
    never = threading.Event()

    def poll() -> Iterable[int]:
        never.wait(POLL)
        return ()

    return poll, never.set


def of_prokurist(protocol: str, bootstrap: str, group: str, topic: str) -> Polling:
    """Ours."""
    from prokurist import KafkaConsumer  # noqa: PLC0415

    keys: dict[str, object] = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": "consumer" if protocol == "consumer" else "classic",
    }
    if protocol != "consumer":
        keys |= {
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "partition.assignment.strategy": strategy(protocol),
        }
    consumer = KafkaConsumer(keys)
    consumer.subscribe([topic])
    return lambda: (each.partition for each in consumer.poll(POLL)), consumer.close


def of_confluent_kafka(protocol: str, bootstrap: str, group: str, topic: str) -> Polling:
    """librdkafka's; its `consume` would wait for all that it may return."""
    from confluent_kafka import Consumer  # noqa: PLC0415

    keys: dict[str, object] = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": "consumer" if protocol == "consumer" else "classic",
        "log_level": 0,
    }
    if protocol != "consumer":
        keys |= {
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "partition.assignment.strategy": strategy(protocol),
        }
    consumer = Consumer(keys)
    consumer.subscribe([topic])

    def poll() -> Iterable[int]:
        first = consumer.poll(POLL)
        if first is None:
            return ()
        return (each.partition() for each in (first, *consumer.consume(499, 0)))

    return poll, consumer.close


def of_kafka_python(protocol: str, bootstrap: str, group: str, topic: str) -> Polling:
    """kafka-python."""
    from kafka import KafkaConsumer  # noqa: PLC0415
    from kafka.coordinator.assignors.cooperative_sticky import (  # noqa: PLC0415
        CooperativeStickyAssignor,
    )
    from kafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415

    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
        partition_assignment_strategy=[
            RangePartitionAssignor if protocol == "range" else CooperativeStickyAssignor
        ],
    )

    def poll() -> Iterable[int]:
        polled = consumer.poll(timeout_ms=POLL * 1000)
        return (tp.partition for tp, records in polled.items() for _ in records)

    return poll, consumer.close


def of_aiokafka(_protocol: str, bootstrap: str, group: str, topic: str) -> Polling:
    """Aiokafka; its loop runs while it is polled, which is always."""
    from aiokafka import AIOKafkaConsumer  # noqa: PLC0415
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    async def joined() -> AIOKafkaConsumer:
        made = AIOKafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            partition_assignment_strategy=[RangePartitionAssignor],
        )
        await made.start()
        return made

    consumer = loop.run_until_complete(joined())

    def poll() -> Iterable[int]:
        polled = loop.run_until_complete(consumer.getmany(timeout_ms=round(POLL * 1000)))
        return (tp.partition for tp, records in polled.items() for _ in records)

    return poll, lambda: loop.run_until_complete(consumer.stop())


CLIENTS = {
    "bare": of_bare,
    "prokurist": of_prokurist,
    "confluent-kafka": of_confluent_kafka,
    "kafka-python": of_kafka_python,
    "aiokafka": of_aiokafka,
}

WHOLE = {
    "bare": ("threading",),
    "prokurist": (
        *("prokurist.assembly.consumer", "prokurist.consumer.consumer"),
        "prokurist.network_thread.io._native_watch",
    ),
    "confluent-kafka": ("confluent_kafka",),
    "kafka-python": ("kafka",),
    "aiokafka": ("aiokafka",),
}
"""What is imported before it joins: all of a client. Ours waits until it is built."""


def strategy(protocol: str) -> str:
    """The assignor, by Kafka's name for it."""
    return {"range": "range", "cooperative": "cooperative-sticky"}[protocol]


def main() -> None:
    """Join, poll, and leave when told to."""
    client, protocol, bootstrap, group, topic, path = sys.argv[1:]
    make = CLIENTS[client]
    for module in WHOLE[client]:
        import_module(module)
    journal = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    print("ready", flush=True)
    sys.stdin.readline()
    poll, leave = make(protocol, bootstrap, group, topic)
    while not select.select([sys.stdin], [], [], 0)[0]:
        began = time.monotonic()
        returned = poll()
        ended = time.monotonic()
        counts = ",".join(f"{each}:{count}" for each, count in Counter(returned).items())
        os.write(journal, f"{began:.6f} {ended:.6f} {counts}\n".encode())
    began = time.monotonic()
    leave()
    print(json.dumps(began), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
