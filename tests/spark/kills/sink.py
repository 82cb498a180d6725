"""What a query has written to its parquet files, held against what was to be read.

By Spark's own list of files, as its readers do: tasks that were killed have left others
beside them.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import pyarrow.parquet

from prokurist.spark.offset_json import SourceOffset

Row = tuple[int, int, bytes]
"""Partition, offset, value."""
SHOWN: Final = 5


def value_of(partition: int, offset: int) -> bytes:
    """What is written to a place."""
    return b"%d %d" % (partition, offset)


def files(folder: Path) -> Iterator[Path]:
    """The files that are part of what a query has written."""
    log = folder / "_spark_metadata"
    # A compact one holds all that went before it.
    parts = {
        int(each.name.removesuffix(".compact")): each
        for each in sorted(log.iterdir())
        if not each.name.startswith(".")
    }
    whole = [number for number, each in parts.items() if each.suffix == ".compact"]
    for number in sorted(parts):
        if number >= max(whole, default=0):
            for line in parts[number].read_text().splitlines()[1:]:
                yield Path(unquote(urlsplit(json.loads(line)["path"]).path))


def rows(folder: Path) -> Iterator[Row]:
    """All that a query has written."""
    for path in files(folder):
        table = pyarrow.parquet.read_table(path, partitioning=None)
        yield from zip(
            *(table.column(name).to_pylist() for name in ("partition", "offset", "value")),
            strict=True,
        )


def begun(checkpoint: Path, topic: str) -> dict[int, int] | None:
    """Where a query has begun, as its first offsets say; None if they do not, or not yet."""
    path = checkpoint / "offsets" / "0"
    if not path.exists():
        return None
    start = SourceOffset.of(path.read_text().splitlines()[-1], "the first offsets").start
    if start is None:
        return None
    return {tp.partition: at for tp, at in start.items() if tp.topic == topic}


def numbers(folder: Path) -> list[int]:
    """Which batches a folder of a checkpoint knows, in order."""
    if not folder.exists():
        return []
    return sorted(int(each.name) for each in folder.iterdir() if each.name.isdigit())


def done(checkpoint: Path) -> int:
    """How many batches are over."""
    return max(numbers(checkpoint / "commits"), default=-1) + 1


def underway(checkpoint: Path) -> bool:
    """Whether a batch is planned, and not over."""
    return numbers(checkpoint / "offsets")[-1:] != numbers(checkpoint / "commits")[-1:]


def wrongs(
    found: Iterator[Row], starts: Mapping[int, int], ends: Mapping[int, int]
) -> list[str]:
    """What is not as it should be: each record of each range once, with its own value."""
    told: list[str] = []
    seen: dict[int, Counter[int]] = {each: Counter() for each in ends}
    strange = []
    for partition, offset, value in found:
        seen.setdefault(partition, Counter())[offset] += 1
        if value != value_of(partition, offset):
            strange.append(f"{partition}@{offset} is {value!r}")
    for partition, counts in sorted(seen.items()):
        due = range(starts.get(partition, 0), ends.get(partition, 0))
        missing = [each for each in due if each not in counts]
        beyond = [each for each in sorted(counts) if each not in due]
        again = [each for each in sorted(counts) if counts[each] > 1]
        for name, places in ("missing", missing), ("beyond", beyond), ("twice", again):
            if places:
                told.append(f"partition {partition}: {len(places)} {name}, {places[:SHOWN]}")
    if strange:
        told.append(f"{len(strange)} values of others: {strange[:SHOWN]}")
    return told
