"""Share consumers in virtual time: marks, commits, and their ends."""

from typing import Any

import pytest

from prokurist import errors, timeline
from prokurist.share.records import ShareRecord
from prokurist.types import Acknowledge
from tests.simulation.sharing import A, B, reader, sharing, states, written


def test_the_explicit_mode_wants_a_mark_of_each_record() -> None:
    """B811: a poll without raises, and nothing is lost."""
    world = sharing()
    written(world, 2)
    with reader(world, share_acknowledgement_mode="explicit") as consumer:
        first, second = consumer.poll(60.0)
        first.accept()
        with pytest.raises(errors.IllegalStateException, match="orders-0 @ 1"):
            consumer.poll(1.0)
        second.reject()
        assert not consumer.poll(1.0)
        assert states(world) == ["acknowledged", "archived"]


def test_a_mark_may_change_until_it_is_sent() -> None:
    """B812: the last one counts; afterwards it is refused."""
    world = sharing()
    written(world, 1)
    with reader(world) as consumer:
        (record,) = consumer.poll(60.0)
        record.accept()
        record.reject()
        consumer.commit_sync(5.0)
        assert states(world) == ["archived"]
        with pytest.raises(errors.IllegalStateException, match="already"):
            record.accept()


def test_a_block_accepts_or_releases() -> None:
    """B813: its exception goes on; a mark of the user's stays."""
    world = sharing()
    written(world, 3)
    with reader(world) as consumer:
        first, second, third = consumer.poll(60.0)
        with first:
            pass
        with pytest.raises(RuntimeError), second:
            raise RuntimeError
        third.reject()
        with pytest.raises(RuntimeError), third:
            raise RuntimeError
        consumer.commit_sync(5.0)
        assert states(world) == ["acknowledged", "available", "archived"]


def test_marks_are_sent_before_the_lock_ends() -> None:
    """B814: at half of it, with no call of the application."""
    world = sharing(lock_duration=6.0)
    written(world, 10)
    with reader(world) as consumer:
        records = list(consumer.poll(60.0))
        for record in records[:5]:
            record.accept()
        world.clock.sleep(4.0)
        assert states(world) == ["acknowledged"] * 5 + ["acquired"] * 5
        for record in records[5:]:
            record.accept()
        world.clock.sleep(4.0)
        assert states(world) == ["acknowledged"] * 10


def test_long_work_keeps_its_locks_by_renewal() -> None:
    """B815: a minute of work under a lock of six seconds is done once."""
    world = sharing(lock_duration=6.0)
    written(world, 2)
    with reader(world, share_renew_automatically=True) as consumer:
        first, second = consumer.poll(60.0)
        world.clock.sleep(30.0)
        first.accept()
        world.clock.sleep(30.0)
        assert second.is_held
        second.accept()
        consumer.commit_sync(5.0)
        assert states(world) == ["acknowledged"] * 2
        assert not consumer.poll(2.0)


def test_a_renewal_of_the_users_keeps_a_record_over_polls() -> None:
    """B815: other records come meanwhile, and no poll accepts it."""
    world = sharing(lock_duration=6.0)
    written(world, 1)
    with reader(world) as consumer:
        (kept,) = consumer.poll(60.0)
        for nth in range(5):
            kept.renew()
            world.control.append(A, b"more %d" % nth)
            assert len(consumer.poll(5.0)) == 1
            world.clock.sleep(3.0)
        assert kept.is_held
        kept.accept()
        consumer.commit_sync(5.0)
        assert states(world)[0] == "acknowledged"


def test_a_group_that_does_not_renew_costs_no_record_before_its_lock() -> None:
    """B816: the records stay, and what the locks' ends cost is told."""
    world = sharing(lock_duration=6.0, renews=False)
    written(world, 1)
    with reader(world, share_renew_automatically=True) as consumer:
        (record,) = consumer.poll(60.0)
        world.clock.sleep(4.0)
        held = [record.is_held]
        world.clock.sleep(4.0)
        held.append(record.is_held)
        assert held == [True, False]
        record.accept()
        with pytest.raises(errors.AcknowledgeException) as raised:
            consumer.commit_sync(5.0)
        assert raised.value.refused[A][0] == (0,)


def test_a_commit_says_what_was_taken_by_partition() -> None:
    """B817: and nothing more is said the next time."""
    world = sharing(partitions=2)
    written(world, 2, A)
    written(world, 1, B)
    with reader(world) as consumer:
        seen = 0
        while seen < 3:
            seen += len(consumer.poll(60.0))
        done = consumer.commit_sync(5.0)
        assert set(done) <= {A, B}
        assert consumer.commit_sync(5.0) == {}
        assert states(world, A) + states(world, B) == ["acknowledged"] * 3


def test_a_late_acknowledgement_is_raised_and_the_others_are_taken() -> None:
    """B818: the exception has offsets, and the other partitions are done."""
    world = sharing(partitions=2, lock_duration=6.0)
    written(world, 1, A)
    with reader(world, share_acknowledge_ahead=False) as consumer:
        (late,) = consumer.poll(60.0)
        late.renew()  # No poll accepts it.
        world.clock.sleep(7.0)
        written(world, 1, B)
        found: list[ShareRecord] = []
        while not any(each.partition == 1 for each in found):
            found += list(consumer.poll(60.0))
        late.accept()
        with pytest.raises(errors.AcknowledgeException) as raised:
            consumer.commit_sync(5.0)
        assert raised.value.refused[A][0] == (0,)
        assert raised.value.done[B] == (0,)


def test_a_commit_to_a_frozen_broker_ends_on_time() -> None:
    """B819: it may have happened, and what others have taken is done."""
    world = sharing(nodes=2, partitions=2)
    written(world, 1, A)
    written(world, 1, B)
    with reader(world) as consumer:
        found: list[ShareRecord] = []
        while len(found) < 2:
            found += list(consumer.poll(60.0))
            for each in found:
                if each.mark is None and each.is_held:
                    each.renew()
        for each in found:
            each.accept()
        world.clock.sleep(1.0)
        node = world.control.leader(A)[0]
        world.control.freeze(node)
        began = world.clock.time
        with pytest.raises(errors.AcknowledgeTimeoutException) as raised:
            consumer.commit_sync(2.0)
        assert world.clock.time - began == pytest.approx(2.0, abs=0.01)
        assert raised.value.may_have_happened
        assert raised.value.done == {B: (0,)}
        world.control.thaw()


def test_what_was_not_sent_in_time_keeps_its_marks() -> None:
    """B820: the broker hears of it with the next commit, and not before."""
    world = sharing()
    written(world, 4)
    with reader(world, share_acknowledge_ahead=False) as consumer:
        first, second, third, fourth = consumer.poll(60.0)
        for each in (third, fourth):
            each.renew()
        first.accept()
        second.accept()
        world.control.freeze(1)
        with pytest.raises(errors.AcknowledgeTimeoutException) as sent:
            consumer.commit_sync(1.0)
        assert sent.value.may_have_happened
        third.accept()
        with pytest.raises(errors.AcknowledgeTimeoutException) as unsent:
            consumer.commit_sync(1.0)
        assert not unsent.value.may_have_happened
        assert third.mark is Acknowledge.ACCEPT
        world.control.thaw()
        world.clock.sleep(1.0)
        assert states(world) == ["acknowledged"] * 2 + ["acquired"] * 2
        assert consumer.commit_sync(5.0)[A] == (2,)


def test_an_answer_that_is_lost_is_told_and_not_repeated() -> None:
    """B821: the records are lost with the connection."""
    world = sharing()
    written(world, 1)
    with reader(world) as consumer:
        (record,) = consumer.poll(60.0)
        record.accept()
        world.control.cut("ShareAcknowledge", applied=True, times=1)
        with pytest.raises(errors.AcknowledgeException) as raised:
            consumer.commit_sync(5.0)
        assert raised.value.may_have_happened
        assert raised.value.refused[A][0] == (0,)
        assert consumer.commit_sync(5.0) == {}
        assert not record.is_held


def test_one_late_delivery_does_not_cost_the_others_of_its_partition() -> None:
    """B823: each delivery goes by itself then."""
    world = sharing(lock_duration=6.0)
    written(world, 1)
    with reader(world, share_acknowledge_ahead=False) as consumer:
        (late,) = consumer.poll(60.0)
        late.renew()
        world.clock.sleep(7.0)
        late.accept()
        fault = world.control.fail("ShareFetch", 3, times=None)
        fault.undo()
        for nth in range(3):
            world.control.append(A, b"%d" % nth)
        found = list(consumer.poll(60.0))
        with pytest.raises(errors.AcknowledgeException) as raised:
            consumer.commit_sync(5.0)
        assert raised.value.refused[A][0] == (0,)
        assert len(found) >= 3
        assert states(world)[1:] == ["acknowledged"] * 3


def test_callbacks_come_in_order_and_may_raise() -> None:
    """B824: on the application's thread, within its calls; calls inside are refused."""
    world = sharing()
    written(world, 3)
    heard: list[Any] = []
    with reader(world, share_acknowledgement_mode="explicit") as consumer:
        records = list(consumer.poll(60.0))

        def hear(offsets: Any, error: Any) -> None:
            heard.append((offsets, error))
            with pytest.raises(errors.IllegalStateException, match="inside the callback"):
                consumer.commit_sync(1.0)
            raise RuntimeError

        for record in records:
            record.accept()
            consumer.commit_async(hear)
            world.clock.sleep(0.5)
        assert heard == []
        consumer.poll(0.5)
        assert heard == [({A: (nth,)}, None) for nth in range(3)]


def test_a_moved_leader_takes_the_locks_along() -> None:
    """B825: what is decided on is told, and the records come again.

    Their count does not grow: a leader writes the end of a delivery, and not its beginning.
    """
    world = sharing(nodes=2)
    written(world, 2)
    with reader(world) as consumer:
        records = list(consumer.poll(60.0))
        before = world.control.leader(A)[0]
        world.control.move_leader(A, 3 - before)
        with pytest.raises(errors.AcknowledgeException) as raised:
            consumer.commit_sync(5.0)
        assert raised.value.refused[A][0] == (0, 1)
        assert not any(each.is_held for each in records)
        again = list(consumer.poll(60.0))
        assert [each.delivery_count for each in again] == [1, 1]


def test_a_cut_connection_loses_records_at_once() -> None:
    """B826: and a new session brings them again."""
    world = sharing()
    written(world, 1)
    with reader(world) as consumer:
        (record,) = consumer.poll(60.0)
        world.control.disconnect()
        world.clock.sleep(0.1)
        assert not record.is_held
        record.accept()
        with pytest.raises(errors.AcknowledgeException, match="connection"):
            consumer.commit_sync(5.0)
        (again,) = consumer.poll(60.0)
        assert again.delivery_count == 2


def test_a_forgotten_session_is_opened_anew_with_its_records() -> None:
    """B827: what is held is acknowledged in the next one."""
    world = sharing()
    written(world, 2)
    with reader(world) as consumer:
        records = list(consumer.poll(60.0))
        world.control.forget_share_sessions()
        assert all(each.is_held for each in records)
        assert consumer.commit_sync(5.0) == {A: (0, 1)}
        assert states(world) == ["acknowledged"] * 2


def test_close_sends_marks_and_releases_the_rest_at_once() -> None:
    """B828: others get them with the next count."""
    world = sharing()
    written(world, 3)
    consumer = reader(world)
    first, _, third = consumer.poll(60.0)
    first.accept()
    third.reject()
    consumer.close(5.0)
    assert states(world) == ["acknowledged", "available", "archived"]
    assert world.control.share_members("s") == []
    with reader(world) as other:
        (again,) = other.poll(60.0)
        assert (again.offset, again.delivery_count) == (1, 2)


def test_close_beside_a_frozen_broker_ends_on_time() -> None:
    """B829: and logs how many acknowledgements nobody has confirmed."""
    world = sharing()
    written(world, 2)
    consumer = reader(world)
    for record in consumer.poll(60.0):
        record.accept()
    world.control.freeze()
    began = world.clock.time
    consumer.close(2.0)
    assert world.clock.time - began == pytest.approx(2.0, abs=0.05)
    world.control.thaw()


def test_an_iteration_accepts_and_releases() -> None:
    """B830: with the next record asked for; the last one comes again when it is left."""
    world = sharing()
    written(world, 5)
    with reader(world) as consumer:
        for record in consumer.records(idle_timeout=10.0):
            if record.offset == 2:
                break
        consumer.commit_sync(5.0)
        assert states(world) == ["acknowledged"] * 2 + ["available"] + ["acquired"] * 2
        seen = [each.offset for each in consumer.records(idle_timeout=2.0)]
        assert sorted(seen) == [2, 3, 4]
        consumer.commit_sync(5.0)
        assert states(world) == ["acknowledged"] * 5


def test_wakeup_loses_no_record() -> None:
    """B831: the call that waits raises, and the next poll has the records."""
    world = sharing()
    with reader(world) as consumer:
        consumer.poll(1.0)
        world.at(world.clock.time + 1.0, consumer.wakeup)
        with pytest.raises(errors.WakeupException):
            consumer.poll(60.0)
        written(world, 1)
        assert len(consumer.poll(5.0)) == 1


def test_requests_of_a_session_never_overlap() -> None:
    """B822: neither of fetches nor of acknowledgements, whatever the calls."""
    world = sharing(nodes=2, partitions=2)
    with reader(world) as consumer:
        for nth in range(30):
            world.control.append((A, B)[nth % 2], b"%d" % nth)
            for record in consumer.poll(1.0):
                record.accept()
            consumer.commit_async()
        consumer.commit_sync(5.0)
    for node in (1, 2):
        busy_until = -1.0
        for entry in world.cluster.journal.entries():
            name = entry.request.name
            if entry.node == node and name in ("ShareFetch", "ShareAcknowledge"):
                assert entry.at >= busy_until
                busy_until = entry.answered if entry.answered is not None else entry.at
    assert states(world, A) + states(world, B) == ["acknowledged"] * 30


def test_every_step_is_counted() -> None:
    """Deliveries, acknowledgements and losses, as readers of metrics see them."""
    world = sharing(lock_duration=6.0)
    written(world, 3)
    with reader(world) as consumer:
        first, second, third = consumer.poll(60.0)
        first.accept()
        second.reject()
        held = consumer.metrics()
        assert held["prokurist_share_held_records"] == 3
        assert 0 < held["prokurist_share_lock_left_seconds"] <= 6.0
        third.renew()
        consumer.commit_sync(5.0)
        world.control.disconnect()
        world.clock.sleep(1.0)
        counts = consumer.metrics()
        assert counts['prokurist_share_records_total{delivery="first"}'] == 3
        assert counts['prokurist_share_acknowledged_total{type="accept"}'] == 1
        assert counts['prokurist_share_acknowledged_total{type="reject"}'] == 1
        assert counts["prokurist_share_renewed_total"] == 1
        assert counts['prokurist_share_lost_total{why="connection"}'] == 1
        assert counts["prokurist_share_held_records"] == 0


def test_a_commit_is_recorded_on_both_threads() -> None:
    """`prokurist.timeline.record` takes a share consumer as it takes a consumer."""
    world = sharing()
    written(world, 1)
    with reader(world) as consumer:
        consumer.poll(60.0)
        with timeline.record(consumer) as recording:
            consumer.commit_sync(5.0)
        assert any("ShareAcknowledge" in each.text for each in recording.entries)
