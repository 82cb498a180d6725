"""Brokers that break off, keep silent or talk nonsense while a client authenticates."""

from typing import Any

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition
from prokurist.errors import (
    AuthenticationException,
    DisconnectException,
    KafkaException,
    TimeoutException,
)
from prokurist.testing.cluster.apis import ApiName
from prokurist.testing.cluster.sasl import Sasl
from tests.simulation.world import World

PASSWORD = "hush-4711"  # noqa: S105 - of the model
STEPS: tuple[ApiName, ...] = ("SaslHandshake", "SaslAuthenticate")
PARTITION = TopicPartition("orders", 0)


def secured(**settings: Any) -> World:
    """A broker that wants to know who is there."""
    world = World()
    world.cluster.sasl = Sasl({"anna": PASSWORD}, **settings)
    return world


def consumer(world: World, **more: Any) -> KafkaConsumer:
    """A consumer with SCRAM."""
    return world.consumer(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="SCRAM-SHA-256",
        sasl_username="anna",
        sasl_password=PASSWORD,
        **more,
    )


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("reset", [False, True])
def test_a_broker_that_breaks_off_is_tried_again(step: ApiName, reset: bool) -> None:  # noqa: FBT001
    """B253: an end in the middle of an authentication is no refusal; the next try serves."""
    world = secured()
    world.control.cut(step, reset=reset, times=2)
    with consumer(world) as ours:
        assert len(ours.partitions_for("orders", 5)) == 3


@pytest.mark.parametrize("step", STEPS)
def test_a_broker_that_keeps_silent(step: ApiName) -> None:
    """B250: a silent broker costs a call its deadline and not more, and is told as silent."""
    world = secured()
    with consumer(world) as ours, world.control.drop(step):
        began = world.clock.time
        with pytest.raises(TimeoutException) as late:
            ours.partitions_for("orders", 30)
        assert world.clock.time - began < 30.1
        assert "authenticating" in str(late.value)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("code", [1, 7, 42, 32_000, -1, -32_000])
def test_error_codes_that_no_broker_gives_here(step: ApiName, code: int) -> None:
    """Any code ends the call with an error of Kafka's that names the step or the mechanism."""
    world = secured()
    with consumer(world) as ours, world.control.fail(step, code, times=None):
        with pytest.raises(KafkaException) as refused:
            ours.partitions_for("orders", 5)
        assert isinstance(refused.value, AuthenticationException | TimeoutException)
        assert PASSWORD not in str(refused.value)
        assert world.members[-1].thread.alive


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "data",
    [b"", b"\0\0\0\1", bytes(64), b"\xff" * 64, b"HTTP/1.1 400 Bad Request\r\n\r\n"],
    ids=["empty", "short", "zeros", "ones", "http"],
)
def test_nonsense_for_an_answer(step: ApiName, data: bytes) -> None:
    """An answer that cannot be read ends the connection and not the client."""
    world = secured()
    with consumer(world) as ours:
        with world.control.garbage(step, data, times=None), pytest.raises(KafkaException):
            ours.partitions_for("orders", 2)
        assert len(ours.partitions_for("orders", 30)) == 3
        assert world.members[-1].thread.alive


def test_a_session_whose_renewal_is_cut_off() -> None:
    """B257: what waited behind a renewal that breaks off is sent by the next connection."""
    world = secured(lifetime=4.0)
    with consumer(world) as ours:
        ours.commit_sync({PARTITION: OffsetAndMetadata(1)}, timeout=5)
        world.clock.sleep(5)
        with world.control.cut("SaslAuthenticate", times=1):
            ours.commit_sync({PARTITION: OffsetAndMetadata(2)}, timeout=5)
        found = ours.committed([PARTITION], 5)[PARTITION]
        assert found is not None
        assert found.offset == 2


def test_a_session_whose_renewal_hangs() -> None:
    """S34: work of a renewal that never ends costs its connection, and no call its deadline."""
    world = secured(lifetime=4.0)
    with consumer(world, socket_connection_setup_timeout_ms=2000) as ours:
        ours.partitions_for("orders", 5)
        world.clock.sleep(5)
        helping = world.members[-1].helping
        helping.hangs = True
        began = world.clock.time
        with pytest.raises(TimeoutException):
            ours.partitions_for("orders", 1)
        assert world.clock.time - began < 1.1
        helping.hangs = False
        assert len(ours.partitions_for("orders", 10)) == 3


def test_a_slow_renewal_delays_what_waits() -> None:
    """B257: what waits behind a renewal is written when that is over, and not given up."""
    world = secured(lifetime=4.0)
    with consumer(world) as ours:
        ours.partitions_for("orders", 5)
        world.clock.sleep(5)
        with world.control.delay("SaslHandshake", 1.0, times=1):
            began = world.clock.time
            ours.commit_sync({PARTITION: OffsetAndMetadata(1)}, timeout=10)
            assert 1 <= world.clock.time - began < 3
    counters = world.members[-1].side.client.counters
    assert counters.reauthenticated.count == 1
    assert not counters.nodes.of("1").lost


@pytest.mark.parametrize("lifetime", [0.001, 0.5, 1.0, 9.0e12])
def test_sessions_of_absurd_lengths(lifetime: float) -> None:
    """S41: no session is renewed within a second of the last one; a long one overflows nothing.

    A broker closes what asks in a session that is over, so short ones cost connections.
    """
    world = secured(lifetime=lifetime)
    with consumer(world) as ours:
        for _ in range(20):
            try:
                ours.partitions_for("orders", 2)
            except (DisconnectException, TimeoutException):
                assert lifetime <= 1.0
            world.clock.sleep(0.25)
        assert world.members[-1].thread.alive
