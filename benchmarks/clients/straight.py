"""Reads a topic once, from its beginning on, and says how fast, as a line of JSON.

    python straight.py CLIENT WAY BOOTSTRAP TOPIC COUNT SIZE KEYS [busy]

A fresh process, one pass, every value looked at; measured from before the first poll until so
many records were read. KEYS are the client's further configuration, as JSON; `max.poll.records`
is the most that a call returns, which confluent-kafka is told as the call's argument. With
`busy` a second thread of the application computes in Python all the while.
"""

import asyncio
import json
import os
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

PARTITIONS = 6

Keys = Mapping[str, Any]
Read = Callable[[int], tuple[int, int]]
"""Reads so many records: how many there were, and how many bytes their values had."""


def in_calls(count: int, take: Callable[[int], list[bytes]]) -> tuple[int, int]:
    """Read by calls that return values, and look at each; a call is told how many are left."""
    seen = size = 0
    while seen < count:
        for value in (values := take(count - seen)):
            size += len(value)
        seen += len(values)
    return seen, size


def of_prokurist(way: str, keys: Keys, topic: str) -> Read:
    """Ours: `poll`, `iteration`, `next`, or `columns`, which have the lengths of values."""
    from prokurist import KafkaConsumer, TopicPartition  # noqa: PLC0415

    consumer = KafkaConsumer({"auto.offset.reset": "earliest", **keys})
    consumer.assign([TopicPartition(topic, each) for each in range(PARTITIONS)])

    def columns(count: int) -> tuple[int, int]:
        seen = size = 0
        while seen < count:
            records = consumer.poll(1.0)
            seen += len(records)
            size += sum(sum(each.values.lengths) for each in records.columns())
        return seen, size

    def iteration(count: int) -> tuple[int, int]:
        seen = size = 0
        for record in consumer:
            size += len(record.value)
            seen += 1
            if seen == count:
                break
        return seen, size

    def one_by_one(count: int) -> tuple[int, int]:
        seen = size = 0
        take = consumer.next
        while seen < count and (record := take(5.0)) is not None:
            size += len(record.value)
            seen += 1
        return seen, size

    def poll(count: int) -> tuple[int, int]:
        return in_calls(count, lambda _left: [each.value for each in consumer.poll(1.0)])

    return {"poll": poll, "columns": columns, "iteration": iteration, "next": one_by_one}[way]


def of_confluent(_way: str, keys: Keys, topic: str) -> Read:
    """confluent-kafka, by `consume`, which waits for all that it is asked for."""
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415

    most = keys["max.poll.records"]
    others = {key: value for key, value in keys.items() if key != "max.poll.records"}
    consumer = Consumer({"group.id": "straight", "enable.auto.commit": False, **others})
    consumer.assign([TopicPartition(topic, each, 0) for each in range(PARTITIONS)])
    consume = consumer.consume

    def take(left: int) -> list[bytes]:
        return [each.value() for each in consume(min(most, left), 1.0)]

    return lambda count: in_calls(count, take)


def of_kafka_python(_way: str, keys: Keys, topic: str) -> Read:
    """kafka-python, by `poll`."""
    from kafka import KafkaConsumer, TopicPartition  # noqa: PLC0415

    consumer = KafkaConsumer(
        **{key.replace(".", "_"): value for key, value in keys.items()},
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        group_id=None,
    )
    consumer.assign([TopicPartition(topic, each) for each in range(PARTITIONS)])

    def take(_left: int) -> list[bytes]:
        polled = consumer.poll(1000).values()
        return [record.value for records in polled for record in records]

    return lambda count: in_calls(count, take)


def of_aiokafka(_way: str, keys: Keys, topic: str) -> Read:
    """Aiokafka, by `getmany`, all of it in one coroutine."""
    from aiokafka import AIOKafkaConsumer, TopicPartition  # noqa: PLC0415

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    async def begun() -> Any:
        made = AIOKafkaConsumer(
            **{key.replace(".", "_"): value for key, value in keys.items()},
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        await made.start()
        made.assign([TopicPartition(topic, each) for each in range(PARTITIONS)])
        return made

    consumer = loop.run_until_complete(begun())

    async def read(count: int) -> tuple[int, int]:
        seen = size = 0
        while seen < count:
            for records in (await consumer.getmany(timeout_ms=1000)).values():
                for record in records:
                    size += len(record.value)
                seen += len(records)
        return seen, size

    return lambda count: loop.run_until_complete(read(count))


def of_raw(_way: str, keys: Keys, topic: str) -> Read:
    """No client: fetches over one blocking socket, of which nothing is decoded."""
    from prokurist.network_thread.wire import codec  # noqa: PLC0415
    from prokurist.network_thread.wire.fetch import Fetch, FetchQuestion  # noqa: PLC0415
    from prokurist.records.headers import extent  # noqa: PLC0415
    from prokurist.types import TopicPartition  # noqa: PLC0415

    host, port = keys["bootstrap.servers"].split(",", maxsplit=1)[0].rsplit(":", 1)
    wire = socket.create_connection((host, int(port)))
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    room = memoryview(bytearray(32 << 20))

    def whole(length: int) -> memoryview:
        at = 0
        while at < length:
            at += wire.recv_into(room[at:length], 0, socket.MSG_WAITALL)
        return room[:length]

    def read(count: int) -> tuple[int, int]:
        offsets = {TopicPartition(topic, each): 0 for each in range(PARTITIONS)}
        size = 0
        while sum(offsets.values()) < count:
            wanted = [tp for tp, offset in offsets.items() if offset < count // PARTITIONS]
            question = tuple(FetchQuestion(tp, offsets[tp], 1 << 20) for tp in wanted)
            fetch = Fetch(question, max_wait=0.5, min_bytes=1, max_bytes=50 << 20)
            wire.sendall(codec.encode(fetch, 12, 1, "raw"))
            answer = codec.decode(fetch, 12, whole(int.from_bytes(whole(4), "big")))
            for row in answer.partitions:
                after = extent(row.records).next_offset
                offsets[row.partition] = offsets[row.partition] if after is None else after
                size += len(row.records)
        return sum(offsets.values()), size

    return read


CLIENTS: Mapping[str, Callable[[str, Keys, str], Read]] = {
    "prokurist": of_prokurist,
    "confluent-kafka": of_confluent,
    "kafka-python": of_kafka_python,
    "aiokafka": of_aiokafka,
    "raw pull": of_raw,
}


def compute() -> None:
    """What a busy application does."""
    number = 0
    while True:
        number = (number * 31 + 7) % 1_000_003


def peak() -> float:
    """The most memory this process has had, in MiB.

    Not ru_maxrss: a process inherits that of the one that started it.
    """
    status = Path("/proc/self/status").read_text("ascii").splitlines()
    line = next(each for each in status if each.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def main() -> None:
    """Read, and print."""
    client, way, bootstrap, topic, count, size, keys, *busy = sys.argv[1:]
    made = {"bootstrap.servers": bootstrap, "max.poll.records": 500, **json.loads(keys)}
    read = CLIENTS[client](way, made, topic)
    if busy:
        threading.Thread(target=compute, daemon=True).start()
    spent = resource.getrusage(resource.RUSAGE_SELF)
    own = time.thread_time()
    began = time.perf_counter()
    seen, read_bytes = read(int(count))
    seconds = time.perf_counter() - began
    own = time.thread_time() - own
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - spent.ru_utime - spent.ru_stime
    if seen < int(count) or (client != "raw pull" and read_bytes != seen * int(size)):
        raise SystemExit(f"read {seen} records of {read_bytes} bytes, not {count} of {size}")
    figures = {
        "rate": seen / seconds,
        "cpu": cpu / seen * 1e6,
        "reading": own / seen * 1e6,
        "mb": read_bytes / seconds / 1e6,
        "peak": peak(),
    }
    print(json.dumps(figures), flush=True)
    os._exit(0)  # How long a client takes to close is another benchmark's.


if __name__ == "__main__":
    main()
