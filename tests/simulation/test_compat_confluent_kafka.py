"""confluent-kafka's face in virtual time: what it converts, and how long it waits."""

import json
from contextlib import suppress
from typing import Any

import pytest

from prokurist.compat import confluent_kafka
from prokurist.compat.confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
    committing,
)
from prokurist.compat.confluent_kafka.settings import consumer_settings
from prokurist.errors import (
    TimeoutException,
    TopicAuthorizationException,
)
from tests.simulation.joining import grouped
from tests.simulation.reading import A, B, written
from tests.simulation.returning import committed
from tests.simulation.world import World


def consumer_in(world: World, **keys: Any) -> Consumer:
    """A face of a consumer in virtual time."""
    keys = {"enable_auto_commit": False, "auto_offset_reset": "earliest"} | keys
    settings = consumer_settings(None, {"bootstrap.servers": "localhost:1", **keys})
    rest = {key: settings.rest[key] for key in settings.rest if key != "bootstrap.servers"}
    return Consumer.over(world.consumer(None, **rest), settings, world.clock)


def assigned(world: World, *partitions: TopicPartition, **keys: Any) -> Consumer:
    """One that reads partitions from the beginning."""
    consumer = consumer_in(world, **keys)
    consumer.assign(list(partitions) or [TopicPartition("orders", 0)])
    return consumer


def test_a_message_has_its_parts_as_calls() -> None:
    """B331: and its length is the value's."""
    world = written(1)
    with assigned(world) as consumer:
        message = consumer.poll(1.0)
        assert message is not None
        assert (message.topic(), message.partition(), message.offset()) == ("orders", 0, 0)
        assert (message.key(), message.value(), message.headers()) == (None, b"0" * 10, None)
        assert message.error() is None
        assert message.timestamp()[0] == confluent_kafka.TIMESTAMP_CREATE_TIME
        assert len(message) == 10
        assert consumer.poll(0.5) is None


def test_waits_without_a_timeout_end() -> None:
    """B333: None and −1 are `default.api.timeout.ms`, in every call."""
    world = written(0)
    partition, place = TopicPartition("orders", 0), TopicPartition("orders", 0, 1)
    with assigned(world, default_api_timeout_ms=3000) as consumer:
        for wait in (None, -1):
            began = world.clock.time
            assert consumer.poll(wait) is None
            assert consumer.consume(3, wait) == []
            assert world.clock.time - began == pytest.approx(6.0)
        for node in world.cluster.state.brokers:
            world.control.freeze(node)
        for call in (
            lambda: consumer.committed([partition]),
            lambda: consumer.list_topics(timeout=-1),
            lambda: consumer.get_watermark_offsets(partition),
            lambda: consumer.offsets_for_times([place]),
            lambda: consumer.commit(
                offsets=[TopicPartition("orders", 0, 1)], asynchronous=False
            ),
        ):
            began = world.clock.time
            with pytest.raises(KafkaException) as raised:
                call()
            assert raised.value.args[0].code() == KafkaError._TIMED_OUT
            assert isinstance(raised.value.__cause__, TimeoutException)
            assert world.clock.time - began == pytest.approx(3.0)


def test_consume_takes_what_comes_within_the_time() -> None:
    """B331: as many as are wanted, or as there are."""
    world = written(5)
    with assigned(world) as consumer:
        assert [each.offset() for each in consumer.consume(3, 1.0)] == [0, 1, 2]
        began = world.clock.time
        world.at(began + 1.0, lambda: world.control.append(A, b"late"))
        assert [each.offset() for each in consumer.consume(9, 2.0)] == [3, 4, 5]
        assert world.clock.time - began == pytest.approx(2.0)


def test_a_commit_covers_the_message_in_hand() -> None:
    """B334: without arguments, and there is an error if nothing is new."""
    world = written(4)
    with assigned(world) as consumer:
        with pytest.raises(KafkaException) as raised:
            consumer.commit(asynchronous=False)
        assert raised.value.args[0].code() == KafkaError._NO_OFFSET
        assert consumer.commit() is None
        consumer.consume(2, 1.0)
        done = consumer.commit(asynchronous=False)
        assert done is not None
        assert [(each.partition, each.offset) for each in done] == [(0, 2)]
        assert committed(world) == 2
        with pytest.raises(KafkaException):
            consumer.commit(asynchronous=False)
        third = consumer.poll(1.0)
        assert third is not None
        assert consumer.commit(message=third, asynchronous=False)
        assert committed(world) == 3
        assert consumer.position([TopicPartition("orders", 0)])[0].offset == 3
        found = consumer.committed([TopicPartition("orders", 0)], timeout=1.0)
        assert found[0].offset == 3
        consumer.seek(TopicPartition("orders", 0, 0))
        with pytest.raises(KafkaException):
            consumer.commit(asynchronous=False)


def test_what_is_stored_is_committed() -> None:
    """B334: with `enable.auto.offset.store=false`."""
    world = written(3)
    with assigned(world, enable_auto_offset_store=False) as consumer:
        first, _ = consumer.consume(2, 1.0)
        with pytest.raises(KafkaException):
            consumer.commit(asynchronous=False)
        consumer.store_offsets(first)
        consumer.commit(asynchronous=False)
        assert committed(world) == 1
        consumer.store_offsets(offsets=[TopicPartition("orders", 0, 2)])
        consumer.commit(asynchronous=False)
        assert committed(world) == 2
        with pytest.raises(ValueError, match="either"):
            consumer.store_offsets()


def test_what_was_stored_goes_with_its_partition() -> None:
    """B450: a commit after the partition came back moves the group's offset forward alone."""
    first, second = TopicPartition("orders", 0), TopicPartition("orders", 1)
    world = written(60, 60)
    with assigned(world, first, second, enable_auto_offset_store=False) as consumer:
        assert consumer.poll(1.0) is not None
        consumer.store_offsets(offsets=[TopicPartition("orders", 0, 10)])
        consumer.commit(asynchronous=False)
        consumer.store_offsets(offsets=[TopicPartition("orders", 0, 20)])
        consumer.incremental_unassign([first])
        consumer.commit(offsets=[TopicPartition("orders", 0, 40)], asynchronous=False)
        consumer.incremental_assign([first])
        consumer.store_offsets(offsets=[TopicPartition("orders", 1, 5)])
        consumer.commit(asynchronous=False)
        assert (committed(world, A), committed(world, B)) == (40, 5)
        # Behind what is committed: as there, it is no progress.
        consumer.store_offsets(offsets=[TopicPartition("orders", 1, 3)])
        with pytest.raises(KafkaException):
            consumer.commit(asynchronous=False)
        assert committed(world, B) == 5


@pytest.mark.parametrize("stores", [True, False])
def test_a_rebalance_takes_what_was_stored(*, stores: bool) -> None:
    """B450: another member goes on; what this one had returned or stored counts no more."""
    world = grouped(partitions=2, records=30)
    keys = {
        "group_id": "g",
        "enable_auto_offset_store": stores,
        "partition_assignment_strategy": "cooperative-sticky",
    }
    with consumer_in(world, **keys) as consumer:
        consumer.subscribe(["orders"])
        for message in consumer.consume(20, 20.0):
            if not stores:
                consumer.store_offsets(message)
        consumer.commit(asynchronous=False)
        with consumer_in(world, **keys) as other:
            other.subscribe(["orders"])
            while not other.assignment() or len(consumer.assignment()) > 1:
                consumer.consume(1, 0.2)
                other.consume(1, 0.2)
            [taken] = other.assignment()
            place = TopicPartition("orders", taken.partition, 29)
            other.commit(offsets=[place], asynchronous=False)
        while len(consumer.assignment()) < 2:
            consumer.poll(0.2)
        with suppress(KafkaException):
            consumer.commit(asynchronous=False)
        at = committed(world, A if taken.partition == 0 else B)
        assert at is not None
        assert at >= 29


def test_a_commit_that_failed_is_made_again() -> None:
    """B452: what an asynchronous commit could not do is not taken for done."""
    told: list[KafkaError | None] = []
    world = written(3)
    with assigned(world, on_commit=lambda error, _: told.append(error)) as consumer:
        consumer.consume(3, 1.0)
        world.control.fail("OffsetCommit", KafkaError.TOPIC_AUTHORIZATION_FAILED)
        consumer.commit()
        consumer.poll(1.0)
        consumer.poll(1.0)
        assert told == [KafkaError.TOPIC_AUTHORIZATION_FAILED]
        done = consumer.commit(asynchronous=False)
        assert done is not None
        assert [each.offset for each in done] == [3]
        assert committed(world) == 3


def test_a_close_commits_the_message_in_hand() -> None:
    """B453: unless an error is on its way out of the loop that had it."""
    for error in (None, LookupError("mine")):
        world = written(9)
        consumer = assigned(world, group_id="g", enable_auto_commit=True)
        try:
            for _ in range(7):
                consumer.poll(1.0)
            if error is not None:
                raise error
        except LookupError:
            consumer.close()
        consumer.close()
        assert committed(world) == (7 if error is None else 6)


def test_consume_ends_with_an_error() -> None:
    """B483: by its time and with one message, however often another try would meet it."""

    def refuse(value: bytes) -> bytes:
        if value == b"poison":
            raise ValueError("poison")
        return value

    world = written(2)
    world.control.append(A, b"poison")
    with assigned(world, value_deserializer=refuse) as consumer:
        assert [each.error() for each in consumer.consume(50, 1.0)] == [None, None]
        began = world.clock.now()
        for _ in range(2):
            (failed,) = consumer.consume(50, 1.0)
            assert failed.error() == KafkaError._VALUE_DESERIALIZATION
        assert world.clock.now() - began <= 2.0
        consumer.seek(TopicPartition("orders", 0, 3))
        world.control.append(A, b"more")
        assert [each.offset() for each in consumer.consume(50, 1.0)] == [3]


def test_on_commit_is_told() -> None:
    """B335: with None or an error, and partitions with their offsets."""
    told: list[tuple[Any, list[TopicPartition]]] = []
    world = written(2)
    keys = {"on_commit": lambda error, partitions: told.append((error, partitions))}
    with assigned(world, **keys) as consumer:
        consumer.poll(1.0)
        consumer.commit()
        consumer.poll(1.0)
        consumer.poll(1.0)
    [(error, [partition])] = told
    assert error is None
    assert (partition.topic, partition.offset) == ("orders", 1)


@pytest.mark.parametrize("stores", [True, False])
def test_on_commit_is_told_of_automatic_commits(*, stores: bool) -> None:
    """B335: of what was returned or stored, also where it fails, and of the last one."""
    told: list[tuple[int | None, list[int]]] = []

    def on_commit(error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        code = None if error is None else error.code()
        told.append((code, [each.offset for each in partitions]))

    world = written(9)
    keys = {"group_id": "g", "enable_auto_commit": True, "enable_auto_offset_store": stores}
    with assigned(world, on_commit=on_commit, **keys) as consumer:

        def reads(count: int) -> None:
            for message in consumer.consume(count, 1.0):
                if not stores:
                    consumer.store_offsets(message)
            world.clock.sleep(5.0)

        reads(3)
        reads(1)
        reads(1)
        assert told == [(None, [3])]
        world.control.fail("OffsetCommit", KafkaError.TOPIC_AUTHORIZATION_FAILED)
        reads(1)
        reads(1)
        assert told[1:] == [(None, [4]), (KafkaError.TOPIC_AUTHORIZATION_FAILED, [5])]
    assert told[-1] == (None, [7])


def test_assignments_have_places() -> None:
    """B331: offsets of an assignment, of a seek, and the two ends."""
    world = written(5, 5)
    first, second = TopicPartition("orders", 0, 3), TopicPartition("orders", 1, OFFSET_END)
    with assigned(world, first, second) as consumer:
        assert consumer.assignment() == [first, second]
        assert [each.offset() for each in consumer.consume(9, 1.0)] == [3, 4]
        world.control.append(B, b"new")
        assert [each.offset() for each in consumer.consume(9, 1.0)] == [5]
        consumer.seek(TopicPartition("orders", 0, OFFSET_BEGINNING))
        message = consumer.poll(1.0)
        assert message is not None
        assert message.offset() == 0
        consumer.incremental_unassign([first])
        assert consumer.assignment() == [second]
        consumer.incremental_assign([first])
        assert [each.offset() for each in consumer.consume(9, 1.0)] == [3, 4]
        with pytest.raises(KafkaException) as raised:
            consumer.seek(TopicPartition("orders", 2, 0))
        assert raised.value.args[0].code() == KafkaError._STATE
        with pytest.raises(KafkaException) as raised:
            consumer.seek(TopicPartition("invoices", 0, 0))
        assert raised.value.args[0].code() == KafkaError._UNKNOWN_PARTITION
        consumer.unassign()
        assert consumer.assignment() == []
        began = world.clock.time
        assert consumer.poll(2.0) is None
        assert world.clock.time - began == pytest.approx(2.0)


def test_rebalance_callbacks_assign_with_offsets() -> None:
    """B331: `assign` in `on_assign` says where to read from."""
    world = grouped(partitions=2, records=4)
    heard: list[tuple[str, int]] = []

    def on_assign(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        heard.append(("assigned", len(partitions)))
        for each in partitions:
            assert each.offset == OFFSET_INVALID
            each.offset = 3
        consumer.assign(partitions)

    def on_revoke(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        heard.append(("revoked", len(partitions)))
        consumer.commit(asynchronous=False)
        consumer.unassign()

    consumer = consumer_in(world, group_id="g")
    consumer.subscribe(["^ord"], on_assign=on_assign, on_revoke=on_revoke)
    assert sorted(each.offset() or 0 for each in consumer.consume(4, 20.0)) == [3, 3]
    assert consumer.memberid()
    consumer.close()
    assert heard == [("assigned", 2), ("revoked", 2)]
    assert committed(world) == committed(world, B) == 4
    with pytest.raises(RuntimeError, match="Consumer closed"):
        consumer.poll(0)
    consumer.close()


def test_what_a_rebalance_callback_raises_comes_out_of_poll() -> None:
    """B335: itself, and nothing around it."""
    world = grouped(partitions=1)

    def on_assign(_consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        raise LookupError("mine")

    with consumer_in(world, group_id="g") as consumer:
        consumer.subscribe(["orders"], on_assign=on_assign)
        with pytest.raises(LookupError, match="mine"):
            consumer.poll(20.0)


def test_errors_of_reading_are_messages() -> None:
    """B335: with the partition that they are about."""
    world = written(2)
    with assigned(world, TopicPartition("orders", 0, 9), auto_offset_reset="error") as consumer:
        message = consumer.poll(5.0)
        assert message is not None
        error = message.error()
        assert error is not None
        assert error.code() == KafkaError._AUTO_OFFSET_RESET
        assert (message.topic(), message.partition()) == ("orders", 0)


def test_an_outage_is_told() -> None:
    """B335: `error_cb` is told once, in `poll`."""
    told: list[KafkaError] = []
    world = written(1)
    with assigned(world, error_cb=told.append) as consumer:
        assert consumer.poll(1.0) is not None
        for node in world.cluster.state.brokers:
            world.control.kill(node)
        for _ in range(20):
            assert consumer.poll(1.0) is None
    assert [each.code() for each in told] == [KafkaError._ALL_BROKERS_DOWN]


def test_statistics_are_told() -> None:
    """B331: `stats_cb` in `poll`, in its interval, with librdkafka's names."""
    told: list[dict[str, Any]] = []
    world = written(3)
    keys = {"stats_cb": lambda text: told.append(json.loads(text))}
    with assigned(world, **keys, **{"statistics.interval.ms": "2000"}) as consumer:
        consumer.consume(9, 5.0)
        for _ in range(5):
            consumer.poll(1.0)
    assert len(told) == 3
    assert (told[-1]["type"], told[-1]["rxmsgs"]) == ("consumer", 3)
    assert told[-1]["rx_bytes"] > told[-1]["rxmsg_bytes"] > 0


def test_partitions_have_the_offsets_that_they_were_assigned_with() -> None:
    """B331: in `assignment`, until they go."""
    with assigned(written(3, 3), TopicPartition("orders", 0, 1)) as consumer:
        consumer.incremental_assign([TopicPartition("orders", 1, OFFSET_BEGINNING)])
        consumer.consume(3, 1.0)
        assert [each.offset for each in consumer.assignment()] == [1, OFFSET_BEGINNING]
        consumer.incremental_unassign([TopicPartition("orders", 0)])
        consumer.incremental_assign([TopicPartition("orders", 0)])
        assert [each.offset for each in consumer.assignment()] == [
            OFFSET_INVALID,
            OFFSET_BEGINNING,
        ]


def test_what_is_unsubscribed_is_revoked_in_the_next_poll() -> None:
    """B363: the callback is called there; also where another subscription comes between."""
    heard: list[str] = []
    with consumer_in(grouped(partitions=1, payments=1)) as consumer:

        def subscribe(topic: str) -> None:
            consumer.subscribe([topic], on_revoke=lambda _, gone: heard.append(gone[0].topic))

        subscribe("orders")
        consumer.poll(5.0)
        consumer.unsubscribe()
        assert heard == []
        assert consumer.poll(0.1) is None
        assert heard == ["orders"]
        assert consumer.assignment() == []
        subscribe("payments")
        consumer.poll(5.0)
        consumer.unsubscribe()
        subscribe("orders")
        assert heard == ["orders", "payments"]
        consumer.poll(5.0)
        assert [each.topic for each in consumer.assignment()] == ["orders"]
        consumer.unsubscribe()
    assert heard == ["orders", "payments", "orders"]


def test_offsets_are_committed_before_the_first_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """B364: as by one that is no member; a group that has members refuses them."""
    world = grouped(partitions=1)
    monkeypatch.setattr(
        committing,
        "KafkaConsumer",
        lambda config: world.consumer(None, group_id=config["group.id"]),
    )
    place = [TopicPartition("orders", 0, 1)]
    with consumer_in(world) as first, consumer_in(world) as second:
        first.subscribe(["orders"])
        assert first.commit(offsets=place, asynchronous=False) == place
        assert committed(world) == 1
        first.poll(5.0)
        second.subscribe(["orders"])
        with pytest.raises(KafkaException) as raised:
            second.commit(offsets=place)
        assert raised.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID


def test_look_ups() -> None:
    """B331: of topics, ends and times."""
    world = written(3, 0)
    partition = TopicPartition("orders", 0)
    with assigned(world) as consumer:
        assert consumer.get_watermark_offsets(partition, timeout=1.0) == (0, 3)
        assert consumer.get_watermark_offsets(partition, cached=True)[0] == OFFSET_INVALID
        consumer.consume(3, 1.0)
        assert consumer.get_watermark_offsets(partition, cached=True) == (OFFSET_INVALID, 3)
        [found] = consumer.offsets_for_times([TopicPartition("orders", 0, 2**40 * 4)])
        assert found.offset == OFFSET_END
        cluster = consumer.list_topics(timeout=1.0)
        assert sorted(cluster.topics["orders"].partitions) == [0, 1, 2]
        assert len(cluster.brokers) == 1
        gone = consumer.list_topics("payments", timeout=1.0).topics["payments"].error
        assert gone is not None
        assert gone.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
        with pytest.raises(AttributeError, match="prokurist brokers"):
            _ = cluster.cluster_id


def test_a_group_that_refuses_the_member_is_told_every_two_seconds() -> None:
    """As there: a loop that goes on after a message with an error does not spin."""
    world = grouped()
    world.control.fail("JoinGroup", KafkaError.INCONSISTENT_GROUP_PROTOCOL)
    with consumer_in(world, group_id="g") as consumer:
        consumer.subscribe(["orders"])
        began, polls, told = world.clock.time, 0, 0
        while world.clock.time < began + 10.0:
            message = consumer.poll(1.0)
            polls += 1
            if message is not None:
                error = message.error()
                assert error is not None
                assert error.code() == KafkaError.INCONSISTENT_GROUP_PROTOCOL
                told += 1
        assert 4 <= told <= 6
        assert polls <= 16
        began = world.clock.time
        assert len(consumer.consume(500, 3.0)) == 1
        assert world.clock.time - began == pytest.approx(2.0, abs=0.01)


def test_an_error_of_the_brokers_has_its_number() -> None:
    """B335: and our exception as the cause."""
    world = written(1)
    with consumer_in(world, group_id="g") as consumer:
        world.control.deny(topic="orders")
        with pytest.raises(KafkaException) as raised:
            consumer.committed([TopicPartition("orders", 0)], timeout=1.0)
    error = raised.value.args[0]
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert isinstance(raised.value.__cause__, TopicAuthorizationException)


def test_a_copy_in_a_child_process_is_refused_in_the_faces_words() -> None:
    """B527: by a poll as well, whatever it looks at before it says so."""
    world = written(1)
    with assigned(world) as consumer:
        consumer._consumer._caller.process += 1
        for call in (lambda: consumer.poll(0.1), lambda: consumer.consume(1, 0.1)):
            with pytest.raises(KafkaException, match="after the fork"):
                call()
        consumer._consumer._caller.process -= 1
