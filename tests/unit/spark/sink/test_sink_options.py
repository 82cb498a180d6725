"""The options of writing: what they come to, and what is refused in which words."""

import pickle

import pytest

from prokurist.errors import ConfigException
from prokurist.spark.option_table import check_direction
from prokurist.spark.sink.options import NAMES, REFUSED, SinkSettings
from prokurist.spark.source import options as reading

GIVEN = {"kafka.bootstrap.servers": "b:9092", "topic": "bills"}
ONCE = GIVEN | {"delivery": "exactly_once", "exactlyOnceId": "billing"}


def test_names_are_taken_in_any_case() -> None:
    """As Spark hands them on; what else Spark gives a sink is passed over."""
    given = GIVEN | {"WRITEdeadlinems": "5000", "checkpointLocation": "/c", "path": "/p"}
    settings = SinkSettings.of(given)
    assert settings.topic == "bills"
    assert settings.deadline == 5.0


def test_every_wait_of_the_producer_ends_by_the_deadline() -> None:
    """B750: the row's own, that for memory and metadata, and a request's."""
    client = SinkSettings.of(GIVEN | {"writeDeadlineMs": "5000"}).client
    assert client["delivery.timeout.ms"] == "5000"
    assert client["max.block.ms"] == "5000"
    assert int(client["request.timeout.ms"]) + int(client["linger.ms"]) <= 5000


def test_what_the_user_sets_stays() -> None:
    """A key of the producer is preferred, in any of its spellings."""
    given = GIVEN | {"kafka.linger.ms": "20", "kafka.delivery_timeout_ms": "90000"}
    client = SinkSettings.of(given).client
    assert client["linger.ms"] == "20"
    assert client["delivery_timeout_ms"] == "90000"
    assert "delivery.timeout.ms" not in client


@pytest.mark.parametrize("key", REFUSED)
def test_keys_that_cannot_be_given_are_refused_with_the_reason(key: str) -> None:
    """B751: serializers, interceptors, a partitioner, names of transactions and groups."""
    with pytest.raises(ConfigException, match="cannot be given here: "):
        SinkSettings.of(GIVEN | {f"kafka.{key}": "x"})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (GIVEN | {"tpoic": "x"}, "did you mean topic"),
        ({"topic": "bills"}, "kafka.bootstrap.servers must be given"),
        (GIVEN | {"delivery": "twice"}, "delivery is at_least_once or exactly_once: 'twice'"),
        (GIVEN | {"delivery": "exactly_once"}, "needs exactlyOnceId"),
        (GIVEN | {"exactlyOnceId": "billing"}, "with delivery=exactly_once alone"),
        (GIVEN | {"ledgerMissing": "continue"}, "with delivery=exactly_once alone"),
        (ONCE | {"topic": ""}, "needs topic or ledgerTopic"),
        (ONCE | {"ledgerMissing": "maybe"}, "ledgerMissing is error or continue: 'maybe'"),
        (GIVEN | {"writeDeadlineMs": "0"}, "writeDeadlineMs"),
        (GIVEN | {"kafka.acks": "7"}, "acks"),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, str], words: str) -> None:
    """B751: before anything is sent."""
    with pytest.raises(ConfigException, match=words):
        SinkSettings.of(given)


def test_options_of_the_other_direction_are_named_as_such() -> None:
    """B751: those of a reader to a writer; `includeHeaders` belongs to both."""
    check_direction(["includeheaders", "topic"], NAMES, reading.NAMES, "reading")
    with pytest.raises(ConfigException, match="startingOffsets is an option for reading"):
        check_direction(["STARTINGOFFSETS"], NAMES, reading.NAMES, "reading")


def test_exactly_once_names_a_transaction_and_a_ledger() -> None:
    """Its consumer has of the client's keys those that a consumer has."""
    settings = SinkSettings.of(ONCE | {"kafka.linger.ms": "7", "kafka.client.id": "me"})
    once = settings.exactly_once
    assert once is not None
    assert settings.client["transactional.id"] == "billing"
    assert once.reader == {"bootstrap.servers": "b:9092", "client.id": "me"}
    assert (once.ledger_topic, once.continues) == ("bills", False)


def test_a_secret_is_not_shown() -> None:
    """Neither by the settings nor by what is in them; and they can be pickled."""
    secret = {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "SCRAM-SHA-256",
        "kafka.sasl.username": "u",
        "kafka.sasl.password": "hidden",
    }
    with pytest.warns(match="travels with each task as text"):
        settings = SinkSettings.of(ONCE | secret)
    assert "hidden" not in repr(settings)
    assert pickle.loads(pickle.dumps(settings)) == settings
