"""The options of `format("prokurist")`: what is read of them, and what is refused."""

import pickle
import re
import warnings

import pytest

from prokurist.errors import ConfigException, ConfigWarning
from prokurist.spark.rate_limits import Splits
from prokurist.spark.source.options import NAMES, OPTIONS, OnBrokerDown, Settings
from prokurist.spark.source.partition_selection import Topics

LEAST = {"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "orders"}
CLIENT = {"bootstrap.servers": "127.0.0.1:9092", "allow.auto.create.topics": "false"}
"""What the client is told then: reading creates no topics."""


def test_little_is_enough() -> None:
    """Brokers and topics; everything else has a default."""
    settings = Settings.of(LEAST)
    assert settings.selection == Topics(("orders",))
    assert settings.client == CLIENT
    assert settings.splits == Splits()
    assert settings.fail_on_data_loss
    assert not settings.include_headers
    assert (settings.driver_deadline, settings.read_stall, settings.batch_deadline) == (
        60.0,
        60.0,
        300.0,
    )
    assert settings.on_broker_down is OnBrokerDown.FAIL
    assert settings.batch_bytes == 1 << 20


def test_names_are_compared_without_regard_to_case() -> None:
    """Spark hands them on in lower case, and users write them as they like."""
    settings = Settings.of(
        LEAST
        | {
            "FAILONDATALOSS": "False",
            "includeheaders": "TRUE",
            "OnBrokerDown": "Skip",
            "minPartitions": "3",
            "driverdeadlinems": "2500",
        }
    )
    assert not settings.fail_on_data_loss
    assert settings.include_headers
    assert settings.on_broker_down is OnBrokerDown.SKIP
    assert settings.splits.min_partitions == 3
    assert settings.driver_deadline == 2.5


def test_keys_of_the_client_go_to_the_client() -> None:
    """But for the group, which no reader joins: it names the clients, and `committed`."""
    settings = Settings.of(
        LEAST | {"kafka.group.id": "billing", "kafka.isolation.level": "read_committed"}
    )
    assert settings.group == "billing"
    assert settings.client == CLIENT | {
        "isolation.level": "read_committed",
        "client.id": "billing",
    }
    assert Settings.of(LEAST | {"groupIdPrefix": "eu"}).client["client.id"] == "eu"
    own = {"groupIdPrefix": "eu", "kafka.client.id": "mine"}
    assert Settings.of(LEAST | own).client["client.id"] == "mine"


def test_the_name_of_spark_for_a_stall_is_known() -> None:
    """Ours is preferred."""
    theirs = LEAST | {"kafkaConsumer.pollTimeoutMs": "7000"}
    assert Settings.of(theirs).read_stall == 7.0
    assert Settings.of(theirs | {"readStallMs": "3000"}).read_stall == 3.0


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("startingOffset", "startingOffsets"),
        ("maxOffsetPerTrigger", "maxOffsetsPerTrigger"),
        ("failondatalos", "failOnDataLoss"),
        ("subscribes", "subscribe"),
    ],
)
def test_a_misspelt_name_is_an_error(written: str, meant: str) -> None:
    """With the nearest that is known: to pass it over would cost a user a day."""
    with pytest.raises(ConfigException, match=f"did you mean {meant}\\?"):
        Settings.of(LEAST | {written: "1"})


def test_a_strange_name_is_an_error() -> None:
    """With where keys of the client belong."""
    with pytest.raises(ConfigException, match=r"begin with kafka\."):
        Settings.of(LEAST | {"zzz": "1"})


@pytest.mark.parametrize(
    "key",
    [
        "auto.offset.reset",
        "enable.auto.commit",
        "interceptor.classes",
        "key.deserializer",
        "value.deserializer",
        "key.serializer",
        "value.serializer",
    ],
)
def test_what_would_mislead_is_refused(key: str) -> None:
    """As Spark's own source refuses it, with the reason."""
    with pytest.raises(ConfigException, match=re.escape(f"kafka.{key} cannot be given here")):
        Settings.of(LEAST | {f"kafka.{key}": "x"})


@pytest.mark.parametrize("name", ["commitGroupId", "kafka.consumer.commit.groupid"])
def test_a_source_commits_to_no_group(name: str) -> None:
    """It learns too late what has been completed; who asks is shown who does commit."""
    with pytest.raises(ConfigException, match=rf"{name} cannot be given here: .*watch\("):
        Settings.of(LEAST | {name: "billing"})


def test_a_key_that_the_client_does_not_know_is_warned_of() -> None:
    """And passed over: options that were written for Java's client bring such along."""
    with pytest.warns(ConfigWarning, match=r"kafka\.some\.reporter"):
        settings = Settings.of(LEAST | {"kafka.some.reporter": "x"})
    assert settings.client == CLIENT


def test_secrets_as_text_are_warned_of() -> None:
    """S51: once, with the keys that name files instead; neither repr has the text."""
    secured = {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.username": "anna",
    }
    with pytest.warns(ConfigWarning, match=r"kafka\.sasl\.password\.location") as said:
        settings = Settings.of(LEAST | secured | {"kafka.sasl.password": "hush-4711"})
    assert len(said) == 1
    assert "hush-4711" not in f"{said[0].message}{settings!r}{settings}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        location = {"kafka.sasl.password.location": "/run/secrets/kafka"}
        Settings.of(LEAST | secured | location)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"includeHeaders": "yes"}, "includeHeaders is true or false"),
        ({"filterPushdown": "on"}, "filterPushdown is true or false"),
        ({"driverDeadlineMs": "0"}, "driverDeadlineMs is a number from 1"),
        ({"batchDeadlineMs": "soon"}, "batchDeadlineMs is a number"),
        ({"onBrokerDown": "wait"}, "onBrokerDown is fail or skip"),
        ({"kafka.isolation.level": "none"}, "isolation.level"),
        ({"kafka.security.protocol": "SASL_SSL"}, "sasl.mechanism=GSSAPI, the default"),
        ({"kafka.bootstrap.servers": "nowhere:port"}, "bootstrap.servers"),
        ({"assign": '{"a": [0]}'}, "are all given"),
    ],
)
def test_a_value_of_no_kind_is_refused(options: dict[str, str], why: str) -> None:
    """By the name of its option."""
    with pytest.raises(ConfigException, match=why):
        Settings.of(LEAST | options)


def test_brokers_have_to_be_given() -> None:
    """By the name that Spark has for them."""
    with pytest.raises(ConfigException, match=r"kafka\.bootstrap\.servers must be given"):
        Settings.of({"subscribe": "orders"})


def test_settings_travel() -> None:
    """They are pickled, and what comes out is equal."""
    brokers = {"kafka.bootstrap.servers": "127.0.0.1:9092"}
    for way in ({"subscribe": "a"}, {"subscribePattern": "o.*"}, {"assign": '{"a": [0]}'}):
        settings = Settings.of(brokers | way | {"maxOffsetsPerTrigger": "5"})
        assert pickle.loads(pickle.dumps(settings)) == settings


def test_each_option_is_described() -> None:
    """By a sentence, once."""
    assert len(NAMES) == len(OPTIONS)
    assert all(each.text.endswith(".") for each in OPTIONS)
