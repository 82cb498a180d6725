"""The text of a TimeoutException, word by word: it is read at three in the morning."""

import math
from functools import partial

import pytest

from prokurist import errors
from prokurist.errors import (
    Attempt,
    DisconnectException,
    KafkaException,
    NetworkException,
    NotCoordinatorException,
    TimeoutException,
    Wait,
)
from prokurist.errors.timeout import seconds
from prokurist.types import TopicPartition

ONE = "broker 1 (127.0.0.1:9092)"
TWO = "broker 2 (127.0.0.1:9093)"
KEY = "default.api.timeout.ms"


def test_a_frozen_broker() -> None:
    """B25: the call, its limit, the partitions, the attempt, the effect, the key."""
    error = TimeoutException(
        operation="commit_sync",
        timeout=2.0,
        elapsed=2.0012,
        partitions=[TopicPartition("orders", 1), TopicPartition("orders", 0)],
        attempts=[Attempt("OffsetCommit", ONE, 0.003)],
        config_key=KEY,
        may_have_happened=True,
    )
    assert str(error) == (
        "commit_sync for orders-0, orders-1 was given 2 s and has no result after 2.001 s. "
        "1 request was sent: OffsetCommit to broker 1 (127.0.0.1:9092) at 0.003 s, unanswered "
        "for 1.998 s. "
        "It may have happened all the same: a request was on the wire and its answer is not "
        "known. "
        "To wait longer, pass a larger timeout, or raise default.api.timeout.ms for calls "
        "without one."
    )


def test_attempts_that_end_alike_are_told_once() -> None:
    """B5: retries are counted, their pauses summed, the last error named and chained."""
    last = NotCoordinatorException("the coordinator has moved.")
    error = TimeoutException(
        operation="committed",
        timeout=0.5,
        elapsed=0.5,
        partitions=[TopicPartition("orders", each) for each in range(7)],
        attempts=[
            Attempt("FindCoordinator", ONE, 0.0, 0.012, "answered"),
            *[
                Attempt("OffsetFetch", TWO, 0.1 * each, 0.1 * each + 0.004, "NOT_COORDINATOR")
                for each in (1, 2, 3)
            ],
        ],
        waits=[Wait("retry backoff", 0.104, 0.2), Wait("retry backoff", 0.204, 0.3)],
        last_error=last,
        config_key=KEY,
    )
    assert str(error) == (
        "committed for orders-0, orders-1, orders-2, orders-3, orders-4 and 2 more was given "
        "0.5 s and has no result after 0.5 s. "
        "4 requests were sent: FindCoordinator to broker 1 (127.0.0.1:9092) at 0 s, answered "
        "after 0.012 s; OffsetFetch to broker 2 (127.0.0.1:9093), 3 times from 0.1 s to 0.3 s, "
        "each NOT_COORDINATOR. "
        "It also waited 0.192 s for retry backoff. "
        "The last error was NotCoordinatorException: the coordinator has moved. "
        "To wait longer, pass a larger timeout, or raise default.api.timeout.ms for calls "
        "without one."
    )
    assert error.last_error is last
    assert error.__cause__ is last
    assert len(error.attempts) == 4


def test_nothing_was_sent() -> None:
    """B1: without an attempt the text says what the time was spent waiting for."""
    error = TimeoutException(
        operation="position",
        timeout=1.0,
        elapsed=1.0,
        topic="orders",
        waits=[Wait("a broker that can be reached", 0.0, 1.0)],
    )
    assert str(error) == (
        "position of topic orders was given 1 s and has no result after 1 s. "
        "Nothing was sent: it waited 1 s for a broker that can be reached. "
        "To wait longer, pass a larger timeout."
    )


CLASSES = [
    cls
    for cls in (getattr(errors, name) for name in errors.__all__)
    if isinstance(cls, type) and issubclass(cls, KafkaException)
]


@pytest.mark.parametrize("error", [NetworkException("refused"), DisconnectException("HTTP")])
def test_no_connection_came_about(error: KafkaException) -> None:
    """B1: more time seldom helps, so it names the command that tries each step."""
    late = partial(
        TimeoutException,
        operation="send",
        timeout=1.0,
        topic="orders",
        config_key=KEY,
        last_error=error,
    )
    said = str(late())
    assert said.startswith("send to topic orders was given 1 s")
    assert "`prokurist doctor` takes each step of a connection by itself. To wait" in said
    assert "doctor" not in str(late(attempts=[Attempt("Metadata", ONE, 0.0, 0.1, "answered")]))


def test_no_time_at_all() -> None:
    """B10: timeout 0 reads as what it is, not as a slow broker."""
    error = TimeoutException(
        operation="list_topics", timeout=0.0, elapsed=0.0001, config_key=KEY
    )
    assert str(error) == (
        "list_topics was given no time to wait (timeout 0) and had no answer at hand. "
        "Nothing was sent. To wait for one, pass a timeout above 0."
    )


def test_a_long_ledger_stays_one_paragraph() -> None:
    """Of many different attempts the first and the last are told, the rest counted."""
    attempts = [
        Attempt("OffsetFetch", ONE if each % 2 else TWO, each / 10, each / 10 + 0.01, "failed")
        for each in range(40)
    ]
    text = str(TimeoutException(operation="committed", timeout=4.0, attempts=attempts))
    assert text.count("OffsetFetch") == 6
    assert "; 34 more like these; " in text
    assert "at 0 s" in text
    assert "at 3.9 s" in text


def test_a_message_of_its_own_is_kept() -> None:
    """A broker's REQUEST_TIMED_OUT has no ledger: its words are the text."""
    assert str(TimeoutException("the broker gave up")) == "the broker gave up"
    assert str(TimeoutException()) == ""


def test_it_has_no_errno() -> None:
    """It is an OSError in ancestry only: nothing is mistaken for an errno."""
    error = TimeoutException("late")
    assert isinstance(error, OSError)
    assert error.errno is None
    assert error.args == ("late",)


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (0, "0 s"),
        (2.0, "2 s"),
        (0.0124, "0.012 s"),
        (100.0, "100 s"),
        (math.inf, "for ever"),
        (1e-9, "0 s"),
    ],
)
def test_spans_read_well(span: float, text: str) -> None:
    """No digits that say nothing."""
    assert seconds(span) == text


def test_a_span_that_is_just_over_has_no_sign() -> None:
    """A deadline that passed a moment ago reads as 0 s."""
    assert (seconds(-1e-9), seconds(2.0), seconds(0.0134)) == ("0 s", "2 s", "0.013 s")


def test_no_text_names_the_doctor_twice() -> None:
    """B489: whatever was met last, and however deep it lies."""
    for cls in CLASSES:
        error: KafkaException = cls("it was refused")
        for operation in ("send", "commit_sync", "close"):
            late = TimeoutException(operation=operation, timeout=1.0, last_error=error)
            assert str(late).count("`prokurist doctor`") <= 1, late
            error = NetworkException(f"no way: {late}")
