"""A producer that authenticates: refusals, brokers that fall silent in it, renewed sessions."""

from contextlib import AbstractContextManager
from typing import Any

import pytest

from prokurist import KafkaProducer, errors
from prokurist.testing.cluster.apis import ApiName
from prokurist.testing.cluster.sasl import Sasl
from tests.simulation.producing import produced, sequences, values_of
from tests.simulation.world import Sender, World

STEPS: tuple[ApiName, ...] = ("SaslHandshake", "SaslAuthenticate")
SOON = 5.0
"""Seconds within which a refusal is told, regardless of the timeouts (B250)."""


def secured(**settings: Any) -> World:
    """Brokers that want to know who is there."""
    world = World()
    world.cluster.sasl = Sasl({"anna": "right"}, **settings)
    return world


def producer(
    world: World,
    mechanism: str = "SCRAM-SHA-256",
    **keys: object,
) -> tuple[KafkaProducer, Sender]:
    """A producer with a name and a password."""
    given: dict[str, object] = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_username": "anna",
        "sasl_password": "right",
    }
    sender = world.sender(None, linger_ms=0, **(given | keys))
    return KafkaProducer.wired(sender.config, world.clock, sender.side), sender


def silent(world: World, step: ApiName) -> AbstractContextManager[object]:
    """Brokers that leave this step of an authentication unanswered."""
    return world.control.drop(step)


def warmed(world: World, **keys: Any) -> tuple[KafkaProducer, Sender]:
    """One that has delivered a record."""
    ours, sender = producer(world, **keys)
    ours.send("orders", b"0", partition=0).result(5.0)
    world.control.forget_requests()
    return ours, sender


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
@pytest.mark.parametrize("idempotent", [True, False])
def test_a_wrong_password_is_told_at_once(mechanism: str, idempotent: bool) -> None:  # noqa: FBT001
    """B250: a delivery and a look-up end with the refusal, and not at their deadlines."""
    world = secured()
    ours, _ = producer(
        world,
        mechanism,
        sasl_password="wrong",  # noqa: S106
        enable_idempotence=idempotent,
    )
    with ours:
        for call in (
            lambda: ours.send("orders", b"1", partition=0).result(60.0),
            lambda: ours.partitions_for("orders", 60.0),
        ):
            began = world.clock.time
            with pytest.raises(errors.SaslAuthenticationException) as refused:
                call()
            assert world.clock.time - began < SOON
            assert "sasl.password" in str(refused.value)
            assert "wrong" not in str(refused.value)
        ours.flush(1.0)
    assert not values_of(world)


def test_calls_one_after_another_wait_for_one_try_each() -> None:
    """B391: a call after a refusal ends with the next try, and not with the one after it."""
    world = secured()
    ours, _ = producer(world, sasl_password="wrong")  # noqa: S106
    # Kafka holds a refusal back for so long; SCRAM has two answers.
    world.control.delay("SaslAuthenticate", 0.35)
    took = []
    with ours:
        for number in range(8):
            began = world.clock.time
            delivery = ours.send("orders", b"%d" % number, partition=0)
            assert isinstance(delivery.exception(0), errors.SaslAuthenticationException)
            took.append(world.clock.time - began)
            # A thread wakes up a little after the turn that has told it.
            world.clock.sleep(0.001)
    assert max(took) < 2.0, took


def test_a_password_that_is_mended_serves_the_same_producer() -> None:
    """B251: what is sent after it is delivered; what failed is not in the log."""
    world = secured()
    assert world.cluster.sasl is not None
    world.cluster.sasl.users["anna"] = "another"
    ours, _ = producer(world)
    with ours:
        with pytest.raises(errors.SaslAuthenticationException):
            ours.send("orders", b"lost", partition=0).result(60.0)
        world.cluster.sasl.users["anna"] = "right"
        world.clock.sleep(2.0)
        ours.send("orders", b"1", partition=0).result(10.0)
    assert values_of(world) == [b"1"]


@pytest.mark.parametrize("step", STEPS)
def test_a_broker_that_falls_silent_in_an_authentication(step: ApiName) -> None:
    """B343: every wait ends by its own time, and close gives up what is left."""
    world = secured()
    ours, _ = producer(
        world, max_block_ms=1000, delivery_timeout_ms=8000, request_timeout_ms=4000
    )
    with silent(world, step):
        began = world.clock.time
        unknown = ours.send("orders", b"1", partition=0)
        assert world.clock.time - began <= 1.01
        assert isinstance(unknown.exception(0), errors.TimeoutException)
        began = world.clock.time
        with pytest.raises(errors.TimeoutException) as late:
            ours.partitions_for("orders", 3.0)
        assert world.clock.time - began == pytest.approx(3.0, abs=0.02)
        assert "authenticating" in str(late.value)
        began = world.clock.time
        ours.flush(2.0)
        ours.close(2.0)
        assert world.clock.time - began <= 4.02


@pytest.mark.parametrize("step", STEPS)
def test_a_broker_that_falls_silent_in_a_renewal(step: ApiName) -> None:
    """B343: flush and a delivery end on time; nothing is lost, repeated or put out of order."""
    world = secured(lifetime=4.0)
    ours, _ = warmed(world, delivery_timeout_ms=60_000, request_timeout_ms=5000)
    with ours:
        world.clock.sleep(5.0)
        with silent(world, step):
            sent = [ours.send("orders", b"%d" % each, partition=0) for each in range(1, 10)]
            began = world.clock.time
            with pytest.raises(errors.TimeoutException) as raised:
                ours.flush(2.0)
            assert world.clock.time - began == pytest.approx(2.0, abs=0.02)
            assert "9 records (" in str(raised.value)
            assert not raised.value.may_have_happened
            assert list(world.control.requests(step))
            assert not produced(world)
            began = world.clock.time
            with pytest.raises(errors.TimeoutException, match="delivery goes on"):
                sent[0].result(1.0)
            assert world.clock.time - began == pytest.approx(1.0, abs=0.02)
            world.clock.sleep(10.0)
        ours.flush(30.0)
        assert [each.result(0).offset for each in sent] == list(range(1, 10))
    assert values_of(world) == [b"%d" % each for each in range(10)]


@pytest.mark.parametrize("step", STEPS)
def test_a_delivery_and_close_while_a_renewal_is_silent(step: ApiName) -> None:
    """B343: a delivery fails by its timeout, close returns in time how many were given up."""
    world = secured(lifetime=4.0)
    ours, _ = warmed(
        world, delivery_timeout_ms=6000, request_timeout_ms=3000, max_block_ms=1000
    )
    world.clock.sleep(5.0)
    with silent(world, step):
        began = world.clock.time
        sent = ours.send("orders", b"1", partition=0)
        with pytest.raises(errors.TimeoutException) as raised:
            sent.result()
        assert world.clock.time - began == pytest.approx(6.0, abs=0.02)
        assert raised.value.config_key == "delivery.timeout.ms"
        assert not raised.value.may_have_happened
        given_up = ours.send("orders", b"2", partition=0)
        began = world.clock.time
        assert ours.close(1.0) == 1
        assert world.clock.time - began <= 1.02
        assert isinstance(given_up.exception(0), errors.DeliveryAbortedException)
    assert values_of(world) == [b"0"]


def test_a_broker_that_freezes_with_a_renewal_on_the_wire() -> None:
    """B343: it answers when it thaws, and the records behind the renewal arrive once."""
    world = secured(lifetime=4.0)
    ours, sender = warmed(world, request_timeout_ms=30_000)
    with ours:
        world.clock.sleep(5.0)
        world.control.freeze()
        sent = [ours.send("orders", b"%d" % each, partition=0) for each in range(1, 5)]
        with pytest.raises(errors.TimeoutException):
            ours.flush(1.0)
        world.control.thaw()
        ours.flush(10.0)
        assert [each.result(0).offset for each in sent] == [1, 2, 3, 4]
    assert values_of(world) == [b"%d" % each for each in range(5)]
    assert not sender.side.client.counters.nodes.of("1").lost


def test_a_hundred_sessions() -> None:
    """B257: records keep their order and their numbers, on the same connections."""
    world = secured(lifetime=4.0)
    ours, sender = warmed(world, connections_max_idle_ms=-1)
    with ours:
        for number in range(1, 30):  # Metadata, too, has a connection by then.
            ours.send("orders", b"%d" % number, partition=0)
            world.clock.sleep(0.5)
        ours.flush(5.0)
        connects = sender.network.connects
        for number in range(30, 1000):
            ours.send("orders", b"%d" % number, partition=0)
            world.clock.sleep(0.5)
        ours.flush(5.0)
        assert sender.network.connects == connects
        assert sender.side.client.counters.reauthenticated.count >= 100
    assert values_of(world) == [b"%d" % number for number in range(1000)]
    numbers = sequences(world)
    assert {epoch for epoch, _ in numbers} == {0}
    assert [first for _, first in numbers] == sorted({first for _, first in numbers})


def test_a_refused_renewal_is_told_and_mended() -> None:
    """B257, B251: what waited fails with the refusal; what is sent later arrives."""
    world = secured(lifetime=4.0)
    assert world.cluster.sasl is not None
    ours, _ = warmed(world)
    with ours:
        world.cluster.sasl.users["anna"] = "changed"
        world.clock.sleep(5.0)
        began = world.clock.time
        with pytest.raises(errors.SaslAuthenticationException):
            ours.send("orders", b"lost", partition=0).result(60.0)
        assert world.clock.time - began < SOON
        world.cluster.sasl.users["anna"] = "right"
        world.clock.sleep(2.0)
        ours.send("orders", b"1", partition=0).result(10.0)
    assert values_of(world) == [b"0", b"1"]
