"""Retries and order: P32 to P36, P42 to P45."""

from functools import partial
from itertools import pairwise

import pytest

from prokurist import errors
from tests.simulation.producing import (
    TP,
    batches_of,
    failure,
    failure_of,
    log_of,
    made,
    produced,
    sequences,
    values_of,
)
from tests.simulation.world import World


@pytest.mark.parametrize("silent", [False, True])
def test_an_answer_lost_after_the_append(silent: bool) -> None:  # noqa: FBT001 - a parameter
    """P32: the batch is sent again, is in the log once, and has its offset."""
    world = World()
    producer, _ = made(world, request_timeout_ms=1000)
    with producer:
        fault = world.control.drop if silent else world.control.cut
        fault("Produce", applied=True, times=1)
        delivery = producer.send("orders", b"v", partition=0)
        assert delivery.result(10.0).offset == 1
        assert len(produced(world)) == 2
    assert values_of(world) == [b"warm", b"v"]


def test_five_in_flight_and_the_first_is_refused() -> None:
    """P33, B231: all of them are in the log, in order and once."""
    world = World()
    producer, _ = made(world, batch_size=1)
    with producer:
        with world.control.delay("Produce", 0.05):
            world.control.fail("Produce", 19, times=1)
            for number in range(5):
                producer.send("orders", b"%d" % number, partition=0)
                world.clock.sleep(0.002)
            producer.flush(10.0)
        assert len(produced(world)) > 5
    assert values_of(world)[1:] == [b"%d" % number for number in range(5)]


def test_a_new_leader_is_believed_at_once() -> None:
    """P34, B230: NOT_LEADER with its name: no pause, and no Metadata answer."""
    world = World(nodes=3)
    producer, _ = made(world)
    with producer:
        leader, _epoch = world.control.leader(TP)
        world.control.move_leader(TP, leader % 3 + 1)
        world.control.hold("Metadata")
        began = world.clock.time
        assert producer.send("orders", b"v", partition=0).result(1.0).offset == 1
        assert world.clock.time - began < 0.05
        assert [each.node for each in produced(world)] == [leader, leader % 3 + 1]


def test_each_attempt_has_its_own_time() -> None:
    """P35: a request that times out costs its connection and one attempt, not the batch."""
    world = World()
    producer, _ = made(world, request_timeout_ms=1000, delivery_timeout_ms=30_000)
    with producer:
        world.control.drop("Produce", times=3)
        began = world.clock.time
        delivery = producer.send("orders", b"v", partition=0)
        assert delivery.result().offset == 1
        assert 3.0 < world.clock.time - began < 6.0
        times = [each.at for each in produced(world)]
        assert all(later - earlier >= 1.0 for earlier, later in pairwise(times))


def test_a_batch_that_expires_since_the_broker_throttles() -> None:
    """P36: its error says what it waited for."""
    world = World()
    producer, _ = made(world, request_timeout_ms=1000, delivery_timeout_ms=2000)
    with producer:
        with world.control.throttle("Produce", 5.0, times=1):
            producer.send("orders", b"v", partition=0).result(1.0)
        delivery = producer.send("orders", b"v", partition=0)
        assert isinstance(delivery.exception(), errors.TimeoutException)
        text = str(delivery.exception())
        assert "Nothing was sent: it waited 2 s for broker 1 " in text
        assert "The last error was ThrottlingQuotaExceeded" in text
        assert "broker 1 (10.0.0.1:9092) throttles this client" in text
        assert not produced(world)[1:]


def test_a_batch_that_expires_on_the_wire() -> None:
    """P36, B228, B315: it fails on time, may have happened, and a late success is nothing."""
    world = World()
    producer, sender = made(world, request_timeout_ms=2000, delivery_timeout_ms=2500)
    with producer:
        world.control.hold("Produce")
        world.clock.sleep(0.1)
        began = world.clock.time
        delivery = producer.send("orders", b"v", partition=0)
        with pytest.raises(errors.TimeoutException) as raised:
            delivery.result()
        assert world.clock.time - began == pytest.approx(2.5, abs=0.01)
        assert raised.value.may_have_happened
        world.control.heal()
        world.clock.sleep(5.0)
        assert isinstance(failure(delivery), errors.TimeoutException)
        assert sender.side.accumulator.memory.free == sender.side.accumulator.memory.total


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_batch_that_is_too_large_is_split(codec: str) -> None:
    """P42, B232: order and numbers are kept, callbacks run once; later batches are smaller."""
    world = World()
    world.control.configure_topic("orders", max_message_bytes=4000)
    producer, _ = made(world, compression_type=codec, batch_size=16_384)
    heard: list[int] = []
    import random

    lot = random.Random(1)  # noqa: S311 - bytes that do not compress
    values = [lot.randbytes(100) for _ in range(100)]
    with producer:
        deliveries = [
            producer.send(
                "orders",
                value,
                partition=0,
                on_delivery=lambda where, _: heard.append(where.offset),
            )
            for value in values
        ]
        future = deliveries[70].future()
        producer.flush(10.0)
        assert [each.result().offset for each in deliveries] == list(range(1, 101))
        assert heard == list(range(1, 101))
        assert future.result(0).offset == 71
        world.control.forget_requests()
        for value in values:
            producer.send("orders", value, partition=0)
        producer.flush(10.0)
        refused = len(produced(world)) - len(batches_of(world)) + 1
        assert refused <= len(batches_of(world))
    assert values_of(world)[1:] == values * 2
    firsts = [first for _, first in sequences(world)]
    assert firsts == sorted(firsts)
    assert {epoch for epoch, _ in sequences(world)} == {0}


@pytest.mark.parametrize("trouble", ["is split again", "is sent again"])
def test_the_first_part_stays_before_the_second(trouble: str) -> None:
    """P42: also where only the first is too large yet, or is not taken at once."""
    world = World()
    world.control.configure_topic("orders", max_message_bytes=4000)
    producer, sender = made(world, batch_size=65_536)
    # Halves by bytes: what stands behind the largest record is the smaller part.
    large = [b"l" * 1000] * 5 if trouble == "is split again" else [b"l" * 1000] * 3
    values = [*large, *(b"%03d" % number for number in range(300))]
    with producer:
        with world.control.delay("Produce", 0.02):
            deliveries = [producer.send("orders", each, partition=0) for each in values]
            if trouble == "is sent again":
                world.clock.sleep(0.03)
                world.control.fail("Produce", 19, times=1)
            producer.flush(10.0)
        assert [each.result(0).offset for each in deliveries] == list(range(1, len(values) + 1))
        assert sender.side.produce.in_flight == 0
    assert values_of(world)[1:] == values
    assert {epoch for epoch, _ in sequences(world)} == {0}


def test_one_record_that_is_too_large_for_the_broker() -> None:
    """P42, B232: it alone fails; what was sent with it is delivered."""
    world = World()
    world.control.configure_topic("orders", max_message_bytes=4000)
    producer, _ = made(world)
    with producer:
        small = [producer.send("orders", b"s", partition=0) for _ in range(3)]
        large = producer.send("orders", b"x" * 5000, partition=0)
        after = producer.send("orders", b"a", partition=0)
        producer.flush(10.0)
        error = failure(large)
        assert isinstance(error, errors.RecordTooLargeException)
        assert "max.message.bytes" in str(error)
        assert all(each.offset is not None for each in (*small, after))
    assert values_of(world) == [b"warm", b"s", b"s", b"s", b"a"]


def test_records_that_are_refused_by_name() -> None:
    """P43: that handle has the broker's words, the others hear of a neighbour."""
    world = World()
    producer, _ = made(world)
    with producer:
        world.control.fail("Produce", 87, topic="orders", records={3: "bad"}, times=1)
        deliveries = [producer.send("orders", b"%d" % each, partition=0) for each in range(10)]
        producer.flush(5.0)
        told = [str(failure(each)) for each in deliveries]
        assert told[3] == "orders-0: bad"
        assert all("another record of the same batch" in each for each in told[:3] + told[4:])
        assert not any(failure(each).may_have_happened for each in deliveries)  # type: ignore[attr-defined]
        assert producer.send("orders", b"next", partition=0).result(5.0).offset == 1


def test_a_record_that_is_refused_by_name_is_logged_and_counted_by_its_own_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B418: the line and the series name the cause, and not that neighbours failed with it."""
    world = World()
    producer, _ = made(world)
    with producer:
        world.control.fail("Produce", 32, topic="orders", records={0: "too old"}, times=1)
        deliveries = [producer.send("orders", b"%d" % each, partition=0) for each in range(2)]
        producer.flush(5.0)
        assert isinstance(failure(deliveries[0]), errors.InvalidTimestampException)
        line = caplog.records[0].getMessage()
        assert line.endswith("failed to deliver 2 records for orders-0: orders-0: too old")
        counted = "prokurist_producer_record_errors_total"
        assert {name: each for name, each in producer.metrics().items() if counted in name} == {
            f'{counted}{{error="InvalidTimestampException"}}': 1,
            f'{counted}{{error="InvalidRecordException"}}': 1,
        }


def test_a_recreated_topic() -> None:
    """P44: UNKNOWN_TOPIC_ID, fresh metadata, and delivered to the new one."""
    world = World()
    producer, _ = made(world)
    with producer:
        world.control.recreate_topic("orders")
        assert producer.send("orders", b"v", partition=0).result(10.0).offset == 0
    assert values_of(world) == [b"v"]


def test_a_topic_made_anew_with_fewer_partitions() -> None:
    """P44: keys go to those that there are; what waits for another one says so."""
    world = World()
    world.control.recreate_topic("orders", partitions=4)
    producer, sender = made(world, delivery_timeout_ms=31_000)
    with producer:
        world.control.recreate_topic("orders", partitions=2)
        lost = producer.send("orders", b"v", partition=3)
        assert producer.send("orders", b"v", partition=0).result(10.0).offset == 0
        keyed = [producer.send("orders", b"v", b"%d" % each) for each in range(50)]
        spread = [producer.send("orders", b"x" * 5000) for _ in range(50)]
        world.clock.sleep(5.0)
        assert all(each.offset is not None for each in (*keyed, *spread))
        assert {each.partition for each in (*keyed, *spread)} == {0, 1}
        assert isinstance(lost.exception(), errors.TimeoutException)
        assert sender.side.accumulator.memory.free == 32 << 20
        world.control.add_partitions("orders", 4)
        assert producer.send("orders", b"v", partition=3).result(10.0).offset == 0


def test_a_topic_that_is_deleted_is_not_asked_for_without_end() -> None:
    """P44: only while records wait for it, and until `metadata.max.idle.ms` have gone by."""
    world = World()
    keys = {"request_timeout_ms": 2000, "metadata_max_idle_ms": 7000}
    producer, _ = made(world, delivery_timeout_ms=5000, **keys)
    with producer:
        world.control.delete_topic("orders")
        assert isinstance(failure_of(producer), errors.TimeoutException)
        world.control.forget_requests()
        text = str(failure_of(producer))
        assert "orders does not exist" in text
        assert "pass a larger timeout" not in text
        assert len(list(world.control.requests("Metadata"))) > 1
        world.clock.sleep(20.0)
        world.control.forget_requests()
        world.clock.sleep(60.0)
        assert not list(world.control.requests("Metadata"))


def test_acks_zero() -> None:
    """P45, B233: done once it is written, without an offset."""
    world = World()
    producer, _ = made(world, acks="0", enable_idempotence=False)
    with producer:
        delivery = producer.send("orders", b"v", partition=0)
        assert delivery.result(1.0) == ("orders", 0, -1, delivery.timestamp)
        world.clock.sleep(0.1)
    assert values_of(world) == [b"warm", b"v"]


def test_acks_zero_of_what_the_kernel_has_not_taken() -> None:
    """P45: the connection dies first: it is sent again, and may be there twice."""
    world = World()
    producer, sender = made(world, acks="0", enable_idempotence=False)
    with producer:
        sender.network.jam()
        delivery = producer.send("orders", b"v", partition=0)
        world.clock.sleep(0.1)
        assert not delivery.done()
        sender.network.unjam()
        world.clock.sleep(0.1)
        assert delivery.done()


@pytest.mark.parametrize("acks", ["1", "all"])
def test_without_idempotence(acks: str, caplog: pytest.LogCaptureFixture) -> None:
    """Batches bear no numbers; one in flight keeps the order."""
    world = World()
    producer, _ = made(
        world, acks=acks, enable_idempotence=False, max_in_flight=1, batch_size=1
    )
    with producer:
        world.control.fail("Produce", 5, times=1)
        for number in range(5):
            producer.send("orders", b"%d" % number, partition=0)
        producer.flush(5.0)
    assert values_of(world)[1:] == [b"%d" % number for number in range(5)]
    assert {each.producer_id for each in batches_of(world)} == {-1}
    assert not caplog.records


@pytest.mark.parametrize("code", [3, 5, 6, 7, 2, 19, 20, 56, 74, 100, 32000])
def test_codes_that_are_retried(code: int) -> None:
    """B230: each is followed by another attempt; one that is unknown to us fails."""
    world = World()
    producer, _ = made(world)
    with producer:
        world.control.fail("Produce", code, times=1)
        delivery = producer.send("orders", b"v", partition=0)
        if code == 32000:
            with pytest.raises(errors.UnknownServerException, match="32000"):
                delivery.result(10.0)
        else:
            assert delivery.result(10.0).offset == 1


def test_retries_can_be_exhausted() -> None:
    """B234: with `retries=2` the third refusal is the end, with that error."""
    world = World()
    producer, _ = made(world, retries=2)
    with producer:
        world.control.fail("Produce", 19, times=None)
        error = failure_of(producer)
        assert isinstance(error, errors.NotEnoughReplicasException)
        assert not error.may_have_happened
        assert len(produced(world)) == 3


def test_replicas_that_fail_after_the_append_may_have_it() -> None:
    """NOT_ENOUGH_REPLICAS_AFTER_APPEND: the leader has it."""
    world = World()
    producer, _ = made(world, retries=1)
    with producer:
        world.control.fail("Produce", 20, applied=True, times=None)
        error = failure_of(producer)
        assert error.may_have_happened  # type: ignore[attr-defined]


def test_a_throttled_producer_waits() -> None:
    """B241: nothing is sent while the broker wants to be left alone (KIP-219)."""
    world = World()
    producer, _ = made(world)
    with producer:
        world.control.throttle("Produce", 0.5, times=1)
        producer.send("orders", b"a", partition=0).result(1.0)
        began = world.clock.time
        producer.send("orders", b"b", partition=0).result(5.0)
        assert 0.45 < world.clock.time - began < 0.6


def test_leader_moves_under_load_lose_nothing() -> None:
    """By three brokers in turn, with several requests in flight."""
    world = World(nodes=3)
    producer, _ = made(world, batch_size=100)
    with producer:
        for number in range(1, 7):
            world.at(
                world.clock.time + number * 0.05,
                partial(world.control.move_leader, TP, number % 3 + 1),
            )
        for number in range(400):
            producer.send("orders", b"%d" % number, partition=0)
            if number % 4 == 0:
                world.clock.sleep(0.004)
        producer.flush(20.0)
    assert values_of(world)[1:] == [b"%d" % number for number in range(400)]
    assert [each.offset for each in log_of(world)] == list(range(401))


def test_what_expires_does_so_in_order_and_is_never_sent() -> None:
    """B228: the head of the partition first, each at its own time."""
    world = World()
    producer, _ = made(world, request_timeout_ms=900, delivery_timeout_ms=1000, batch_size=1)
    ended: list[tuple[float, int]] = []
    with producer:
        with world.control.kill(1):
            world.clock.sleep(0.1)
            began = world.clock.time
            for number in range(3):
                producer.send(
                    "orders",
                    b"v",
                    partition=0,
                    timestamp=number,
                    on_delivery=lambda where, _: ended.append(
                        (world.clock.time - began, where.timestamp)
                    ),
                )
                world.clock.sleep(0.2)
            world.clock.sleep(2.0)
        world.clock.sleep(2.0)
        assert [number for _, number in ended] == [0, 1, 2]
        assert [at for at, _ in ended] == pytest.approx([1.0, 1.2, 1.4], abs=0.01)
        assert not produced(world)


def test_a_batch_behind_one_that_is_stuck_expires() -> None:
    """B229: with one request in flight the next batch is never sent, and fails in time."""
    world = World()
    producer, _ = made(
        world,
        enable_idempotence=False,
        max_in_flight=1,
        request_timeout_ms=1900,
        delivery_timeout_ms=2000,
    )
    with producer:
        world.control.hold("Produce")
        producer.send("orders", b"stuck", partition=0)
        world.clock.sleep(0.5)
        behind = producer.send("orders", b"behind", partition=0)
        world.clock.sleep(1.99)
        assert not behind.done()
        world.clock.sleep(0.02)
        error = failure(behind)
        assert isinstance(error, errors.TimeoutException)


def test_replicas_that_stay_too_few_fail_the_record() -> None:
    """B234: by `delivery.timeout.ms`, with the broker's error as the last one."""
    world = World()
    producer, _ = made(world, request_timeout_ms=900, delivery_timeout_ms=1000)
    with producer:
        world.control.fail("Produce", 19, times=None)
        error = failure_of(producer)
        assert isinstance(error, errors.TimeoutException)
        assert isinstance(error.last_error, errors.NotEnoughReplicasException)
