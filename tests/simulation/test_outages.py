"""An outage from outside: warnings, `why_empty`, `health`, `wait_until_ready`."""

import logging
import pickle
from collections.abc import Iterator

import pytest

from prokurist import EmptyCause, KafkaConsumer, OffsetAndMetadata, TopicPartition, errors
from prokurist.records.consumer_records import ConsumerRecords
from tests.simulation.joining import Notes, grouped, member, settle
from tests.simulation.test_on_event import Told
from tests.simulation.world import World

TP = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)


@pytest.fixture(autouse=True)
def _as_python_does(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """What a program sees that has configured no logging: WARNING and above."""
    with caplog.at_level(logging.WARNING):
        yield


def seen(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The names of the events that were logged, in order."""
    return [each.event for each in caplog.records]  # type: ignore[attr-defined]


def cause(records: ConsumerRecords) -> EmptyCause:
    """Why a poll has returned nothing."""
    assert not records
    assert records.why_empty is not None
    return records.why_empty.cause


@pytest.mark.parametrize("servers", ["10.0.0.77:9094", "nowhere:9092"])
def test_a_failed_bootstrap_is_one_warning_at_once(
    servers: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B204: nothing listens, or DNS knows no such name: the cause, and where to look."""
    world = World()
    with world.consumer(bootstrap_servers=servers) as consumer:
        consumer.subscribe("orders")
        records = consumer.poll(0.2)
        assert seen(caplog) == ["bootstrap_failed"]
        line = caplog.records[0].getMessage()
        assert servers in line
        assert ("refuses" if servers[0] == "1" else "nowhere is not a known name") in line
        assert f"prokurist doctor -b {servers}" in line
        assert cause(records) is EmptyCause.UNREACHABLE
        for _ in range(10):
            consumer.poll(5.0)
        assert seen(caplog).count("bootstrap_failed") == 1
        for _ in range(14):
            consumer.poll(5.0)
        assert seen(caplog).count("bootstrap_failed") == 2


def test_one_address_of_several_is_no_failed_bootstrap(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B204: as long as another of them answers."""
    world = World(nodes=2)
    servers = ["nowhere:9092", world.address(1), "10.0.0.77:9094"]
    with world.consumer(bootstrap_servers=servers) as consumer:
        consumer.subscribe("orders")
        for _ in range(20):
            consumer.poll(1.0)
    assert seen(caplog) == []


def test_a_frozen_broker_fails_the_bootstrap_too(caplog: pytest.LogCaptureFixture) -> None:
    """B204: it accepts connections and answers nothing; and its end is told."""
    world = World()
    world.control.freeze()
    with world.consumer() as consumer:
        consumer.subscribe("orders")
        assert cause(consumer.poll(2.0)) is EmptyCause.JOINING
        assert seen(caplog) == ["bootstrap_failed"]
        consumer.poll(15.0)
        assert cause(consumer.poll(1.0)) is EmptyCause.UNREACHABLE
        world.control.thaw()
        consumer.wait_until_ready(60.0)
        assert seen(caplog) == ["bootstrap_failed", "bootstrap_succeeded"]


def test_brokers_that_go_and_come_back_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    """B204: within ten seconds, once, with its end; and `health` says so meanwhile."""
    world = World(nodes=2)
    with world.consumer() as consumer:
        consumer.subscribe("orders")
        settle(consumer, seconds=5.0)
        health = consumer.health()
        assert health.unreachable_for is None
        assert health.answer_age is not None
        assert health.answer_age < 1.0
        world.control.kill(1)
        world.control.kill(2)
        records = consumer.poll(10.0)
        assert seen(caplog) == ["cluster_unreachable"]
        assert cause(records) is EmptyCause.UNREACHABLE
        assert "refuses connections" in str(records.why_empty)
        health = consumer.health()
        assert health.unreachable_for == pytest.approx(10.0, abs=0.6)
        assert health.answer_age == pytest.approx(10.0, abs=0.6)
        assert "refuses connections" in str(health.last_error)
        assert health.last_error_age is not None
        assert health.last_error_age <= 1.5
        world.control.restart(1)
        world.control.restart(2)
        consumer.wait_until_ready(30.0)
        assert consumer.health().unreachable_for is None
        assert consumer.health().last_error is not None
        assert "cluster_reachable" in seen(caplog)


def test_silent_brokers_count_though_idle_connections_to_them_stand(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B377: from the request that was not answered; nothing is asked of the idle ones."""
    world = World(nodes=3)
    with world.consumer() as consumer:
        consumer.subscribe("orders")
        settle(consumer, seconds=20.0)
        world.control.freeze()
        consumer.poll(25.0)
        assert consumer.health().unreachable_for is None
        consumer.poll(10.0)
        assert consumer.health().unreachable_for == pytest.approx(35.0, abs=1.0)
        assert cause(consumer.poll(10.0)) is EmptyCause.UNREACHABLE
        assert seen(caplog) == ["cluster_unreachable"]
        world.control.thaw()
        consumer.poll(10.0)
        assert consumer.health().unreachable_for is None


def test_an_outage_is_as_long_as_nothing_was_answered(caplog: pytest.LogCaptureFixture) -> None:
    """B392: half a minute passes before a request times out, and is counted all the same."""
    world = World(nodes=3)
    with world.consumer() as consumer:
        consumer.subscribe("orders")
        settle(consumer, seconds=20.0)
        world.control.freeze()
        consumer.poll(60.0)
        world.control.thaw()
        consumer.poll(10.0)
    told = {each.event: each for each in caplog.records}  # type: ignore[attr-defined]
    begins, ends = told["cluster_unreachable"], told["cluster_reachable"]
    assert 30.0 <= begins.seconds <= 40.0  # type: ignore[attr-defined]
    assert ends.seconds == pytest.approx(60.0, abs=2.0)  # type: ignore[attr-defined]


def test_an_outage_does_not_count_the_one_before(caplog: pytest.LogCaptureFixture) -> None:
    """B392: an address that was tried in both has been reached over its broker in between."""
    world = World(nodes=3)
    with world.consumer() as consumer:
        consumer.subscribe("orders")
        settle(consumer, seconds=20.0)
        world.control.freeze()
        consumer.poll(60.0)
        world.control.thaw()
        for _ in range(20):
            consumer.poll(1.0)
        caplog.clear()
        for node in (1, 2, 3):
            world.control.kill(node)
        for _ in range(50):
            consumer.poll(1.0)
    assert "cluster_unreachable" in seen(caplog)
    assert "broker_unreachable" not in seen(caplog)


def test_an_address_that_is_not_tried_any_more_is_told_so() -> None:
    """B405: of `bootstrap.servers`, once another has told who the brokers are."""
    world = World(nodes=3)
    told = Told()
    down = [world.control.kill(node) for node in (1, 2, 3)]
    with world.consumer(on_event=told) as consumer:
        consumer.assign([TP])
        consumer.poll(100.0)
        begun = {event.values["node"] for event in told.named("broker_unreachable")}
        assert len(begun) == 3
        down[1].undo()
        consumer.poll(30.0)
        ended = [event.values["node"] for event in told.named("broker_not_needed")]
        reached = [event.values["node"] for event in told.named("broker_reachable")]
        assert begun == {*ended, *reached}
        assert len(ended) == 2
        assert "other brokers answer" in told.named("broker_not_needed")[0].text


def test_the_coordinator_is_out_of_reach_since_it_was_silent() -> None:
    """B406: from the first request that was not answered, and not from its timeout."""
    world = World()
    told = Told()
    with world.consumer(
        group_id="g", on_event=told, enable_auto_commit=False, request_timeout_ms=30_000
    ) as consumer:
        consumer.assign([TP])
        consumer.commit_sync({TP: OffsetAndMetadata(1)})
        began = world.clock.time
        with world.control.freeze():
            with pytest.raises(errors.TimeoutException):
                consumer.commit_sync({TP: OffsetAndMetadata(2)}, timeout=100.0)
            consumer.poll(0.0)
            (first, *_) = told.named("coordinator_unreachable")
            assert first.values["seconds"] == pytest.approx(60.0, abs=30.0)
        consumer.commit_sync({TP: OffsetAndMetadata(2)}, timeout=60)
        consumer.poll(0.0)
        (ends,) = told.named("coordinator_reachable")
        assert ends.values["seconds"] == pytest.approx(world.clock.time - began, abs=1.0)


def test_one_silent_broker_of_three_is_no_outage() -> None:
    """B377: and what has timed out of it is forgotten when it speaks."""
    world = World(nodes=3)
    with world.consumer() as consumer:
        consumer.assign(TP)
        consumer.poll(20.0)
        world.control.freeze(1)
        for _ in range(10):
            consumer.poll(5.0)
            assert consumer.health().unreachable_for is None
        world.control.thaw(1)
        consumer.poll(10.0)
        assert consumer.health().unreachable_for is None


def test_one_broker_of_two_is_no_outage(caplog: pytest.LogCaptureFixture) -> None:
    """A rolling restart warns of nothing as long as another broker answers."""
    world = World(nodes=2)
    with world.consumer() as consumer:
        consumer.assign(TP)
        consumer.poll(1.0)
        for node in (1, 2):
            world.control.kill(node)
            consumer.poll(8.0)
            assert consumer.health().unreachable_for is None
            world.control.restart(node)
            consumer.poll(8.0)
    assert seen(caplog) == []


@pytest.mark.parametrize("protocol", ["classic", "consumer", None])
def test_a_missing_topic_is_a_warning_and_so_is_its_end(
    protocol: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """B195: subscribed to in either protocol, or assigned by hand: named, once a minute."""
    world = World()
    with world.consumer(group_protocol=protocol or "classic") as consumer:
        if protocol is None:
            consumer.assign(TopicPartition("orderz", 0))
        else:
            consumer.subscribe("orderz")
        records = consumer.poll(5.0)
        assert seen(caplog) == ["topic_missing"]
        assert "topic orderz does not exist" in caplog.records[0].getMessage()
        assert cause(records) is EmptyCause.TOPIC_MISSING
        assert str(records.why_empty) == "orderz does not exist"
        with pytest.raises(errors.TimeoutException, match="orderz does not exist") as caught:
            consumer.wait_until_ready(2.0)
        assert isinstance(caught.value.last_error, errors.UnknownTopicOrPartitionException)
        for _ in range(13):
            consumer.poll(5.0)
        assert seen(caplog).count("topic_missing") == 2
        world.control.create_topic("orderz", 1)
        assert consumer.wait_until_ready(30.0) == {TopicPartition("orderz", 0)}
        assert seen(caplog)[-1] == "topic_found"


@pytest.mark.parametrize("sought", [True, False])
def test_a_missing_partition_is_a_warning_and_so_is_its_end(
    caplog: pytest.LogCaptureFixture, *, sought: bool
) -> None:
    """A number that its topic does not have is named, once a minute, until the topic grows."""
    world, missing = World(), TopicPartition(TP.topic, 99)
    with world.consumer() as consumer:
        consumer.assign(missing)
        if sought:
            consumer.seek(missing, 0)
        records = consumer.poll(5.0)
        assert seen(caplog) == ["partition_missing"]
        assert "orders-99 does not exist" in caplog.records[0].getMessage()
        assert cause(records) is EmptyCause.PARTITION_MISSING
        assert str(records.why_empty) == "these assigned partitions do not exist: orders-99"
        with pytest.raises(errors.TimeoutException, match="orders-99") as caught:
            consumer.wait_until_ready(2.0)
        assert isinstance(caught.value.last_error, errors.UnknownTopicOrPartitionException)
        for _ in range(13):
            consumer.poll(5.0)
        assert seen(caplog).count("partition_missing") == 2
        world.control.add_partitions(TP.topic, 100)
        assert consumer.wait_until_ready(30.0) == {missing}
        assert seen(caplog)[-1] == "partition_found"


def test_a_topic_that_has_just_been_created_is_no_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B195: the broker that is asked may hear of it a moment later."""
    world = World()
    with world.consumer() as consumer:
        consumer.subscribe("young")
        world.at(world.clock.time + 0.5, lambda: world.control.create_topic("young", 1))
        assert consumer.wait_until_ready(10.0) == {TopicPartition("young", 0)}
    assert seen(caplog) == []


def test_subscribing_creates_no_topic() -> None:
    """`allow.auto.create.topics` is false by default: a misspelt name stays one."""
    world = World()
    world.cluster.state.auto_create = True
    with world.consumer() as consumer:
        consumer.subscribe("orderz")
        consumer.poll(5.0)
        assert "orderz" not in consumer.list_topics()


def test_why_a_poll_is_empty() -> None:
    """Each cause in turn, in the life of a consumer that reads by hand."""
    world = grouped(partitions=2, records=3)
    with world.consumer(group_id=None, auto_offset_reset="earliest") as consumer:
        consumer.assign([TP, OTHER])
        held = world.control.hold("ListOffsets")
        nothing = consumer.poll(1.0)
        assert cause(nothing) is EmptyCause.NO_POSITION
        assert nothing.why_empty is not None
        assert nothing.why_empty.partitions == (TP, OTHER)
        held.undo()
        while records := consumer.poll(1.0):
            assert records.why_empty is None
        assert cause(records) is EmptyCause.NOTHING_NEW
        consumer.pause([TP, OTHER])
        assert cause(consumer.poll(0.1)) is EmptyCause.PAUSED
        consumer.resume([TP, OTHER])
        world.control.freeze()
        assert cause(consumer.poll(4.0)) is EmptyCause.NO_ANSWER
        world.control.thaw()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_why_a_poll_of_a_member_is_empty(protocol: str) -> None:
    """It joins yet; or it is in, and there are fewer partitions than members."""
    world = grouped(partitions=1)
    with member(world, group_protocol=protocol) as first:
        assert cause(first.poll(0.0)) is EmptyCause.JOINING
        settle(first, seconds=5.0)
        with member(world, group_protocol=protocol) as second:
            settle(first, second, seconds=20.0)
            causes = {cause(each.poll(0.1)) for each in (first, second)}
            assert causes == {EmptyCause.NOTHING_NEW, EmptyCause.NOTHING_ASSIGNED}
            idle = first if not first.assignment() else second
            assert idle.wait_until_ready(1.0) == frozenset()


def test_a_first_answer_that_has_not_arrived_is_not_the_end() -> None:
    """B411: what no leader has told the end of may have records; then all were returned."""
    world = World()
    with world.consumer(None, auto_offset_reset="earliest") as consumer:
        consumer.assign([TP])
        consumer.position(TP)
        assert cause(consumer.poll(0.1)) is EmptyCause.FETCHING
        assert not consumer.at_end()
        while (records := consumer.poll(1.0)) or not consumer.at_end():
            pass
        assert cause(records) is EmptyCause.NOTHING_NEW


def test_why_empty_is_found_out_once_and_can_be_pickled() -> None:
    """Asked for later, it says what it said; records made by hand have no reason."""
    world = World()
    with world.consumer(bootstrap_servers="nowhere:9092") as consumer:
        consumer.subscribe("orders")
        records = consumer.poll(1.0)
        why = records.why_empty
        consumer.poll(1.0)
        assert records.why_empty == why
        assert pickle.loads(pickle.dumps(records)).why_empty == why
    assert ConsumerRecords().why_empty is None


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_consumer_gets_ready_and_loses_no_record(protocol: str) -> None:
    """B28: with what it was given, its listener called, and all records still to come."""
    world = grouped(partitions=2, records=3)
    notes = Notes()
    with member(world, listener=notes, group_protocol=protocol) as consumer:
        began = world.clock.time
        assert consumer.wait_until_ready(10.0) == {TP, OTHER}
        assert world.clock.time - began < 5.0
        assert notes.heard == [("assigned", [0, 1])]
        found = 0
        while records := consumer.poll(1.0):
            found += len(records)
        assert found == 6


def test_ready_at_once_costs_no_wait() -> None:
    """A consumer that reads already is ready, also with timeout 0."""
    world = grouped(partitions=1)
    with world.consumer(group_id=None) as consumer:
        consumer.assign(TP)
        consumer.poll(1.0)
        began = world.clock.time
        assert consumer.wait_until_ready(0) == {TP}
        assert world.clock.time == began


def test_a_position_that_was_sought_is_not_ready_without_a_broker() -> None:
    """It needs no look-up, and nothing can be read all the same."""
    world = World()
    with world.consumer(group_id=None, bootstrap_servers="10.0.0.77:9094") as consumer:
        consumer.assign(TP)
        consumer.seek(TP, 0)
        with pytest.raises(errors.TimeoutException, match="no broker has been reached"):
            consumer.wait_until_ready(1.0)


def test_without_anything_to_read_it_is_refused() -> None:
    """As a poll is."""
    with (
        World().consumer() as consumer,
        pytest.raises(errors.IllegalStateException, match="nothing to read"),
    ):
        consumer.wait_until_ready(1.0)


def test_the_age_of_the_last_poll() -> None:
    """None before the first, and then seconds since its end."""
    world = World()
    consumer: KafkaConsumer
    with world.consumer(group_id=None) as consumer:
        assert consumer.health().poll_age is None
        consumer.assign(TP)
        consumer.poll(1.0)
        world.run(world.clock.time + 7.0)
        assert consumer.health().poll_age == pytest.approx(7.0)
