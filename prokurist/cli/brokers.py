"""`prokurist broker`: the embedded broker in the foreground, to play with.

Thread: the main one; the broker has its own.
"""

import sys
from collections.abc import Mapping
from typing import Final

from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Misused
from prokurist.cli.output import write
from prokurist.events.clock import epoch_milliseconds
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster.batches import Record
from prokurist.types import TopicPartition

A_DAY: Final = 86_400.0


def run(
    asked: CommandOptions, *, nodes: int, port: int, topics: Mapping[str, int], records: int
) -> None:
    """Serve until the time is over or Ctrl-C.

    Raises:
        Misused: What is asked for makes no sense.
        OSError: The port is taken.
    """
    ports = [port + turn for turn in range(nodes)] if port else []
    try:
        broker = EmbeddedBroker(nodes, topics, ports=ports, auto_create=True)
        broker.start()
    except (ValueError, OverflowError) as error:
        raise Misused(str(error)) from None
    try:
        fill(broker, topics, records)
        write([f"bootstrap.servers={broker.bootstrap}\n"])
        sys.stdout.flush()  # A pipe gets the line now, and not when the command ends.
        asked.say("It keeps nothing. Ctrl-C ends it.")
        while (left := asked.left()) > 0:
            asked.clock.sleep(min(left, A_DAY))
    finally:
        broker.close()


def fill(broker: EmbeddedBroker, topics: Mapping[str, int], records: int) -> None:
    """Put so many records into each topic, over its partitions in turn."""
    stamp = epoch_milliseconds()
    for topic, partitions in topics.items():
        for number in range(records):
            record = Record(
                b"record %d of %s" % (number, topic.encode()),
                b"key-%d" % number,
                timestamp=stamp + number,
            )
            broker.append(TopicPartition(topic, number % partitions), record)


def named_topic(text: str) -> tuple[str, int]:
    """`NAME:PARTITIONS`, or a name alone for one partition.

    Raises:
        Misused: It is neither.
    """
    name, colon, partitions = text.partition(":")
    if not name or (colon and not (partitions.isdecimal() and int(partitions))):
        raise Misused(f"-t {text}: write NAME or NAME:PARTITIONS")
    return name, int(partitions or 1)
