"""The embedded broker with TLS and SASL, met by a stranger's client and by ours."""

from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from prokurist import KafkaConsumer
from prokurist.errors import SaslAuthenticationException, SslAuthenticationException
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster.sasl import Sasl
from prokurist.testing.kafka.pki import Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Who vouches for the broker."""
    return Authority(tmp_path_factory.mktemp("embedded"))


@pytest.fixture(scope="module")
def certificate(authority: Authority) -> Path:
    """The broker's."""
    return authority.issue("broker")


@pytest.mark.parametrize("mechanism", [None, "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("has_tls", [False, True])
def test_a_stranger_writes_and_we_read(
    authority: Authority, certificate: Path, mechanism: str | None, *, has_tls: bool
) -> None:
    """Each protocol, with confluent-kafka on one side and ours on the other."""
    below = "SSL" if has_tls else "PLAINTEXT"
    keys: dict[str, Any] = {"security.protocol": f"SASL_{below}" if mechanism else below}
    if has_tls:
        keys["ssl.ca.location"] = str(authority.location)
    if mechanism:
        keys |= {
            "sasl.mechanism": mechanism,
            "sasl.username": "anna",
            "sasl.password": "right",
        }
    broker = EmbeddedBroker(
        topics={"orders": 1},
        sasl=Sasl({"anna": "right"}) if mechanism else None,
        certificate=certificate if has_tls else None,
    )
    with broker:
        keys["bootstrap.servers"] = broker.bootstrap
        producer = confluent_kafka.Producer(keys)
        for number in range(100):
            producer.produce("orders", str(number).encode())
        assert producer.flush(20) == 0
        group = {"group.id": "g", "auto.offset.reset": "earliest"}
        with KafkaConsumer({**keys, **group}) as consumer:
            consumer.subscribe(["orders"])
            values: list[bytes | None] = []
            for _ in range(40):
                values += [record.value for record in consumer.poll(0.5)]
                if len(values) == 100:
                    break
            consumer.commit_sync(timeout=10)
        assert values == [str(number).encode() for number in range(100)]


def test_refusals(authority: Authority, certificate: Path) -> None:
    """A missing certificate and a wrong password are told as a real broker's are."""
    keys = {"security.protocol": "SSL", "ssl.ca.location": str(authority.location)}
    with EmbeddedBroker(certificate=certificate, authority=authority.location) as broker:
        keys["bootstrap.servers"] = broker.bootstrap
        with KafkaConsumer(keys) as consumer, pytest.raises(SslAuthenticationException):
            consumer.list_topics(5)
        ours = {"ssl.certificate.location": str(authority.issue("client", ()))}
        with KafkaConsumer({**keys, **ours}) as consumer:
            consumer.list_topics(5)
    with EmbeddedBroker(certificate=certificate, sasl=Sasl({"anna": "right"})) as broker:
        keys |= {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "anna",
            "sasl.password": "wrong",
        }
        with KafkaConsumer(keys) as consumer, pytest.raises(SaslAuthenticationException):
            consumer.list_topics(5)
