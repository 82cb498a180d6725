"""Metrics that are pushed to brokers (KIP-714), in virtual time."""

from itertools import pairwise
from uuid import UUID

import pytest

from prokurist import errors
from tests.simulation.telemetry import (
    CONSUMER,
    ORDERS,
    PRODUCER,
    asked,
    consumer_in,
    content,
    fresh,
    producer_in,
    pushes,
)
from tests.simulation.world import World

pytestmark = pytest.mark.usefixtures("closed_at_the_end")

# --- what is asked and pushed ------------------------------------------------------------


def test_metrics_come_at_the_interval_that_the_broker_names() -> None:
    """B337: the first within half an interval to one and a half; then one each interval."""
    world = fresh(metrics=[CONSUMER], interval=60.0)
    began = world.clock.now()
    consumer = consumer_in(world)
    world.clock.sleep(60.0 * 5)
    taken = pushes(world)
    assert 30.0 <= taken[0].at - began <= 91.0
    gaps = [later.at - earlier.at for earlier, later in pairwise(taken)]
    assert len(gaps) >= 2
    assert gaps == pytest.approx([60.0] * len(gaps), abs=0.1)
    assert len(asked(world)) == 1
    assert {each.client_instance_id for each in taken} == {consumer.client_instance_id(0.0)}
    assert all(name.startswith(CONSUMER) for name in content(taken[0]).names)


def test_clients_do_not_push_together() -> None:
    """B337: the jitter is drawn by each of them."""
    world = fresh(interval=60.0)
    clients = [consumer_in(world) for _ in range(5)]
    world.clock.sleep(95.0)
    first = {each.client_instance_id: each.at for each in reversed(pushes(world))}
    assert len(first) == len(clients)
    assert max(first.values()) - min(first.values()) > 5.0


def test_a_consumer_tells_what_it_has_done() -> None:
    """B338: Java's names; sums are what has been added since the push before."""
    world = fresh(interval=60.0)
    world.control.append(ORDERS, *[b"v"] * 10)
    consumer = consumer_in(world, auto_offset_reset="earliest", group_id="g", client_rack="r1")
    assert len(consumer.poll(5.0)) == 10
    consumer.commit_sync(timeout=5.0)
    world.clock.sleep(95.0)
    first = content(pushes(world)[0])
    fetch = CONSUMER + "fetch.manager."
    assert first.one(fetch + "records.consumed.total") == 10
    assert first.one(fetch + "records.consumed.total", topic="orders") == 10
    assert first.one(CONSUMER + "coordinator.assigned.partitions") == 1
    assert first.one(CONSUMER + "coordinator.commit.total") == 1
    # A single value is known exactly, in any bucket; Java counts milliseconds.
    latency = CONSUMER + "coordinator.commit.latency."
    assert first.one(latency + "avg") == pytest.approx(2.0, abs=0.1)
    assert first.one(latency + "max") == pytest.approx(2.0, abs=0.1)
    assert first.one(CONSUMER + "node.request.latency.avg", node_id="node-1") > 0
    assert first.delta is True
    assert first.resource == {"client_rack": "r1", "group_id": "g"}
    assert first.scope[0] == "prokurist"

    world.control.append(ORDERS, *[b"v"] * 3)
    while not consumer.poll(1.0):
        pass
    world.clock.sleep(60.0)
    second = content(pushes(world)[1])
    assert second.one(fetch + "records.consumed.total") == 3
    [before] = first.sums[fetch + "fetch.total"]
    [after] = second.sums[fetch + "fetch.total"]
    assert after.began == before.at


def test_a_producer_tells_what_it_has_done() -> None:
    """B338: the same of a producer, by topic and in all."""
    world = fresh(interval=60.0, metrics=[PRODUCER])
    producer_in(world)
    world.clock.sleep(95.0)
    told = content(pushes(world)[0])
    assert told.one(PRODUCER + "record.send.total") == 1
    assert told.one(PRODUCER + "topic.record.send.total", topic="orders") == 1
    assert told.one(PRODUCER + "record.queue.time.avg") >= 0
    assert told.one(PRODUCER + "connection.creation.total") >= 1
    assert told.one(PRODUCER + "buffer.available.bytes") > 0


def test_sums_in_all_where_the_broker_wants_those() -> None:
    """B338: cumulative temporality: each push tells the sum since the client was built."""
    world = fresh(interval=60.0, delta=False)
    producer = producer_in(world)
    world.clock.sleep(95.0)
    producer.send("orders", b"v", partition=0)
    world.clock.sleep(60.0)
    first, second = map(content, pushes(world)[:2])
    name = PRODUCER + "record.send.total"
    assert (first.delta, first.one(name), second.one(name)) == (False, 1, 2)
    assert first.sums[name][0].began == second.sums[name][0].began


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_each_compression(codec: int) -> None:
    """B338: the first one that the broker accepts and the client has; else none."""
    world = fresh(interval=60.0, compressions=[99, codec] if codec else [99])
    producer_in(world)
    world.clock.sleep(95.0)
    taken = pushes(world)[0]
    assert taken.compression == codec
    assert content(taken).one(PRODUCER + "record.send.total") == 1


def test_a_push_stays_within_the_limit() -> None:
    """B338: what KIP-714 wants of every client is left out last."""
    world = fresh(interval=60.0, most_bytes=400, compressions=[])
    producer_in(world)
    world.clock.sleep(95.0)
    taken = pushes(world)[0]
    assert len(taken.data) <= 400
    assert PRODUCER + "connection.creation.total" in content(taken).names


def test_a_share_consumer_tells_what_it_has_done() -> None:
    """B833: by Java's names of share groups; it is given an id, and pushes at its end."""
    world = fresh(interval=60.0, metrics=["org.apache.kafka.consumer"])
    world.control.configure_share_groups(from_earliest=True)
    with world.share_consumer(enable_metrics_push=True) as consumer:
        consumer.subscribe("orders")
        world.control.append(ORDERS, *[b"v"] * 5)
        while not consumer.poll(10.0):
            pass
        consumer.commit_sync(5.0)
        assert consumer.client_instance_id(90.0) != UUID(int=0)
        while not pushes(world):
            consumer.poll(1.0)
    share = "org.apache.kafka.consumer.share."
    told = content(pushes(world)[0])
    assert told.one(share + "fetch.manager.records.consumed.total") == 5
    assert told.one(share + "fetch.manager.acknowledgements.send.total") == 5
    assert told.one(share + "fetch.manager.fetch.total") >= 1
    assert told.one(share + "coordinator.heartbeat.total") >= 1
    assert len(pushes(world)) == 2


def test_a_share_consumer_without_pushes_has_no_id() -> None:
    """B833: the error names the key."""
    world = fresh(interval=60.0)
    with (
        world.share_consumer() as consumer,
        pytest.raises(errors.IllegalStateException, match=r"enable\.metrics\.push"),
    ):
        consumer.client_instance_id(1.0)


# --- thrift ------------------------------------------------------------------------------


def test_brokers_without_a_receiver_are_sent_nothing() -> None:
    """B339: what they do not offer is not asked, and no connection is opened to ask."""
    world, plain = World(), World()
    turns: list[int] = []
    for each, pushes_metrics in ((world, True), (plain, False)):
        consumer = each.consumer(enable_metrics_push=pushes_metrics)
        consumer.assign(ORDERS)
        consumer.position(ORDERS)
        before = each.members[0].thread.turns
        each.clock.sleep(3600.0)
        turns.append(each.members[0].thread.turns - before)
    assert not asked(world)
    assert len(world.control.requests()) == len(plain.control.requests())
    assert world.members[0].network.connects == plain.members[0].network.connects
    # Each five minutes it is looked whether a broker offers it by now, and no more is done.
    assert turns[0] - turns[1] <= 3600 / 300 * 4


def test_brokers_that_want_nothing_are_asked_at_their_interval() -> None:
    """B339: an empty subscription costs a question an interval, on a connection that stands."""
    world = fresh(metrics=[], interval=60.0)
    consumer = consumer_in(world, connections_max_idle_ms=-1)
    world.clock.sleep(60.0 * 10 + 1)
    assert 9 <= len(asked(world)) <= 11
    assert not world.control.requests("PushTelemetry")
    assert consumer.client_instance_id(0.0).int
    world.control.receive_telemetry([CONSUMER], interval=60.0)
    world.clock.sleep(60.0 + 95.0)
    assert pushes(world)


def test_a_client_that_is_not_used_asks_nothing() -> None:
    """B339: the question waits for a connection, and opens none."""
    world = fresh()
    world.consumer(enable_metrics_push=True)
    world.clock.sleep(3600.0)
    assert not world.control.requests()


def test_off_is_off() -> None:
    """B339: without enable.metrics.push no request is sent, for any subscription."""
    world = fresh(interval=60.0)
    consumer = world.consumer()
    consumer.assign(ORDERS)
    consumer.position(ORDERS)
    world.clock.sleep(600.0)
    assert not asked(world)


# --- errors ------------------------------------------------------------------------------


def test_another_subscription_is_asked_for_at_once() -> None:
    """B340: UNKNOWN_SUBSCRIPTION_ID; nothing that was to be told is lost."""
    world = fresh(interval=60.0, metrics=[PRODUCER + "record."])
    producer_in(world)
    world.control.receive_telemetry([PRODUCER], interval=100.0)
    world.clock.sleep(95.0 + 155.0)
    assert len(asked(world)) == 2
    told = content(pushes(world)[0])
    assert told.one(PRODUCER + "record.send.total") == 1
    assert PRODUCER + "connection.count" in told.names


@pytest.mark.parametrize("code", [89, 118, 7], ids=["throttled", "too large", "timed out"])
def test_a_refused_push_is_left_until_the_next(code: int) -> None:
    """B340: no sooner than after an interval; what was to be told is told then."""
    world = fresh(interval=60.0)
    producer_in(world)
    with world.control.fail("PushTelemetry", code, times=1) as refused:
        world.clock.sleep(95.0)
        assert refused.used == 1
    world.clock.sleep(60.0)
    assert len(asked(world)) == 1
    assert content(pushes(world)[0]).one(PRODUCER + "record.send.total") == 1


@pytest.mark.parametrize("code", [87, 42, 35, 29])
def test_a_refusal_for_good_ends_the_pushing(code: int) -> None:
    """B340: INVALID_RECORD and what else no second try mends; the client goes on."""
    world = fresh(interval=60.0)
    producer = producer_in(world)
    with world.control.fail("PushTelemetry", code, times=1):
        world.clock.sleep(3600.0)
    assert len(world.control.requests("PushTelemetry")) == 1
    assert len(asked(world)) == 1
    producer.send("orders", b"v", partition=0)
    producer.flush(5.0)
    producer.close(5.0)
    assert len(world.control.requests("PushTelemetry")) == 1


def test_a_compression_that_is_refused_is_not_tried_again() -> None:
    """B340: UNSUPPORTED_COMPRESSION_TYPE: the subscription is asked for, and the next taken."""
    world = fresh(interval=60.0)
    producer_in(world)
    with world.control.fail("PushTelemetry", 76, times=1):
        world.clock.sleep(60.0 * 5)
    assert len(asked(world)) == 2
    assert {each.compression for each in pushes(world)} == {3}


def test_a_push_that_is_lost_is_no_trouble() -> None:
    """B340: the connection goes, the client goes on, and the next push tells it."""
    world = fresh(interval=60.0)
    producer = producer_in(world)
    with world.control.cut("PushTelemetry", times=1):
        world.clock.sleep(95.0)
    producer.send("orders", b"v", partition=0)
    producer.flush(5.0)
    world.clock.sleep(61.0)
    assert content(pushes(world)[0]).one(PRODUCER + "record.send.total") == 2


def test_a_silent_broker_holds_up_nothing() -> None:
    """B340: calls go on while a push is not answered."""
    world = fresh(interval=60.0)
    consumer = consumer_in(world)
    with world.control.drop("PushTelemetry"):
        world.clock.sleep(200.0)
        assert world.cluster.journal.entries("PushTelemetry")
        assert consumer.end_offsets(ORDERS, timeout=60.0) == {ORDERS: 0}


def test_no_error_is_a_loop() -> None:
    """B340: brokers that refuse each question are asked seldom."""
    for code in (89, 117, 76, 7, -1, 5):
        world = fresh(interval=60.0)
        with world.control.fail("GetTelemetrySubscriptions", code, times=None):
            consumer_in(world)
            world.clock.sleep(600.0)
        assert 1 <= len(asked(world)) <= 12, code
