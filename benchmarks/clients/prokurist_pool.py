"""How late our own calls end: thousands of them, of eight consumers in one process.

    PYTHONPATH=benchmarks python benchmarks/clients/prokurist_pool.py BOOTSTRAP CALLS BUSY KEYS

KEYS is a JSON object with further keys of the configuration, such as those of TLS.

Each call has a deadline of 50 to 200 ms, and a broker that does not answer: it
prepares, prints "ready", waits for a line, measures, and prints JSON. Nothing of the
test harness is in this process, as there is nothing of it in a user's. Beside the
calls it measures bare waits of the same lengths: what is late there is the machine's.
"""

import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any

from clients.frame import UNHEARD_OF, tell, wait_for_go
from conditions import TOPIC, burning, full_collections, milliseconds

from prokurist import KafkaConsumer, KafkaException, OffsetAndMetadata, TopicPartition

TP = TopicPartition(TOPIC, 0)
CONSUMERS = 8
CLOSERS = 40
CLOSE = 0.2
CONTROLS = 4

Calls = dict[str, Callable[[float], object]]
Late = dict[str, list[float]]


def calls_of(consumer: KafkaConsumer) -> Calls:
    """Each call that waits for a broker, and its deadline in seconds."""
    return {
        "commit_sync": lambda limit: consumer.commit_sync({TP: OffsetAndMetadata(1)}, limit),
        "committed": lambda limit: consumer.committed(TP, limit),
        "position": lambda limit: consumer.position(TP, limit),
        "beginning_offsets": lambda limit: consumer.beginning_offsets([TP], limit),
        "end_offsets": lambda limit: consumer.end_offsets([TP], limit),
        "offsets_for_times": lambda limit: consumer.offsets_for_times({TP: 1}, limit),
        "list_topics": consumer.list_topics,
        "partitions_for": lambda limit: consumer.partitions_for(UNHEARD_OF, limit),
        "poll": consumer.poll,
    }


def measured(consumer: KafkaConsumer, number: int, seed: int, late: Late) -> None:
    """So many calls, one kind after the other: how late each of them ended."""
    random = Random(seed)  # noqa: S311 - which deadlines are drawn is no secret
    each = list(calls_of(consumer).items())
    for nth in range(number):
        name, call = each[(nth + seed) % len(each)]
        consumer.seek_to_end(TP)  # So that `position` has something to look up.
        limit = random.uniform(0.05, 0.2)
        began = time.monotonic()
        try:
            call(limit)
        except TimeoutError:
            late[name].append(time.monotonic() - began - limit)
        except KafkaException as error:
            late.setdefault(f"{name}: {type(error).__name__}", []).append(0.0)
        else:
            late[name if name == "poll" else f"{name}: answered"].append(
                time.monotonic() - began - limit
            )


def bare_waits(over: threading.Event, seed: int, late: list[float]) -> None:
    """How late the bare system is meanwhile: waits of the same lengths, for nothing."""
    random = Random(seed)  # noqa: S311 - as above
    bolt = threading.Lock()
    bolt.acquire()
    while not over.is_set():
        limit = random.uniform(0.05, 0.2)
        began = time.monotonic()
        bolt.acquire(timeout=limit)
        late.append(time.monotonic() - began - limit)


def closed(consumers: list[KafkaConsumer]) -> list[float]:
    """How late `close` ended, every other time with a commit under way."""
    late = []
    for number, consumer in enumerate(consumers):
        if number % 2:
            consumer.commit_async({TP: OffsetAndMetadata(1)}, lambda _offsets, _error: None)
        began = time.monotonic()
        consumer.close(CLOSE)
        late.append(time.monotonic() - began - CLOSE)
    return late


def prepared(bootstrap: str, number: int, keys: dict[str, Any]) -> list[KafkaConsumer]:
    """Consumers that know everything, with the broker awake."""
    consumers = [
        KafkaConsumer({**keys, "bootstrap.servers": bootstrap, "group.id": f"pool-{each}"})
        for each in range(number)
    ]
    for consumer in consumers:
        consumer.assign(TP)
        consumer.committed(TP)
        consumer.position(TP)
    return consumers


def measure(consumers: list[KafkaConsumer], calls: int, busy: int) -> dict[str, Any]:
    """Everything, in milliseconds; the consumers are closed by it."""
    working, closing = consumers[:CONSUMERS], consumers
    late: Late = {name: [] for name in calls_of(working[0])}
    bare: list[float] = []
    with burning(busy):
        before, processor, began = full_collections(), time.process_time(), time.monotonic()
        workers = [
            threading.Thread(target=measured, args=(each, -(-calls // CONSUMERS), seed, late))
            for each, seed in zip(working, count())
        ]
        over = threading.Event()
        controls = [
            threading.Thread(target=bare_waits, args=(over, seed, bare))
            for seed in range(CONTROLS)
        ]
        for thread in (*workers, *controls):
            thread.start()
        for worker in workers:
            worker.join()
        over.set()
        used = (time.process_time() - processor) / (time.monotonic() - began)
        collections = full_collections() - before
        for each in working:
            each.unsubscribe()  # The look-up that the last poll has begun is not wanted now.
        time.sleep(0.1)  # The network side ends a call a moment after its caller has left.
        pending = sum(each.health().waiting_calls for each in working)
        close = closed(closing)
    pooled = [each for name in calls_of(working[0]) for each in late[name]]
    return {
        "calls": len(pooled),
        **milliseconds(pooled),
        **{f"bare {name}": value for name, value in milliseconds(bare).items()},
        "close max": 1000 * max(close),
        "pending": pending,
        "full collections": collections,
        "cpu % a consumer": None if busy else 100 * used / CONSUMERS,
        "of each call": {name: milliseconds(spans) for name, spans in late.items() if spans},
        "counts": {name: len(spans) for name, spans in late.items()},
    }


def main() -> None:
    """Be the program."""
    # A broker that does not answer is what is measured, and no news.
    logging.disable(logging.WARNING)
    bootstrap, calls, busy, keys = sys.argv[1:]
    consumers = prepared(bootstrap, CLOSERS, json.loads(keys))
    wait_for_go()
    tell(measure(consumers, int(calls), int(busy)))


if __name__ == "__main__":
    main()
