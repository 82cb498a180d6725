"""The command line as its tests run it: in their own process, or as one."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.testing.broker import EmbeddedBroker
from prokurist.types import OffsetAndMetadata, TopicPartition

TIMEOUT = 1.0
LATE = 4.0
"""How late a command may end in this process, on a machine that is shared."""
STARTING = 25.0
"""For an interpreter and its imports."""


@dataclass
class Ended:
    """How a command ended."""

    code: int
    out: bytes
    err: str
    seconds: float

    @property
    def rows(self) -> list[list[str]]:
        """What it wrote, by words."""
        return [line.split() for line in self.out.decode().splitlines()]

    @property
    def objects(self) -> list[dict[str, object]]:
        """The same where it is JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


Command = Callable[..., Ended]


def begun(*arguments: object) -> subprocess.Popen[bytes]:
    """Start a command as a process of its own, whose output is buffered as it is by default."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    return subprocess.Popen(
        [sys.executable, "-m", "prokurist", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )


def commit(kafka: EmbeddedBroker, group: str, **offsets: int) -> None:
    """Commit for orders, by `p0=…`."""
    wanted = {
        TopicPartition("orders", int(name[1:])): OffsetAndMetadata(offset)
        for name, offset in offsets.items()
    }
    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap, group_id=group, enable_auto_commit=False
    ) as consumer:
        consumer.commit_sync(wanted, 10)


def committed(kafka: EmbeddedBroker, group: str) -> dict[int, int]:
    """What the group has for orders."""
    return {tp.partition: each.offset for tp, each in kafka.committed(group).items()}


def states(at: Command) -> dict[object, object]:
    """The state of each group, by `prokurist groups`."""
    return {row["group"]: row["state"] for row in at("groups", "-J").objects}
