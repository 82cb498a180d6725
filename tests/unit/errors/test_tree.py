"""Every exception: named as Kafka names it, one tree, able to travel."""

import pickle
import threading

import pytest

from prokurist import errors
from prokurist.errors import (
    Attempt,
    KafkaException,
    LogTruncationException,
    NotCoordinatorException,
    RecordDeserializationException,
    TimeoutException,
    TopicAuthorizationException,
    UnknownServerException,
    Wait,
)
from prokurist.types import OffsetAndMetadata, TopicPartition

CLASSES = [
    cls
    for cls in (getattr(errors, name) for name in errors.__all__)
    if isinstance(cls, type) and issubclass(cls, KafkaException)
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: str(cls.__name__))
def test_each_class_travels_with_its_message_and_its_cause(cls: type[KafkaException]) -> None:
    """Pickled and back: the same class, text, flags and cause, under its public name."""
    error = cls("three brokers are down")
    error.__cause__ = NotCoordinatorException("moved")
    error.add_note("seen at noon")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is cls
    assert str(copy) == "three brokers are down"
    assert (copy.error_code, copy.retriable, copy.fatal) == (
        error.error_code,
        error.retriable,
        error.fatal,
    )
    assert type(copy.__cause__) is NotCoordinatorException
    assert str(copy.__cause__) == "moved"
    assert copy.__notes__ == ["seen at noon"]
    assert cls.__module__ == "prokurist.errors"
    assert cls.__doc__


@pytest.mark.parametrize(
    "error",
    [
        UnknownServerException("what", error_code=32000),
        TopicAuthorizationException("no", topics=("a", "b")),
        LogTruncationException(
            "cut",
            offsets={TopicPartition("a", 0): 7},
            divergent_offsets={TopicPartition("a", 0): OffsetAndMetadata(5)},
        ),
        RecordDeserializationException(
            "bad", partition=TopicPartition("a", 0), offset=7, key=b"k", value=None
        ),
        TimeoutException(
            operation="commit_sync",
            timeout=2.0,
            elapsed=2.001,
            partitions=[TopicPartition("a", 0)],
            attempts=[Attempt("OffsetCommit", "broker 1 (h:1)", 0.1)],
            waits=[Wait("retry backoff", 0.0, 0.1)],
            config_key="default.api.timeout.ms",
            may_have_happened=True,
        ),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_an_exception_carries_survives_pickling(error: KafkaException) -> None:
    """Fields beside the message travel too."""
    copy = pickle.loads(pickle.dumps(error))
    assert copy.__dict__ == error.__dict__
    assert str(copy) == str(error)


def test_a_cause_that_cannot_travel_is_told_instead_of_losing_the_report() -> None:
    """Another library's exception with a lock inside becomes one that names it."""
    cause = RuntimeError("handshake", threading.Lock())
    error = KafkaException("the connection failed")
    error.__cause__ = cause
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == "the connection failed"
    assert "RuntimeError" in str(copy.__cause__)
    assert "handshake" in str(copy.__cause__)


def test_misuse_and_bad_configuration_are_python_s_own_kinds_too() -> None:
    """`except ValueError` and `except RuntimeError` work as Python users expect."""
    assert issubclass(errors.ConfigException, ValueError)
    assert issubclass(errors.IllegalStateException, RuntimeError)
    assert issubclass(errors.TimeoutException, TimeoutError)
    assert errors.TimeoutException.retriable


def test_fatal_is_said_of_those_that_end_a_client() -> None:
    """Only what leaves nothing but `close` is fatal."""
    assert {cls.__name__ for cls in CLASSES if cls.fatal} == {
        "FencedInstanceIdException",
        "ForkedClientError",
        "NetworkThreadDiedException",
        "ProducerFencedException",
    }


def test_nothing_is_both_retriable_and_fatal() -> None:
    """The two flags exclude each other."""
    assert not [cls for cls in CLASSES if cls.retriable and cls.fatal]
