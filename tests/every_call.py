"""Every public call that can wait, to ask all of them the same question."""

from collections.abc import Callable
from typing import Any, Final

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.types import OffsetAndMetadata, TopicPartition

TP: Final = TopicPartition("orders", 0)
UNKNOWN: Final = TopicPartition("orders", 1)
"""Assigned, and its position has to be looked up."""

WaitingCall = Callable[[KafkaConsumer, Any], object]

ANSWERED: Final[dict[str, WaitingCall]] = {
    "commit_sync": lambda c, t: c.commit_sync({TP: OffsetAndMetadata(7)}, t),
    "committed": lambda c, t: c.committed(TP, t),
    "position": lambda c, t: c.position(UNKNOWN, t),
    "beginning_offsets": lambda c, t: c.beginning_offsets(TP, t),
    "end_offsets": lambda c, t: c.end_offsets([TP], t),
    "offsets_for_times": lambda c, t: c.offsets_for_times({TP: 0}, t),
    "partitions_for": lambda c, t: c.partitions_for("elsewhere", t),
    "list_topics": lambda c, t: c.list_topics(t),
}
"""They end with one answer, and raise TimeoutException at their deadline."""

WITH_DEADLINE: Final = ANSWERED | {"wait_until_ready": lambda c, t: c.wait_until_ready(t)}
"""They raise TimeoutException at their deadline."""

WAITING: Final = WITH_DEADLINE | {
    "poll": lambda c, t: c.poll(t),
    "next": lambda c, t: c.next(t),
}
"""Those that a wake-up ends."""

WITH_TIMEOUT: Final = WAITING | {
    "unsubscribe": lambda c, t: c.unsubscribe(t),
    "close": lambda c, t: c.close(t),
}
"""Those that are given a timeout."""

ALL: Final[dict[str, WaitingCall]] = WITH_TIMEOUT | {
    "assign": lambda c, _: c.assign(TP),
    "assignment": lambda c, _: c.assignment(),
    "seek": lambda c, _: c.seek(TP, 1),
    "seek_to_beginning": lambda c, _: c.seek_to_beginning(),
    "seek_to_end": lambda c, _: c.seek_to_end(),
    "pause": lambda c, _: c.pause(TP),
    "resume": lambda c, _: c.resume(TP),
    "paused": lambda c, _: c.paused(),
    "at_end": lambda c, _: c.at_end(),
    "progress": lambda c, _: c.progress(),
    "current_lag": lambda c, _: c.current_lag(TP),
    "commit_async": lambda c, _: c.commit_async({}),
    "subscribe": lambda c, _: c.subscribe(["orders"]),
}
"""Everything that may be asked for on one thread only."""


def ready(consumer: KafkaConsumer) -> None:
    """Find the coordinator, and know one position and not the other."""
    consumer.assign([TP, UNKNOWN])
    consumer.seek(TP, 1)
    # A default of the test's is for its own calls, not for those that make ready.
    consumer.committed(TP, timeout=20)
    consumer.end_offsets(TP, timeout=20)
