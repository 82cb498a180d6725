"""Read–process–write in virtual time: each record counts once, whatever happens in between."""

from collections.abc import Callable
from contextlib import suppress
from itertools import count

import pytest

from prokurist import KafkaConsumer, KafkaProducer, ReadProcessWrite, TopicPartition, errors
from prokurist.testing.cluster.apis import ApiName
from prokurist.testing.cluster.transactions import TransactionSettings
from tests.documents import names_of
from tests.simulation.interrupting import interrupted_at
from tests.simulation.joining import grouped, joined, member
from tests.simulation.reading import reader, value
from tests.simulation.transacting import VERSIONS, state_of, transactional
from tests.simulation.world import BUILT, World

versions = pytest.mark.parametrize("version", VERSIONS)
protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])
COPIES = tuple(TopicPartition("copies", number) for number in range(2))
DEAD = TopicPartition("orders.dead", 0)
EACH = 37
"""Every so many places are interrupted; a prime, so that no pattern is passed by."""


def world_of_orders(version: int, records: int = 6) -> World:
    """Two partitions with some records each, and as many for the copies."""
    world = grouped(partitions=2, records=records, copies=2)
    world.control.configure_transactions(TransactionSettings(version=version))
    return world


def pair(
    world: World, protocol: str, name: str = "t", **keys: object
) -> tuple[KafkaConsumer, KafkaProducer, ReadProcessWrite]:
    """A consumer that has subscribed, a producer, and the loop over both."""
    consumer = member(
        world, group_protocol=protocol, isolation_level="read_committed", max_poll_records=2
    )
    producer = transactional(world, transactional_id=name, **keys)
    return consumer, producer, producer.read_process_write(consumer, 1.0)


def copy_once(
    work: ReadProcessWrite, producer: KafkaProducer, then: Callable[[], object] = lambda: None
) -> int:
    """Copy the records of one poll; return their number."""
    with work.poll(1.0) as records:
        for record in records:
            producer.send("copies", record.value, partition=record.partition)
        then()
    return len(records)


def copy_all(work: ReadProcessWrite, producer: KafkaProducer, rounds: int = 60) -> None:
    """Copy until nothing comes; errors that allow it have the loop go on."""
    idle = 0
    for _ in range(rounds):
        try:
            idle = 0 if copy_once(work, producer) else idle + 1
        except errors.KafkaException as error:
            if error.fatal:
                raise
            idle = 0
        if idle == 3:
            return
    pytest.fail(f"{work} has not come to an end")


def copies(world: World) -> list[list[bytes | None]]:
    """The values that readers of committed records see, by partition."""
    found: list[list[bytes | None]] = []
    for tp in COPIES:
        with reader(world, tp, isolation_level="read_committed", group_id="r") as consumer:
            found.append([])
            while records := consumer.poll(0.5):
                found[-1] += [each.value for each in records]
    return found


def require_once(world: World, records: int = 6) -> None:
    """Check that each record was copied once, in order, and is committed."""
    assert copies(world) == [[value(nth) for nth in range(records)]] * 2
    kept = world.control.committed("g")
    assert [kept[TopicPartition("orders", each)].offset for each in range(2)] == [records] * 2


# --- the usual way ----------------------------------------------------------------------------


@versions
@protocols
def test_records_and_offsets_are_committed_together(version: int, protocol: str) -> None:
    """B557: each poll's records in one transaction with their offsets."""
    world = world_of_orders(version)
    consumer, producer, work = pair(world, protocol)
    with consumer, producer:
        copy_all(work, producer)
        require_once(world)


@versions
@protocols
def test_records_of_a_block_that_raises_come_again(version: int, protocol: str) -> None:
    """B557: the transaction is aborted, and the exception goes on."""
    world = world_of_orders(version)
    consumer, producer, work = pair(world, protocol)
    with consumer, producer:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                copy_once(work, producer, lambda: 1 / 0)
        copy_all(work, producer)
        require_once(world)


@versions
def test_markers_and_aborted_records_are_passed(version: int) -> None:
    """B557: a poll that only skips aborted records commits the offset behind them."""
    world = world_of_orders(version, records=0)
    with transactional(world, transactional_id="other") as other:
        other.begin_transaction()
        other.send("orders", b"lost", partition=0).result(5.0)
        other.abort_transaction(5.0)
    consumer, producer, work = pair(world, "consumer")
    with consumer, producer:
        copy_all(work, producer)
        assert world.control.committed("g")[TopicPartition("orders", 0)].offset == 2
        assert copies(world) == [[], []]


def test_a_poison_record_is_passed_over() -> None:
    """B557: a poll that raises begins no transaction; its record can be passed over."""
    world = grouped(partitions=1, copies=2, **{"orders.dead": 1})
    set_aside = names_of("set_aside.py")["set_aside"]
    orders = TopicPartition("orders", 0)
    world.control.append(orders, b"1", b"poison", b"3")
    consumer = member(world, value_deserializer=lambda data: int(data) and data)
    producer = transactional(world)
    work = producer.read_process_write(consumer, 1.0)
    with consumer, producer:
        for _ in range(10):
            try:
                copy_once(work, producer)
            except errors.RecordDeserializationException as error:
                set_aside(error, consumer, producer)
        assert copies(world) == [[b"1", b"3"], []]
        with reader(world, DEAD, isolation_level="read_committed", group_id="r") as dead:
            assert [each.value for each in dead.poll(1.0)] == [b"poison"]
        assert world.control.committed("g")[orders].offset == 3


def test_a_consumer_that_cannot_take_part() -> None:
    """B560: no group, or automatic commits beside those of transactions."""
    world = world_of_orders(2)
    with transactional(world) as producer:
        with (
            world.consumer(None, enable_auto_commit=True) as consumer,
            pytest.raises(errors.ConfigException, match=r"set enable\.auto\.commit=False"),
        ):
            producer.read_process_write(consumer)
        with (
            world.consumer(None, group_id=None, enable_auto_commit=False) as consumer,
            pytest.raises(errors.ConfigException, match=r"set group\.id"),
        ):
            producer.read_process_write(consumer)


def test_a_transaction_that_is_open_already() -> None:
    """B557: one begun by hand is left as it is, and nothing is polled."""
    world = world_of_orders(2)
    consumer, producer, work = pair(world, "consumer")
    with consumer, producer:
        producer.begin_transaction()
        with pytest.raises(errors.IllegalStateException, match="a transaction is open"):
            copy_once(work, producer)
        producer.commit_transaction(5.0)
        copy_all(work, producer)
        require_once(world)


# --- a fault at each step ---------------------------------------------------------------------

STEPS: tuple[ApiName, ...] = (
    "AddPartitionsToTxn",
    "Produce",
    "AddOffsetsToTxn",
    "TxnOffsetCommit",
    "EndTxn",
)


@versions
@protocols
@pytest.mark.parametrize("api", STEPS)
@pytest.mark.parametrize("fate", ["applied", "lost"])
def test_a_lost_answer_at_each_step(
    version: int, protocol: str, api: ApiName, fate: str
) -> None:
    """B554, B557: repeated within the call's time, and counted once."""
    world = world_of_orders(version)
    consumer, producer, work = pair(world, protocol)
    with consumer, producer:
        for _ in range(2):
            world.control.cut(api, applied=fate == "applied", times=2)
            with suppress(errors.KafkaException):
                copy_once(work, producer)
        world.control.heal()
        copy_all(work, producer)
        require_once(world)


@versions
@protocols
@pytest.mark.parametrize("api", STEPS)
@pytest.mark.parametrize("fate", ["applied", "lost"])
def test_no_answer_at_each_step(version: int, protocol: str, api: ApiName, fate: str) -> None:
    """B557, B559: calls out of time, also in doubt: the next poll settles them first."""
    world = world_of_orders(version)
    consumer, producer, work = pair(world, protocol, request_timeout_ms=2000)
    with consumer, producer:
        with world.control.drop(api, applied=fate == "applied"):
            for _ in range(3):
                with suppress(errors.KafkaException):
                    copy_once(work, producer)
        copy_all(work, producer)
        require_once(world)


REFUSALS: tuple[tuple[ApiName, int], ...] = (
    ("TxnOffsetCommit", 22),
    ("TxnOffsetCommit", 25),
    ("TxnOffsetCommit", 30),
    ("Produce", 29),
    ("EndTxn", 120),
    ("FindCoordinator", 15),
)


@versions
@pytest.mark.parametrize(("api", "code"), REFUSALS)
def test_a_refusal_at_each_step(version: int, api: ApiName, code: int) -> None:
    """B557: an abortable error has the records come again."""
    world = world_of_orders(version)
    consumer, producer, work = pair(world, "classic")
    with consumer, producer:
        for _ in range(2):
            world.control.fail(api, code)
            with suppress(errors.KafkaException):
                copy_once(work, producer)
        copy_all(work, producer)
        require_once(world)


# --- rebalances in the midst ------------------------------------------------------------------


@versions
@protocols
def test_a_member_that_is_put_out_in_its_block(version: int, protocol: str) -> None:
    """B558: its offsets are refused, also once it has joined again; another reads on."""
    world = world_of_orders(version)
    consumer, producer, work = pair(world, protocol)
    other, other_producer, other_work = pair(world, protocol, "u")

    def hand_over() -> None:
        """Lose the partitions to the other member, which copies all that is left."""
        world.control.expire_member("g", consumer.group_metadata().member_id)
        for _ in range(20):
            world.clock.sleep(1.0)
            with suppress(errors.KafkaException):
                copy_once(other_work, other_producer)

    with consumer, producer, other, other_producer:
        while not copy_once(work, producer):
            pass
        with pytest.raises(errors.CommitFailedException):
            copy_once(work, producer, hand_over)
        for _ in range(20):
            for each, its_producer in ((work, producer), (other_work, other_producer)):
                with suppress(errors.KafkaException):
                    copy_once(each, its_producer)
        require_once(world)


def test_the_group_metadata_of_a_member_that_has_joined_again() -> None:
    """B558: it names the membership of the last poll, until the next poll."""
    world = world_of_orders(2)
    with joined(world, max_poll_records=1) as consumer:
        while not consumer.poll(1.0):
            pass
        before = consumer.group_metadata()
        world.control.expire_member("g", before.member_id)
        world.clock.sleep(20.0)
        assert consumer._member_identity.identity.epoch > before.generation_id
        assert consumer.group_metadata() == before
        consumer.poll(5.0)
        assert consumer.group_metadata().generation_id > before.generation_id


@protocols
def test_a_member_without_polls_is_named_as_it_was(protocol: str) -> None:
    """B558: put out by max.poll.interval.ms; without a name its offsets would be taken."""
    world = world_of_orders(2)
    keys: dict[str, object] = {"max_poll_interval_ms": 7000}
    if protocol == "classic":
        keys["session_timeout_ms"] = 6000
    with member(world, group_protocol=protocol, **keys) as consumer:
        while not (records := consumer.poll(1.0)):
            pass
        before = consumer.group_metadata()
        assert before.member_id
        world.clock.sleep(30.0)
        assert not consumer._member_identity.identity.is_counted
        assert consumer.group_metadata() == before
        with transactional(world) as producer:
            producer.begin_transaction()
            with pytest.raises(errors.CommitFailedException):
                producer.send_offsets_to_transaction(records.next_offsets(), before)
            producer.abort_transaction(5.0)


# --- commits in doubt -------------------------------------------------------------------------


def test_a_commit_in_doubt_that_has_failed() -> None:
    """B559: the coordinator has aborted it meanwhile, so its records come again."""
    world = world_of_orders(2)
    consumer, producer, work = pair(
        world, "consumer", transaction_timeout_ms=10_000, request_timeout_ms=2000
    )
    with consumer, producer:
        while not copy_once(work, producer):
            pass
        with world.control.drop("EndTxn"):
            with pytest.raises(errors.TimeoutException) as raised:
                copy_once(work, producer)
            assert raised.value.may_have_happened
            with pytest.raises(errors.TimeoutException):
                copy_once(work, producer)
            world.clock.sleep(30.0)
        assert state_of(world) == "CompleteAbort"
        with pytest.raises(errors.TransactionTimedOutException):
            copy_once(work, producer)
        copy_all(work, producer)
        require_once(world)


def fail(work: ReadProcessWrite, producer: KafkaProducer) -> None:
    """Copy the records of one poll, and raise at the end of the block."""
    with suppress(ZeroDivisionError):
        copy_once(work, producer, lambda: 1 / 0)


@versions
@pytest.mark.parametrize("do", [copy_once, fail])
def test_an_interrupt_anywhere(
    version: int, do: Callable[[ReadProcessWrite, KafkaProducer], object]
) -> None:
    """B556, B557: Ctrl-C at any place; the loop goes on, and each record counts once."""
    for nth in count(version, EACH):
        world = world_of_orders(version, records=2)
        consumer, producer, work = pair(world, "classic")
        copy_once(work, producer)
        went_on = interrupted_at(nth, do, work, producer)
        copy_all(work, producer)
        require_once(world, 2)
        consumer.close(1.0)
        producer.close(1.0)
        BUILT.clear()
        if not went_on:
            break
    assert nth > 5 * EACH


@pytest.mark.parametrize("version", VERSIONS)
def test_partitions_that_go_in_the_midst_of_a_block(version: int) -> None:
    """B558: a consumer group takes them back without a poll; their new owner copies them."""
    world = world_of_orders(version)
    consumer, producer, work = pair(world, "consumer")
    other, other_producer, other_work = pair(world, "consumer", "u")

    def share() -> None:
        """Have the other member join, and copy what it is given."""
        for _ in range(30):
            world.clock.sleep(1.0)
            with suppress(errors.KafkaException):
                copy_once(other_work, other_producer)

    with consumer, producer, other, other_producer:
        while not consumer.poll(0.5, max_records=1):
            pass
        consumer.seek_to_beginning()  # Of both partitions: one of them goes.
        with suppress(errors.KafkaException), work.poll(1.0, max_records=12) as records:
            for record in records:
                producer.send("copies", record.value, partition=record.partition)
            share()
        for _ in range(20):
            for each, its_producer in ((work, producer), (other_work, other_producer)):
                with suppress(errors.KafkaException):
                    copy_once(each, its_producer)
        require_once(world)
