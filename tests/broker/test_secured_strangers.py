"""Strangers at secured brokers, the real one and the embedded: Java's client, confluent-kafka.

What they accept is no habit of ours: certificates, mechanisms and answers are as in Kafka.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from prokurist import KafkaConsumer, KafkaProducer
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster.sasl import Sasl
from prokurist.testing.kafka import RealKafka, SecuredListener
from prokurist.testing.kafka.pki import Authority
from tests.broker.java_programs import java

pytestmark = pytest.mark.kafka

PASSWORD = "s3cret"  # noqa: S105 - of the test's brokers
MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
VALUES = [b"value %d" % each for each in range(100)]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Who vouches for both brokers."""
    return Authority(tmp_path_factory.mktemp("strangers"))


@pytest.fixture(scope="module")
def certificate(authority: Authority) -> Path:
    """The certificate of both."""
    return authority.issue("broker")


@contextmanager
def real(certificate: Path) -> Iterator[str]:
    """A real Kafka over SASL_SSL, with a topic."""
    listener = SecuredListener(
        certificate=certificate, mechanisms=tuple(MODULES), users={"anna": PASSWORD}
    )
    with RealKafka(security=listener) as kafka:
        for mechanism in MODULES:
            kafka.create_topic(mechanism)
        yield kafka.bootstrap


@contextmanager
def embedded(certificate: Path) -> Iterator[str]:
    """The embedded broker with the same."""
    topics = dict.fromkeys(MODULES, 1)
    sasl = Sasl({"anna": PASSWORD})
    with EmbeddedBroker(topics=topics, sasl=sasl, certificate=certificate) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="module", params=[real, embedded], ids=["real", "embedded"])
def bootstrap(request: pytest.FixtureRequest, certificate: Path) -> Iterator[str]:
    """Where a secured broker is."""
    with request.param(certificate) as where:
        yield where


@pytest.mark.parametrize("mechanism", MODULES)
def test_strangers_and_we_read_each_other(
    bootstrap: str, authority: Authority, mechanism: str, tmp_path: Path
) -> None:
    """Java and confluent-kafka read what we wrote, and we read what Java wrote."""
    keys: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(authority.location),
        "sasl.mechanism": mechanism,
        "sasl.username": "anna",
        "sasl.password": PASSWORD,
    }
    with KafkaProducer(keys) as producer:
        producer.send_many(mechanism, VALUES).result(60.0)

    of_java = tmp_path / "client.properties"
    of_java.write_text(
        "security.protocol=SASL_SSL\nssl.truststore.type=PEM\n"
        f"ssl.truststore.location={authority.location}\nsasl.mechanism={mechanism}\n"
        f'sasl.jaas.config={MODULES[mechanism]} required username="anna" '
        f'password="{PASSWORD}";\n'
    )
    common = ("--bootstrap-server", bootstrap, "--topic", mechanism)
    config = ("--command-config", str(of_java))
    read = java(
        *("org.apache.kafka.tools.consumer.ConsoleConsumer", *common, *config),
        *("--from-beginning", "--max-messages", "100", "--timeout-ms", "60000"),
    )
    assert [each.encode() for each in read] == VALUES

    theirs = confluent_kafka.Consumer(
        {**keys, "group.id": "theirs", "auto.offset.reset": "earliest"}
    )
    try:
        theirs.subscribe([mechanism])
        messages: list[Any] = []
        for _ in range(60):
            messages += theirs.consume(100, 1.0)
            if len(messages) >= len(VALUES):
                break
        assert [each.value() for each in messages] == VALUES
        theirs.commit(asynchronous=False)
    finally:
        theirs.close()

    java(
        *("org.apache.kafka.tools.ConsoleProducer", *common, *config),
        given=b"one\ntwo\nthree\n",
    )
    with KafkaConsumer(keys, group_id="ours", auto_offset_reset="earliest") as consumer:
        consumer.subscribe(mechanism)
        found = [consumer.next(20.0) for _ in range(103)]
    values = [each.value for each in found if each is not None]
    assert values == [*VALUES, b"one", b"two", b"three"]
