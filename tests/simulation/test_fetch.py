"""Records in virtual time: order, limits, what is kept and what is dropped."""

import pytest

from prokurist import errors
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.reading import (
    A,
    B,
    C,
    drained,
    fetches,
    holding,
    offsets,
    reader,
    written,
)
from tests.simulation.world import LATENCY, World


def test_a_poll_that_finds_records_returns_at_once() -> None:
    """B112: however long it might take."""
    world = written(3)
    with reader(world) as consumer:
        began = world.clock.time
        assert offsets(consumer.poll(60.0)) == {A: [0, 1, 2]}
        assert world.clock.time - began < 0.1
        began = world.clock.time
        world.at(began + 7.0, lambda: world.control.append(A, b"late"))
        assert [each.value for each in consumer.poll(60.0)] == [b"late"]
        assert world.clock.time - began == pytest.approx(7.0, abs=0.1)


def test_a_poll_returns_at_most_so_many_records() -> None:
    """B96: the rest stays, and costs no network; each comes once, in order."""
    world = written(7, 7, 7)
    with reader(world, A, B, C, max_poll_records=4) as consumer:
        first = consumer.poll(1.0)
        assert len(first) == 4
        world.clock.sleep(0.2)
        asked, seen = len(fetches(world)), offsets(first)
        for _ in range(5):
            records = consumer.poll(0)
            assert 0 < len(records) <= 4
            for tp, more in offsets(records).items():
                seen.setdefault(tp, []).extend(more)
        assert len(fetches(world)) == asked
        assert seen == {tp: list(range(7)) for tp in (A, B, C)}


def test_a_poll_on_what_is_buffered_wakes_no_thread() -> None:
    """B266: it posts nothing, and the network thread does not turn."""
    world = written(20)
    with reader(world, max_poll_records=3) as consumer:
        consumer.poll(1.0)
        member = world.members[0]
        world.clock.sleep(0.1)
        before = member.network.wakes, member.network.turns, member.thread.mailbox.posted
        for _ in range(5):
            assert len(consumer.poll(1.0)) == 3
        after = member.network.wakes, member.network.turns, member.thread.mailbox.posted
        assert after == before


def test_the_next_fetch_is_on_its_way_before_the_last_is_returned() -> None:
    """B97: and only one to each broker."""
    world = written(5)
    with reader(world, max_poll_records=1) as consumer:
        assert offsets(consumer.poll(1.0)) == {A: [0]}
        world.clock.sleep(0.1)
        assert [each for _, each in fetches(world)] == [{0: 0}, {0: 5}]
        world.control.append(A, b"more")
        world.clock.sleep(0.1)
        assert [each for _, each in fetches(world)] == [{0: 0}, {0: 5}, {0: 6}]
        assert world.members[0].side.client.in_flight == 1
        assert drained(consumer) == {A: [1, 2, 3, 4, 5]}


def test_many_polls_without_time_return_everything() -> None:
    """B117: each of them takes what has come."""
    world = written(9, 9, 9, nodes=3)
    with reader(world, A, B, C, max_poll_records=5) as consumer:
        seen: dict[TopicPartition, list[int]] = {}
        for _ in range(100):
            for tp, more in offsets(consumer.poll(0)).items():
                seen.setdefault(tp, []).extend(more)
            world.clock.sleep(0.01)
        assert seen == {tp: list(range(9)) for tp in (A, B, C)}


def test_another_assignment_is_read_at_once() -> None:
    """Also where nothing was being fetched, and no position has to be looked up."""
    world = written(3, 3)
    with reader(world, A) as consumer:
        drained(consumer)
        consumer.pause(A)
        consumer.poll(1.0)
        consumer.assign(B)
        consumer.seek(B, 1)
        began = world.clock.time
        assert offsets(consumer.poll(1.0)) == {B: [1, 2]}
        assert world.clock.time - began < 0.1


@pytest.mark.parametrize("moment", ["buffered", "in flight"])
def test_after_a_seek_nothing_of_the_old_place_comes(moment: str) -> None:
    """B80: whether it was buffered, or a fetch of it was under way."""
    world = written(10)
    with reader(world, max_poll_records=2) as consumer:
        if moment == "buffered":
            consumer.poll(1.0)
        else:
            consumer.poll(0)
            world.clock.sleep(0.0225)
        consumer.seek(A, 6)
        assert offsets(consumer.poll(1.0)) == {A: [6, 7]}
        consumer.seek(A, 1)
        assert offsets(consumer.poll(1.0)) == {A: [1, 2]}
        assert consumer.position(A) == 3


def test_a_seek_past_the_end_is_out_of_range() -> None:
    """B81, B101: the position is accepted; the next poll resets it by the policy."""
    world = written(3)
    with reader(world, auto_offset_reset="earliest") as consumer:
        with pytest.raises(ValueError, match="negative"):
            consumer.seek(A, -1)
        consumer.seek(A, 99)
        assert consumer.position(A) == 99
        assert drained(consumer) == {A: [0, 1, 2]}


def test_what_is_paused_is_kept_and_not_fetched_again() -> None:
    """B98: nothing of it is returned meanwhile; nothing is asked for twice."""
    world = written(6, 6)
    with reader(world, A, B, max_poll_records=2) as consumer:
        assert offsets(consumer.poll(1.0)) == {A: [0, 1]}
        consumer.pause(A)
        assert drained(consumer) == {B: [0, 1, 2, 3, 4, 5]}
        consumer.resume(A)
        assert offsets(consumer.poll(0)) == {A: [2, 3]}
        assert drained(consumer) == {A: [4, 5]}
        assert [each[0] for _, each in fetches(world) if each.get(0) == 0] == [0]


def test_what_is_assigned_no_more_is_dropped() -> None:
    """B99: at once, and its memory with it; what stays keeps its place."""
    world = written(6, 6)
    with reader(world, A, B, max_poll_records=2) as consumer:
        assert offsets(consumer.poll(1.0)) == {A: [0, 1]}
        consumer.assign(B)
        assert set(world.members[0].side.buffer.partitions()) == {B}
        assert drained(consumer) == {B: [0, 1, 2, 3, 4, 5]}
        consumer.assign(A)
        assert offsets(consumer.poll(1.0)) == {A: [0, 1]}
        consumer.unsubscribe()
        assert holding(world) == 0


def test_only_what_was_returned_is_committed() -> None:
    """B34: not what is only buffered."""
    world = written(9)
    with reader(world, max_poll_records=4) as consumer:
        consumer.poll(1.0)
        consumer.commit_sync()
        assert consumer.committed(A) == {A: OffsetAndMetadata(4, "", 0)}
        assert consumer.position(A) == 4
        assert consumer.current_lag(A) == 5


def test_a_batch_of_which_nothing_is_returned_ends_the_poll() -> None:
    """B104, B105: of an aborted transaction only the position advances."""
    world = World()
    world.control.append(A, b"one", b"two", producer=9)
    world.control.end_transaction(A, 9, committed=False)
    with reader(world, isolation_level="read_committed") as consumer:
        began = world.clock.time
        records = consumer.poll(10.0)
        assert (len(records), consumer.position(A)) == (0, 3)
        assert records.next_offsets()[A].offset == 3
        assert world.clock.time - began < 0.1


def test_open_transactions_are_waited_for() -> None:
    """B105: committed records come in order; aborted ones never; the lag ends there, too."""
    world = written(1)
    world.control.append(A, b"aborted", producer=8)
    world.control.append(A, b"open", producer=9)
    world.control.end_transaction(A, 8, committed=False)
    world.control.append(A, b"plain")
    with reader(world, isolation_level="read_committed") as consumer:
        assert drained(consumer) == {A: [0]}
        assert consumer.current_lag(A) == 0
        assert consumer.wait_until_ready(1.0) == {A}
        world.control.end_transaction(A, 9, committed=True)
        assert [each.value for each in consumer.poll(1.0)] == [b"open", b"plain"]
        assert consumer.position(A) in (5, 6)
    with reader(world) as consumer:
        assert drained(consumer) == {A: [0, 1, 2, 4]}


def test_little_data_is_waited_for() -> None:
    """B111: as long as fetch.max.wait.ms says, and no longer."""
    world = written(1)
    with reader(world, fetch_min_bytes=10_000, fetch_max_wait_ms=2000) as consumer:
        began = world.clock.time
        assert offsets(consumer.poll(60.0)) == {A: [0]}
        assert world.clock.time - began == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("state", ["no data", "all paused"])
def test_a_client_with_nothing_to_read_does_not_spin(state: str) -> None:
    """B265: one fetch each half second during polls; none at all when all is paused."""
    world = written(0, 0, 0, nodes=3)
    with reader(world, A, B, C) as consumer:
        consumer.poll(1.0)
        if state == "all paused":
            consumer.pause([A, B, C])
            consumer.poll(1.0)
        member = world.members[0]
        asked, turns = len(fetches(world)), member.network.turns
        assert not consumer.poll(10.0)
        if state == "all paused":
            assert (len(fetches(world)), member.network.turns) == (asked, turns)
        else:
            assert len(fetches(world)) - asked <= 3 * 21
            assert member.network.turns - turns <= 3 * 21 * 4


def test_who_does_not_poll_is_not_fetched_for() -> None:
    """B265: a client that is left alone is idle; the next poll sets it going."""
    world = written(3)
    with reader(world) as consumer:
        assert drained(consumer) == {A: [0, 1, 2]}
        world.clock.sleep(10.0)
        member = world.members[0]
        turns = member.network.turns
        world.clock.sleep(20.0)
        assert member.network.turns - turns <= 1
        assert not member.side.client.in_flight
        world.control.append(A, b"late")
        assert offsets(consumer.poll(1.0)) == {A: [3]}


def test_memory_is_bounded() -> None:
    """No further fetch while there is no room for its answer, until half of it is free."""
    world = written(200, 0, 0, size=1000)
    with reader(
        world,
        max_poll_records=10,
        fetch_buffer_max_bytes=60_000,
        max_partition_fetch_bytes=15_000,
    ) as consumer:
        consumer.poll(1.0)
        world.clock.sleep(3.0)
        assert 30_000 < holding(world) <= 60_000
        member, most, asks = world.members[0], 0, 0
        seen = 10
        while seen < 200:
            posted = member.thread.mailbox.posted
            seen += len(consumer.poll(1.0))
            asks += member.thread.mailbox.posted - posted
            world.clock.sleep(0.05)
            most = max(most, holding(world))
        assert most <= 60_000
        assert 1 <= asks <= 12
        assert holding(world) == 0


def test_a_backlog_does_not_starve_a_quiet_partition() -> None:
    """B97: one of which nothing is held is fetched while the buffer is more than half full."""
    world = written(400, 0, size=1000)
    with reader(
        world,
        A,
        B,
        max_poll_records=1,
        fetch_buffer_max_bytes=64_000,
        max_partition_fetch_bytes=30_000,
    ) as consumer:
        consumer.poll(1.0)
        late, most, asked = list[float](), 0, len(fetches(world))
        for _ in range(100):
            if holding(world) > 30_000:
                world.control.append(B, b"x")
                began, seen = world.clock.time, False
                while not seen:
                    seen = B in offsets(consumer.poll(1.0))
                    world.clock.sleep(0.05)
                late.append(world.clock.time - began)
            offsets(consumer.poll(1.0))
            world.clock.sleep(0.05)
            most = max(most, holding(world))
        assert len(late) > 5
        assert max(late) < 0.5
        assert most <= 64_000
        seconds = 0.05 * 100 + sum(late)
        assert len(fetches(world)) - asked < 15 * seconds


def test_what_is_paused_does_not_starve_the_others() -> None:
    """A full buffer of which nothing may be returned stops no other."""
    world = written(100, 30, size=1000)
    with reader(
        world,
        A,
        max_poll_records=5,
        fetch_buffer_max_bytes=40_000,
        max_partition_fetch_bytes=20_000,
    ) as consumer:
        consumer.poll(1.0)
        world.clock.sleep(3.0)
        consumer.assign([A, B])
        consumer.pause(A)
        assert holding(world) > 20_000
        assert drained(consumer) == {B: list(range(30))}
        consumer.resume(A)
        assert drained(consumer) == {A: list(range(5, 100))}


def test_a_wake_up_loses_no_record() -> None:
    """B171, CONTRACT 2.10: pending, it raises once, and the buffer is untouched."""
    world = written(4)
    with reader(world, max_poll_records=2) as consumer:
        assert offsets(consumer.poll(1.0)) == {A: [0, 1]}
        consumer.wakeup()
        consumer.wakeup()
        with pytest.raises(errors.WakeupException):
            consumer.poll(1.0)
        assert offsets(consumer.poll(1.0)) == {A: [2, 3]}
        world.at(world.clock.time + 1.0, consumer.wakeup)
        with pytest.raises(errors.WakeupException):
            consumer.poll(5.0)


def test_a_parked_fetch_delays_no_other_call() -> None:
    """B217, B188: nor the end of the consumer."""
    world = written(1)
    consumer = reader(world, fetch_max_wait_ms=5000)
    drained(consumer, 0.2)
    assert world.members[0].side.client.in_flight == 1
    began = world.clock.time
    assert consumer.end_offsets(A, timeout=0.3) == {A: 1}
    consumer.commit_sync(timeout=0.3)
    consumer.close()
    assert world.clock.time - began < 0.1


def test_a_deadline_within_a_long_poll() -> None:
    """B23: the loop sleeps until the deadline, and no longer, regardless of parked requests."""
    world = written(1)
    with reader(world, fetch_max_wait_ms=29_000) as consumer:
        drained(consumer, 0.2)
        consumer.committed(A)
        held = world.control.hold("OffsetFetch")
        began = world.clock.time
        with pytest.raises(errors.TimeoutException):
            consumer.committed(A, timeout=0.3)
        assert world.clock.time == began + 0.3
        assert world.members[0].side.client.in_flight == 2
        held.undo()


@pytest.mark.parametrize("what", ["a failure", "nothing to return"])
def test_a_poll_that_waits_is_woken_by_any_event(what: str) -> None:
    """B113: by a fetch that failed, and by one that brought no record, as soon as it ends."""
    world = written(1)
    with reader(world, isolation_level="read_committed") as consumer:
        drained(consumer)
        began = world.clock.time

        def happen() -> None:
            if what == "a failure":
                world.control.fail("Fetch", 29, times=1)
            else:
                world.control.append(A, b"aborted", producer=9)
                world.control.end_transaction(A, 9, committed=False)

        world.at(began + 7.0, happen)
        if what == "a failure":
            with pytest.raises(errors.TopicAuthorizationException):
                consumer.poll(60.0)
        else:
            assert not len(consumer.poll(60.0))
            assert consumer.position(A) == 3
        assert world.clock.time - began == pytest.approx(7.25, abs=0.3)


def test_a_commit_while_everything_is_fetched_ahead() -> None:
    """B270: it waits for no fetch, and takes one round trip."""
    world = written(300, 300, 300, nodes=3, size=1000)
    with reader(
        world,
        *(A, B, C),
        max_poll_records=20,
        fetch_buffer_max_bytes=100_000,
        max_partition_fetch_bytes=10_000,
    ) as consumer:
        consumer.poll(1.0)
        consumer.commit_sync()  # The coordinator is found and connected.
        seen = 20
        with world.control.answer_late("Fetch", 0.2):
            while seen < 900:
                seen += len(consumer.poll(1.0))
                began = world.clock.time
                consumer.commit_sync(timeout=1.0)
                assert world.clock.time - began <= 2 * LATENCY + 1e-9


def test_interceptors_see_what_is_returned() -> None:
    """B116: exactly that; what they raise is swallowed."""
    seen: list[list[int]] = []

    class Looks:
        def on_consume(self, records: object) -> object:
            seen.append([each.offset for each in records])  # type: ignore[attr-defined]
            if len(seen) == 2:
                raise RuntimeError("harms no other")
            return records

    world = written(5)
    with reader(world, max_poll_records=2, interceptor_classes=[Looks()]) as consumer:
        returned = [[each.offset for each in consumer.poll(1.0)] for _ in range(3)]
        assert seen == returned == [[0, 1], [2, 3], [4]]
