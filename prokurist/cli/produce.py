"""`prokurist produce`: lines of standard input, or of a file, as records.

Thread: the main one; a daemon reads the input, so that `--timeout` and Ctrl-C end a wait
for it.
Invariants: every record that was read is delivered or counted as failed when the command
ends.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from queue import Empty, Queue
from typing import Final

from prokurist.cli.arguments import ENDLESS
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.formats import unescaped
from prokurist.cli.record_lines import Headers, Parse
from prokurist.errors import TimeoutException
from prokurist.events.accumulator.record_metadata import RecordMetadata
from prokurist.lazy_dataclasses import dataclass
from prokurist.producer.producer import KafkaProducer
from prokurist.types import counted

STDIN: Final = 0
INTERRUPTED: Final = 1.0
"""Seconds for records sent before Ctrl-C."""
CHUNK: Final = 1 << 16
MOST_CHUNKS: Final = 16
"""Most chunks to read ahead."""
LONGEST_BLOCK: Final = 60.0
"""Upper limit of `max.block.ms`, in seconds, where the command has a time limit."""
SHARE_KEPT: Final = 0.25
"""The share of `--timeout` that is kept for the deliveries of what was read, of ..."""
MOST_KEPT: Final = 5.0
"""... so many seconds at most."""


@dataclass(frozen=True, slots=True)
class SendRequest:
    """Input of records, and their topic.

    Attributes:
        topic: The topic.
        partition: The partition; None to have one chosen.
        delimiter: The delimiter after each record, with escapes.
        compression: `compression.type`, where it is given.
        source: A file; None for standard input.
        parse: Makes a record of a piece of the input.
    """

    topic: str
    partition: int | None
    delimiter: str
    compression: str | None
    source: Path | None
    parse: Parse

    def __post_init__(self) -> None:
        if not self.delimiter:
            raise Misused("-D: records have to end somewhere")


def headers_of(given: Sequence[str]) -> Headers:
    """The headers of `-H`: `name=value`, or a name alone for null.

    Raises:
        Misused: One has no name.
    """
    found = []
    for each in given:
        name, equals, value = each.partition("=")
        if not name:
            raise Misused("-H takes NAME=VALUE, or NAME for a header that is null")
        found.append((name, value.encode() if equals else None))
    return tuple(found)


class Deliveries:
    """Counts the outcomes of records; the producer calls it.

    Attributes:
        delivered: How many are delivered.
        failed: How many have failed.
        first_error: The error of the first of those.
        out_of_time: True if one has failed by its time limit.
    """

    def __init__(self) -> None:
        self.delivered: int = 0
        self.failed: int = 0
        self.first_error: BaseException | None = None
        self.out_of_time: bool = False

    def __call__(self, _metadata: RecordMetadata, error: BaseException | None) -> None:
        """A record has ended."""
        if error is None:
            self.delivered += 1
            return
        self.failed += 1
        self.first_error = self.first_error or error
        self.out_of_time = self.out_of_time or isinstance(error, TimeoutException)


def run(asked: CommandOptions, wanted: SendRequest) -> None:
    """Send until the input ends, the time is over, Ctrl-C, or nothing gets through.

    Raises:
        Failed: Records have failed, or the time was over before the input had ended.
        KafkaException: The producer cannot be built, or cannot go on.
        OSError: The input cannot be read.
    """
    bounded = asked.timeout != ENDLESS
    with ExitStack() as stack:
        descriptor = STDIN
        if wanted.source is not None:
            descriptor = stack.enter_context(wanted.source.open("rb")).fileno()
        block = int(min(asked.left(), LONGEST_BLOCK) * 1000) if bounded else None
        producer = asked.producer(compression_type=wanted.compression, max_block_ms=block)
        deliveries = Deliveries()
        complete = False
        try:
            complete = send(asked, wanted, producer, descriptor, deliveries)
        except KeyboardInterrupt:
            producer.close(INTERRUPTED)
            check(asked, deliveries)
            asked.say(counted(deliveries.delivered, "record"))
            raise
        except BaseException:
            producer.close(INTERRUPTED)
            raise
        producer.close(asked.left() if bounded else None)
    check(asked, deliveries)
    if not complete:
        sent = counted(deliveries.delivered, "record")
        raise Failed(f"the time is over after {sent}: the input has not ended")
    asked.say(counted(deliveries.delivered, "record"))


def send(
    asked: CommandOptions,
    wanted: SendRequest,
    producer: KafkaProducer,
    descriptor: int,
    deliveries: Deliveries,
) -> bool:
    """Send the records of the input.

    Returns:
        True if the input has ended; False where the time was over before.
    """
    kept = 0.0 if asked.timeout == ENDLESS else min(MOST_KEPT, asked.timeout * SHARE_KEPT)
    chunks = InputChunks(descriptor)
    for piece in chunks.pieces(unescaped(wanted.delimiter), asked, kept):
        record = wanted.parse(piece)
        producer.send(
            wanted.topic,
            record.value,
            record.key,
            record.headers,
            wanted.partition,
            record.timestamp,
            deliveries,
        )
        if deliveries.out_of_time:
            return True  # Nothing gets through: what follows would wait as long.
    return chunks.has_ended


def check(asked: CommandOptions, deliveries: Deliveries) -> None:
    """Fail where records have failed.

    Raises:
        Failed: Some have.
    """
    if deliveries.failed:
        all_of_them = counted(deliveries.delivered + deliveries.failed, "record")
        verb = "was" if deliveries.failed == 1 else "were"
        why = str(deliveries.first_error)
        if asked.timeout != ENDLESS:
            # `run` has bounded it by --timeout.
            why = why.replace("raise max.block.ms", "give a longer --timeout")
        raise Failed(
            f"{deliveries.failed} of {all_of_them} {verb} not delivered; the first: {why}"
        )


class InputChunks:
    """Reads a file descriptor on a thread of its own.

    Attributes:
        has_ended: True once all has been read.
    """

    def __init__(self, descriptor: int) -> None:
        self.has_ended: bool = False
        self._descriptor = descriptor
        self._queue: Queue[bytes | OSError] = Queue(MOST_CHUNKS)

    def until(self, asked: CommandOptions, kept: float) -> Iterator[bytes]:
        """Yield chunks of the input, until it ends or the time is over.

        Args:
            asked: With the deadline.
            kept: Seconds before it without any reading.

        Raises:
            OSError: It cannot be read.
        """
        threading.Thread(target=self._read, name="prokurist-input", daemon=True).start()
        while (left := asked.left() - kept) > 0:
            try:
                chunk = self._queue.get(timeout=min(left, threading.TIMEOUT_MAX))
            except Empty:
                return
            if isinstance(chunk, OSError):
                raise chunk
            if not chunk:
                self.has_ended = True
                return
            yield chunk

    def pieces(self, delimiter: bytes, asked: CommandOptions, kept: float) -> Iterator[bytes]:
        """Yield the input split at a delimiter; the last piece needs none behind it.

        A piece that has not ended when the time is over is left out. The rest is as in `until`.
        """
        rest = b""
        for chunk in self.until(asked, kept):
            *whole, rest = (rest + chunk).split(delimiter)
            yield from whole
        if rest and self.has_ended:
            yield rest

    def _read(self) -> None:
        chunk = b"-"
        while chunk:
            try:
                chunk = os.read(self._descriptor, CHUNK)
            except OSError as error:
                self._queue.put(error)
                return
            self._queue.put(chunk)
