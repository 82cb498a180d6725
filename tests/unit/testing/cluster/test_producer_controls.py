"""What a test can do to the brokers that producers write to."""

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.testing.cluster import End, Record, Session
from prokurist.testing.cluster.batches import make_batch
from prokurist.types import TopicPartition
from tests.unit.testing.cluster.producing import batch, produce, producing

if TYPE_CHECKING:
    from tests.unit.testing.cluster.conftest import Lab

ORDERS = TopicPartition("orders", 0)
OVERDUE = timedelta(seconds=2)


def row(lab: "Lab", records: bytes, version: int = 10, **more: Any) -> Any:
    """The whole answer about the partition that one batch is for."""
    body = lab.ask("Produce", version, **producing(records, **more))
    return body.responses[0].partition_responses[0]


def sent(lab: "Lab", session: Session, records: bytes) -> list[Any]:
    """Send a batch; what is answered at once."""
    lab.send(session, "Produce", 10, **producing(records, timeout=OVERDUE))
    return answers(lab, 0.0)


def answers(lab: "Lab", seconds: float) -> list[Any]:
    """What is answered while time passes: the rows of produce requests."""
    bodies = [lab.read(delivery).body for _, delivery in lab.pass_by(seconds)]
    return [body.responses[0].partition_responses[0] for body in bodies]


def idempotent(sequence: int, count: int = 1, epoch: int = 0) -> bytes:
    """A batch of producer 7."""
    return batch(count, producer=(7, epoch, sequence))


def readable(lab: "Lab") -> int:
    """The offset below which consumers read."""
    return lab.control.watermark(ORDERS)


# --- replicas in sync -----------------------------------------------------------------


def test_too_few_replicas_in_sync_refuse_acks_all(lab: "Lab") -> None:
    """Others may write, and nothing becomes readable until enough are in sync again."""
    lab.control.configure_topic("orders", min_insync_replicas=2)
    with lab.control.shrink_isr(ORDERS, 1):
        assert produce(lab, batch()) == (19, -1)
        assert produce(lab, batch(), acks=1) == (0, 0)
        assert readable(lab) == 0
    assert readable(lab) == 1
    assert produce(lab, batch()) == (0, 1)


def test_as_many_replicas_as_there_are_will_do(lab: "Lab") -> None:
    """However many a topic wants."""
    lab.control.create_topic("alone", replication=1)
    lab.control.configure_topic("alone", min_insync_replicas=2)
    leader, _ = lab.control.leader(TopicPartition("alone", 0))
    assert produce(lab, batch(), topic="alone", node=leader) == (0, 0)


@pytest.mark.parametrize("size", [0, 4])
def test_the_isr_has_from_one_to_all_replicas(lab: "Lab", size: int) -> None:
    """And the leader is one of them."""
    with pytest.raises(ValueError, match="replicas in sync"):
        lab.control.shrink_isr(ORDERS, size)


def test_a_follower_that_stands_still_holds_up_acks_all(lab: "Lab") -> None:
    """Until it follows again; with acks=1 nothing waits."""
    session = lab.connect()
    fault = lab.control.stop_following(3)
    assert sent(lab, session, batch()) == []
    assert produce(lab, batch(), acks=1) == (0, 1)
    assert answers(lab, 1.0) == []
    fault.undo()
    assert [(each.error_code, each.base_offset) for each in answers(lab, 0.0)] == [(0, 0)]


def test_a_batch_that_is_not_replicated_in_time_is_in_the_log(lab: "Lab") -> None:
    """The answer has its offset beside the error, and so has a repetition's."""
    session = lab.connect()
    with lab.control.stop_following(3):
        assert sent(lab, session, idempotent(0)) == []
        assert answers(lab, 1.9) == []
        assert [(each.error_code, each.base_offset) for each in answers(lab, 0.2)] == [(7, 0)]
    assert produce(lab, idempotent(0)) == (0, 0)
    assert lab.control.offsets(ORDERS) == (0, 1)


def test_a_repetition_waits_for_replicas_as_the_first_time(lab: "Lab") -> None:
    """It is not acknowledged before the batch itself is."""
    first, again = lab.connect(), lab.connect()
    with lab.control.stop_following(2):
        for session in (first, again):
            assert sent(lab, session, idempotent(0)) == []
    assert [(each.error_code, each.base_offset) for each in answers(lab, 0.0)] == [(0, 0)] * 2


def test_a_follower_that_stands_still_does_not_join_the_isr(lab: "Lab") -> None:
    """Before it follows again."""
    partition = lab.cluster.state.topics["orders"].partitions[0]
    with lab.control.stop_following(3):
        lab.control.shrink_isr(ORDERS, 1).undo()
        assert partition.isr == [1, 2]
        lab.control.shrink_isr(ORDERS, 2)
        assert partition.isr == [1, 2]
    lab.control.shrink_isr(ORDERS, 1).undo()
    assert partition.isr == [1, 2, 3]


def test_an_isr_that_shrinks_lets_acks_all_be_answered(lab: "Lab") -> None:
    """Where enough are left."""
    session = lab.connect()
    with lab.control.stop_following(2):
        assert sent(lab, session, batch()) == []
        with lab.control.shrink_isr(ORDERS, 2):
            assert [each.error_code for each in answers(lab, 0.0)] == [0]
            assert lab.cluster.state.topics["orders"].partitions[0].isr == [1, 3]


def test_a_leader_that_moves_ends_the_waiting(lab: "Lab") -> None:
    """The batch may be there or not; the answer names the new leader."""
    session = lab.connect()
    lab.control.stop_following(3)
    assert sent(lab, session, batch()) == []
    lab.control.move_leader(ORDERS, 2)
    [answer] = answers(lab, 0.0)
    assert (answer.error_code, answer.base_offset) == (6, 0)
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (2, 1)


def test_a_topic_that_is_deleted_ends_the_waiting(lab: "Lab") -> None:
    """There is no such partition any more."""
    session = lab.connect()
    lab.control.stop_following(3)
    assert sent(lab, session, batch()) == []
    lab.control.delete_topic("orders")
    assert [each.error_code for each in answers(lab, 0.0)] == [3]


# --- an unclean election --------------------------------------------------------------


def test_an_unclean_election_loses_what_the_new_leader_lacks(lab: "Lab") -> None:
    """Of the log, and of what is kept of producers."""
    assert produce(lab, idempotent(0, 2)) == (0, 0)
    with lab.control.shrink_isr(ORDERS, 1):
        assert produce(lab, idempotent(2)) == (0, 2)
        assert produce(lab, idempotent(0, epoch=1)) == (0, 3)
        assert lab.control.elect_unclean(ORDERS, 2) == 2
    assert lab.control.leader(ORDERS) == (2, 1)
    assert lab.control.producers(ORDERS) == {7: (0, 1, 1)}
    assert produce(lab, idempotent(2), node=2) == (0, 2)
    assert produce(lab, idempotent(0, 2), node=2) == (0, 0)


def test_what_is_not_replicated_may_be_lost_with_the_leader(lab: "Lab") -> None:
    """A batch that was not acknowledged is sent again, and is the next one."""
    session = lab.connect()
    assert produce(lab, idempotent(0)) == (0, 0)
    with lab.control.stop_following(2):
        assert sent(lab, session, idempotent(1, 2)) == []
        assert lab.control.elect_unclean(ORDERS, 2) == 1
    assert [each.error_code for each in answers(lab, 0.0)] == [6]
    assert produce(lab, idempotent(3), node=2)[0] == 45
    assert produce(lab, idempotent(1, 2), node=2) == (0, 1)


def test_only_a_follower_is_elected_uncleanly(lab: "Lab") -> None:
    """The leader lacks nothing."""
    with pytest.raises(ValueError, match="no follower"):
        lab.control.elect_unclean(ORDERS, 1)


# --- what is kept of producers --------------------------------------------------------


def test_a_producer_that_was_forgotten_is_taken_at_any_sequence(lab: "Lab") -> None:
    """A repetition is appended a second time: brokers cannot tell."""
    other = batch(producer=(8, 0, 0))
    for data in (idempotent(0), other):
        assert produce(lab, data)[0] == 0
    lab.control.forget_producers(ORDERS, 7)
    assert produce(lab, idempotent(0)) == (0, 2)
    assert produce(lab, other) == (0, 1)
    lab.control.forget_producers()
    assert lab.control.producers(ORDERS) == {}
    assert produce(lab, idempotent(5)) == (0, 3)


def test_producers_expire_by_the_time_of_their_last_batch(lab: "Lab") -> None:
    """A day by default."""
    assert produce(lab, idempotent(0)) == (0, 0)
    lab.pass_by(86_399)
    assert produce(lab, idempotent(0)) == (0, 0)
    lab.pass_by(1)
    assert produce(lab, idempotent(0)) == (0, 1)
    lab.control.expire_producers_after(10.0)
    lab.pass_by(10)
    assert lab.control.producers(ORDERS) == {}
    assert produce(lab, idempotent(4)) == (0, 2)


def test_deletion_forgets_no_producer(lab: "Lab") -> None:
    """Not even one of whom no record is left."""
    produce(lab, idempotent(0))
    lab.control.delete_records(ORDERS, 1)
    assert produce(lab, idempotent(5))[0] == 45
    assert produce(lab, idempotent(0)) == (0, 0)


def test_a_leader_that_starts_again_knows_the_last_batch_alone(lab: "Lab") -> None:
    """Where none has led meanwhile."""
    for sequence in range(3):
        produce(lab, idempotent(sequence))
    for node in (3, 2, 1):
        lab.control.kill(node)
    lab.control.restart(1)
    assert lab.control.producers(ORDERS) == {7: (0, 2, 2)}
    assert produce(lab, idempotent(1))[0] == 45
    assert produce(lab, idempotent(2)) == (0, 2)
    assert produce(lab, idempotent(3)) == (0, 3)


def test_a_new_leader_knows_what_the_old_one_knew(lab: "Lab") -> None:
    """It has followed."""
    for sequence in range(3):
        produce(lab, idempotent(sequence))
    lab.control.move_leader(ORDERS, 2)
    assert produce(lab, idempotent(1), node=2) == (0, 1)
    assert produce(lab, idempotent(4), node=2)[0] == 45
    assert produce(lab, idempotent(3), node=2) == (0, 3)


# --- what a topic takes ---------------------------------------------------------------


def test_a_topic_refuses_batches_that_are_too_large(lab: "Lab") -> None:
    """By the size on the wire, and without a word on where the log begins."""
    lab.control.configure_topic("orders", max_message_bytes=len(batch(2)))
    assert produce(lab, batch(2)) == (0, 0)
    assert row(lab, batch(3)).error_code == 10
    assert row(lab, batch(3)).log_start_offset == -1


def test_the_records_that_are_to_blame_are_named(lab: "Lab") -> None:
    """All others of the batch are refused with them (KIP-467)."""
    lab.control.configure_topic("orders", cleanup_policy="compact")
    keys = [b"k", None, b"k", None]
    answer = row(lab, make_batch([Record(b"v", key) for key in keys]).data)
    assert (answer.error_code, answer.base_offset, answer.log_start_offset) == (87, -1, 0)
    assert [each.batch_index for each in answer.record_errors] == [1, 3]
    assert "without key" in answer.record_errors[0].batch_index_error_message
    assert "2 records" in answer.error_message
    assert produce(lab, make_batch([Record(b"v", b"k")]).data) == (0, 0)


@pytest.mark.parametrize(
    ("stamp", "code"), [(100_000, 0), (89_000, 32), (121_000, 32), (90_000, 0), (-1, 0)]
)
def test_timestamps_have_bounds_by_the_brokers_clock(lab: "Lab", stamp: int, code: int) -> None:
    """Which stands at 100 s here; a record without a timestamp has none to refuse."""
    lab.control.configure_topic(
        "orders", message_timestamp_before_max_ms=10_000, message_timestamp_after_max_ms=20_000
    )
    answer = row(lab, make_batch([Record(b"v", timestamp=stamp)]).data)
    assert answer.error_code == code
    assert [each.batch_index for each in answer.record_errors] == [0] * bool(code)


def test_a_broker_that_stamps_says_so(lab: "Lab") -> None:
    """In the answer, in the log, and to a repetition."""
    lab.control.configure_topic("orders", message_timestamp_type="LogAppendTime")
    assert row(lab, idempotent(0, 2)).log_append_time.timestamp() == 100.0
    lab.pass_by(5)
    assert row(lab, idempotent(0, 2)).log_append_time.timestamp() == 100.0
    log = lab.cluster.state.topics["orders"].partitions[0].log
    assert [list(each.records()) for each in log.batches] == [[(0, 100_000), (1, 100_000)]]
    assert log.batches[0].is_intact


def test_a_repetition_has_its_timestamp_where_the_producer_stamps(lab: "Lab") -> None:
    """Kafka gives it for the time of the append, and none for a first time."""
    data = make_batch([Record(b"v", timestamp=3000)]).data
    assert row(lab, data).log_append_time is None
    first = batch(producer=(7, 0, 0))
    assert row(lab, first).log_append_time is None
    assert row(lab, first).log_append_time.timestamp() == 0.0


# --- refusals and losses --------------------------------------------------------------


def test_a_test_names_records_and_words(lab: "Lab") -> None:
    """Beside any code."""
    lab.control.fail("Produce", 87, topic="orders", records={3: "bad"}, message="no good")
    answer = row(lab, batch(5))
    assert (answer.error_code, answer.error_message) == (87, "no good")
    [blamed] = answer.record_errors
    assert (blamed.batch_index, blamed.batch_index_error_message) == (3, "bad")
    assert produce(lab, batch(5)) == (0, 0)


@pytest.mark.parametrize(("code", "told"), [(59, 2), (45, 2), (3, -1), (6, -1), (56, -1)])
def test_an_error_tells_where_the_log_begins(lab: "Lab", code: int, told: int) -> None:
    """Where a broker tells it."""
    produce(lab, batch(3))
    lab.control.delete_records(ORDERS, 2)
    lab.control.fail("Produce", code)
    answer = row(lab, batch())
    assert (answer.error_code, answer.log_start_offset) == (code, told)


def test_an_error_after_the_append(lab: "Lab") -> None:
    """The batch is there once, however often it is sent."""
    with lab.control.fail("Produce", 20, applied=True, times=2):
        assert produce(lab, idempotent(0)) == (20, 0)
        assert produce(lab, idempotent(0)) == (20, 0)
        assert produce(lab, idempotent(0)) == (0, 0)
    assert lab.control.offsets(ORDERS) == (0, 1)


def test_an_answer_that_is_lost_after_the_append(lab: "Lab") -> None:
    """The batch is there, and its repetition is told where."""
    session = lab.connect()
    lab.control.cut("Produce", applied=True)
    lab.send(session, "Produce", 10, **producing(idempotent(0, 3)))
    assert [each.end for _, each in lab.pass_by(0)] == [End.CLOSED]
    assert produce(lab, idempotent(0, 3)) == (0, 0)
    assert lab.control.offsets(ORDERS) == (0, 3)


def test_an_append_that_comes_after_its_connection_has_ended(lab: "Lab") -> None:
    """What the broker has in hand is appended; what stood behind it is not."""
    session = lab.connect()
    held = lab.control.hold("Produce")
    for sequence in range(2):
        lab.send(session, "Produce", 10, **producing(idempotent(sequence)))
    session.close(lab.time.at)
    lab.pass_by(60)
    assert lab.control.offsets(ORDERS) == (0, 0)
    held.undo()
    lab.pass_by(0)
    assert lab.control.producers(ORDERS) == {7: (0, 0, 0)}


def test_a_slow_broker_takes_its_time_for_each_request(lab: "Lab") -> None:
    """And asks for quiet if it is told to."""
    session = lab.connect()
    lab.control.delay(None, 0.02, node=1)
    lab.control.throttle("Produce", 0.5, times=1)
    for sequence in range(3):
        lab.send(session, "Produce", 10, **producing(idempotent(sequence)))
    came = lab.pass_by(2)
    assert [round(at - 100.0, 2) for at, _ in came] == [0.02, 0.54, 0.56]
    waits = [lab.read(each).body.throttle_time.total_seconds() for _, each in came]
    assert waits == [0.5, 0.0, 0.0]


def test_replication_that_never_comes(lab: "Lab") -> None:
    """Is a timeout for acks=all."""
    session = lab.connect()
    with lab.control.delay_replication(fetch=math.inf):
        assert sent(lab, session, batch()) == []
        assert [each.error_code for each in answers(lab, 2.0)] == [7]
