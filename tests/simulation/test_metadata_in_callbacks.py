"""`group_metadata` inside rebalance listeners: the membership whose offsets a group takes."""

from contextlib import suppress
from typing import Any, Self

import pytest

from prokurist import ConsumerGroupMetadata, KafkaConsumer, OffsetAndMetadata, errors
from prokurist.compat.confluent_kafka.offsets import from_bytes
from tests.simulation import virtual_loop
from tests.simulation.test_compat_confluent_kafka import consumer_in as confluent_in
from tests.simulation.test_compat_kafka import consumer_in as kafka_python_in
from tests.simulation.transacting import VERSIONS, A, transactional, world_of
from tests.simulation.world import World

FLAVOURS = ("range", "cooperative-sticky", "consumer")
flavours = pytest.mark.parametrize("flavour", FLAVOURS)

Heard = list[tuple[str, ConsumerGroupMetadata]]
"""The listener's calls, and what `group_metadata` was in each."""


def keys_of(flavour: str) -> dict[str, Any]:
    """The configuration of a member."""
    keys: dict[str, Any] = {"group_id": "g", "enable_auto_commit": False}
    if flavour == "consumer":
        return keys | {"group_protocol": "consumer"}
    return keys | {"partition_assignment_strategy": flavour}


class Member:
    """A member that sends offsets in a transaction inside its listener.

    Args:
        world: Where.
        flavour: Its assignor, or the protocol.
        name: Its transactional id.
    """

    def __init__(self, world: World, flavour: str, name: str) -> None:
        self.heard: Heard = []
        self.consumer: KafkaConsumer = world.consumer(None, **keys_of(flavour))
        self.producer = transactional(world, transactional_id=name)
        self.refused: list[str] = []
        self.consumer.subscribe(
            "orders",
            on_assigned=lambda gone: self._hear("assigned", gone),
            on_revoked=lambda gone: self._hear("revoked", gone),
            on_lost=lambda gone: self._hear("lost", gone),
        )

    def _hear(self, name: str, partitions: Any) -> None:
        self.heard.append((name, self.consumer.group_metadata()))
        self.producer.begin_transaction()
        try:
            self.producer.send_offsets_to_transaction(
                {tp: OffsetAndMetadata(len(self.heard)) for tp in partitions},
                self.consumer.group_metadata(),
                5.0,
            )
            self.producer.commit_transaction(5.0)
        except errors.CommitFailedException:
            self.refused.append(name)
            self.producer.abort_transaction(5.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.consumer.close(5.0)
        self.producer.close(5.0)


@flavours
@pytest.mark.parametrize("version", VERSIONS)
def test_a_group_takes_offsets_of_its_listeners(version: int, flavour: str) -> None:
    """B590: of assigned partitions in the new generation, of revoked ones before they go."""
    world = world_of(version)
    with Member(world, flavour, "t") as first, Member(world, flavour, "u") as second:
        for _ in range(10):
            first.consumer.poll(0.2)
        (_, before), *more = first.heard
        assert not more
        assert first.consumer.group_metadata() == before
        for _ in range(40):
            second.consumer.poll(0.2)
            first.consumer.poll(0.2)
        now = first.consumer.group_metadata()
        assert now.member_id == before.member_id
        assert now.generation_id > before.generation_id
        revoked = dict(first.heard)["revoked"]
        # A cooperative member is told what goes when its round is over, as Java's is.
        is_round_over = flavour == "cooperative-sticky"
        assert (revoked.generation_id > before.generation_id) == is_round_over
        if flavour != "consumer":
            assert first.heard[-1] == ("assigned", now)
        assert second.heard[-1] == ("assigned", second.consumer.group_metadata())
        assert second.consumer.group_metadata().generation_id == now.generation_id
        assert second.consumer.group_metadata().member_id != now.member_id
    assert first.heard[-1][0] == second.heard[-1][0] == "revoked"
    assert not first.refused
    assert not second.refused


def share(first: Member, second: Member) -> None:
    """Poll until both have partitions, which for cooperative members is amid a round."""
    while not (first.consumer.assignment() and second.consumer.assignment()):
        first.consumer.poll(0.05)
        second.consumer.poll(0.05)


@flavours
@pytest.mark.parametrize("end", ["close", "unsubscribe"])
def test_a_round_has_ended_without_a_poll(flavour: str, end: str) -> None:
    """B590: the listener of a member that leaves is called in the generation that there is."""
    world = world_of(2)
    with Member(world, flavour, "t") as first, Member(world, flavour, "u") as second:
        share(first, second)
        world.clock.sleep(1.0)
        if end == "unsubscribe":
            first.consumer.unsubscribe(5.0)
        first.consumer.close(5.0)
        assert first.heard[-1][0] == "revoked"
        assert not first.refused
        assert not second.refused


@pytest.mark.parametrize("version", VERSIONS)
@flavours
def test_a_group_refuses_offsets_of_lost_partitions(version: int, flavour: str) -> None:
    """B590: in `on_partitions_lost` it is the former membership."""
    world = world_of(version)
    with Member(world, flavour, "t") as one:
        for _ in range(10):
            one.consumer.poll(0.2)
        before = one.consumer.group_metadata()
        world.control.expire_member("g", before.member_id)
        world.clock.sleep(20.0)
        for _ in range(20):
            one.consumer.poll(0.2)
        assert [name for name, _ in one.heard] == ["assigned", "lost", "assigned"]
        assert one.heard[1] == ("lost", before)
        assert one.heard[2] == ("assigned", one.consumer.group_metadata()) != one.heard[0]
        assert one.refused == ["lost"]


@flavours
def test_a_listener_that_raises_was_called_in_the_new_generation(flavour: str) -> None:
    """B590: and `group_metadata` is the same after the poll that raises."""
    world = world_of(2)
    consumer = world.consumer(None, **keys_of(flavour))
    heard: list[ConsumerGroupMetadata] = []

    def assigned(_partitions: object) -> None:
        heard.append(consumer.group_metadata())
        raise ValueError("mine")

    consumer.subscribe("orders", on_assigned=assigned)
    with pytest.raises(errors.KafkaException, match="mine"):
        consumer.poll(10.0)
    assert heard == [consumer.group_metadata()]
    assert heard[0].generation_id > 0
    with suppress(errors.KafkaException):
        consumer.close(5.0)


@flavours
def test_the_same_for_coroutines(flavour: str) -> None:
    """B590: the client of coroutines."""
    world = world_of(2)
    heard: list[int] = []

    async def main() -> None:
        client = virtual_loop.consumer(world, **keys_of(flavour))

        async def assigned(_partitions: object) -> None:
            heard.append(client.group_metadata().generation_id)

        async with client:
            client.subscribe("orders", on_assigned=assigned)
            await client.poll(3.0)
            heard.append(client.group_metadata().generation_id)

    virtual_loop.run(world, main())
    assert heard[0] == heard[1] > 0


def test_the_same_by_the_names_of_confluent_kafka() -> None:
    """B590: `consumer_group_metadata` in its `on_assign`."""
    world = world_of(2)
    heard: list[object] = []
    with confluent_in(world) as consumer:
        consumer.subscribe(
            ["orders"], on_assign=lambda face, _: heard.append(face.consumer_group_metadata())
        )
        consumer.poll(3.0)
        assert heard == [consumer.consumer_group_metadata()]
        assert from_bytes(heard[0]).generation_id > 0


def test_the_same_by_the_names_of_kafka_python() -> None:
    """B590: `group_metadata` in its listener."""
    world = world_of(2)
    heard: list[ConsumerGroupMetadata] = []
    with kafka_python_in(world, group_id="g") as consumer:

        class Listens:
            """kafka-python's listener."""

            def on_partitions_assigned(self, _partitions: object) -> None:
                """Note it."""
                heard.append(consumer.group_metadata())

            def on_partitions_revoked(self, _partitions: object) -> None:
                """Ignore it."""

        consumer.subscribe(["orders"], listener=Listens())
        consumer.poll(3000)
        assert heard == [consumer.group_metadata()]
        assert A in consumer.assignment()
        assert heard[0].generation_id > 0
