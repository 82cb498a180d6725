"""A producer's side of a transaction, step by step, for scenarios."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final, NamedTuple

from tests.conformance.producing import Producer, batch, produce
from tests.conformance.reading import fetch, wanted
from tests.conformance.sides import Topic
from tests.conformance.stage import Stage

MINUTE: Final = timedelta(minutes=1)
SHORT: Final = timedelta(seconds=1)
"""A transaction's time that a scenario waits for."""
TRANSACTIONAL: Final = 0x10
NO_ERROR: Final = 0
PATIENCE: Final = 20.0
"""Seconds within which a broker ends a transaction, on a busy machine."""
STRANGER: Final = 10**12
"""A producer id that no broker has given out."""


class Numbers(NamedTuple):
    """A producer's id and epoch."""

    id: int = -1
    epoch: int = -1

    def ahead(self, epochs: int) -> "Numbers":
        """Numbers of so many epochs later."""
        return Numbers(self.id, self.epoch + epochs)


NO_NUMBERS: Final = Numbers()


def protocols(stage: Stage) -> Iterator[bool]:
    """Both protocols of KIP-890, where there are both: True for the one of version 2."""
    yield False
    if stage.speaks("EndTxn", 5):
        yield True


class Transactor:
    """A transactional producer by hand: it goes on with the numbers it was given last.

    Args:
        stage: Where it writes.
        name: A word for its transactional id; two of one word are two instances.
        grows: True for the requests of version 2, which raise the epoch with each end.
        who: The connection to its coordinator; to leaders and groups it is another.
        timeout: `transaction.timeout.ms`.

    Attributes:
        id: Its transactional id.
        numbers: Its producer id and epoch.
    """

    def __init__(
        self,
        stage: Stage,
        name: str,
        *,
        grows: bool,
        who: str = "t",
        timeout: timedelta = MINUTE,
    ) -> None:
        self._stage = stage
        self.id: str = f"{stage.name}-{name}-{int(grows)}"
        self.grows = grows
        self.numbers: Numbers = NO_NUMBERS
        self._who = who
        self._timeout = timeout

    def another(self, who: str) -> "Transactor":
        """A second instance of its transactional id, on a connection of its own."""
        made = Transactor(self._stage, "", grows=self.grows, who=who, timeout=self._timeout)
        made.id = self.id
        return made

    def init(self, asked: Numbers = NO_NUMBERS) -> Numbers:
        """Ask for the next epoch, with the numbers named."""
        version = self._stage.version("InitProducerId", least=0 if asked == NO_NUMBERS else 3)
        body = self._stage.ask(
            self._who,
            "InitProducerId",
            version,
            transactional_id=self.id,
            transaction_timeout=self._timeout,
            producer_id=asked.id,
            producer_epoch=asked.epoch,
        )
        if body.error_code == NO_ERROR:
            self.numbers = Numbers(body.producer_id, body.producer_epoch)
        return Numbers(body.producer_id, body.producer_epoch)

    def add(self, topic: Topic, *partitions: int, numbers: Numbers | None = None) -> None:
        """Add partitions."""
        self.add_topics({"name": topic.name, "partitions": list(partitions)}, numbers=numbers)

    def add_topics(self, *topics: dict[str, Any], numbers: Numbers | None = None) -> None:
        """Add partitions of topics."""
        asked = numbers or self.numbers
        self._stage.ask(
            self._who,
            "AddPartitionsToTxn",
            self._stage.version("AddPartitionsToTxn", most=3),
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=asked.id,
            v3_and_below_producer_epoch=asked.epoch,
            v3_and_below_topics=list(topics),
        )

    def add_offsets(self, group: str, numbers: Numbers | None = None) -> None:
        """Add a group."""
        asked = numbers or self.numbers
        self._stage.ask(
            self._who,
            "AddOffsetsToTxn",
            self._stage.version("AddOffsetsToTxn", most=3),
            transactional_id=self.id,
            producer_id=asked.id,
            producer_epoch=asked.epoch,
            group_id=group,
        )

    def write(
        self,
        topic: Topic,
        partition: int = 0,
        sequence: int = 0,
        count: int = 1,
        *,
        numbers: Numbers | None = None,
        version: int | None = None,
        who: str = "w",
    ) -> Any:
        """Write a batch of the transaction; under version 1 its partition has to be added."""
        asked = numbers or self.numbers
        data = batch(
            *[b"v"] * count,
            producer=Producer(asked.id, asked.epoch, sequence),
            attributes=TRANSACTIONAL,
        )
        if version is None:
            least, most = (12, 99) if self.grows else (3, 11)
            version = self._stage.version("Produce", least=least, most=most)
        return produce(
            self._stage,
            topic,
            (partition, data),
            who=who,
            version=version,
            transactional_id=self.id,
        )

    def open(self, topic: Topic, partition: int = 0, sequence: int = 0, count: int = 1) -> None:
        """Write a batch, its partition added before where that is needed."""
        if not self.grows:
            self.add(topic, partition)
        self.write(topic, partition, sequence, count)

    def commit_offsets(
        self,
        group: str,
        *topics: dict[str, Any],
        member: str = "",
        generation: int = -1,
        version: int | None = None,
        numbers: Numbers | None = None,
        who: str = "w",
        **more: Any,
    ) -> None:
        """Commit offsets of a group in the transaction."""
        asked = numbers or self.numbers
        if version is None:
            least, most = (5, 99) if self.grows else (3, 3)
            version = self._stage.version("TxnOffsetCommit", least=least, most=most)
        self._stage.ask(
            who,
            "TxnOffsetCommit",
            version,
            transactional_id=self.id,
            group_id=group,
            producer_id=asked.id,
            producer_epoch=asked.epoch,
            generation_id=generation,
            member_id=member,
            group_instance_id=more.pop("instance", None),
            topics=list(topics),
        )

    def send_offsets(self, group: str, *topics: dict[str, Any], **more: Any) -> None:
        """Commit offsets in the transaction, the group added before where that is needed."""
        if not self.grows:
            self.add_offsets(group)
        self.commit_offsets(group, *topics, **more)

    def end(
        self,
        *,
        commit: bool = True,
        numbers: Numbers | None = None,
        version: int | None = None,
    ) -> Any:
        """End the transaction, and wait until it is over."""
        body = self.ask_end(commit=commit, numbers=numbers, version=version)
        self.settle()
        return body

    def ask_end(
        self,
        *,
        commit: bool = True,
        numbers: Numbers | None = None,
        version: int | None = None,
    ) -> Any:
        """End the transaction; its markers may not be written yet."""
        asked = numbers or self.numbers
        if version is None:
            least, most = (5, 99) if self.grows else (0, 4)
            version = self._stage.version("EndTxn", least=least, most=most)
        body = self._stage.ask(
            self._who,
            "EndTxn",
            version,
            transactional_id=self.id,
            producer_id=asked.id,
            producer_epoch=asked.epoch,
            committed=commit,
        )
        if version >= 5 and body.error_code == NO_ERROR:
            self.numbers = Numbers(body.producer_id, body.producer_epoch)
        return body

    def state(self) -> str:
        """The state of its transaction; empty for an unknown id."""
        told = self._stage.quietly(
            self._who, "DescribeTransactions", 0, transactional_ids=[self.id]
        )
        return str(told.transaction_states[0].transaction_state)

    def settle(self, *states: str) -> None:
        """Wait until its transaction is in one of these states, or not being ended any more."""
        until = time.monotonic() + PATIENCE
        state = self.state()
        while state not in states if states else state.startswith("Prepare"):
            assert time.monotonic() < until, f"{self.id} stays {state}, not {states or 'over'}"
            time.sleep(0.005)
            state = self.state()

    def wait_for_partitions(self, count: int) -> None:
        """Wait until so many partitions of its transaction have no marker."""
        until = time.monotonic() + PATIENCE
        left = -1
        while left != count and time.monotonic() < until:
            told = self._stage.quietly(
                self._who, "DescribeTransactions", 0, transactional_ids=[self.id]
            )
            left = sum(len(each.partitions) for each in told.transaction_states[0].topics)
        assert left == count, f"{self.id} has {left} partitions without a marker"

    def describe(self) -> None:
        """Compare what its coordinator keeps of it."""
        self._stage.ask(self._who, "DescribeTransactions", transactional_ids=[self.id])


def describe_producers(stage: Stage, topic: Topic, *partitions: int, who: str = "w") -> None:
    """Compare what a leader keeps of the producers of partitions."""
    asked = [{"name": topic.name, "partition_indexes": partitions or (0,)}]
    stage.ask(who, "DescribeProducers", topics=asked)


def read_both(
    stage: Stage, topic: Topic, offset: int = 0, partition: int = 0, who: str = "a"
) -> None:
    """Read a partition from an offset with both levels of isolation, and look for its ends."""
    for isolation in (0, 1):
        fetch(stage, wanted(topic, (partition, offset)), who, isolation_level=isolation)
        rows = [{"partition_index": partition, "timestamp": -1, "current_leader_epoch": -1}]
        stage.ask(
            who,
            "ListOffsets",
            stage.version("ListOffsets", least=2),
            replica_id=-1,
            topics=[{"name": topic.name, "partitions": rows}],
            isolation_level=isolation,
        )
