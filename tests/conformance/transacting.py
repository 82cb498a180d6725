"""Scenarios of transactions: ids and epochs, partitions, ends, fencing, timeouts, offsets."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final, NamedTuple

from tests.conformance.committing import offsets, position
from tests.conformance.normalising import BEGAN
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
        """Wait until its transaction is not being ended any more, or is in one of the states."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            state = self.state()
            if state in states or (not states and not state.startswith("Prepare")):
                return
            time.sleep(0.005)
        raise AssertionError(f"{self.id} stays {state}: it is to be {states or 'over'}")

    def describe(self) -> None:
        """Compare what its coordinator keeps of it."""
        self._stage.ask(self._who, "DescribeTransactions", transactional_ids=[self.id])


def describe_producers(stage: Stage, topic: Topic, *partitions: int, who: str = "w") -> None:
    """Compare what a leader keeps of the producers of partitions."""
    asked = [{"name": topic.name, "partition_indexes": partitions or (0,)}]
    stage.ask(who, "DescribeProducers", topics=asked)


def read_both(stage: Stage, topic: Topic, offset: int = 0, partition: int = 0) -> None:
    """Read a partition from an offset with both levels of isolation, and look for its ends."""
    for isolation in (0, 1):
        fetch(stage, wanted(topic, (partition, offset)), isolation_level=isolation)
        rows = [{"partition_index": partition, "timestamp": -1, "current_leader_epoch": -1}]
        stage.ask(
            "a",
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
    usual = {"transaction_timeout": MINUTE, "producer_id": -1, "producer_epoch": -1}
    stage.ask("t", "InitProducerId", transactional_id="", **usual)
    asked = [{"name": "x", "partitions": [0]}]
    for version in (0, 2, 3):
        stage.ask(
            "t",
            "AddPartitionsToTxn",
            version,
            v3_and_below_transactional_id="",
            v3_and_below_producer_id=1,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=asked,
        )
    numbers = {"producer_id": 1, "producer_epoch": 0}
    stage.ask("t", "AddOffsetsToTxn", transactional_id="", group_id="g", **numbers)
    stage.ask("t", "EndTxn", transactional_id="", committed=True, **numbers)
    stage.ask("t", "DescribeTransactions", transactional_ids=["", f"{stage.name}-never"])


# --- ends -----------------------------------------------------------------------------------


def ends_of_transactions(stage: Stage) -> None:
    """Ends of nothing, of something, again, and the other way."""
    topic = stage.topic()
    for grows in protocols(stage):
        unknown = Transactor(stage, "unknown", grows=grows)
        unknown.end(numbers=Numbers(1, 0))
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
    """What is answered to a producer that names the last epochs there are."""
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
    """A second instance over an open transaction; the first one afterwards, the second goes on."""
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


# --- partitions -----------------------------------------------------------------------------


def partitions_added(stage: Stage) -> None:
    """AddPartitionsToTxn: again, unknown ones beside good ones, other numbers."""
    topic, other = stage.topic(3), stage.topic()
    producer = Transactor(stage, "a", grows=False)
    producer.add(topic, 0, numbers=Numbers(5, 0))
    producer.init()
    producer.add(topic, 0)
    producer.add(topic, 0, 1)
    good = {"name": topic.name, "partitions": [2]}
    producer.add_topics(good, {"name": "no-such-topic", "partitions": [0]})
    producer.add_topics(good, {"name": other.name, "partitions": [0, 7]})
    producer.describe()
    producer.add_topics(good, {"name": other.name, "partitions": [0]})
    producer.add_topics()
    producer.describe()
    for off in (-1, 1):
        producer.add(topic, 0, numbers=producer.numbers.ahead(off))
        producer.add_offsets("g", producer.numbers.ahead(off))
    producer.add(topic, 0, numbers=Numbers(STRANGER, 0))
    producer.add_offsets("g", Numbers(STRANGER, 0))
    producer.add_offsets("g")
    producer.add_offsets("")
    producer.describe()
    producer.end(commit=False)
    producer.describe()
    describe_producers(stage, topic, 0, 1, 2)
    read_both(stage, topic)


def partitions_added_by_brokers(stage: Stage) -> None:
    """AddPartitionsToTxn of versions for brokers: several transactions, and only looked up."""
    topic = stage.topic(2)
    one, two = (Transactor(stage, each, grows=False) for each in ("a", "b"))
    one.init()
    two.init()

    def row(each: Transactor, partitions: list[int], *, looks: bool) -> dict[str, Any]:
        return {
            "transactional_id": each.id,
            "producer_id": each.numbers.id,
            "producer_epoch": each.numbers.epoch,
            "verify_only": looks,
            "topics": [{"name": topic.name, "partitions": partitions}],
        }

    version = stage.version("AddPartitionsToTxn", least=4)
    for rows in (
        [row(one, [0], looks=True)],
        [row(one, [0], looks=False), row(two, [0, 1], looks=False)],
        [row(one, [0, 1], looks=True)],
        [row(one, [0, 7], looks=True)],
        [],
    ):
        if rows:
            stage.ask("t", "AddPartitionsToTxn", version, transactions=rows)
    one.describe()
    two.describe()
    for each in (one, two):
        each.end(commit=False)


def partitions_not_added(stage: Stage) -> None:
    """Batches of partitions that no AddPartitionsToTxn named, in each version of Produce."""
    topic = stage.topic(2)
    producer = Transactor(stage, "a", grows=stage.speaks("EndTxn", 5))
    for version in (9, 10, 11, 12, 13):
        if not stage.speaks("Produce", version):
            continue
        producer.init()
        producer.write(topic, 0, 0, version=version)
        producer.describe()
        for commit in (True, False):
            producer.end(commit=commit)
    producer.init()
    for sequence in (5, 6, 0, 1):
        producer.write(topic, 1, sequence)
    producer.end()
    producer.describe()
    describe_producers(stage, topic, 0, 1)
    read_both(stage, topic, partition=1)


def batches_of_transactions(stage: Stage) -> None:
    """Batches in and out of sequence, without the flag, of nobody, of two producers."""
    topic = stage.topic(2)
    for grows in protocols(stage):
        producer, other = (Transactor(stage, each, grows=grows) for each in ("a", "b"))
        producer.init()
        other.init()
        producer.open(topic, 0, 0, 2)
        for sequence, count in ((0, 2), (0, 1), (3, 1), (2, 1), (2, 1)):
            producer.write(topic, 0, sequence, count)
        # A leader of Kafka 3.9 takes the epoch ahead, and refuses the marker for ever.
        for off in (-1, 1) if stage.speaks("EndTxn", 5) else (-1,):
            producer.write(topic, 0, 3, numbers=producer.numbers.ahead(off))
            producer.write(topic, 0, 0, numbers=producer.numbers.ahead(off))
        version = stage.version("Produce", least=12 if grows else 3, most=99 if grows else 11)
        me, it = producer.numbers, other.numbers

        def send(*rows: tuple[int, bytes], name: str | None, at: int = version) -> None:
            produce(stage, topic, *rows, who="w", version=at, transactional_id=name)

        mine = batch(b"p", producer=Producer(me.id, me.epoch, 3))
        send((0, mine), name=None)
        send((0, mine), name=producer.id)
        both = [
            (0, batch(b"p", producer=Producer(me.id, me.epoch, 3), attributes=TRANSACTIONAL)),
            (1, batch(b"q", producer=Producer(it.id, it.epoch, 0), attributes=TRANSACTIONAL)),
        ]
        send(*both, name=producer.id)
        send(*both[:1], name=None)
        send(*both[:1], name=other.id)
        send(*both[1:], name=f"{stage.name}-unknown")
        send((1, batch(b"n", attributes=TRANSACTIONAL)), name=producer.id)
        send(both[0], (5, both[0][1]), name=producer.id)
        send(both[0], (1, b"?"), name=producer.id)
        producer.end(commit=False)
        other.end(commit=False)
    describe_producers(stage, topic, 0, 1)
    read_both(stage, topic)
    read_both(stage, topic, partition=1)


# --- timeouts -------------------------------------------------------------------------------


def timed_out(stage: Stage, name: str, topic: Topic, *, grows: bool) -> Transactor:
    """A producer whose transaction was open for longer than its time."""
    producer = Transactor(stage, name, grows=grows, timeout=SHORT)
    producer.init()
    producer.open(topic)
    producer.settle("CompleteAbort")
    return producer


def transactions_out_of_time(stage: Stage) -> None:
    """Each request after `transaction.timeout.ms`, and the numbers that may be had then."""
    topic, group = stage.topic(2), stage.name
    for grows in protocols(stage):
        producer = timed_out(stage, "writes", topic, grows=grows)
        producer.describe()
        for partition in (0, 1):
            producer.write(topic, partition, 1 - partition)
        for add in (producer.add, producer.add):
            add(topic, 1)
        producer.add_offsets(group)
        producer.commit_offsets(group, position(topic, (0, 1)))
        for commit in (True, True, False):
            producer.end(commit=commit)
        producer.open(topic)
        producer.end()
        producer = timed_out(stage, "aborts", topic, grows=grows)
        before = producer.numbers
        producer.end(commit=False)
        producer.init(before)
        producer = timed_out(stage, "asks", topic, grows=grows)
        producer.init(producer.numbers)
        producer = timed_out(stage, "asks-ahead", topic, grows=grows)
        producer.init(producer.numbers.ahead(1))
        producer.open(topic)
        producer.end()
        old = timed_out(stage, "replaced", topic, grows=grows)
        new = Transactor(stage, "replaced", grows=grows)
        new.init()
        old.end(commit=False)
        old.init(old.numbers)
        new.open(topic)
        new.end()
    read_both(stage, topic)
    describe_producers(stage, topic, 0, 1)


# --- offsets --------------------------------------------------------------------------------


def offsets_in_transactions(stage: Stage) -> None:
    """Pending offsets, for who wants stable ones and for who does not; several transactions."""
    topic, other, group = stage.topic(3), stage.topic(), stage.name
    for grows in protocols(stage):
        group = f"{stage.name}-{int(grows)}"
        one, two = (Transactor(stage, each, grows=grows) for each in ("a", "b"))
        one.init()
        two.init()
        one.commit_offsets(group, position(topic, (0, 5)))
        one.send_offsets(group, position(topic, (0, 5), (1, 6)), position(other, (0, 1)))
        for stable in (False, True):
            offsets(stage, group, (topic, (0, 1, 2)), (other, (0,)), require_stable=stable)
            offsets(stage, group, everything=True, require_stable=stable)
        stage.ask("a", "DescribeGroups", groups=[group])
        two.send_offsets(group, position(topic, (0, 7), metadata="m", epoch=0))
        one.send_offsets(group, position(topic, (1, 8)))
        two.end()
        offsets(stage, group, (topic, (0, 1, 2)), require_stable=True)
        one.end()
        offsets(stage, group, everything=True, require_stable=True)
        stage.ask("a", "DescribeGroups", groups=[group])
        one.send_offsets(group, position(topic, (0, 11), (9, 1)), position(other, (0, 3)))
        one.send_offsets(group, position(topic, (2, 9), metadata="x" * 4097))
        one.end(commit=False)
        offsets(stage, group, everything=True, require_stable=True)
        one.send_offsets(group, position(topic, (0, 12)))
        plain: dict[str, Any] = {
            "group_id": group,
            "member_id": "",
            "generation_id_or_member_epoch": -1,
            "topics": [position(topic, (0, 13))],
        }
        stage.ask("a", "OffsetCommit", **plain)
        offsets(stage, group, (topic, (0, 1)), require_stable=True)
        one.end()
        offsets(stage, group, (topic, (0, 1)), require_stable=True)


def offsets_refused_in_transactions(stage: Stage) -> None:
    """Without a group added, of a group without a name, of generations that there are not."""
    topic, group = stage.topic(), stage.name
    where = position(topic, (0, 5))
    producer = Transactor(stage, "a", grows=stage.speaks("EndTxn", 5))
    for version in (0, 1, 2, 3, 4, 5):
        if not stage.speaks("TxnOffsetCommit", version):
            continue
        producer.init()
        producer.commit_offsets(f"{group}-{version}", where, version=version)
        producer.describe()
        producer.end()
        producer.end(commit=False)
    for grows in protocols(stage):
        producer = Transactor(stage, "b", grows=grows)
        producer.commit_offsets(group, where, numbers=Numbers(1, 0))
        producer.init()
        producer.send_offsets("", where)
        producer.send_offsets(group, where, member="x", generation=3)
        producer.send_offsets(group, where, member="", generation=0)
        producer.send_offsets(group, where, member="x", generation=-1)
        producer.send_offsets(group, where, instance="i")
        never = Topic("no-such-topic", topic.id)
        producer.send_offsets(group, position(never, (0, 1)))
        producer.send_offsets(group)
        producer.send_offsets(group, where, numbers=producer.numbers.ahead(-1))
        producer.send_offsets(group, where, numbers=producer.numbers.ahead(1))
        stranger = Numbers(STRANGER, 0)
        producer.send_offsets(group, where, numbers=stranger)
        producer.end(commit=False)
        producer.describe()
        offsets(stage, group, everything=True, require_stable=True)


def offsets_of_deleted_groups(stage: Stage) -> None:
    """A group, or a topic, is deleted while a transaction has offsets of it pending."""
    topic, group = stage.topic(), stage.name
    for grows in protocols(stage):
        producer = Transactor(stage, "a", grows=grows)
        producer.init()
        name = f"{group}-{int(grows)}"
        producer.send_offsets(name, position(topic, (0, 5)))
        stage.ask("a", "DeleteGroups", groups_names=[name])
        offsets(stage, name, (topic, (0,)), require_stable=True)
        producer.end()
        offsets(stage, name, (topic, (0,)), require_stable=True)


def offsets_of_classic_members(stage: Stage) -> None:
    """The right member and generation, and those that are not."""
    topic = stage.topic()
    for grows in protocols(stage):
        group = f"{stage.name}-{int(grows)}"
        values: dict[str, Any] = {
            "group_id": group,
            "session_timeout": MINUTE,
            "rebalance_timeout": MINUTE,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b"r"}],
        }
        body = stage.ask("m", "JoinGroup", 5, member_id="", **values)
        body = stage.ask("m", "JoinGroup", 5, member_id=body.member_id, **values)
        me = body.member_id
        producer = Transactor(stage, "a", grows=grows)
        producer.init()

        def judged() -> None:
            where = position(topic, (0, 7))
            for member, generation in ((me, 1), (me, 0), (me, 2), ("nobody", 1), ("", -1)):
                producer.send_offsets(group, where, member=member, generation=generation)
                producer.end(commit=False)
            producer.send_offsets(group, where, member=me, generation=-1)
            producer.end(commit=False)
            producer.send_offsets(group, where, member=me, generation=1, instance="i")
            producer.end(commit=False)

        judged()
        parts = [{"member_id": me, "assignment": b"all"}]
        stage.ask(
            "m",
            "SyncGroup",
            3,
            generation_id=1,
            member_id=me,
            group_id=group,
            assignments=parts,
        )
        judged()
        producer.send_offsets(group, position(topic, (0, 9)), member=me, generation=1)
        offsets(stage, group, (topic, (0,)), require_stable=True)
        producer.end()
        offsets(stage, group, (topic, (0,)), require_stable=True)


def offsets_of_consumer_members(stage: Stage) -> None:
    """A member of the consumer protocol, in its epoch and in others: as a classic one."""
    topic = stage.topic()
    for grows in protocols(stage):
        group = f"{stage.name}-{int(grows)}"
        member = "AAAAAAAAAAAAAAAAAAAAAA"
        beat = {
            "group_id": group,
            "member_id": member,
            "rebalance_timeout": MINUTE,
            "topic_partitions": [],
        }
        body = stage.ask(
            "m",
            "ConsumerGroupHeartbeat",
            1,
            member_epoch=0,
            subscribed_topic_names=[topic.name],
            **beat,
        )
        epoch = body.member_epoch
        producer = Transactor(stage, "a", grows=grows)
        producer.init()
        where = position(topic, (0, 7))
        for name, number in (
            (member, epoch),
            (member, epoch - 1),
            (member, epoch + 1),
            (member, -1),
            ("nobody", epoch),
            ("", -1),
        ):
            producer.send_offsets(group, where, member=name, generation=number)
            producer.end(commit=False)
        producer.send_offsets(group, where, member=member, generation=epoch)
        offsets(stage, group, (topic, (0,)), member=member, epoch=epoch, require_stable=True)
        producer.end()
        offsets(stage, group, (topic, (0,)), member=member, epoch=epoch, require_stable=True)


# --- what is told of them -------------------------------------------------------------------


def transactions_listed(stage: Stage) -> None:
    """ListTransactions with its filters, DescribeTransactions, DescribeProducers."""
    topic = stage.topic(2)
    made = [Transactor(stage, f"{each}", grows=False) for each in range(3)]
    for each in made:
        each.init()
    made[1].open(topic, 0)
    made[2].open(topic, 1)
    made[2].end()
    ids = [each.numbers.id for each in made]
    for states in ([], ["Ongoing"], ["Empty", "CompleteCommit"], ["Nonsense"], ["ongoing"]):
        stage.ask(
            "t",
            "ListTransactions",
            state_filters=states,
            producer_id_filters=ids,
            duration_filter=-1,
            transactional_id_pattern=None,
        )
    if stage.speaks("ListTransactions", 2):
        for pattern in (f"{stage.name}.*", f"{stage.name}-1-0", "("):
            stage.ask(
                "t",
                "ListTransactions",
                2,
                state_filters=[],
                producer_id_filters=ids,
                duration_filter=-1,
                transactional_id_pattern=pattern,
            )
    names = [each.id for each in made]
    stage.ask("t", "DescribeTransactions", transactional_ids=[*names, f"{stage.name}-never"])
    rows = [
        {"name": topic.name, "partition_indexes": (0, 1, 7)},
        {"name": "no-such-topic", "partition_indexes": (0,)},
        {"name": "no name", "partition_indexes": (0,)},
    ]
    stage.ask("w", "DescribeProducers", topics=rows)
    made[1].end(commit=False)


# --- what the log is left with --------------------------------------------------------------


def stable_ends(stage: Stage) -> None:
    """Two open transactions in one partition: the older one holds the stable end back."""
    topic = stage.topic()
    for grows in protocols(stage):
        one, two = (Transactor(stage, each, grows=grows) for each in ("a", "b"))
        one.init()
        two.init()
        one.open(topic, 0, 0, 2)
        stage.produce(topic, b"plain", stamp=BEGAN)
        two.open(topic, 0, 0, 1)
        one.write(topic, 0, 2)
        read_both(stage, topic)
        two.end(commit=False)
        read_both(stage, topic)
        one.end()
        read_both(stage, topic)
        one.open(topic, 0, 0 if grows else 3)
        stage.side.delete_records(topic.name, 0, -1)
        read_both(stage, topic, offset=6)
        stage.produce(topic, b"plain", stamp=BEGAN)
        read_both(stage, topic, offset=8)
        one.end()
        read_both(stage, topic, offset=8)


def topics_deleted_in_transactions(stage: Stage) -> None:
    """A topic goes while a transaction has written to it: the rest is committed."""
    topic, going = stage.topic(), stage.topic()
    for grows in protocols(stage):
        producer = Transactor(stage, "a", grows=grows)
        producer.init()
        producer.open(topic)
        if not grows:
            producer.open(going)
            stage.side.delete_topic(going.name)
        producer.end()
        producer.describe()
    read_both(stage, topic)
