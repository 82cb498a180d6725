"""Share consumers in virtual time: what a hunt has found."""

from typing import Any

import pytest

from prokurist import errors
from prokurist.share.records import ShareRecord
from tests.simulation.sharing import A, B, reader, sharing, states, written


def test_a_renewal_during_a_poll_is_sent_and_refuses_no_fetch() -> None:
    """B577: a fetch renews nothing, so another request does, and the poll goes on."""
    world = sharing(lock_duration=6.0)
    written(world, 1)
    with reader(world) as consumer:
        (kept,) = consumer.poll(60.0)
        kept.renew()
        consumer.poll(0.1)
        for nth in range(4):
            world.at(world.clock.time + 1.0, kept.renew)
            world.at(world.clock.time + 2.5, lambda: world.control.append(A, b"more"))
            began = world.clock.time
            assert [each.offset for each in consumer.poll(60.0)] == [nth + 1]
            assert world.clock.time - began < 3.0
        assert kept.is_held
        kept.accept()
        consumer.commit_sync(5.0)
        counts = consumer.metrics()
        assert not any("sessions_lost" in name for name, value in counts.items() if value)


def test_a_commit_waits_for_no_broker_without_marks() -> None:
    """B578: another broker is frozen below a fetch that acknowledges nothing."""
    world = sharing(nodes=2, partitions=2)
    written(world, 1, A)
    with reader(world) as consumer:
        seen = 0
        while not seen:
            seen = len(consumer.poll(60.0))
        consumer.commit_sync(5.0)
        world.clock.sleep(1.0)
        world.control.freeze(world.control.leader(B)[0])
        world.control.append(A, b"more")
        assert len(consumer.poll(5.0)) == 1
        began = world.clock.time
        assert consumer.commit_sync(2.0) == {A: (1,)}
        assert world.clock.time - began < 0.1
        world.control.thaw()


def test_a_refusal_behind_the_deadline_of_its_commit_is_told() -> None:
    """B579: by the next commit, since the first one could not know."""
    world = sharing(lock_duration=6.0)
    written(world, 1)
    with reader(world, share_acknowledge_ahead=False) as consumer:
        (record,) = consumer.poll(60.0)
        record.accept()
        world.control.freeze()
        with pytest.raises(errors.AcknowledgeTimeoutException):
            consumer.commit_sync(1.0)
        world.clock.sleep(7.0)
        world.control.thaw()
        world.clock.sleep(1.0)
        assert not record.is_held
        with pytest.raises(errors.AcknowledgeException) as raised:
            consumer.commit_sync(5.0)
        assert raised.value.refused[A][0] == (0,)


def test_records_behind_others_are_renewed_too() -> None:
    """B580: none is lost, or delivered again, because those before it take long."""
    world = sharing(lock_duration=6.0)
    written(world, 9)
    with reader(
        world,
        share_renew_automatically=True,
        share_acquire_mode="record_limit",
    ) as consumer:
        seen: list[ShareRecord] = []
        while len(seen) < 9:
            records = list(consumer.poll(20.0, max_records=2))
            world.clock.sleep(8.0)
            assert all(each.is_held for each in records)
            seen += records
        consumer.commit_sync(5.0)
        assert states(world) == ["acknowledged"] * 9
        assert [each.delivery_count for each in seen] == [1] * 9


def test_the_end_of_a_lock_takes_none_that_was_renewed() -> None:
    """B580: records that wait behind it are lost, and it stays."""
    world = sharing(lock_duration=6.0)
    world.control.append(A, *[b"x"] * 4)
    with reader(world, share_acquire_mode="record_limit") as consumer:
        (kept,) = consumer.poll(60.0, max_records=1)
        world.clock.sleep(4.0)
        kept.renew()
        consumer.commit_sync(1.0)
        world.clock.sleep(4.0)
        assert kept.is_held
        consumer.poll(3.0)
        assert kept.is_held
        kept.accept()
        consumer.commit_sync(5.0)
        assert states(world)[0] == "acknowledged"


def test_a_commit_in_the_background_ends_when_its_consumer_unsubscribes() -> None:
    """B581: its callback is called, and so are those of later ones."""
    world = sharing()
    written(world, 4)
    heard: list[Any] = []

    def hear(offsets: Any, error: Any) -> None:
        heard.append((offsets, error))

    with reader(world, share_acknowledgement_mode="explicit") as consumer:
        first, *others = consumer.poll(60.0)
        world.control.freeze()
        first.accept()
        consumer.commit_async(hear)
        world.clock.sleep(0.1)
        for each in others:
            each.accept()
        consumer.commit_async(hear)
        consumer.unsubscribe(1.0)
        world.control.thaw()
        consumer.subscribe("orders")
        again: list[ShareRecord] = []
        while len(again) < 3:
            again += consumer.poll(60.0)
            for each in again:
                if each.mark is None:
                    each.accept()
        consumer.commit_async(hear)
        world.clock.sleep(1.0)
        consumer.poll(1.0)
        told = [offset for offsets, _ in heard for offset in offsets[A]]
        assert sorted(told)[:4] == [0, 1, 1, 2]


def test_an_outcome_is_told_once() -> None:
    """B582: to the callback of its commit, or to `on_acknowledged`, and by no later call."""
    world = sharing()
    written(world, 2)
    heard: list[Any] = []
    own: list[Any] = []
    with reader(
        world,
        on_acknowledged=lambda *each: heard.append(each),
        share_acknowledgement_mode="explicit",
    ) as consumer:
        first, second = consumer.poll(60.0)
        first.accept()
        consumer.commit_async()
        world.clock.sleep(0.5)
        second.accept()
        consumer.commit_async(lambda *each: own.append(each))
        world.clock.sleep(0.5)
        consumer.poll(0.5)
    assert heard == [({A: (0,)}, None)]
    assert own == [({A: (1,)}, None)]


def test_a_refused_commit_names_what_earlier_polls_have_lost_too() -> None:
    """B582: offsets of one partition from both are in the exception."""
    world = sharing(lock_duration=6.0)
    written(world, 2)
    keys = {"share_acknowledge_ahead": False, "share_acknowledgement_mode": "explicit"}
    with reader(world, **keys) as consumer:
        first, second = consumer.poll(60.0)
        world.clock.sleep(7.0)
        first.accept()
        consumer.commit_async()
        world.clock.sleep(1.0)
        second.accept()
        with pytest.raises(errors.AcknowledgeException) as raised:
            consumer.commit_sync(5.0)
        assert raised.value.refused[A][0] == (0, 1)


def test_a_renewed_record_delays_no_mark_of_others() -> None:
    """B583: half of the lock that ends first counts."""
    world = sharing(lock_duration=6.0)
    world.control.append(A, b"0", b"1", b"2")
    with reader(world, share_acknowledgement_mode="explicit") as consumer:
        first, second, third = consumer.poll(60.0)
        world.clock.sleep(3.9)
        first.renew()
        consumer.commit_sync(1.0)
        world.clock.sleep(0.5)
        second.accept()
        third.accept()
        world.clock.sleep(2.5)
        assert states(world) == ["acquired", "acknowledged", "acknowledged"]


def test_an_iteration_accepts_records_that_are_being_renewed() -> None:
    """B584: an automatic renewal is no decision."""
    world = sharing(lock_duration=6.0)
    written(world, 3)
    with reader(world, share_renew_automatically=True) as consumer:
        for record in consumer.records(idle_timeout=2.0):
            if record.offset == 0:
                # Half of the locks: the renewal is asked for and unanswered.
                world.control.freeze()
                world.clock.sleep(3.5)
                assert record.mark is None
                world.at(world.clock.time + 0.2, world.control.thaw)
        consumer.commit_sync(5.0)
        assert states(world) == ["acknowledged"] * 3
        assert consumer.metrics()['prokurist_share_records_total{delivery="first"}'] == 3
        assert 'prokurist_share_acknowledged_total{type="release"}' not in consumer.metrics()


def test_an_interrupt_in_a_callback_returns_no_record_twice() -> None:
    """B585: a poll takes back what it has collected itself, and nothing of the one before."""
    world = sharing()
    written(world, 2)
    interrupts = [KeyboardInterrupt()]

    def hear(_offsets: Any, _error: Any) -> None:
        if interrupts:
            raise interrupts.pop()

    with reader(world, share_acknowledgement_mode="explicit") as consumer:
        for record in consumer.poll(60.0):
            record.accept()
        consumer.commit_async(hear)
        world.clock.sleep(0.5)
        with pytest.raises(KeyboardInterrupt):
            consumer.poll(1.0)
        assert not consumer.poll(1.0)
        assert states(world) == ["acknowledged"] * 2


def test_loops_that_end_early_use_up_no_deliveries() -> None:
    """B830: an iteration that is left at each record has each of them twice at the most."""
    world = sharing(delivery_limit=5)
    world.control.append(A, *[b"%d" % nth for nth in range(30)])
    counts: dict[int, int] = {}
    with reader(world) as consumer:
        for _ in range(200):
            for record in consumer.records(idle_timeout=1.0):
                counts[record.offset] = record.delivery_count
                if record.delivery_count == 1:
                    break
        consumer.commit_sync(5.0)
    assert states(world) == ["acknowledged"] * 30
    assert counts == dict.fromkeys(range(30), 2)


def test_what_an_iteration_leaves_is_free_with_its_consumer() -> None:
    """B830: close releases it, and the next member has it at once."""
    world = sharing()
    world.control.append(A, *[b"%d" % nth for nth in range(5)])
    with reader(world) as consumer:
        for _ in consumer.records(idle_timeout=60.0):
            break
    with reader(world) as other:
        assert len(other.poll(5.0)) == 5


def test_records_of_a_poll_inside_an_iteration_stay_apart() -> None:
    """B830: the poll accepts what the iteration has ahead, and nothing is returned twice."""
    world = sharing()
    written(world, 1)
    with reader(world) as consumer:
        seen: list[int] = []
        for record in consumer.records(idle_timeout=60.0):
            seen.append(record.offset)
            world.control.append(A, b"a", b"b")
            seen += [each.offset for each in consumer.poll(5.0)]
            break
        seen += [each.offset for each in consumer.records(idle_timeout=1.0)]
        consumer.commit_sync(5.0)
        assert sorted(seen) == [0, 1, 2]
