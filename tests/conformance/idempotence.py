"""Scenarios of InitProducerId and of the sequence numbers of idempotent producers."""

from datetime import timedelta
from typing import Any, Final

from tests.conformance.normalising import BEGAN
from tests.conformance.producing import Producer, batch, produce
from tests.conformance.reading import list_offsets
from tests.conformance.sides import Topic
from tests.conformance.stage import Stage

LAST: Final = 2**31 - 1
TWO_DAYS: Final = 2 * 86_400_000
LAST_EPOCH: Final = 2**15 - 1


def producer_ids(stage: Stage) -> None:
    """Ids for idempotent producers, that have none or say which they have."""
    usual: dict[str, Any] = {
        "transactional_id": None,
        "transaction_timeout": timedelta(seconds=1),
        "producer_id": -1,
        "producer_epoch": -1,
    }
    for values in (
        {},
        {},
        {"transactional_id": ""},
        {"transaction_timeout": timedelta(0)},
        {"producer_id": 5, "producer_epoch": 3},
        {"producer_id": 5, "producer_epoch": LAST_EPOCH},
        {"producer_id": -2, "producer_epoch": -2},
        {"producer_id": 5},
        {"producer_epoch": 3},
        {"transactional_id": "", "producer_id": 5},
    ):
        stage.ask("a", "InitProducerId", **{**usual, **values})


class Writer:
    """One idempotent producer on one partition.

    Args:
        stage: Where it writes.
        topic: The topic.
        producer_id: Its id.
        who: The connection.
    """

    def __init__(self, stage: Stage, topic: Topic, producer_id: int, who: str = "a") -> None:
        self._stage = stage
        self._topic = topic
        self._id = producer_id
        self._who = who

    def write(self, epoch: int, sequence: int, count: int = 1, stamp: int = BEGAN) -> None:
        """Write a batch of so many records."""
        numbers = Producer(self._id, epoch, sequence)
        data = batch(*[b"v"] * count, producer=numbers, stamp=stamp)
        produce(self._stage, self._topic, (0, data), who=self._who)


def repetitions_and_gaps(stage: Stage) -> None:
    """Batches in order, again, in part, out of order, and older than the last five."""
    topic = stage.topic()
    writer = Writer(stage, topic, 7)
    for sequence, count in ((0, 1), (1, 2), (3, 1)):
        writer.write(0, sequence, count)
    for sequence, count in ((1, 2), (1, 1), (2, 1), (0, 4), (5, 1), (0, 1), (3, 1), (3, 2)):
        writer.write(0, sequence, count)
    for sequence in (4, 5, 6):
        writer.write(0, sequence)
    for sequence, count in ((0, 1), (1, 2), (3, 1), (6, 1)):
        writer.write(0, sequence, count)
    Writer(stage, topic, 8).write(0, 0)
    writer.write(0, 7)
    list_offsets(stage, topic, -1)


def epochs_of_producers(stage: Stage) -> None:
    """A new epoch begins at 0; an older one is refused, repetitions of it too."""
    topic = stage.topic()
    writer = Writer(stage, topic, 7)
    for epoch, sequence in (
        (0, 0),
        (0, 1),
        (1, 2),
        (1, 0),
        (0, 2),
        (0, 1),
        (1, 0),
        (1, 1),
        (3, 1),
        (3, 0),
        (2, 0),
        (LAST_EPOCH, 0),
        (LAST_EPOCH, 1),
        (0, 0),
        (LAST_EPOCH, 1),
    ):
        writer.write(epoch, sequence)
    list_offsets(stage, topic, -1)


def unknown_producers(stage: Stage) -> None:
    """A producer that a broker does not know begins where it likes; deletion forgets none."""
    topic = stage.topic()
    unknown = Writer(stage, topic, 7)
    for epoch, sequence in ((5, 77), (5, 78), (5, 0), (5, 77), (4, 0), (6, 3), (6, 0)):
        unknown.write(epoch, sequence)
    stage.side.delete_records(topic.name, 0, -1)
    for epoch, sequence in ((6, 0), (6, 5), (6, 1), (5, 0)):
        unknown.write(epoch, sequence)
    list_offsets(stage, topic, -1, -2)


def expired_producers(stage: Stage) -> None:
    """Expired is forgotten: any sequence number is taken, and a repetition is appended."""
    topic = stage.topic()
    expired, other = Writer(stage, topic, 7), Writer(stage, topic, 8)
    other.write(0, 0)
    for sequence in (0, 1):
        expired.write(3, sequence, stamp=BEGAN - TWO_DAYS)
    stage.side.expire_producer(topic.name, 0, 7)
    for sequence in (1, 9, 2):
        expired.write(3, sequence)
    other.write(0, 2)
    again = Writer(stage, topic, 9)
    again.write(3, 0, stamp=BEGAN - TWO_DAYS)
    stage.side.expire_producer(topic.name, 0, 9)
    for epoch, sequence in ((2, 5), (3, 1), (3, 0), (2, 0)):
        again.write(epoch, sequence)
    list_offsets(stage, topic, -1)


def producers_of_a_restarted_leader(stage: Stage) -> None:
    """A broker that starts again knows the last batch of each producer."""
    topic = stage.topic()
    writer, other = Writer(stage, topic, 7), Writer(stage, topic, 8)
    for sequence in range(6):
        writer.write(0, sequence)
    other.write(2, 0, 3)
    stage.restart()
    for sequence in (3, 4, 5, 7, 6, 5):
        writer.write(0, sequence)
    for epoch, sequence, count in ((2, 0, 3), (1, 3, 1), (2, 3, 1), (3, 4, 1), (3, 0, 1)):
        other.write(epoch, sequence, count)


def last_sequence_numbers(stage: Stage) -> None:
    """After the largest sequence number comes 0, between batches and inside of one."""
    topic = stage.topic()
    between = Writer(stage, topic, 7)
    between.write(0, LAST - 1, 2)
    for sequence, count in ((1, 1), (0, 1), (LAST - 1, 2), (1, 1)):
        between.write(0, sequence, count)
    inside = Writer(stage, topic, 8)
    inside.write(0, LAST - 1, 3)
    for sequence, count in ((0, 1), (1, 1), (LAST - 1, 3), (LAST, 2)):
        inside.write(0, sequence, count)
    list_offsets(stage, topic, -1)
