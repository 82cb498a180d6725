"""Deserializers that wait for another thread, as for a schema: the poll goes on with them."""

from collections.abc import Callable
from typing import Any

import pytest

from prokurist.errors import RecordDeserializationException, SchemaRegistryUnavailableException
from prokurist.events.clock import Deadline
from prokurist.events.pending import Pending
from prokurist.records.why_empty import EmptyCause
from tests.simulation.reading import A, B, offsets, reader
from tests.simulation.world import World

Headers = list[tuple[str, bytes | None]]


class Fetched:
    """Work that ends when the test says so.

    Args:
        until: When its time is over.
    """

    def __init__(self, until: float) -> None:
        self.until = Deadline(until)
        self.is_over = False
        self.listeners: list[Callable[[], object]] = []

    def when_over(self, tell: Callable[[], object]) -> None:
        """See `events.pending.Work`."""
        if self.is_over:
            tell()
        else:
            self.listeners.append(tell)

    def __str__(self) -> str:
        return "what the test ends"

    def end(self) -> None:
        """End it."""
        self.is_over = True
        for each in self.listeners:
            each()


class Awaiting:
    """A deserializer for which values that begin with `?` wait.

    Args:
        world: The world.
        seconds: How long the work may take.
    """

    def __init__(self, world: World, seconds: float) -> None:
        self._now = world.clock.now
        self._seconds = seconds
        self.work: Fetched | None = None
        self.begun = 0

    def deserialize(self, topic: str, headers: Headers, data: bytes) -> Any:
        """Nothing of a consumer waits here."""
        raise AssertionError((topic, headers, data))

    def deserialize_now(self, topic: str, headers: Headers, data: bytes) -> Any:
        """The value, or what it waits for."""
        del topic, headers
        if not data.startswith(b"?"):
            return data
        if self.work is None:
            self.begun += 1
            self.work = Fetched(self._now() + self._seconds)
        if self.work.is_over:
            return data
        if self.work.until.expired(self._now()):
            self.work = None
            raise SchemaRegistryUnavailableException("schema 7 did not come")
        raise Pending(self.work)


def test_a_record_waits_for_its_schema_and_others_do_not() -> None:
    """B880: each poll ends by its own deadline; the record comes when it can, in its place."""
    world = World()
    world.control.append(A, b"0", b"?1", b"2")
    world.control.append(B, b"x")
    awaiting = Awaiting(world, 60.0)
    with reader(world, A, B, value_deserializer=awaiting) as consumer:
        got: dict[Any, list[int]] = {}
        for _ in range(4):
            began = world.clock.now()
            for tp, found in offsets(consumer.poll(0.5)).items():
                got.setdefault(tp, []).extend(found)
            assert world.clock.now() - began <= 0.5 + 1e-6
        assert got == {A: [0], B: [0]}
        assert consumer.position(A) == 1
        work = awaiting.work
        assert work is not None
        world.at(world.clock.now() + 1.0, work.end)
        began = world.clock.now()
        assert offsets(consumer.poll(30.0)) == {A: [1, 2]}
        assert world.clock.now() - began == pytest.approx(1.0)
        assert awaiting.begun == 1


def test_a_poll_without_time_waits_for_no_schema() -> None:
    """B880: with `poll(0)` likewise."""
    world = World()
    world.control.append(A, b"?0")
    awaiting = Awaiting(world, 60.0)
    with reader(world, A, value_deserializer=awaiting) as consumer:
        empty = consumer.poll(1.0)
        assert empty.why_empty is not None
        assert empty.why_empty.cause is EmptyCause.DESERIALIZING
        assert empty.why_empty.partitions == (A,)
        assert "wait for what the test ends: orders-0" in str(empty.why_empty)
        began = world.clock.now()
        assert not consumer.poll(0)
        assert world.clock.now() == began
        assert awaiting.work is not None
        awaiting.work.end()
        assert offsets(consumer.poll(0)) == {A: [0]}


def test_a_schema_that_does_not_come_is_an_error_of_its_record() -> None:
    """B881: when its time is over, though the poll has more; a seek beyond it goes on."""
    world = World()
    world.control.append(A, b"0", b"?1", b"2")
    with reader(world, A, value_deserializer=Awaiting(world, 5.0)) as consumer:
        assert offsets(consumer.poll(1.0)) == {A: [0]}
        began = world.clock.now()
        with pytest.raises(
            RecordDeserializationException, match=r"orders-0 at.*schema 7"
        ) as why:
            consumer.poll(60.0)
        assert world.clock.now() - began == pytest.approx(5.0)
        assert (why.value.partition, why.value.offset) == (A, 1)
        consumer.seek(A, 2)
        assert offsets(consumer.poll(1.0)) == {A: [2]}


def test_an_iteration_waits_likewise() -> None:
    """B880: `next` ends by its deadline, and hands the record out when it can."""
    world = World()
    world.control.append(A, b"0", b"?1")
    awaiting = Awaiting(world, 60.0)
    with reader(world, A, value_deserializer=awaiting) as consumer:
        record = consumer.next(1.0)
        assert record is not None
        assert record.offset == 0
        began = world.clock.now()
        assert consumer.next(0.5) is None
        assert world.clock.now() - began <= 0.5 + 1e-6
        assert awaiting.work is not None
        world.at(world.clock.now() + 1.0, awaiting.work.end)
        record = consumer.next(30.0)
        assert record is not None
        assert record.offset == 1
