"""What decoding and encoding cost by themselves, beside peers' codecs in the same run.

One thread, no broker: the bytes of one fetched megabyte, from the batches to what a
loop over the records can touch. Every client compares checksums. Printed are
million records for a second of this process's CPU time, so that other processes take
nothing off it: the median of several rounds, in which all take turns. Beside a peer
stands how many times as many our native twin reads with every value touched. A peer
that is not installed, or lacks the library for a compression, is left out.

    python benchmarks/decode.py [--batch BYTES] [--runs N] [--json FILE]
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from prokurist.records import pure
from prokurist.records.compression import Compression
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.records.encode import NewRecord, encode_batch
from prokurist.records.implementation import CHOICE, CODEC, Codec
from prokurist.records.reader import PartitionReader
from prokurist.records.run import RecordRun
from prokurist.types import TopicPartition

CHUNK = 1 << 20
CAP = 1 << 26
TP = TopicPartition("t", 0)
Work = Callable[[], object]


def values(size: int, count: int) -> list[bytes]:
    """Values such as applications write: text of few words, each a little different."""
    chance = random.Random(1)  # noqa: S311 - values, not secrets
    words = ["order", "customer", "paid", "shipped", "eur", "berlin", "2026-11-21", "null"]
    made = []
    for each in range(count):
        text = f'{{"id": {each}, "' + '", "'.join(chance.choices(words, k=size // 4))
        made.append(text.encode()[:size])
    return made


def chunk(size: int, batch_bytes: int, compression: Compression) -> tuple[bytes, int]:
    """About a megabyte of records in batches, and how many records that is."""
    each = max(1, batch_bytes // (size + 12))
    batches = max(1, CHUNK // (each * (size + 12)))
    made = values(size, each * batches)
    parts = []
    for number in range(batches):
        first = number * each
        records: list[NewRecord] = [
            (1_700_000_000_000 + first + at, b"key-%06d" % at, value, ())
            for at, value in enumerate(made[first : first + each])
        ]
        parts.append(encode_batch(records, codec=compression, base_offset=first))
    return b"".join(parts), each * batches


def taken(codec: Codec, data: bytes) -> list[RecordRun]:
    """All runs, taken as a consumer takes them: five hundred records at a time."""
    reader = PartitionReader(
        "t", 0, data, position=0, aborted=None, check_crcs=True, cap=CAP, codec=codec
    )
    runs: list[RecordRun] = []
    while not reader.exhausted:
        runs += reader.take(500)
    return runs


def ours(codec: Codec, data: bytes) -> Iterator[tuple[str, Work]]:
    """Each way of reading."""

    def records() -> ConsumerRecords:
        return ConsumerRecords({TP: taken(codec, data)})

    def untouched() -> None:
        for _ in records():
            pass

    def value() -> None:
        for record in records():
            record.value  # noqa: B018 - the access is what costs

    def key_and_value() -> None:
        for record in records():
            record.key  # noqa: B018
            record.value  # noqa: B018

    yield "decoded", lambda: taken(codec, data)
    yield "untouched", untouched
    yield "values", value
    yield "keys and values", key_and_value
    yield "columns", lambda: records().columns()
    if codec is CODEC:
        yield "arrow", lambda: records().to_arrow()


def peer(package: str, data: bytes) -> Work:
    """A peer's codec, as its own consumer uses it, every value read."""
    module = import_module(f"{package}.record.memory_records")

    def read() -> None:
        records = module.MemoryRecords(data)
        while records.has_next():
            batch = records.next_batch()
            if not batch.validate_crc():
                raise ValueError("a checksum differs")
            for record in batch:
                record.value  # noqa: B018

    return read


def encoding(codec: Codec, data: bytes) -> Work:
    """The same records written again, uncompressed and without a header."""
    records: list[NewRecord] = [
        (each.timestamp, each.key, each.value, ()) for run in taken(codec, data) for each in run
    ]
    return lambda: codec.encode_records(records, records[0][0])


def rate(work: Work, records: int) -> float:
    """Million records for a second of CPU time, over at least a twentieth of one."""
    rounds, began = 0, time.process_time()
    while (spent := time.process_time() - began) < 0.05:
        work()
        rounds += 1
    return rounds * records / spent / 1e6


def candidates(data: bytes) -> Iterator[tuple[str, str, Work]]:
    """Who does what: a name, a way, and the work."""
    twins = {"native": CODEC} if CHOICE.name == "native" else {}
    for name, codec in {**twins, "pure": pure}.items():
        for way, work in ours(codec, data):
            yield f"prokurist {name}", way, work
        yield f"prokurist {name}", "encoded", encoding(codec, data)
    for package in ("aiokafka", "kafka"):
        try:
            work = peer(package, data)
            work()
        except Exception as error:  # noqa: BLE001 - a client that fails is left out
            print(f"    {package} left out: {type(error).__name__}: {str(error)[:80]}")
        else:
            yield {"kafka": "kafka-python"}.get(package, package), "values", work


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=16 * 1024, help="bytes of a batch")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", help="where to write the numbers")
    options = parser.parse_args()
    report: list[dict[str, Any]] = []
    for size in (100, 1024):
        for compression in Compression:
            data, records = chunk(size, options.batch, compression)
            name = compression.name.lower()
            print(f"{size} B, {name}, batches of {options.batch} B: {len(data)} B fetched")
            found = list(candidates(data))
            rates: list[list[float]] = [[] for _ in found]
            for _ in range(options.runs):
                for (_, _, work), seen in zip(found, rates, strict=True):
                    seen.append(rate(work, records))
            speeds = [statistics.median(seen) for seen in rates]
            best = max(
                speed
                for (who, way, _), speed in zip(found, speeds, strict=True)
                if who.startswith("prokurist") and way == "values"
            )
            for (who, way, _), speed in zip(found, speeds, strict=True):
                report.append(
                    {"size": size, "compression": name, "who": who, "way": way, "rate": speed}
                )
                ours_first = who.startswith("prokurist")
                ratio = "" if ours_first else f"   ours is {best / speed:.1f} times that"
                print(f"  {who:18} {way:16} {speed:8.2f} M/s{ratio}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:  # noqa: PTH123
            json.dump(report, out, indent=1)


if __name__ == "__main__":
    main()
