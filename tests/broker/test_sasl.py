"""SASL with a real Kafka: mechanisms, refusals, and sessions that are renewed."""

import threading
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import confluent_kafka
import pytest

from prokurist import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from prokurist.cli.entry import main
from prokurist.errors import (
    IllegalSaslStateException,
    SaslAuthenticationException,
    TimeoutException,
    UnsupportedSaslMechanismException,
)
from prokurist.testing.kafka import RealKafka, SecuredListener
from prokurist.testing.kafka.pki import Authority
from tests.broker.watching import Watch, soon

SOON = 5.0
"""Seconds within which a refusal is told, regardless of the timeouts (B250)."""

USERS = {"anna": "s3cret", "o,t=to": "p,=ß"}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")

Keys = dict[str, Any]


@pytest.fixture(scope="module")
def plain() -> Iterator[RealKafka]:
    """SASL_PLAINTEXT with sessions of four seconds."""
    listener = SecuredListener(
        mechanisms=MECHANISMS, users={"anna": USERS["anna"]}, session=4000
    )
    with RealKafka(controls=True, security=listener) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Who vouches for the broker."""
    return Authority(tmp_path_factory.mktemp("sasl"))


@pytest.fixture(scope="module")
def encrypted(authority: Authority) -> Iterator[RealKafka]:
    """SASL_SSL."""
    listener = SecuredListener(
        certificate=authority.issue("broker"),
        mechanisms=("PLAIN", "SCRAM-SHA-256"),
        users={"anna": USERS["anna"]},
    )
    with RealKafka(security=listener) as kafka:
        yield kafka


def keys(kafka: RealKafka, mechanism: str = "SCRAM-SHA-256", **more: Any) -> Keys:
    """A client's configuration, which confluent-kafka takes as well."""
    made: Keys = {
        "bootstrap.servers": kafka.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
    }
    if mechanism == "OAUTHBEARER":
        made |= {
            "sasl.oauthbearer.config": "principal=anna",
            "enable.sasl.oauthbearer.unsecure.jwt": True,
        }
    else:
        made |= {"sasl.username": "anna", "sasl.password": USERS["anna"]}
    return made | more


def written(kafka: RealKafka, count: int, made: Keys) -> str:
    """A topic with records of a stranger's client."""
    topic = kafka.unique_topic()
    producer = confluent_kafka.Producer(made)
    for number in range(count):
        producer.produce(topic, str(number).encode())
    assert producer.flush(30) == 0
    return topic


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_each_mechanism(plain: RealKafka, mechanism: str) -> None:
    """A group reads and commits with each mechanism what confluent-kafka wrote with it."""
    made = keys(plain, mechanism)
    topic = written(plain, 100, made)
    group = {"group.id": f"g-{topic}", "auto.offset.reset": "earliest"}
    with KafkaConsumer({**made, **group}) as consumer:
        consumer.subscribe([topic])
        seen, until = 0, monotonic() + 30
        while seen < 100 and monotonic() < until:
            seen += len(consumer.poll(1))
        consumer.commit_sync(timeout=10)
        assert seen == 100
        committed = consumer.committed([TopicPartition(topic, 0)], 10)
        assert committed[TopicPartition(topic, 0)] == OffsetAndMetadata(100, "", 0)


def test_tls_below(encrypted: RealKafka, authority: Authority) -> None:
    """SASL_SSL: with PLAIN by JAAS, and with SCRAM."""
    tls = {"security.protocol": "SASL_SSL", "ssl.ca.location": str(authority.location)}
    topic = written(encrypted, 3, keys(encrypted, "PLAIN", **tls))
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    login = f'{module} required username="anna" password="{USERS["anna"]}";'
    by_jaas = {
        "bootstrap.servers": encrypted.bootstrap,
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": login,
        **tls,
    }
    for made in (by_jaas, keys(encrypted, **tls)):
        with KafkaConsumer(made) as consumer:
            consumer.assign([TopicPartition(topic, 0)])
            consumer.seek_to_beginning()
            seen, until = 0, monotonic() + 20
            while seen < 3 and monotonic() < until:
                seen += len(consumer.poll(1))
            assert seen == 3


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_told_at_once(plain: RealKafka, mechanism: str) -> None:
    """B250: no call waits for its deadline, and none quotes the password."""
    made = keys(plain, mechanism, **{"sasl.password": "hunter2", "group.id": "g"})
    partition = TopicPartition("any", 0)
    with KafkaConsumer(made) as consumer:
        consumer.assign([partition])
        for call in (
            lambda: consumer.partitions_for("any", 15),
            lambda: consumer.committed([partition], 15),
            lambda: consumer.commit_sync({partition: OffsetAndMetadata(1)}, timeout=15),
            lambda: consumer.position(partition, 15),
            lambda: consumer.poll(15),
        ):
            with soon(SOON), pytest.raises(SaslAuthenticationException) as refused:
                call()
            assert "hunter2" not in str(refused.value)
            assert "sasl.password" in str(refused.value)


def test_a_mechanism_that_is_not_enabled(encrypted: RealKafka, authority: Authority) -> None:
    """B254: the broker's list is told."""
    made = keys(
        encrypted,
        "SCRAM-SHA-512",
        **{"security.protocol": "SASL_SSL", "ssl.ca.location": str(authority.location)},
    )
    with KafkaConsumer(made) as consumer:
        with pytest.raises(UnsupportedSaslMechanismException) as refused:
            consumer.list_topics(10)
        assert "PLAIN" in str(refused.value)
        assert "SCRAM-SHA-256" in str(refused.value)


def test_a_token_of_a_stranger(plain: RealKafka) -> None:
    """B256, S38: the broker's reason is told."""
    made = keys(plain, "OAUTHBEARER")
    del made["sasl.oauthbearer.config"], made["enable.sasl.oauthbearer.unsecure.jwt"]
    made["oauth_cb"] = lambda _config: ("not-a-token", 1e12)
    with KafkaConsumer(made) as consumer, pytest.raises(SaslAuthenticationException) as refused:
        consumer.list_topics(10)
    assert "sasl.oauthbearer.token.callback" in str(refused.value)


def test_sasl_to_a_listener_without(plain: RealKafka) -> None:
    """A listener in plain text says that it expects no authentication."""
    made = keys(plain) | {"bootstrap.servers": plain.direct_bootstrap}
    with KafkaConsumer(made) as consumer, pytest.raises(IllegalSaslStateException):
        consumer.list_topics(10)


@pytest.mark.parametrize(
    ("mechanism", "protocol"), [("SCRAM-SHA-256", "classic"), ("OAUTHBEARER", "consumer")]
)
def test_sessions_are_renewed(plain: RealKafka, mechanism: str, protocol: str) -> None:
    """B257: sessions of four seconds end unseen, while a group reads, beats and commits."""
    made = keys(plain, mechanism)
    topic = written(plain, 1, made)
    producer = confluent_kafka.Producer(made)
    group = {
        "group.id": f"g-{topic}-{mechanism}",
        "auto.offset.reset": "earliest",
        "group.protocol": protocol,
    }
    with KafkaConsumer({**made, **group}) as consumer:
        consumer.subscribe([topic])
        values: list[bytes | None] = []
        began, sent = monotonic(), 1
        while monotonic() < began + 10:
            producer.produce(topic, str(sent).encode())
            sent += 1
            producer.flush(10)
            values += [record.value for record in consumer.poll(0.3)]
            if values:
                consumer.commit_sync(timeout=5)
        until = monotonic() + 20
        while len(values) < sent and monotonic() < until:
            values += [record.value for record in consumer.poll(1)]
        assert consumer._side is not None
        counters = consumer._side.client.counters
        assert values == [str(number).encode() for number in range(sent)]
        assert counters.reauthenticated.count >= 4
        assert counters.nodes.of("0").lost == 0
        assert counters.opened <= 6


def test_a_token_of_a_source_that_hangs(plain: RealKafka) -> None:
    """S34: the call ends by its deadline, and close does not wait."""
    asked, release = threading.Event(), threading.Event()

    def provider(_config: str) -> tuple[str, float]:
        asked.set()
        release.wait(30)
        return "x", 0.0

    made = keys(plain, "OAUTHBEARER")
    del made["sasl.oauthbearer.config"], made["enable.sasl.oauthbearer.unsecure.jwt"]
    made["oauth_cb"] = provider
    with KafkaConsumer(made) as consumer:
        with Watch(2.0), pytest.raises(TimeoutException):
            consumer.list_topics(2)
        with Watch(0.0):
            consumer.close()
    assert asked.is_set()
    release.set()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_the_canary(plain: RealKafka, caplog: pytest.LogCaptureFixture, mechanism: str) -> None:
    """S45, B345: what leaves a client in words has no secret, accepted or refused."""
    secret = "canary-0123456789"  # noqa: S105
    said: list[str] = []
    with caplog.at_level(0, "prokurist"):
        with KafkaConsumer(keys(plain, mechanism, **{"sasl.password": secret})) as consumer:
            with pytest.raises(SaslAuthenticationException) as refused:
                consumer.list_topics(10)
            said += [repr(consumer), repr(consumer.health()), str(refused.value)]
            said += [repr(refused.value.__cause__), str(consumer.metrics())]
        made = keys(plain, mechanism)
        with KafkaConsumer(made) as consumer, KafkaProducer(made) as producer:
            consumer.list_topics(10)
            producer.send(plain.unique_topic(), b"v").result(20)
            for client in (consumer, producer):
                said += [repr(client), repr(client.health()), str(client.metrics())]
    heard = "".join(said) + caplog.text
    for each in (secret, USERS["anna"]):
        for form in (each, b64encode(each.encode()).decode(), each.encode().hex()):
            assert form not in heard


def test_the_doctor_authenticates(
    plain: RealKafka, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`prokurist doctor` takes SASL as a step of its own, accepted and refused."""
    file = tmp_path / "client.properties"
    for password, code, text in (
        (USERS["anna"], 0, "accepts the authentication by SCRAM-SHA-256"),
        ("no", 1, "sasl.password"),
    ):
        made = keys(plain, **{"sasl.password": password})
        file.write_text("".join(f"{key}={value}\n" for key, value in made.items()))
        assert main(["doctor", "-b", plain.bootstrap, "-F", str(file)]) == code
        said = capsys.readouterr().out
        (line,) = [each for each in said.splitlines() if " SASL " in each]
        assert text in said
        assert line.startswith("ok" if code == 0 else "failed")
