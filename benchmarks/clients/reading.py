"""Reads a topic over and over, looks at every value, and says how fast, as a line of JSON.

    python reading.py CLIENT BOOTSTRAP TOPIC COUNT SIZE

A quarter of the topic is read first, so that connections stand and code is warm; then
whole passes from the beginning are measured, for two seconds of reading at least. A pass
is measured from its first records on, which do not count: before them the client has
gone back, and has waited for up to half a second for the fetch that the broker had parked
at the end of the log.
"""

import asyncio
import json
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PARTITIONS = 6
LONG_ENOUGH = 2.0
PARTS = 12
"""Into as many parts of equal size every topic can be cut."""

Rewind = Callable[[], object]
Take = Callable[[], tuple[int, int]]
"""Reads on: how many values, and how many bytes they have."""


def looked_at(values: Sequence[bytes]) -> tuple[int, int]:
    """Look at every value."""
    size = 0
    for value in values:
        size += len(value)
    return len(values), size


def of_prokurist(
    bootstrap: str, topic: str, most: int, how: str, part: int = 0
) -> tuple[Rewind, Take]:
    """Ours; an iteration is broken off after a part of the topic, since it would not end."""
    from prokurist import KafkaConsumer, TopicPartition  # noqa: PLC0415

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", max_poll_records=most
    )
    partitions = [TopicPartition(topic, each) for each in range(PARTITIONS)]
    consumer.assign(partitions)

    def values() -> tuple[int, int]:
        return looked_at([record.value for record in consumer.poll(1.0)])

    def columns() -> tuple[int, int]:
        records = consumer.poll(1.0)
        return len(records), sum(sum(each.values.lengths) for each in records.columns())

    def iterated() -> tuple[int, int]:
        count = size = 0
        for record in consumer:
            size += len(record.value)
            count += 1
            if count == part:
                break
        return count, size

    def one_by_one() -> tuple[int, int]:
        count = size = 0
        take = consumer.next
        while count < part and (record := take(1.0)) is not None:
            size += len(record.value)
            count += 1
        return count, size

    takes = {
        "values": values,
        "columns": columns,
        "iteration": iterated,
        "next": one_by_one,
    }
    return lambda: consumer.seek_to_beginning(partitions), takes[how]


def of_confluent(bootstrap: str, topic: str, most: int, **keys: object) -> tuple[Rewind, Take]:
    """confluent-kafka."""
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reading",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **{key.replace("_", "."): value for key, value in keys.items()},
        }
    )

    def rewind() -> None:
        consumer.unassign()
        consumer.assign([TopicPartition(topic, each, 0) for each in range(PARTITIONS)])

    return rewind, lambda: looked_at([each.value() for each in consumer.consume(most, 1.0)])


def of_kafka_python(bootstrap: str, topic: str) -> tuple[Rewind, Take]:
    """kafka-python."""
    from kafka import KafkaConsumer, TopicPartition  # noqa: PLC0415

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        group_id=None,
    )
    consumer.assign([TopicPartition(topic, each) for each in range(PARTITIONS)])

    def take() -> tuple[int, int]:
        polled = consumer.poll(1000).values()
        return looked_at([record.value for records in polled for record in records])

    return consumer.seek_to_beginning, take


def of_aiokafka(bootstrap: str, topic: str) -> tuple[Rewind, Take]:
    """Aiokafka."""
    from aiokafka import AIOKafkaConsumer, TopicPartition  # noqa: PLC0415

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    async def begun() -> Any:
        made = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
        await made.start()
        made.assign([TopicPartition(topic, each) for each in range(PARTITIONS)])
        return made

    consumer = loop.run_until_complete(begun())

    def take() -> tuple[int, int]:
        polled = loop.run_until_complete(consumer.getmany(timeout_ms=1000))
        return looked_at([record.value for records in polled.values() for record in records])

    return lambda: loop.run_until_complete(consumer.seek_to_beginning()), take


def of_raw(bootstrap: str, topic: str, count: int, size: int) -> tuple[Rewind, Take]:
    """No client: fetches over one blocking socket, of which nothing is decoded."""
    from prokurist.network_thread.wire import codec  # noqa: PLC0415
    from prokurist.network_thread.wire.fetch import Fetch, FetchQuestion  # noqa: PLC0415
    from prokurist.records.headers import extent  # noqa: PLC0415
    from prokurist.types import TopicPartition  # noqa: PLC0415

    host, port = bootstrap.split(",", maxsplit=1)[0].rsplit(":", 1)
    wire = socket.create_connection((host, int(port)))
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    room = memoryview(bytearray(32 << 20))
    offsets: dict[TopicPartition, int] = {}

    def rewind() -> None:
        offsets.update((TopicPartition(topic, each), 0) for each in range(PARTITIONS))

    def whole(length: int) -> memoryview:
        at = 0
        while at < length:
            at += wire.recv_into(room[at:length], 0, socket.MSG_WAITALL)
        return room[:length]

    def take() -> tuple[int, int]:
        before = sum(offsets.values())
        wanted = [tp for tp, offset in offsets.items() if offset < count // PARTITIONS]
        question = tuple(FetchQuestion(tp, offsets[tp], 1 << 20) for tp in wanted)
        fetch = Fetch(question, max_wait=0.5, min_bytes=1, max_bytes=50 << 20)
        wire.sendall(codec.encode(fetch, 12, 1, "raw"))
        answer = codec.decode(fetch, 12, whole(int.from_bytes(whole(4), "big")))
        for row in answer.partitions:
            after = extent(row.records).next_offset
            offsets[row.partition] = offsets[row.partition] if after is None else after
        came = sum(offsets.values()) - before
        return came, came * size  # the values are not looked at

    return rewind, take


def peak() -> float:
    """The most memory this process has had, in MiB.

    Not ru_maxrss: a process inherits that of the one that started it.
    """
    status = Path("/proc/self/status").read_text("ascii").splitlines()
    line = next(each for each in status if each.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def measured(rewind: Rewind, take: Take, count: int, size: int) -> dict[str, float]:
    """Read it all, as often as it takes."""

    def through(enough: int) -> tuple[int, float, float]:
        """Read so much: records after the first few, seconds and processor time for them."""
        rewind()
        first = first_bytes = 0
        while not first:
            first, first_bytes = take()
        began, used = time.perf_counter(), time.process_time()
        seen, seen_bytes = first, first_bytes
        while seen < enough:
            came, came_bytes = take()
            seen += came
            seen_bytes += came_bytes
        seconds, cpu = time.perf_counter() - began, time.process_time() - used
        if enough == count and (seen, seen_bytes) != (count, count * size):
            raise SystemExit(
                f"read {seen} records of {seen_bytes} bytes, not {count} of {size}"
            )
        if seen == first:
            raise SystemExit("all of the topic came at once: make it larger")
        return seen - first, seconds, cpu

    through(count // 4)
    total, seconds, cpu = 0, 0.0, 0.0
    while seconds < LONG_ENOUGH:
        passed = through(count)
        total, seconds, cpu = total + passed[0], seconds + passed[1], cpu + passed[2]
    return {"rate": total / seconds, "cpu": cpu / total * 1e6, "peak": peak()}


def main() -> None:
    """Do what the arguments say."""
    client, bootstrap, topic, count, size = *sys.argv[1:4], *map(int, sys.argv[4:6])
    at = bootstrap, topic
    made = {
        "prokurist, poll(500)": lambda: of_prokurist(*at, 500, "values"),
        "prokurist, poll(10000)": lambda: of_prokurist(*at, 10_000, "values"),
        "prokurist, columns": lambda: of_prokurist(*at, 10_000, "columns"),
        "prokurist, iteration": lambda: of_prokurist(*at, 500, "iteration", count // PARTS),
        "prokurist, next()": lambda: of_prokurist(*at, 500, "next", count // PARTS),
        "prokurist, pure": lambda: of_prokurist(*at, 500, "values"),
        "confluent-kafka": lambda: of_confluent(*at, 500),
        "confluent-kafka, tuned": lambda: of_confluent(
            *at,
            10_000,
            fetch_queue_backoff_ms=1,
            queued_min_messages=1_000_000,
            queued_max_messages_kbytes=262_144,
        ),
        "kafka-python": lambda: of_kafka_python(*at),
        "aiokafka": lambda: of_aiokafka(*at),
        "raw pull": lambda: of_raw(*at, count, size),
    }[client]
    print(json.dumps(measured(*made(), count, size)), flush=True)


if __name__ == "__main__":
    main()
