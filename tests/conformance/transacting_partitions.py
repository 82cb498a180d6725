"""Scenarios of transactions: partitions and batches, timeouts, listings, stable ends."""

from datetime import timedelta
from typing import Any, Final

from tests.conformance.committing import position
from tests.conformance.normalising import BEGAN
from tests.conformance.producing import Producer, batch, produce
from tests.conformance.sides import Topic
from tests.conformance.stage import Stage
from tests.conformance.transacting import (
    NO_NUMBERS,
    STRANGER,
    TRANSACTIONAL,
    Numbers,
    Transactor,
    describe_producers,
    protocols,
    read_both,
)

SHORT: Final = timedelta(seconds=1)
"""A transaction's time that a scenario waits for."""


# --- partitions -----------------------------------------------------------------------------


def partitions_added(stage: Stage) -> None:
    """AddPartitionsToTxn: again, unknown ones beside good ones, other numbers."""
    topic, other = stage.topic(3), stage.topic()
    producer = Transactor(stage, "a", grows=False)
    producer.add(topic, 0, numbers=Numbers(STRANGER, 0))
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


def forgotten_ids(stage: Stage) -> None:
    """After `transactional.id.expiration.ms`: each request, and the numbers that come then."""
    topic, group = stage.topic(), stage.name
    for grows in protocols(stage):
        for asks_with_its_own in (False, True):
            producer = Transactor(stage, f"a{int(asks_with_its_own)}", grows=grows)
            producer.init()
            producer.open(topic)
            producer.end()
            stage.side.expire_transaction(producer.id)
            producer.describe()
            producer.add(topic, 0)
            producer.add_offsets(group)
            producer.commit_offsets(group, position(topic, (0, 1)))
            producer.write(topic, 0, 0 if grows else 1)
            for commit in (True, False):
                producer.end(commit=commit)
            producer.init(producer.numbers if asks_with_its_own else NO_NUMBERS)
            producer.open(topic)
            producer.end()


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


def markers_by_hand(stage: Stage) -> None:
    """WriteTxnMarkers of an administrator, also of an older epoch and what is not there."""
    topic = stage.topic(2)
    one = Transactor(stage, "m", grows=False)

    def mark(epoch: int, *partitions: int, name: str = topic.name) -> None:
        rows = [{"name": name, "partition_indexes": partitions}]
        marker = {
            "producer_id": one.numbers.id,
            "producer_epoch": epoch,
            "transaction_result": False,
            "topics": rows,
            "coordinator_epoch": 0,
            "transaction_version": 0,
        }
        stage.ask("w", "WriteTxnMarkers", markers=[marker])

    one.init()
    one.open(topic, 0)
    mark(one.numbers.epoch, 0)
    mark(one.numbers.epoch, 7)
    mark(one.numbers.epoch, 0, name="no-such-topic")
    told = [{"name": topic.name, "partition_indexes": (0,)}]
    stage.ask("w", "DescribeProducers", topics=told)
    one.end(commit=False)
    one.init()
    one.open(topic, 1)
    mark(one.numbers.epoch - 1, 1)
    one.end()


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
