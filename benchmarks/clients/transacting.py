"""A producer's transactions, measured beside the same records without them.

    python transacting.py CLIENT BOOTSTRAP TOPIC RECORDS TIMES

Writes RECORDS values of 100 bytes TIMES times in a transaction each, after a third as many to
warm up, and as often without a transaction, each followed by `flush`; by turns. Prints one line
of JSON: transactions a second (`rate`), seconds of processor time for each (`cpu`), the medians
in milliseconds of a whole transaction, of its commit, and of the records with `flush` alone.
java/Transacting.java does the same.

Thread: the main one. The process ends by `os._exit`.
"""

import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 60.0
SIZE = 100


def of_prokurist(bootstrap: str, transactional_id: str | None) -> Any:
    """Our producer, and its calls."""
    from prokurist import KafkaProducer  # noqa: PLC0415 - each process loads one client

    keys = {"transactional.id": transactional_id} if transactional_id else {}
    producer = KafkaProducer({"bootstrap.servers": bootstrap, "acks": "all", **keys})
    return producer, producer.send


def of_confluent_kafka(bootstrap: str, transactional_id: str | None) -> Any:
    """The producer of confluent-kafka, with room for a transaction."""
    from confluent_kafka import Producer  # noqa: PLC0415 - each process loads one client

    keys = {"transactional.id": transactional_id} if transactional_id else {}
    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", **keys}
    )
    return producer, producer.produce


CLIENTS: dict[str, Callable[[str, str | None], Any]] = {
    "prokurist": of_prokurist,
    "confluent-kafka": of_confluent_kafka,
}


def main() -> None:
    """Do what the arguments say."""
    name, bootstrap, topic, *numbers = sys.argv[1:]
    records, times = map(int, numbers)
    chance = random.Random(records)  # noqa: S311 - it has to compress badly, no more
    values = [chance.randbytes(SIZE) for _ in range(1000)]
    transactional, write = CLIENTS[name](bootstrap, f"{topic}-{os.getpid()}")
    plain, write_plainly = CLIENTS[name](bootstrap, None)
    transactional.init_transactions(PATIENCE)

    def in_a_transaction() -> float:
        transactional.begin_transaction()
        for each in range(records):
            write(topic, values[each % 1000])
        began = time.perf_counter()
        transactional.commit_transaction(PATIENCE)
        return time.perf_counter() - began

    def without() -> float:
        for each in range(records):
            write_plainly(topic, values[each % 1000])
        plain.flush(PATIENCE)
        return 0.0

    commits, wholes, flushes, spent = list[float](), list[float](), list[float](), 0.0
    for nth in range(-(times // 3), times):
        began, used = time.perf_counter(), time.process_time()
        commit = in_a_transaction()
        whole, cpu = time.perf_counter() - began, time.process_time() - used
        began = time.perf_counter()
        without()
        flush = time.perf_counter() - began
        if nth >= 0:
            commits.append(commit)
            wholes.append(whole)
            flushes.append(flush)
            spent += cpu
    figures = {
        "rate": times / sum(wholes),
        "cpu": spent / times,
        "whole": 1000 * statistics.median(wholes),
        "commit": 1000 * statistics.median(commits),
        "flush": 1000 * statistics.median(flushes),
    }
    print(json.dumps(figures), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
