"""Partitions that change hands by the consumer protocol, and what the listener hears."""

from contextlib import suppress
from typing import Any

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition, errors
from prokurist.events.assigned import AnyAssigned, Assigned
from tests.simulation.joining import (
    INTERVAL,
    Notes,
    grouped,
    heartbeats,
    joined,
    member,
    numbers,
    settle,
)
from tests.simulation.reading import drained
from tests.simulation.world import World

A = TopicPartition("orders", 0)


def of(world: World, consumer: KafkaConsumer) -> list[Any]:
    """The heartbeats of one member."""
    return heartbeats(world, consumer.group_metadata().member_id)


def test_what_is_owned_is_acknowledged() -> None:
    """B146: revoked first; the heartbeat after it lists exactly what is left."""
    world = grouped()
    order: list[str] = []
    one = Notes(revoked=lambda _: order.append("revoked"))
    two = Notes(assigned=lambda _: order.append("assigned"))
    with member(world, listener=one) as first, member(world, listener=two) as second:
        first.poll(0.1)
        settle(first, second)
        assert order[-2:] == ["revoked", "assigned"]
        acks = [each for each in of(world, first) if each.topic_partitions]
        (said,) = acks[-1].topic_partitions
        assert sorted(said.partitions) == numbers(first.assignment())


def test_the_group_converges_while_the_application_computes() -> None:
    """The design: without listener and auto-commit the application thread is not needed."""
    world = grouped()
    with joined(world) as first, member(world) as second:
        for _ in range(20):
            second.poll(0.5)
        assert len(first.assignment()) == len(second.assignment()) == 2


def test_the_same_again_is_no_news() -> None:
    """B148: no callback, and no heartbeat that says what is known."""
    world = grouped()
    notes = Notes()
    with member(world, listener=notes) as consumer:
        settle(consumer, seconds=4 * INTERVAL)
        world.control.cut("ConsumerGroupHeartbeat")
        settle(consumer, seconds=4 * INTERVAL)
        assert notes.heard == [("assigned", [0, 1, 2, 3])]
        assert [each.topic_partitions is not None for each in heartbeats(world)].count(
            True
        ) == 3


def test_what_was_to_come_and_is_not_any_more_is_given_back() -> None:
    """B146: said at once, though what is owned is what was said before; others wait for it."""
    world = grouped(partitions=4)
    notes = Notes()
    with member(world, listener=notes) as first, joined(world) as second:
        settle(first, second)
        assert len(first.assignment()) == 2
        second.close()
        world.clock.sleep(2 * INTERVAL)  # The first computes; all is its own again.
        assert numbers(first.assignment()) == [0, 1, 2, 3]
        with joined(world) as third:
            world.clock.sleep(2 * INTERVAL)  # Not any more, and it has heard of neither.
            settle(first, third, seconds=2 * INTERVAL)
            assert len(third.assignment()) == 2


def test_what_comes_is_not_given_to_another_before_the_listener_has_heard() -> None:
    """B100, B146: the coordinator lost meanwhile is told everything again, what comes too."""
    world = grouped()
    notes = Notes()
    with member(world, listener=notes) as first, member(world) as second:
        first.poll(0.0)
        world.clock.sleep(1.0)  # It computes, with a part that it has not heard of.
        assert len(first.assignment()) == 4
        second.poll(1.0)
        world.control.fail("ConsumerGroupHeartbeat", 16, times=1)
        for _ in range(round(4 * INTERVAL)):
            second.poll(1.0)
            assert not first.assignment() & second.assignment()
        assert of(world, first)[-1].topic_partitions is None
        assert not notes.heard
        settle(first, second)
        assert len(first.assignment()) == len(second.assignment()) == 2
        assert [what for what, _ in notes.heard] == ["assigned", "revoked"]


def test_nothing_for_the_first_time_is_news() -> None:
    """B148: `assigned` is called once, with nothing."""
    world = grouped(partitions=1)
    notes = Notes()
    with joined(world) as first, member(world, listener=notes) as second:
        settle(first, second)
        assert notes.heard == [("assigned", [])]


def test_a_topic_whose_name_is_not_known_waits_for_it() -> None:
    """B147: the others are read meanwhile."""
    world = grouped(records=1)
    with member(world, ["orders", "late"]) as consumer:
        settle(consumer, seconds=1.0)
        assert len(consumer.assignment()) == 4
        held = world.control.hold("Metadata")
        world.control.create_topic("late", 2)
        settle(consumer, seconds=3 * INTERVAL)
        assert len(consumer.assignment()) == 4
        assert len(drained(consumer)) == 0
        held.undo()
        settle(consumer, seconds=3 * INTERVAL)
        assert len(consumer.assignment()) == 6


def test_nothing_is_fetched_before_the_callback_has_returned() -> None:
    """B151, B100, B159: a seek in it is where reading begins."""
    world = grouped(partitions=1, records=10)
    fetched: list[int] = []

    def assigned(partitions: frozenset[TopicPartition]) -> None:
        world.clock.sleep(2.0)
        fetched.append(len(world.cluster.journal.entries("Fetch")))
        assert consumer.assignment() == partitions
        assert consumer.position(A) == 0
        consumer.seek(A, 7)
        assert consumer.committed(A) == {A: None}
        consumer.commit_sync({A: OffsetAndMetadata(3)})
        consumer.pause(A)
        consumer.resume(A)

    with member(world, listener=Notes(assigned=assigned)) as consumer:
        assert drained(consumer, 5.0) == {A: [7, 8, 9]}
        assert fetched == [0]
        assert world.control.committed("g")[A].offset == 3


def test_what_goes_is_not_returned_any_more() -> None:
    """B100: from the moment of the decision on, regardless of what is buffered."""
    world = grouped(partitions=2, records=50)
    notes = Notes()
    with (
        member(world, listener=notes, max_poll_records=10) as first,
        member(world, listener=Notes()) as second,
    ):
        while not first.poll(1.0):
            continue
        second.poll(0.1)
        world.clock.sleep(2 * INTERVAL)  # The first one computes; it is decided by now.
        left = {tp.partition for tp in drained(first, 0.1)}
        (kept,) = left
        assert numbers(first.assignment()) == [kept]
        assert notes.heard[-1] == ("revoked", [1 - kept])


@pytest.mark.parametrize("kind", ["assigned", "revoked"])
def test_a_listener_that_raises(kind: str) -> None:
    """B152, B162: wrapped, not acknowledged, and tried again with the next poll."""
    world = grouped(records=5)
    trouble = [ValueError("no"), ValueError("no, no")]

    def refuse(_: object) -> None:
        if trouble:
            raise trouble.pop(0)

    notes = Notes(**{kind: refuse})
    with member(world, listener=notes) as first:
        if kind == "assigned":
            for text in ("no", "no, no"):
                with pytest.raises(
                    errors.KafkaException, match=f"ValueError: {text}"
                ) as caught:
                    first.poll(5.0)
                assert isinstance(caught.value.__cause__, ValueError)
                assert not world.cluster.journal.entries("Fetch")
                world.clock.sleep(2 * INTERVAL)
                assert not any(each.topic_partitions for each in heartbeats(world))
            settle(first, seconds=2.0)
            assert len(first.assignment()) == 4
            return
        settle(first, seconds=1.0)
        with joined(world) as second:
            for _ in range(2):
                with pytest.raises(errors.KafkaException, match="on_partitions_revoked raised"):
                    first.poll(2 * INTERVAL)
                settle(second, seconds=2 * INTERVAL)
                assert not second.assignment()
            settle(first, second)
            assert len(second.assignment()) == 2


def test_a_listener_that_always_raises_holds_up_no_other_member() -> None:
    """B146, B152: what it was to have and is not any more is given back, and that is said."""
    world = grouped(partitions=6)

    def refuse(_: object) -> None:
        raise ValueError("no")

    def settled(*others: KafkaConsumer) -> float:
        """How long it takes until these have what is not the bad one's."""
        began = world.clock.time
        while sum(len(each.assignment()) for each in others) < 6 - 6 // (len(others) + 1):
            assert world.clock.time < began + 200.0
            settle(*others, seconds=0.5)
            with suppress(errors.KafkaException):
                bad.poll(0.1)
        return world.clock.time - began

    with (
        member(world, listener=Notes(assigned=refuse)) as bad,
        member(world) as second,
        member(world) as third,
    ):
        with suppress(errors.KafkaException):
            bad.poll(1.0)
        assert settled(second) < 3 * INTERVAL
        assert settled(second, third) < 3 * INTERVAL
        assert not any(each.topic_partitions for each in of(world, bad))


def test_partitions_never_announced_are_not_revoked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B152, B174: an interrupt came just before the listener was called; then it goes again."""
    world = grouped()
    hears = Assigned.hears

    def interrupted(self: AnyAssigned, partitions: frozenset[TopicPartition]) -> None:
        if len(partitions) == 4:
            raise KeyboardInterrupt
        hears(self, partitions)

    monkeypatch.setattr(Assigned, "hears", interrupted)
    notes = Notes()
    with member(world, listener=notes) as first, member(world) as second:
        for _ in range(100):
            with suppress(KeyboardInterrupt):
                first.poll(0.1)
            second.poll(0.1)
        assert len(second.assignment()) == 2
        assert [(what, len(which)) for what, which in notes.heard] == [("assigned", 2)]


def test_put_out_in_a_callback() -> None:
    """B142, B149: what is committed then fails; nothing stale is said or heard after it."""
    world = grouped()
    failed: list[BaseException] = []

    def assigned(partitions: frozenset[TopicPartition]) -> None:
        if len(notes.heard) > 1:
            return
        world.control.fail("ConsumerGroupHeartbeat", 110, times=1)
        world.clock.sleep(2 * INTERVAL)
        try:
            consumer.commit_sync({tp: OffsetAndMetadata(1) for tp in partitions})
        except errors.CommitFailedException as error:
            failed.append(error)

    notes = Notes(assigned=assigned)
    with member(world, listener=notes) as consumer:
        settle(consumer, seconds=3 * INTERVAL)
        assert len(failed) == 1
        assert not world.control.committed("g")
        assert [what for what, _ in notes.heard] == ["assigned", "lost", "assigned"]
        assert len(consumer.assignment()) == 4


@pytest.mark.parametrize("raises", [False, True], ids=["returns", "raises"])
def test_put_out_while_it_hears_what_goes(
    raises: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """B141, B152, CONTRACT 6.2: revoked or lost, and not both; unless the first has raised."""
    world = grouped()

    def revoked(_: frozenset[TopicPartition]) -> None:
        if notes.heard[1:] == [("revoked", [2, 3])]:
            world.control.expire_member("g", first.group_metadata().member_id)
            world.clock.sleep(2 * INTERVAL)
            if raises:
                raise ValueError("no")

    notes = Notes(revoked=revoked)
    with member(world, listener=notes) as first, member(world) as second:
        settle(first, seconds=1.0)
        second.poll(0.1)
        if raises:
            with pytest.raises(errors.KafkaException, match="on_partitions_revoked raised"):
                first.poll(2 * INTERVAL)
        settle(first, second)
        lost = [0, 1, 2, 3] if raises else [0, 1]
        assert notes.heard[1:3] == [("revoked", [2, 3]), ("lost", lost)]
        assert {what for what, _ in notes.heard[3:]} == {"assigned"}


def test_put_out_while_a_callback_waits_to_be_called() -> None:
    """B149: it is called off; only the new membership is heard of."""
    world = grouped()
    notes = Notes()
    with member(world, listener=notes) as consumer:
        consumer.poll(0.0)
        world.clock.sleep(1.0)
        world.control.fail("ConsumerGroupHeartbeat", 25, times=1)
        world.clock.sleep(2 * INTERVAL)
        assert not notes.heard
        settle(consumer, seconds=INTERVAL)
        assert notes.heard == [("assigned", [0, 1, 2, 3])]


def test_unsubscribed_while_a_callback_waits_to_be_called() -> None:
    """B149, B160: nothing is heard of what was never told, and nothing acknowledged."""
    world = grouped()
    notes = Notes()
    with member(world, listener=notes) as consumer:
        consumer.poll(0.0)
        world.clock.sleep(1.0)
        consumer.unsubscribe()
        assert not notes.heard
        assert not any(each.topic_partitions for each in heartbeats(world))
        assert heartbeats(world)[-1].member_epoch == -1


def test_a_wakeup_in_a_callback() -> None:
    """B163: it reaches the user, and the next poll goes on where that stopped."""
    world = grouped(records=3)
    calls: list[int] = []

    def assigned(_: object) -> None:
        calls.append(1)
        if len(calls) == 1:
            consumer.wakeup()
            consumer.commit_sync({A: OffsetAndMetadata(0)})

    with member(world, listener=Notes(assigned=assigned)) as consumer:
        with pytest.raises(errors.WakeupException):
            consumer.poll(5.0)
        assert len(drained(consumer, 5.0)) == 4
        assert len(calls) == 2


def test_an_interrupt_in_a_callback() -> None:
    """B174: it reaches the user as it is, and the next poll goes on."""
    world = grouped(records=3)
    calls: list[int] = []

    def assigned(_: object) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt

    with member(world, listener=Notes(assigned=assigned)) as consumer:
        with pytest.raises(KeyboardInterrupt):
            consumer.poll(5.0)
        assert len(drained(consumer, 5.0)) == 4


def test_what_may_not_be_called_in_a_callback() -> None:
    """CONTRACT 6.5: what would call it again says so."""
    world = grouped()
    refused: list[str] = []

    def assigned(_: object) -> None:
        for call in (
            lambda: consumer.poll(1.0),
            consumer.unsubscribe,
            consumer.close,
            lambda: consumer.subscribe("x"),
            lambda: consumer.assign(A),
        ):
            with pytest.raises(errors.IllegalStateException, match="inside on_partitions"):
                call()
            refused.append("once")

    with member(world, listener=Notes(assigned=assigned)) as consumer:
        settle(consumer, seconds=1.0)
        assert len(refused) == 5


def test_partitions_that_are_added_are_given() -> None:
    """B202: by the coordinator, without a word of ours."""
    world = grouped(partitions=2)
    notes = Notes()
    with member(world, listener=notes) as consumer:
        settle(consumer, seconds=1.0)
        world.control.add_partitions("orders", 3)
        settle(consumer, seconds=3 * INTERVAL)
        assert notes.heard == [("assigned", [0, 1]), ("assigned", [2])]


def test_put_out_while_a_listener_gives_back() -> None:
    """B141: of what it was just told to give back it does not hear a second time."""
    world = grouped()

    def revoked(_partitions: frozenset[TopicPartition]) -> None:
        world.control.expire_member("g", first.group_metadata().member_id)
        world.clock.sleep(2 * INTERVAL)
        notes.then.clear()

    notes = Notes(revoked=revoked)
    with member(world, listener=notes) as first:
        settle(first, seconds=INTERVAL)
        with joined(world) as second:
            settle(first, second)
            assert [what for what, _ in notes.heard[:3]] == ["assigned", "revoked", "lost"]
            (_, given_back), (_, lost) = notes.heard[1:3]
            assert sorted(given_back + lost) == [0, 1, 2, 3]


def test_a_look_up_that_hears_first_that_we_are_out() -> None:
    """B141: a poll raises nothing of it; the heartbeat tells, and the member joins again."""
    world = grouped(records=1)
    notes = Notes()
    with member(world, listener=notes) as consumer:
        with world.control.fail("OffsetFetch", 25, times=None, whole=True):
            settle(consumer, seconds=INTERVAL / 2)
            asked = len(world.cluster.journal.entries("OffsetFetch"))
            assert 2 <= asked < 10
            world.control.fail("ConsumerGroupHeartbeat", 25, times=1)
            settle(consumer, seconds=INTERVAL)
        assert len(drained(consumer)) == 4
    assert [what for what, _ in notes.heard] == ["assigned", "lost", "assigned", "revoked"]
