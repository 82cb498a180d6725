"""Scenarios of transactions: a producer by hand; ids and epochs, ends, fencing."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final, NamedTuple

from tests.conformance.committing import offsets, position
from tests.conformance.producing import Producer, batch, produce
from tests.conformance.reading import fetch, wanted
from tests.conformance.sides import Topic
from tests.conformance.stage import Stage

MINUTE: Final = timedelta(minutes=1)
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


# --- ids ------------------------------------------------------------------------------------


def transactional_ids(stage: Stage) -> None:
    """Epochs with and without numbers: again, behind, ahead, and another id's."""
    for grows in protocols(stage):
        producer, other = (Transactor(stage, each, grows=grows) for each in ("a", "b"))
        first = producer.init()
        second = producer.init()
        third = producer.init(second)
        producer.init(second)
        producer.init(first)
        producer.init(third.ahead(5))
        producer.init(third)
        other.init()
        producer.init(other.numbers)
        producer.init(Numbers(producer.numbers.id, -1))
        producer.init(Numbers(-1, 3))
        producer.describe()
        other.describe()


def transaction_timeouts_refused(stage: Stage) -> None:
    """A time that is none, one above the broker's maximum; no id at all."""
    for seconds in (0, -1, 900, 901):
        timeout = timedelta(seconds=seconds)
        Transactor(stage, str(seconds), grows=False, timeout=timeout).init()
    usual: dict[str, Any] = {
        "transaction_timeout": MINUTE,
        "producer_id": -1,
        "producer_epoch": -1,
    }
    stage.ask("t", "InitProducerId", transactional_id="", **usual)
    asked = [{"name": "x", "partitions": [0]}]
    for version in (0, 2, 3):
        stage.ask(
            "t",
            "AddPartitionsToTxn",
            version,
            v3_and_below_transactional_id="",
            v3_and_below_producer_id=STRANGER,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=asked,
        )
    numbers: dict[str, Any] = {"producer_id": STRANGER, "producer_epoch": 0}
    stage.ask("t", "AddOffsetsToTxn", transactional_id="", group_id="g", **numbers)
    stage.ask("t", "EndTxn", transactional_id="", committed=True, **numbers)
    stage.ask("t", "DescribeTransactions", transactional_ids=["", f"{stage.name}-never"])


# --- ends -----------------------------------------------------------------------------------


def ends_of_transactions(stage: Stage) -> None:
    """Ends of nothing, of something, again, and the other way."""
    topic = stage.topic()
    for grows in protocols(stage):
        unknown = Transactor(stage, "unknown", grows=grows)
        unknown.end(numbers=Numbers(STRANGER, 0))
        producer = Transactor(stage, "a", grows=grows)
        producer.init()
        for commit in (True, False):
            producer.end(commit=commit)
        for commit in (True, False):
            producer.init()
            producer.open(topic)
            producer.describe()
            before = producer.numbers
            producer.end(commit=commit)
            producer.describe()
            for again in (commit, commit, not commit):
                producer.end(commit=again, numbers=before)
            for off in (-1, 1, 2):
                producer.end(commit=commit, numbers=before.ahead(off))
            producer.end(commit=commit, numbers=Numbers(STRANGER, before.epoch))
        producer.init()
        producer.end(commit=True)
        producer.end(commit=False)
        producer.end(commit=False)
    read_both(stage, topic)
    describe_producers(stage, topic)


def transactions_in_a_row(stage: Stage) -> None:
    """Committed and aborted ones on several partitions, with the sequences going on."""
    topic = stage.topic(3)
    for grows in protocols(stage):
        producer = Transactor(stage, "a", grows=grows)
        producer.init()
        sequences = [0, 0, 0]
        for nth in range(6):
            for partition in {nth % 3, (nth + 1) % 3}:
                producer.open(topic, partition, sequences[partition], count=nth % 2 + 1)
                sequences[partition] += nth % 2 + 1
            describe_producers(stage, topic, 0, 1, 2)
            if nth == 3:
                read_both(stage, topic)
            producer.end(commit=nth % 2 == 0)
            if grows:
                sequences = [0, 0, 0]
    describe_producers(stage, topic, 0, 1, 2)
    for partition in range(3):
        read_both(stage, topic, partition=partition)
        read_both(stage, topic, offset=4, partition=partition)


def ends_of_both_kinds(stage: Stage) -> None:
    """EndTxn of version 1 in a transaction of version 2, and the other way."""
    topic = stage.topic()
    if not stage.speaks("EndTxn", 5):
        return
    old = Transactor(stage, "old", grows=False)
    old.init()
    old.open(topic)
    before = old.numbers
    old.end(version=5)
    old.end(version=4, numbers=before)
    old.end(version=5, numbers=before)
    old.end(version=4, numbers=before.ahead(1))
    new = Transactor(stage, "new", grows=True)
    new.init()
    new.open(topic)
    new.end(version=4)
    new.write(topic, 0, 1)
    new.end(version=5)
    new.end(version=4, commit=False)
    describe_producers(stage, topic)
    read_both(stage, topic)


def epochs_that_run_out(stage: Stage) -> None:
    """Requests of a producer with the last epochs."""
    topic = stage.topic()
    for grows in protocols(stage):
        producer = Transactor(stage, "a", grows=grows)
        producer.init()
        for epoch in (32765, 32766, 32767):
            asked = Numbers(producer.numbers.id, epoch)
            producer.init(asked)
            producer.end(numbers=asked)
            producer.write(topic, numbers=asked)
        producer.end(commit=False)


# --- fencing --------------------------------------------------------------------------------


def fenced_producers(stage: Stage) -> None:
    """A second instance over an open transaction, and the first one afterwards."""
    topic, group = stage.topic(2), stage.name
    for grows in protocols(stage):
        old, new = (Transactor(stage, "a", grows=grows) for _ in range(2))
        old.init()
        old.open(topic)
        new.init()
        new.settle()
        new.describe()
        new.init()
        old.write(topic, 0, 1)
        old.write(topic, 1, 0)
        old.add(topic, 1)
        old.add_offsets(group)
        old.commit_offsets(group, position(topic, (0, 1)))
        for commit in (True, False):
            old.end(commit=commit)
        old.init(old.numbers)
        new.open(topic)
        old.write(topic, 0, 1)
        new.send_offsets(group, position(topic, (0, 2)))
        old.commit_offsets(group, position(topic, (0, 3)))
        new.end()
        old.write(topic, 0, 1)
        describe_producers(stage, topic, 0, 1)
        offsets(stage, group, (topic, (0,)))
    read_both(stage, topic)


def fenced_by_its_own_numbers(stage: Stage) -> None:
    """InitProducerId with its own numbers while its transaction is open."""
    topic = stage.topic()
    for grows in protocols(stage):
        producer = Transactor(stage, "a", grows=grows)
        before = producer.init()
        producer.open(topic)
        producer.init(before)
        producer.settle()
        producer.init(before)
        producer.init(before.ahead(1))
        producer.init()
        producer.open(topic)
        producer.end()
