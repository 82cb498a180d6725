"""Reading what the user wrote."""

import sys
import warnings
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest

from prokurist.config import Address, ConsumerConfig, OffsetReset, ProducerConfig, Secret
from prokurist.config.foreign import KAFKA_PYTHON, LIBRDKAFKA
from prokurist.errors import ConfigException, ConfigWarning

Build = Callable[[Mapping[str, object]], ConsumerConfig]
BuildProducer = Callable[[Mapping[str, object]], ProducerConfig]


def test_mapping_and_keywords_together() -> None:
    """Dotted keys, underscored keys and keywords fill one configuration."""
    config = ConsumerConfig(
        {"bootstrap.servers": "kafka1:9092", "max_poll_records": "7"},
        group_id="billing",
        request_timeout_ms=timedelta(seconds=2),
    )
    assert config.bootstrap_servers == (Address("kafka1", 9092),)
    assert config.max_poll_records == 7
    assert config.group_id == "billing"
    assert config.request_timeout_ms == 2000
    assert config.given == {
        "bootstrap.servers",
        "max.poll.records",
        "group.id",
        "request.timeout.ms",
    }


@pytest.mark.parametrize(
    ("spelling", "value", "field", "read"),
    [
        (
            "metadata.broker.list",
            "kafka1:9092",
            "bootstrap_servers",
            (Address("kafka1", 9092),),
        ),
        ("fetch.wait.max.ms", 7, "fetch_max_wait_ms", 7),
        ("fetch.message.max.bytes", 7, "max_partition_fetch_bytes", 7),
        ("socket.timeout.ms", 7000, "request_timeout_ms", 7000),
        ("socket_receive_buffer_bytes", 7, "receive_buffer_bytes", 7),
        ("auto.offset.reset", "smallest", "auto_offset_reset", OffsetReset("earliest")),
        ("security.protocol", "plaintext", "security_protocol", "PLAINTEXT"),
        ("group_protocol", "CLASSIC", "group_protocol", "classic"),
        ("group.id", None, "group_id", None),
    ],
)
def test_other_spellings(spelling: str, value: object, field: str, read: object) -> None:
    """The spellings of librdkafka and kafka-python fill the same fields."""
    keys = {spelling: value}
    if field != "bootstrap_servers":
        keys["bootstrap.servers"] = "kafka1:9092"
    assert getattr(ConsumerConfig(keys), field) == read


@pytest.mark.parametrize(
    ("spelling", "field"),
    [
        ("ssl_cafile", "ssl_ca_location"),
        ("ssl_certfile", "ssl_certificate_location"),
        ("ssl_keyfile", "ssl_key_location"),
        ("ssl.ca.location", "ssl_ca_location"),
    ],
)
def test_tls_spellings(consumer: Build, spelling: str, field: str) -> None:
    """The keys of TLS are found under other clients' names."""
    assert getattr(consumer({spelling: "x"}), field) == "x"


@pytest.mark.parametrize(
    ("spelling", "field"),
    [("sasl_plain_username", "sasl_username"), ("sasl.mechanisms", "sasl_mechanism")],
)
def test_credentials_without_authentication(consumer: Build, spelling: str, field: str) -> None:
    """Keys of SASL are warned of where security.protocol has none: it may be forgotten."""
    with pytest.warns(
        ConfigWarning, match=f"{spelling} .security.protocol=PLAINTEXT has no authentication"
    ):
        config = consumer({spelling: "x"})
    assert getattr(config, field) == "x"


def test_passwords_spelt_otherwise(consumer: Build) -> None:
    """kafka-python's passwords become secrets too."""
    with pytest.warns(ConfigWarning, match="sasl_plain_password"):
        config = consumer({"ssl_password": "a", "sasl_plain_password": "b"})
    assert config.ssl_key_password == Secret("a")
    assert config.sasl_password == Secret("b")


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (
            {"max.poll.recods": 5},
            r"^unknown key max.poll.recods; did you mean max.poll.records",
        ),
        ({"max_poll_recods": 5}, "did you mean max_poll_records"),
        ({"Group.Id": "x"}, "unknown key Group.Id; did you mean group.id"),
        ({"sasl_plain_usrname": "x"}, "did you mean sasl_username"),
        ({"colour": "blue"}, "^unknown key colour$"),
        ({"linger.ms": 5}, "linger.ms is a key of the producer, and this is a consumer's"),
        ({"request.required.acks": 1}, "is a key of the producer"),
        ({"timeout.ms": 5}, "timeout.ms is a key of the producer"),
        ({"max.poll.records": 0}, "^max.poll.records=0: must be a whole number from 1 to"),
        ({"max_poll_records": "many"}, "^max_poll_records='many': must be a whole number"),
        (
            {"max.poll.records": None},
            "=None: must not be None; leave it out to get its default",
        ),
        ({"bootstrap.servers": None}, "must not be None; leave it out$"),
        ({"enable.auto.commit": "on"}, "^enable.auto.commit='on': must be True or False"),
        ({"isolation.level": "serializable"}, "one of read_uncommitted, read_committed"),
        ({"auto.offset.reset": "by_duration:PT-1S"}, "PT-1S': has a negative duration"),
        ({"group.id": " "}, "group.id=' ': must be a string that is not blank"),
        ({"group.instance.id": ""}, "group.instance.id='': must be a string that is not blank"),
        (
            {"bootstrap.servers": "kafka1:"},
            "^bootstrap.servers='kafka1:': entry 1, 'kafka1:', has",
        ),
        ({"config.providers": "env"}, "config.providers: cannot be used here: placeholders"),
        ({"sasl_jaas_config": 7}, "must be a string, a Secret or a callable"),
        (
            {"interceptor.classes": "com.example.X"},
            r"interceptor_classes=\[MyInterceptor\(\)\]",
        ),
        ({"internal.throw.on.fetch.stable.offset.unsupported": True}, "leave the key out"),
        ({"share.acquire.mode": "record_limit"}, "share groups"),
        ({"value.deserializer": "StringDeserializer"}, "must be a callable"),
    ],
)
def test_errors_name_key_value_rule_and_way_out(
    consumer: Build, keys: Mapping[str, object], text: str
) -> None:
    """A key or value that cannot be used is an error with everything needed to mend it."""
    with pytest.raises(ConfigException, match=text):
        consumer(keys)


def test_a_consumers_key_given_to_a_producer(producer: BuildProducer) -> None:
    """The producer recognises the consumer's keys as well."""
    with pytest.raises(ConfigException, match=r"group.id is a key of the consumer"):
        producer({"group.id": "billing"})


def test_a_long_value_is_shortened(consumer: Build) -> None:
    """An error stays readable for any value."""
    with pytest.raises(ConfigException) as caught:
        consumer({"max.poll.records": "9" * 10_000})
    assert len(str(caught.value)) < 300


def test_bootstrap_servers_are_required() -> None:
    """Without brokers to ask there is nothing to begin with."""
    with pytest.raises(ConfigException, match=r"bootstrap.servers must be given"):
        ConsumerConfig({})


def test_keys_must_be_strings() -> None:
    """A key that is no string is named with its type."""
    keys: Any = {"bootstrap.servers": "kafka1:9092", 7: "x"}
    with pytest.raises(ConfigException, match="the key 7 is not a string but int"):
        ConsumerConfig(keys)


def test_the_configuration_must_be_a_mapping() -> None:
    """A bare address is the likely mistake, so the error shows both right forms."""
    keys: Any = "kafka1:9092"
    with pytest.raises(ConfigException, match=r'mapping.*not str.*bootstrap_servers="'):
        ConsumerConfig(keys)


def test_two_spellings_with_equal_values(consumer: Build) -> None:
    """Saying the same twice is no contradiction, in any form."""
    config = consumer({"max.poll.records": 5, "max_poll_records": "5"})
    assert config.max_poll_records == 5


def test_two_spellings_with_different_values(consumer: Build) -> None:
    """A contradiction names both spellings and both values."""
    with pytest.raises(
        ConfigException, match=r"fetch.max.wait.ms and fetch_wait_max_ms .*\(5 and 6\)"
    ):
        consumer({"fetch.max.wait.ms": 5, "fetch_wait_max_ms": 6})


def test_mapping_and_keyword_contradict() -> None:
    """The same spelling in both places is told as such."""
    with pytest.raises(ConfigException, match="group_id is given in the mapping and as a keyw"):
        ConsumerConfig({"bootstrap.servers": "a:1", "group_id": "x"}, group_id="y")


def test_one_warning_for_all_keys_without_effect() -> None:
    """Java's and other clients' idle keys are listed together, at the caller's line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = sys._getframe().f_lineno + 1
        ConsumerConfig(
            {"queued.min.messages": 9, "metric.reporters": "x", "bootstrap.servers": "a:1"},
            metrics_num_samples=3,
        )
    assert [warning.category for warning in caught] == [ConfigWarning]
    text = str(caught[0].message)
    for key in (
        "queued.min.messages (one bound",
        "metric.reporters (",
        "metrics_num_samples (",
    ):
        assert key in text
    assert caught[0].filename == __file__
    assert line <= caught[0].lineno <= line + 4


def test_no_warning_if_the_configuration_is_bad() -> None:
    """An error comes alone."""
    with pytest.raises(ConfigException, match="unknown key"):  # a warning would be an error
        ConsumerConfig({"debug": "all", "bootstrap.servers": "a:1", "colour": "blue"})


IDLE = [
    *((key, "x") for key, foreign in LIBRDKAFKA.items() if foreign.harmless is None),
    *((key, "x") for key, foreign in KAFKA_PYTHON.items() if foreign.harmless is None),
    ("enable.partition.eof", False),
    ("max.in.flight", 5),
    ("message.max.bytes", 1_000_000),
]


@pytest.mark.parametrize(("key", "value"), IDLE)
def test_keys_that_only_tune_another_client(consumer: Build, key: str, value: object) -> None:
    """What tunes machinery that is not here is accepted with a warning."""
    with pytest.warns(ConfigWarning) as caught:
        config = consumer({key: value})
    assert len(caught) == 1
    assert key in str(caught[0].message)
    assert config.given == {"bootstrap.servers"}


REFUSED = [
    *((key, "x") for key, foreign in LIBRDKAFKA.items() if foreign.harmless is not None),
    *((key, "x") for key, foreign in KAFKA_PYTHON.items() if foreign.harmless is not None),
    ("enable.partition.eof", True),
    ("rebalance_cb", print),
    ("on_commit", print),
]


@pytest.mark.parametrize(("key", "value"), REFUSED)
def test_keys_that_cannot_be_passed_over(consumer: Build, key: str, value: object) -> None:
    """What would change the program's meaning is refused with a reason."""
    with pytest.raises(ConfigException, match=f"^{key}: cannot be used here: ."):
        consumer({key: value})


@pytest.mark.parametrize(("value", "good"), [(True, True), ("true", True), (False, False)])
def test_a_producers_topic_creation(
    producer: BuildProducer, value: object, *, good: bool
) -> None:
    """A producer can accept allow.auto.create.topics only where it asks for nothing."""
    if good:
        with pytest.warns(ConfigWarning, match="broker's auto.create.topics.enable"):
            producer({"allow.auto.create.topics": value})
    else:
        with pytest.raises(ConfigException, match="cannot be used here"):
            producer({"allow.auto.create.topics": value})
