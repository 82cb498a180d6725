"""Look-ups of offsets that fail in virtual time: refusals, silence, and what a report tells."""

import pytest

from prokurist import errors
from prokurist.events.application_events import Close, LookUpOffsets, Withdraw
from prokurist.network_thread.thread import Life
from prokurist.testing.cluster.apis import ApiName
from prokurist.types import OffsetAndTimestamp, TopicPartition
from tests.simulation.looking_up import (
    END,
    ORDERS,
    TP,
    asked,
    filled,
    idle,
    look_up,
)
from tests.simulation.world import World


@pytest.mark.parametrize("warm", [False, True])
def test_topics_that_may_not_be_seen(*, warm: bool) -> None:
    """B86, B199: raised at once, all topics named, whether metadata or a leader says so."""
    world = World(topics={"a": 1, "b": 1, "c": 1})
    member = world.client()
    wanted = {TopicPartition(topic, 0): END for topic in "abc"}
    if warm:
        look_up(world, member, wanted)
    world.control.deny(topic="a")
    fault = world.control.deny(topic="c")
    began = world.clock.time
    with pytest.raises(errors.TopicAuthorizationException) as caught:
        look_up(world, member, wanted, timeout=60.0)
    assert caught.value.topics == ("a", "c")
    assert world.clock.time - began < 0.1
    assert len(asked(world)) == (2 if warm else 0)
    assert idle(member)
    fault.undo()
    with pytest.raises(errors.TopicAuthorizationException, match="not allowed to see a:"):
        look_up(world, member, wanted)


def test_rights_that_were_granted_later() -> None:
    """B201: the next call asks again, and does not believe what it heard before."""
    world = World()
    member = world.client()
    with (
        world.control.deny(topic="orders"),
        pytest.raises(errors.TopicAuthorizationException),
    ):
        look_up(world, member)
    assert look_up(world, member) == {TP: 0}


def test_a_fatal_answer_does_not_wait_for_a_silent_leader() -> None:
    """B6, B86: one leader refuses, the other says nothing: raised at once."""
    world = filled()
    member = world.client()
    look_up(world, member, dict.fromkeys(ORDERS, END))
    world.control.freeze(2)
    world.control.fail("ListOffsets", 29, times=None, node=1)
    began = world.clock.time
    with pytest.raises(errors.TopicAuthorizationException):
        look_up(world, member, {ORDERS[1]: END, TP: END}, timeout=60.0)
    assert world.clock.time - began < 0.1
    assert idle(member)


@pytest.mark.parametrize(
    ("api", "code", "error"),
    [
        ("ListOffsets", -1, errors.UnknownServerException),
        ("ListOffsets", 42, errors.InvalidRequestException),
        ("ListOffsets", 43, errors.UnsupportedForMessageFormatException),
        ("ListOffsets", 32000, errors.UnknownServerException),
        ("Metadata", 17, errors.InvalidTopicException),
        ("Metadata", -1, errors.UnknownServerException),
        ("Metadata", 32000, errors.UnknownServerException),
    ],
)
def test_what_no_patience_mends_is_raised_at_once(
    api: ApiName, code: int, error: type[Exception]
) -> None:
    """B6, B199: one attempt, the error itself; later calls succeed once it is mended."""
    world = filled()
    member = world.client()
    fault = world.control.fail(api, code, times=None)
    began = world.clock.time
    with pytest.raises(error):
        look_up(world, member, timeout=60.0)
    assert world.clock.time - began < 0.1
    assert fault.used == 1
    assert idle(member)
    fault.undo()
    assert look_up(world, member) == {TP: 5}


def test_records_too_old_to_have_timestamps() -> None:
    """CONTRACT 4: UNSUPPORTED_FOR_MESSAGE_FORMAT is None for that partition, by time."""
    world = filled()
    member = world.client()
    world.control.fail("ListOffsets", 43, times=1, partition=0)
    found = look_up(world, member, {TP: 1000, ORDERS[1]: 1000})
    assert found == {TP: None, ORDERS[1]: OffsetAndTimestamp(1, 1010, 0)}


@pytest.mark.parametrize(
    "topics",
    [
        pytest.param("01", id="no topic"),
        pytest.param(
            f"02 07 {b'orders'.hex()} 02 00000000 0000 {'ff' * 16} 00000000 00 00",
            id="no offset",
        ),
    ],
)
def test_an_answer_without_what_was_asked_for(topics: str) -> None:
    """A broker that leaves a partition out is asked again: no KeyError, no wrong answer."""
    world = World()
    member = world.client()
    # Version 11, the second answer on its connection: no throttling, then the topics.
    answer = bytes.fromhex(f"00000002 00 00000000 {topics} 00")
    world.control.garbage("ListOffsets", answer, times=1)
    assert look_up(world, member) == {TP: 0}
    assert len(asked(world)) == 2
    assert world.cluster.journal.entries("ListOffsets")[0].version == 11
    assert len(world.cluster.journal.entries("ApiVersions")) == 2


def test_errors_until_the_end_are_counted_and_the_last_is_the_cause() -> None:
    """B5: attempts, waits and the last error in one report."""
    world = World(nodes=2)
    member = world.client(bootstrap_servers=[world.address(2)])
    world.control.fail("ListOffsets", 78, times=None)
    with pytest.raises(errors.TimeoutException) as caught:
        look_up(world, member, timeout=3.0)
    late = caught.value
    assert len(late.attempts) == len(asked(world)) > 3
    assert {each.outcome for each in late.attempts} == {"OffsetNotAvailableException"}
    assert type(late.__cause__) is errors.OffsetNotAvailableException
    reasons = {each.reason for each in late.waits}
    leader = world.cluster.state.broker(1).node
    assert reasons >= {
        "the leader of orders-0",
        f"a connection to {leader}",
        "retry backoff",
        "fresh metadata",
    }
    assert not late.may_have_happened


def test_a_leader_that_cannot_be_connected_to_is_told_of() -> None:
    """CONTRACT 2.5: one leader answered, the other is connected to yet: it says so."""
    world = filled()
    member = world.client()
    look_up(world, member)
    broker = world.cluster.state.broker(2).node
    member.network.block(broker.host, broker.port)
    with pytest.raises(errors.TimeoutException) as caught:
        look_up(world, member, {TP: END, ORDERS[1]: END}, timeout=3.0)
    assert [each.outcome for each in caught.value.attempts] == ["answered"]
    wait = caught.value.waits[-1]
    assert wait.reason == f"a connection to {broker}"
    assert wait.ended - wait.started == pytest.approx(3.0, abs=0.1)


def test_a_leader_that_is_silent_is_told_of() -> None:
    """CONTRACT 2.5: one leader answered, the other is silent: it waited for nothing else."""
    world = filled()
    member = world.client()
    wanted = {TP: END, ORDERS[1]: END}
    look_up(world, member, wanted)
    world.control.freeze(2)
    with pytest.raises(errors.TimeoutException) as caught:
        look_up(world, member, wanted, timeout=3.0)
    assert [each.outcome for each in caught.value.attempts] == ["answered", "unanswered"]
    assert not caught.value.waits


def test_metadata_that_does_not_come_is_told_of() -> None:
    """CONTRACT 2.5: the last error that the shared question met is in each report."""
    world = World()
    member = world.client()
    world.control.kill(1)
    first = world.call("end_offsets", 2.0)
    member.thread.mailbox.post(LookUpOffsets(first, {TP: END}))
    # It goes on in the middle of a backoff, and does not meet anything itself.
    world.clock.sleep(1.5)
    attempts = member.network.connects
    with pytest.raises(errors.TimeoutException, match="leader of orders-0") as caught:
        look_up(world, member, timeout=0.01)
    assert member.network.connects == attempts
    assert type(caught.value.last_error) is errors.NetworkException
    world.clock.sleep(1.0)
    with pytest.raises(errors.TimeoutException, match="leader of orders-0") as caught:
        first.result()
    assert type(caught.value.last_error) is errors.NetworkException


def test_a_leader_that_is_gone_is_not_tried_again_before_metadata_came() -> None:
    """B83: after a disconnect the retry waits for fresh metadata, and the report says so."""
    world = filled()
    member = world.client()
    look_up(world, member)
    world.control.hold("Metadata")
    world.control.cut("ListOffsets", times=None)
    with pytest.raises(errors.TimeoutException) as caught:
        look_up(world, member, timeout=3.0)
    assert len(caught.value.attempts) == 1
    assert caught.value.waits[-1].reason == "fresh metadata"
    assert type(caught.value.last_error) is errors.DisconnectException


def test_a_broker_that_dies_with_its_answer() -> None:
    """B83: the connection ends, fresh metadata names another leader, which answers."""
    world = filled()
    member = world.client()
    look_up(world, member)
    world.control.hold("ListOffsets", node=1)
    call = world.call("end_offsets", 10.0)
    member.thread.mailbox.post(LookUpOffsets(call, {TP: END}))
    world.clock.sleep(0.1)
    world.control.kill(1)
    world.clock.wait(call.waiter, call.deadline.at)
    assert call.result() == {TP: 5}
    assert asked(world)[-1][0] != 1


def test_what_is_forsaken_is_forgotten() -> None:
    """B24, B198: a caller who leaves takes all his requests and his interest along."""
    world = filled()
    member = world.client(bootstrap_servers=[world.address(1)])
    look_up(world, member)
    for node in (2, 3):
        broker = world.cluster.state.broker(node).node
        member.network.block(broker.host, broker.port)
    call = world.call("end_offsets", 60.0)
    member.thread.mailbox.post(LookUpOffsets(call, dict.fromkeys(ORDERS, END)))
    world.clock.sleep(0.5)
    assert member.side.client.waiting == 2
    call.leave(world.clock.time, KeyboardInterrupt())
    member.thread.mailbox.post(Withdraw(call))
    world.clock.sleep(0.01)
    assert idle(member)


def test_a_name_that_cannot_be_written_spoils_nothing_for_others() -> None:
    """B200: refused by itself, at once; the others' metadata goes on."""
    world = World()
    member = world.client()
    call = world.call("end_offsets", 5.0)
    member.thread.mailbox.post(LookUpOffsets(call, {TP: END}))
    with pytest.raises(errors.InvalidTopicException) as caught:
        look_up(world, member, {TopicPartition("\ud800", 0): END}, timeout=5.0)
    assert caught.value.topics == ("\ud800",)
    world.clock.wait(call.waiter, call.deadline.at)
    assert call.result() == {TP: 0}


def test_a_time_that_cannot_be_written_is_said_at_once() -> None:
    """B6: a number beyond 64 bits is the caller's error, not a wait."""
    world = World()
    member = world.client()
    began = world.clock.time
    with pytest.raises(errors.KafkaException, match="cannot be written"):
        look_up(world, member, {TP: 1 << 70}, timeout=60.0)
    assert world.clock.time - began < 0.1


@pytest.mark.parametrize("backoff", [100, 0])
@pytest.mark.parametrize("state", ["frozen", "killed", "leaderless", "unknown", "moving"])
def test_waiting_does_not_spin(state: str, backoff: int) -> None:
    """B31, B265: each wait of a look-up costs a few turns for each attempt."""
    world = World(nodes=2, topics={})
    world.control.create_topic("orders", 1, replication=1)
    member = world.client(retry_backoff_ms=backoff, retry_backoff_max_ms=10 * backoff)
    look_up(world, member)
    if state == "frozen":
        world.control.freeze()
    elif state == "killed":
        world.control.kill(1, missed=False)
    elif state == "leaderless":
        world.control.kill(1)
    elif state == "unknown":
        world.control.delete_topic("orders")
    else:
        world.control.fail("ListOffsets", 6, times=None)
    turns = member.network.turns
    with pytest.raises(errors.TimeoutException):
        look_up(world, member, timeout=60.0 if backoff else 2.0)
    # Without any backoff nothing but the network's latency paces it: a turn for each
    # step of a question, and none in which nothing happens (the world would say so).
    assert backoff == 0 or member.network.turns - turns < 1000
    world.clock.sleep(0.01)
    assert not len(member.side.calls)
    assert not member.side.metadata.interest.topics


def test_closing_ends_look_ups_too() -> None:
    """B176: one that asks a leader and one that waits for metadata fail at once."""
    world = World()
    member = world.client()
    look_up(world, member)
    world.control.freeze()
    calls = [world.call("end_offsets", 60.0) for _ in range(2)]
    member.thread.mailbox.post(LookUpOffsets(calls[0], {TP: END}))
    member.thread.mailbox.post(LookUpOffsets(calls[1], {TP._replace(topic="other"): END}))
    world.clock.sleep(0.1)
    world.ask(member, Close(world.call("close", 5.0)))
    assert member.thread.life is Life.ENDED
    for call in calls:
        with pytest.raises(errors.IllegalStateException, match="closed"):
            call.result()
    assert not member.side.metadata.interest.topics
