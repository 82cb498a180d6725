"""What a look-up that ran out of time says of itself, as the story of the whole call."""

import pytest

from prokurist.errors import DisconnectException, TimeoutException
from prokurist.errors.timeout import Attempt, Wait
from prokurist.spark.cluster_session import retold
from prokurist.types import TopicPartition

TP = TopicPartition("orders", 0)


def test_the_ledger_counts_from_the_call_s_own_beginning() -> None:
    """Three seconds of ten had gone before the look-up began; nothing it knows is lost."""
    error = TimeoutException(
        operation="end_offsets",
        timeout=7.0,
        elapsed=7.0,
        partitions=[TP],
        attempts=[
            Attempt("ListOffsets", "broker 1 (b:9092)", 0.5, 3.0, "disconnected"),
            Attempt("ListOffsets", "broker 1 (b:9092)", 3.5),
        ],
        waits=[Wait("retry backoff", 3.0, 3.5)],
        last_error=DisconnectException("gone"),
        may_have_happened=True,
    )
    told = retold(error, "OffsetManager.plan", 10.0, 10.0)
    assert [(each.started, each.ended) for each in told.attempts] == [(3.5, 6.0), (6.5, None)]
    assert [(each.started, each.ended) for each in told.waits] == [(6.0, 6.5)]
    assert (told.timeout, told.elapsed, told.partitions) == (10.0, 10.0, (TP,))
    assert told.last_error is error.last_error
    assert told.may_have_happened
    assert str(told).startswith(
        "OffsetManager.plan (its end_offsets) for orders-0 was given 10 s and has no result "
        "after 10 s. 2 requests were sent: ListOffsets to broker 1 (b:9092) at 3.5 s, "
        "disconnected after 2.5 s; ListOffsets to broker 1 (b:9092) at 6.5 s, unanswered for "
        "3.5 s."
    )


def test_a_topic_s_name_is_kept() -> None:
    """A look-up of a topic has no partitions to tell of."""
    error = TimeoutException(operation="partitions_for", timeout=1.0, topic="orders")
    told = retold(error, "OffsetManager.plan", 1.0, 1.0)
    assert told.topic == "orders"
    with pytest.raises(TimeoutException, match=r"\(its partitions_for\) of topic orders was"):
        raise told
