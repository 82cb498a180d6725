"""What is said on a connection: limits, order, throttling, answers that are wrong."""

from dataclasses import replace

import pytest

from prokurist.errors import (
    DisconnectException,
    KafkaException,
    TimeoutException,
    UnsupportedVersionException,
)
from prokurist.events.application_events import Commit, LookUpCommitted
from prokurist.network_thread.connections.pipeline import LARGEST_INT32
from prokurist.network_thread.wire.committed_offsets import OffsetFetch
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.direct_requests import Asked, down, node, ready, warm
from tests.simulation.stuck_threads import stuck
from tests.simulation.world import LATENCY, World

TP = TopicPartition("orders", 0)
TRIP = 2 * LATENCY


def lookups(world: World) -> list[float]:
    """When requests of these tests reached the broker."""
    return [each.at for each in world.cluster.journal.entries("FindCoordinator")]


def test_a_request_that_is_not_answered_takes_all_in_flight_down_in_send_order() -> None:
    """B207, B214: the connection is closed, then what was sent fails, then what waits."""
    world = World()
    member = world.client(request_timeout_ms=2_000)
    connection = warm(world, member)
    heard: list[str] = []
    ends: list[Asked] = []

    def noted(*_: object) -> None:
        heard.append(connection.state.value)
        assert not ends, "metadata is asked for before operations go on"

    member.side.client.disconnected.connect(noted)
    world.control.freeze()
    began = world.clock.time
    first = Asked(world, member, node(world), ends=ends)
    world.clock.sleep(1.0)
    second = Asked(world, member, node(world), ends=ends)
    world.clock.sleep(0.9)
    connection.pipeline._limits = replace(connection.pipeline._limits, in_flight=2)
    third = Asked(world, member, node(world), ends=ends)
    world.clock.sleep(0.2)
    assert heard == ["down"]
    assert ends == [first, second, third]
    assert {each.at for each in ends} == {began + 2.0}
    assert all(type(each.error) is DisconnectException for each in ends)
    assert "did not answer FindCoordinator within request.timeout.ms (2 s)" in str(first.error)


def test_a_disconnect_asks_for_metadata() -> None:
    """B207: its broker may be gone, and leaders have moved."""
    world = World(nodes=2)
    member = world.client()
    found = member.side.metadata.fresh()
    member.network.wake()
    world.clock.sleep(1.0)
    assert found.is_kept
    warm(world, member, 1)
    asked = len(world.cluster.journal.entries("Metadata"))
    world.control.disconnect(1)
    world.clock.sleep(1.0)
    assert len(world.cluster.journal.entries("Metadata")) == asked + 1


def test_what_is_unsent_fails_with_its_connection_and_not_at_its_own_time() -> None:
    """B214: a refused connection fails the queue within the millisecond."""
    world = World()
    member = world.client()
    world.control.kill(1)
    began = world.clock.time
    asked = [Asked(world, member, node(world)) for _ in range(3)]
    world.clock.sleep(1.0)
    assert [each.at for each in asked] == pytest.approx([began + LATENCY] * 3)


def test_a_throttled_broker_is_left_in_peace() -> None:
    """B208: nothing is sent until the time is up, then all of it; no turn is spent on it."""
    world = World()
    member = world.client()
    with world.control.throttle("FindCoordinator", 5.0, times=1):
        warm(world, member)
    began = world.clock.time
    asked = [Asked(world, member, node(world)) for _ in range(3)]
    turns = member.network.turns
    world.clock.sleep(3.9)
    assert len(lookups(world)) == 1
    assert member.network.turns - turns <= 2
    world.clock.sleep(0.2)
    assert all(each.answer is not None for each in asked)
    assert lookups(world)[1] == pytest.approx(began + 4.0, abs=0.01)


def test_what_is_in_flight_does_not_time_out_for_a_throttle() -> None:
    """B208: it is answered at 2.5 s of a request timeout of 2 s, and nothing reconnects."""
    world = World()
    member = world.client(request_timeout_ms=2_000)
    warm(world, member)
    connects = member.network.connects
    with world.control.throttle("FindCoordinator", 2.5, times=1):
        first = Asked(world, member, node(world))
        second = Asked(world, member, node(world))
        world.clock.sleep(3.0)
    assert first.answer is not None
    assert second.answer is not None
    assert member.network.connects == connects


def test_overlapping_throttles_do_not_add_up() -> None:
    """B208: two answers that ask for the same silence put the timeout off once."""
    world = World()
    member = world.client(request_timeout_ms=2_000)
    pipeline = warm(world, member).pipeline
    world.control.freeze()
    began = world.clock.time
    asked = Asked(world, member, node(world))
    world.clock.sleep(0.5)
    member.side.timer.now = world.clock.time
    pipeline.throttle(3.0)
    pipeline.throttle(3.0)
    pipeline.throttle(1.0)
    world.clock.sleep(10.0)
    assert asked.at == pytest.approx(began + 2.0 + 3.0)


def test_an_abandoned_answer_can_ask_for_silence_too() -> None:
    """B208: no call waits for the answer any more; the broker does not listen all the same."""
    world = World()
    member = world.client()
    connection = warm(world, member)
    with world.control.throttle("FindCoordinator", 5.0, times=1):
        Asked(world, member, node(world)).leave()
        abandoned = Asked(world, member, node(world))
        world.clock.sleep(LATENCY / 2)
        abandoned.leave()
        world.clock.sleep(0.1)
    assert connection.pipeline.late_answers.dropped == 1
    assert connection.throttled


def test_a_disconnect_ends_a_throttle() -> None:
    """The silence was asked for on a connection, and goes with it."""
    world = World()
    member = world.client()
    with world.control.throttle("FindCoordinator", 50.0, times=1):
        connection = warm(world, member)
    world.control.disconnect()
    world.clock.sleep(0.1)
    assert down(connection)
    left = [due.reason for _, _, due in member.side.timer._heap if due.live]
    assert not any("throttles us" in each for each in left)
    warm(world, member)


def test_no_more_than_the_cap_are_in_flight() -> None:
    """B211: the rest waits in the queue, and goes out as answers come in."""
    world = World()
    member = world.client()
    connection = warm(world, member)
    world.control.freeze()
    asked = [Asked(world, member, node(world)) for _ in range(250)]
    world.clock.sleep(0.1)
    assert (connection.pipeline.in_flight, connection.pipeline.waiting) == (100, 150)
    asked[7].leave()  # In flight: its place stays taken until its answer has come.
    asked[150].leave()  # Waiting: it is gone from the queue.
    world.clock.sleep(0.1)
    assert (connection.pipeline.in_flight, connection.pipeline.waiting) == (100, 149)
    world.control.thaw()
    world.clock.sleep(0.1)
    assert sum(each.answer is not None for each in asked) == 248
    assert len(lookups(world)) == 1 + 249
    assert connection.pipeline.late_answers.dropped == 1


def test_a_socket_that_takes_no_more_is_not_written_to() -> None:
    """One frame is stuck in the kernel: the others wait, unclaimed, until it is through."""
    world = World()
    member = world.client()
    connection = warm(world, member)
    member.network.jam()
    call = world.call("committed", 0.5)
    asked = [
        Asked(world, member, node(world)),
        Asked(world, member, node(world)),
        Asked(world, member, node(world), call=call),
    ]
    world.clock.sleep(1.0)
    assert (connection.pipeline.in_flight, connection.pipeline.waiting) == (1, 2)
    assert call.leave(world.clock.time)
    with pytest.raises(TimeoutException) as caught:
        call.result()
    assert not caught.value.attempts
    member.network.unjam()
    world.clock.sleep(0.1)
    assert [each.answer is not None for each in asked] == [True, True, False]
    assert len(lookups(world)) == 3


@pytest.mark.parametrize("what", ["wrong id", "garbage", "empty", "cut short", "too long"])
def test_an_answer_that_is_none_closes_the_connection_and_nothing_is_lost(
    what: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B212: all in flight fail as disconnected, it is logged, and the operation goes on."""
    caplog.set_level("INFO", "prokurist.connection")
    world = World()
    member = world.client()
    world.ask(member, LookUpCommitted(world.call("committed", 5.0), (TP,)))
    good = member.network.last_frame
    connects = member.network.connects
    if what == "wrong id":
        world.control.wrong_correlation_id("OffsetFetch", times=1)
    else:
        number = int.from_bytes(good[:4]) + 1
        right = number.to_bytes(4) + good[4:]
        data = {
            "garbage": b"\xff" * 30,
            "empty": b"",
            "cut short": right[:-3],
            "too long": right + b"\0",
        }[what]
        world.control.garbage("OffsetFetch", data, times=1)
    answer = world.ask(member, LookUpCommitted(world.call("committed", 5.0), (TP,)))
    assert answer == {TP: None}
    assert member.network.connects > connects
    seen = "a frame of 0 bytes" if what == "empty" else "the connection was closed"
    assert seen in caplog.text


def test_a_commit_whose_answer_cannot_be_read_may_have_happened() -> None:
    """B212: it was on the wire, and its effect is unknown; the caller is told."""
    world = World()
    member = world.client()
    world.ask(member, LookUpCommitted(world.call("committed", 5.0), (TP,)))
    world.control.garbage("OffsetCommit", b"?", times=None)
    call = world.call("commit_sync", 1.0)
    with pytest.raises(TimeoutException) as caught:
        world.ask(member, Commit(call, {TP: OffsetAndMetadata(1)}))
    assert caught.value.may_have_happened


def test_unsolicited_answers_close_the_connection() -> None:
    """B212: an answer where none is due is as wrong as one under another's number."""
    world = World()
    member = world.client()
    connection = warm(world, member)
    connection.arrived(memoryview(b"\0\0\0\7none"))
    assert down(connection)
    warm(world, member)


def test_the_late_answer_of_an_abandoned_request_is_dropped_and_counted() -> None:
    """B3, B212: the connection stays, and the next answer is its own."""
    world = World()
    member = world.client()
    connection = warm(world, member)
    with world.control.answer_late("FindCoordinator", 2.0, times=1):
        abandoned = Asked(world, member, node(world))
        world.clock.sleep(0.5)
        abandoned.leave()
    kept = Asked(world, member, node(world))
    world.clock.sleep(2.0)
    assert kept.answer is not None
    assert connection.pipeline.late_answers.dropped == 1
    assert member.network.connects == 1


def test_an_abandoned_request_that_is_never_answered_makes_its_connection_suspect() -> None:
    """Contract 1: `request.timeout.ms` after it was sent, as any other."""
    world = World()
    member = world.client(request_timeout_ms=2_000)
    connection = warm(world, member)
    world.control.freeze()
    abandoned = Asked(world, member, node(world))
    world.clock.sleep(0.1)
    abandoned.leave()
    world.clock.sleep(1.8)
    assert ready(connection)
    world.clock.sleep(0.2)
    assert down(connection)


def test_a_request_that_cannot_be_written_in_its_time_never_is() -> None:
    """B215: TimeoutException from the queue; nothing of it is sent afterwards."""
    world = World()
    member = world.client(request_timeout_ms=3_000)
    with world.control.throttle("FindCoordinator", 10.0, times=1):
        warm(world, member)
    began = world.clock.time
    asked = Asked(world, member, node(world))
    world.clock.sleep(30.0)
    assert asked.at == pytest.approx(began + 3.0)
    assert type(asked.error) is TimeoutException
    assert len(lookups(world)) == 1


def test_a_callers_request_leaves_the_queue_with_its_caller() -> None:
    """B24, B215: his deadline comes while it waits: it is never sent."""
    world = World()
    member = world.client()
    world.ask(member, LookUpCommitted(world.call("committed", 5.0), (TP,)))
    with world.control.throttle("OffsetFetch", 10.0, times=1):
        world.ask(member, LookUpCommitted(world.call("committed", 5.0), (TP,)))
    sent = len(world.cluster.journal.entries("OffsetFetch"))
    with pytest.raises(TimeoutException) as caught:
        world.ask(member, LookUpCommitted(world.call("committed", 2.0), (TP,)))
    told = "it waited 2 s for broker 1 (10.0.0.1:9092), which throttles this client"
    assert told in str(caught.value)
    world.clock.sleep(20.0)
    assert len(world.cluster.journal.entries("OffsetFetch")) == sent


def test_a_request_that_the_broker_cannot_carry_fails_alone() -> None:
    """Contract 4: an API that this broker lacks is that request's end, not the connection's."""
    world = World()
    member = world.client()
    world.control.withdraw("OffsetFetch")
    asked = Asked(world, member, node(world), request=OffsetFetch("g", (TP,)))
    other = Asked(world, member, node(world))
    world.clock.sleep(0.1)
    assert type(asked.error) is UnsupportedVersionException
    assert other.answer is not None
    assert member.network.connects == 1


def test_a_value_that_the_protocol_has_no_room_for_fails_alone() -> None:
    """A group id of 40 000 bytes ends its own request, and nothing was written for it."""
    world = World()
    member = world.client()
    request = OffsetFetch("g" * 40_000, (TP,))
    world.control.offer("OffsetFetch", 1, 5)
    call = world.call("committed", 5.0)
    asked = Asked(world, member, node(world), request=request, call=call)
    other = Asked(world, member, node(world))
    world.clock.sleep(0.1)
    assert "cannot be written" in str(asked.error)
    assert other.answer is not None
    call.leave(world.clock.time)
    with pytest.raises(TimeoutException) as caught:
        call.result()
    assert not caught.value.attempts


def test_correlation_ids_begin_again_after_the_largest() -> None:
    """A connection that has seen two thousand million requests goes on."""
    world = World()
    member = world.client()
    connection = warm(world, member)
    connection.pipeline._correlation = LARGEST_INT32 - 1
    asked = [Asked(world, member, node(world)) for _ in range(3)]
    world.clock.sleep(0.1)
    assert all(each.answer is not None for each in asked)
    numbers = [
        each.request.correlation_id
        for each in world.cluster.journal.entries("FindCoordinator")[1:]
    ]
    assert numbers == [LARGEST_INT32, 0, 1]


def test_operations_that_meddle_while_their_connection_fails_get_their_due() -> None:
    """B207: one sends again, one is thrown out, one closes the client, in the middle of it."""
    world = World()
    member = world.client()
    warm(world, member)
    world.control.freeze()
    ends: list[Asked] = []
    sent_again: list[Asked] = []

    class Meddler(Asked):
        def _ended(self, answer: object, error: KafkaException | None) -> None:
            super()._ended(answer, error)  # type: ignore[arg-type]
            sent_again.append(Asked(world, member, node(world), ends=ends))
            victim.leave()
            member.side.client.close(KafkaException("enough"))

    meddler = Meddler(world, member, node(world), ends=ends)
    victim = Asked(world, member, node(world), ends=ends)
    last = Asked(world, member, node(world), ends=ends)
    world.clock.sleep(0.1)
    world.control.disconnect()
    world.clock.sleep(0.1)
    assert ends[0] is meddler
    assert set(ends) == {meddler, victim, last, *sent_again}
    assert str(sent_again[0].error) == "enough"
    assert type(last.error) is DisconnectException
    assert member.network.open == 0


def test_a_thread_that_was_not_let_run_writes_what_is_late() -> None:
    """B484: the time of a request was over meanwhile, and its connection was ready."""
    world = World()
    member = world.client(request_timeout_ms=2_000)
    warm(world, member)
    with stuck(member):
        late = Asked(world, member, node(world))
        world.clock.sleep(3.0)
    member.network.wake()
    world.clock.sleep(1.0)
    assert late.answer is not None, late.error


@pytest.mark.parametrize(
    ("obstacle", "words"),
    [
        ("busy", "busy: requests in flight without an answer: 1"),
        ("holds", "authenticating again"),
        ("full", "full: the broker does not read what was written before"),
    ],
)
def test_a_ready_connection_names_what_keeps_a_request(
    monkeypatch: pytest.MonkeyPatch, obstacle: str, words: str
) -> None:
    """B484: never that it is ready."""
    world = World()
    member = world.client(request_timeout_ms=2_000)
    pipeline = warm(world, member).pipeline
    if obstacle == "busy":
        pipeline._limits = replace(pipeline._limits, in_flight=1)
        world.control.freeze()
        Asked(world, member, node(world), patience=30.0)
    elif obstacle == "holds":
        pipeline.holds = True
    else:
        monkeypatch.setattr(member.network, "writable", lambda _number: False)
    late = Asked(world, member, node(world))
    world.clock.sleep(3.0)
    assert type(late.error) is TimeoutException
    assert f"within 2 s: the connection is {words}" in str(late.error)
