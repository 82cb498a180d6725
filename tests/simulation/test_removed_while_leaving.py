"""A member that its group removes while it leaves: what is told, and that it joins no more."""

from collections.abc import Callable

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition, errors
from tests.simulation.joining import INTERVAL, Notes, grouped, member, settle
from tests.simulation.world import World

A = TopicPartition("orders", 0)
ALL = [0, 1, 2, 3]

protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])
ends = pytest.mark.parametrize("end", ["close", "unsubscribe"])


def alone(world: World, notes: Notes, protocol: str, **keys: str | int) -> KafkaConsumer:
    """A member with all partitions."""
    consumer = member(world, listener=notes, group_protocol=protocol, **keys)
    settle(consumer, seconds=10.0)
    assert notes.heard == [("assigned", ALL)]
    return consumer


def ending(consumer: KafkaConsumer, end: str) -> Callable[[], None]:
    """Have it leave, in one of both ways."""
    return consumer.close if end == "close" else consumer.unsubscribe


def joins(world: World) -> int:
    """How often a member has asked to be let in."""
    beats = world.cluster.journal.entries("ConsumerGroupHeartbeat")
    asked = world.cluster.journal.entries("JoinGroup")
    return len(asked) + len([each for each in beats if each.body.member_epoch == 0])


def lines(caplog: pytest.LogCaptureFixture, what: str) -> int:
    """How many lines of the log say this."""
    return sum(what in each.message for each in caplog.records)


@protocols
@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
@pytest.mark.parametrize("code", [25, 82])
def test_close_waits_for_commits_before_it_calls_the_listener(
    protocol: str,
    static: bool,  # noqa: FBT001 - a parameter of the test
    code: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B400, B184: one that tells of the removal; the log says what the listener hears."""
    caplog.set_level("INFO")
    world, notes = grouped(), Notes()
    consumer = alone(world, notes, protocol, **({"group_instance_id": "i"} if static else {}))
    before = joins(world)
    caplog.clear()
    world.control.fail("OffsetCommit", code, times=1, whole=True)
    told: list[tuple[int, errors.KafkaException | None]] = []
    consumer.commit_async(
        {A: OffsetAndMetadata(1)}, lambda _, error: told.append((len(notes.heard), error))
    )
    consumer.close(5.0)
    [(heard_before, error)] = told
    assert isinstance(error, errors.CommitFailedException)
    assert heard_before == 1
    assert notes.heard[1:] == [("lost", ALL)]
    assert lines(caplog, "partitions lost") == 1
    assert not lines(caplog, "partitions revoked")
    assert lines(caplog, "has removed member") == 1
    assert not lines(caplog, "joins again")
    assert joins(world) == before


@protocols
def test_commits_without_an_answer_take_their_share_before_the_listener(protocol: str) -> None:
    """B184, B180: `close` ends by its time, and what is not known is revoked."""
    world, notes = grouped(), Notes()
    consumer = alone(world, notes, protocol)
    world.control.answer_late("OffsetCommit", 60.0, times=None)
    told: list[errors.KafkaException | None] = []
    consumer.commit_async({A: OffsetAndMetadata(1)}, lambda _, error: told.append(error))
    began = world.clock.time
    consumer.close(4.0)
    assert world.clock.time - began <= 4.0 + 0.01
    assert notes.heard[1:] == [("revoked", ALL)]
    assert [type(each) for each in told] == [errors.RetriableCommitFailedException]


@protocols
def test_what_the_listener_commits_asynchronously_is_waited_for_too(protocol: str) -> None:
    """B184: behind those that were under way when `close` began."""
    world = grouped()
    told: list[errors.KafkaException | None] = []
    notes = Notes(
        revoked=lambda _: consumer.commit_async(
            {A: OffsetAndMetadata(2)}, lambda _, error: told.append(error)
        )
    )
    consumer = alone(world, notes, protocol)
    consumer.commit_async({A: OffsetAndMetadata(1)}, lambda _, error: told.append(error))
    consumer.close(4.0)
    assert told == [None, None]
    assert world.control.committed("g")[A].offset == 2


@protocols
def test_a_member_that_is_removed_while_it_closes_joins_no_more(
    protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B400, B161: by a heartbeat, while a commit is waited for."""
    world, notes = grouped(), Notes()
    consumer = alone(world, notes, protocol)
    before = joins(world)
    caplog.clear()
    world.control.answer_late("OffsetCommit", 2 * INTERVAL, times=None)
    for api in ("ConsumerGroupHeartbeat", "Heartbeat"):
        world.control.fail(api, 25, times=1)
    consumer.commit_async({A: OffsetAndMetadata(1)})
    consumer.close(20.0)
    assert notes.heard[1:] == [("lost", ALL)]
    assert lines(caplog, "partitions lost") == 1
    assert lines(caplog, "which is leaving") == 1
    assert joins(world) == before


@protocols
@ends
def test_the_log_says_what_the_listener_was_told(
    protocol: str, end: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B161: also if the removal becomes known while the listener gives partitions up."""
    caplog.set_level("INFO")
    world, notes = grouped(), Notes(revoked=lambda _: world.clock.sleep(2 * INTERVAL))
    consumer = alone(world, notes, protocol)
    before = joins(world)
    caplog.clear()
    for api in ("ConsumerGroupHeartbeat", "Heartbeat"):
        world.control.fail(api, 25, times=1)
    ending(consumer, end)()
    assert notes.heard[1:] == [("revoked", ALL)]
    assert lines(caplog, "partitions revoked") == 1
    assert not lines(caplog, "partitions lost")
    assert lines(caplog, "has removed member") == 1
    assert joins(world) == before
    consumer.close()


@protocols
@ends
def test_a_listener_that_takes_too_long_while_its_member_leaves(
    protocol: str, end: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B150: no line and no error speaks of a next poll, since there is none."""
    world = grouped()
    refused: list[str] = []

    def takes_long(_: object) -> None:
        world.clock.sleep(20.0)
        with pytest.raises(errors.CommitFailedException) as failed:
            consumer.commit_sync({A: OffsetAndMetadata(1)})
        refused.append(str(failed.value))

    notes = Notes(revoked=takes_long)
    consumer = alone(world, notes, protocol, max_poll_interval_ms=10_000)
    caplog.clear()
    ending(consumer, end)()
    [line] = [each.message for each in caplog.records if "max.poll.interval" in each.message]
    assert "was in close or unsubscribe" in line
    assert "has left group g" in line
    for said in (line, *refused):
        assert "poll()" not in said
        assert "next poll" not in said
    assert len(refused) == 1
    consumer.close()


@protocols
def test_who_is_late_and_closes_then_has_lost_its_partitions(
    protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B150, B161: told once, in the log as well."""
    world, notes = grouped(), Notes()
    consumer = alone(world, notes, protocol, max_poll_interval_ms=10_000)
    caplog.clear()
    world.clock.sleep(20.0)
    consumer.close()
    assert notes.heard[1:] == [("lost", ALL)]
    assert lines(caplog, "joins again with the next poll") == 1
    assert lines(caplog, "partitions lost") == 1


@ends
def test_a_commit_refused_by_a_round_while_its_member_leaves(end: str) -> None:
    """B150: the error speaks of no poll that would take part in the round."""
    world = grouped()
    refused: list[str] = []

    def commit(_: object) -> None:
        with pytest.raises(errors.RebalanceInProgressException) as failed:
            consumer.commit_sync({A: OffsetAndMetadata(1)}, timeout=5.0)
        refused.append(str(failed.value))

    consumer = alone(world, Notes(revoked=commit), "classic")
    world.control.fail("OffsetCommit", 27, times=None, whole=True)
    ending(consumer, end)()
    [text] = refused
    assert "leaves it" in text
    assert "poll" not in text
    consumer.close()
