"""`prokurist broker`: the embedded broker in the foreground, to play with.

Thread: the main one; the broker has its own.
"""

import sys
from collections.abc import Mapping
from contextlib import closing, suppress
from errno import EADDRINUSE
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final

from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.output import write
from prokurist.events.clock import epoch_milliseconds
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster.batches import Record
from prokurist.testing.cluster.sasl import Sasl
from prokurist.types import TopicPartition

TOPIC: Final = "orders"
"""The topic that gets records where none is named."""
A_DAY: Final = 86_400.0
BROKER: Final = "broker.pem"


def run(
    asked: CommandOptions,
    *,
    nodes: int,
    port: int,
    topics: Mapping[str, int],
    records: int,
    every: float | None = None,
    tls: Path | None = None,
    users: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Serve until the time is over, or until Ctrl-C or SIGTERM, both a good end here.

    Args:
        asked: Options of every command.
        nodes: How many brokers.
        port: Of the first; 0 for free ones.
        topics: Topics, and how many partitions each has.
        records: How many records each topic begins with.
        every: Seconds between further records of each topic; None for never.
        tls: The folder for the certificates; None for no TLS.
        users: Passwords by name, for SASL; none for no SASL.

    Raises:
        Misused: The options make no sense together.
        Failed: The port is taken.
    """
    ports = [port + turn for turn in range(nodes)] if port else []
    if every is not None:
        topics = topics or {TOPIC: 1}
    try:
        keys = {} if tls is None else certified(tls)
        broker = EmbeddedBroker(
            nodes,
            topics,
            ports=ports,
            auto_create=True,
            sasl=Sasl(dict(users)) if users else None,
            certificate=None if tls is None else tls / BROKER,
        )
        broker.start()
    except (ValueError, OverflowError) as error:
        raise Misused(str(error)) from None
    except OSError as error:
        if error.errno == EADDRINUSE:
            named = f"port {port}" if nodes == 1 else f"a port from {port} to {ports[-1]}"
            raise Failed(f"{named} is taken: --port 0 takes a free one") from None
        raise
    with closing(broker), suppress(KeyboardInterrupt):
        fill(broker, topics, records)
        if tls is not None or users:
            below = "PLAINTEXT" if tls is None else "SSL"
            keys["security.protocol"] = f"SASL_{below}" if users else below
        if users:
            keys["sasl.mechanism"] = "SCRAM-SHA-256"
            keys["sasl.username"] = next(iter(users))
        keys = {"bootstrap.servers": broker.bootstrap, **keys}
        write([f"{key}={value}\n" for key, value in keys.items()])
        sys.stdout.flush()  # A pipe gets the line now, and not when the command ends.
        if every is not None:
            asked.say(f"Every {every:g} s a record comes to {', '.join(topics)}.")
        asked.say("It keeps nothing. Ctrl-C ends it.")
        while (left := asked.left()) > 0:
            asked.clock.sleep(min(left, A_DAY if every is None else every))
            if every is not None:
                fill(broker, topics, 1, begin=records)
                records += 1


def certified(folder: Path) -> dict[str, str]:
    """Make an authority and a certificate, and print the client's settings for them.

    Raises:
        Misused: The package that makes certificates is not installed.
    """
    if find_spec("cryptography") is None:
        raise Misused("--tls needs the package cryptography: pip install cryptography")
    from prokurist.testing.kafka.pki import Authority  # noqa: PLC0415 - see above

    authority = Authority(folder)
    authority.issue(BROKER.removesuffix(".pem"))
    return {"ssl.ca.location": str(authority.location)}


def named_user(text: str) -> tuple[str, str]:
    """`NAME:PASSWORD`.

    Raises:
        Misused: It is not.
    """
    name, colon, password = text.partition(":")
    if not (name and colon and password):
        raise Misused("--sasl: write NAME:PASSWORD")
    return name, password


def fill(
    broker: EmbeddedBroker, topics: Mapping[str, int], records: int, begin: int = 0
) -> None:
    """Put so many records into each topic, over its partitions in turn.

    Args:
        broker: The broker.
        topics: Topics, and how many partitions each has.
        records: How many.
        begin: The number of the first.
    """
    stamp = epoch_milliseconds()
    for topic, partitions in topics.items():
        for number in range(begin, begin + records):
            record = Record(
                b"record %d of %s" % (number, topic.encode()),
                b"key-%d" % number,
                timestamp=stamp + number - begin,
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
