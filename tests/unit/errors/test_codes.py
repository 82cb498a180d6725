"""The table of error codes against the facts read from the Java client."""

import csv
from pathlib import Path

import pytest

from prokurist import errors
from prokurist.errors.codes import by_code, error_for

TABLE = (Path(__file__).parent / "kafka-errors.tsv").read_text(encoding="utf-8")
FACTS = [row for row in csv.DictReader(TABLE.splitlines(), delimiter="\t") if row["exception"]]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: str(fact["name"]))
def test_each_code_has_java_s_class_and_flags(fact: dict[str, str]) -> None:
    """A code becomes the exception Java raises, retriable and refreshing as there."""
    error = error_for(int(fact["code"]))
    assert type(error).__name__ == fact["exception"]
    assert error is not None
    assert error.error_code == int(fact["code"])
    assert error.retriable == (fact["retriable"] == "yes")
    assert error.refreshes_metadata == (fact["refreshes_metadata"] == "yes")
    assert isinstance(error, errors.RetriableException) == error.retriable
    assert getattr(errors, fact["exception"]) is type(error)


def test_no_class_claims_a_code_that_kafka_does_not_have() -> None:
    """The table holds Kafka's codes, each once, and no other."""
    assert sorted(by_code()) == sorted(int(fact["code"]) for fact in FACTS)


def test_success_is_no_error() -> None:
    """Code 0 is success."""
    assert error_for(0) is None


@pytest.mark.parametrize("message", [None, "quotas are enforced by the moon"])
def test_an_unknown_code_keeps_its_number(message: str | None) -> None:
    """A broker newer than we are: the number survives, and so do its words."""
    error = error_for(32000, message)
    assert type(error) is errors.UnknownServerException
    assert error.error_code == 32000
    assert not error.retriable
    assert "32000" in str(error)
    assert message is None or message in str(error)


def test_the_broker_s_own_words_are_the_text() -> None:
    """What the broker says beats what the class says."""
    assert str(error_for(16, "moved to 3")) == "moved to 3"
    assert str(error_for(16)) == "The coordinator has moved to another broker"
