"""A configuration's faults all at once, and what its keys mean here."""

from collections.abc import Mapping
from typing import Any

import pytest

from prokurist.config import ConsumerConfig, KeyFinding, ProducerConfig, Secret, Verdict
from prokurist.config.counterparts import COUNTERPARTS
from prokurist.errors import ConfigException, ConfigWarning

OF_LIBRDKAFKA: Mapping[str, object] = {
    "bootstrap.servers": "kafka1:9092",
    "group.id": "billing",
    "enable.gapless.guarantee": True,
    "open_cb": print,
    "resolve_cb": print,
    "topic.blacklist": "x",
    "max.poll.records": 0,
    "fetch.wait.max.ms": 90_000,
}
"""Three keys that are refused, a value that is, a bad value and a contradiction."""


def found(findings: tuple[KeyFinding, ...]) -> dict[str, Verdict]:
    """The verdicts by key."""
    return {each.key: each.verdict for each in findings}


def test_all_faults_come_at_once() -> None:
    """B300: one exception has each fault, with key and way out; also those between keys."""
    with pytest.raises(ConfigException) as caught:
        ConsumerConfig(OF_LIBRDKAFKA)
    faults = caught.value.faults
    assert [fault.partition(":")[0].partition("=")[0] for fault in faults] == [
        "enable.gapless.guarantee",
        "open_cb",
        "resolve_cb",
        "topic.blacklist",
        "max.poll.records",
        "fetch.max.wait.ms",
    ]
    text = str(caught.value)
    assert text.startswith("6 faults in the configuration:\n- enable.gapless.guarantee: cannot")
    assert all(f"\n- {fault}" in text for fault in faults)


def test_one_fault_is_the_message() -> None:
    """Without a heading."""
    with pytest.raises(ConfigException, match=r"^unknown key colour$") as caught:
        ConsumerConfig({"bootstrap.servers": "kafka1:9092", "colour": "blue"})
    assert caught.value.faults == ()


def test_what_follows_from_a_fault_is_no_fault() -> None:
    """A rule between keys is not held against a default that stands for a bad value."""
    keys = {"group.id": " ", "enable.auto.commit": True, "bootstrap.servers": "kafka1:"}
    with pytest.raises(ConfigException) as caught:
        ConsumerConfig(keys)
    assert [fault.partition("=")[0] for fault in caught.value.faults] == [
        "group.id",
        "bootstrap.servers",
    ]


def test_every_kind_of_fault_is_collected() -> None:
    """No brokers, a key that is no string, a key twice, SASL without credentials."""
    keys: dict[Any, object] = {
        7: "x",
        "max.poll.records": 5,
        "max_poll_records": 6,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
    }
    report = ConsumerConfig.check(keys)
    assert len(report.faults) == 4
    for text in ("the key 7", "two spellings", "bootstrap.servers must", "needs sasl.username"):
        assert any(text in fault for fault in report.faults)
    mapping: Any = "kafka1:9092"
    assert len(ConsumerConfig.check(mapping).faults) == 1


def test_a_check_raises_and_warns_nothing() -> None:
    """It tells what each key means, in the order in which they stand."""
    report = ConsumerConfig.check(
        {
            "metadata.broker.list": "kafka1:9092",
            "group.id": "billing",
            "queued.min.messages": 9,
            "colour": "blue",
        },
        queued_max_messages_kbytes="16384",
    )
    assert found(report.findings) == {
        "metadata.broker.list": Verdict.TRANSLATED,
        "group.id": Verdict.SUPPORTED,
        "queued.min.messages": Verdict.WITHOUT_EFFECT,
        "colour": Verdict.FAULTY,
        "queued_max_messages_kbytes": Verdict.TRANSLATED,
    }
    assert report.faults == ("unknown key colour",)
    assert list(report.properties()) == [
        "bootstrap.servers=kafka1:9092",
        "group.id=billing",
        "fetch.buffer.max.bytes=16777216",
    ]


@pytest.mark.parametrize(
    ("key", "value", "name", "becomes"),
    [
        ("queued.max.messages.kbytes", 16_384, "fetch.buffer.max.bytes", 16_777_216),
        ("queued.max.messages.kbytes", "1", "fetch.buffer.max.bytes", 1024),
        ("topic.metadata.refresh.interval.ms", 30_000, "metadata.max.age.ms", 30_000),
        ("topic_metadata_refresh_interval_ms", "-1", "metadata.max.age.ms", 2**63 - 1),
        ("ssl_check_hostname", False, "ssl.endpoint.identification.algorithm", "none"),
        ("ssl.check.hostname", "true", "ssl.endpoint.identification.algorithm", "https"),
    ],
)
def test_a_key_with_a_counterpart_is_taken_over(
    key: str, value: object, name: str, becomes: object
) -> None:
    """B301: in our unit, said in one warning, and a key that was given."""
    with pytest.warns(ConfigWarning, match=f"taken over: {key} as {name}={becomes} .") as told:
        config = ConsumerConfig({"bootstrap.servers": "kafka1:9092", key: value})
    assert len(told) == 1
    assert getattr(config, name.replace(".", "_")) == becomes
    assert name in config.given


@pytest.mark.parametrize("key", COUNTERPARTS)
def test_a_counterpart_has_a_rule(key: str) -> None:
    """A value that the other client would refuse is refused here, under its key."""
    with pytest.raises(ConfigException, match=f"^{key}='x': must be"):
        ConsumerConfig({"bootstrap.servers": "kafka1:9092", key: "x"})


def test_a_counterpart_and_our_key_contradict_each_other() -> None:
    """As two spellings do."""
    with pytest.raises(ConfigException, match="two spellings of one key"):
        ConsumerConfig(
            {
                "bootstrap.servers": "kafka1:9092",
                "queued.max.messages.kbytes": 1,
                "fetch.buffer.max.bytes": 5,
            }
        )


def test_a_translation_is_the_same_configuration() -> None:
    """Checked and translated, or used as it is: one result, secrets included."""
    keys: dict[str, object] = {
        "metadata.broker.list": "kafka1:9093",
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": "gruyère",
        "ssl_cafile": "ca.pem",
        "topic.metadata.refresh.interval.ms": 1,
        "auto.offset.reset": "smallest",
        "key.deserializer": "org.apache.kafka.common.serialization.LongDeserializer",
        "debug": "all",
    }
    report = ConsumerConfig.check(keys)
    assert report.faults == ()
    with pytest.warns(ConfigWarning):
        used = ConsumerConfig(keys)
    assert ConsumerConfig(report.translated) == used
    assert report.translated["sasl.password"] == Secret("gruyère")
    assert "gruyère" not in repr(report)
    assert "# sasl.password=***" in list(report.properties())


@pytest.mark.parametrize(
    "keys",
    [
        {"sasl.pasword": "gruyère"},
        {"sasl.password": 7},
        {"sasl.password": "gruyère", "sasl_plain_password": "emmental"},
        {"bootstrap.servers": "me:gruyère@kafka1:9092"},
        {"topic.blacklist": "gruyère"},
    ],
)
def test_no_text_holds_a_secret(keys: Mapping[str, object]) -> None:
    """B302: not of a misspelt key, a contradiction, credentials in an address, a refusal."""
    report = ConsumerConfig.check(keys)
    assert report.faults
    for text in (repr(report), *report.faults, *report.properties()):
        assert "gruyère" not in text
        assert "emmental" not in text


def test_what_has_no_text_is_a_comment() -> None:
    """A callable does not stand in a property file."""
    report = ConsumerConfig.check(
        bootstrap_servers=["a:1", "b:2"], value_deserializer=print, check_crcs=False
    )
    assert list(report.properties()) == [
        "bootstrap.servers=a:1,b:2",
        "# value.deserializer: a builtin_function_or_method, which is given in Python",
        "check.crcs=false",
    ]


def test_a_producers_old_keys_are_translated() -> None:
    """KIP-19's, which override what they were replaced by."""
    report = ProducerConfig.check({"bootstrap.servers": "a:1", "timeout.ms": 5})
    assert found(report.findings)["timeout.ms"] is Verdict.TRANSLATED
    assert report.translated["request.timeout.ms"] == 5
    assert ProducerConfig.check({"group.id": "g"}).faults[0].startswith("group.id is a key of")
    unknown = ProducerConfig.check({"queued.max.messages.kbytes": 5})
    assert any("unknown key queued" in fault for fault in unknown.faults)
