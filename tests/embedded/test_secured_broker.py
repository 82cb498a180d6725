"""The embedded broker with TLS and SASL, met by a stranger's client and by ours."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import confluent_kafka
import pytest

from prokurist import KafkaConsumer, KafkaProducer, TopicPartition
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


@pytest.mark.parametrize(("mechanism", "warnings"), [("PLAIN", 2), ("SCRAM-SHA-256", 0)])
def test_a_password_in_plain_text_is_warned_of(
    mechanism: str, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    """S33: once by each client, whatever it connects to; SCRAM sends no password."""
    with EmbeddedBroker(2, {"orders": 2}, sasl=Sasl({"anna": "right"})) as broker:
        keys: dict[str, Any] = {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": "anna",
            "sasl.password": "right",
        }
        with KafkaConsumer(keys) as consumer, KafkaProducer(keys) as producer:
            producer.send("orders", b"v", partition=0).result(20.0)
            assert consumer.end_offsets(TopicPartition("orders", 1), timeout=20.0)
    told = [each for each in caplog.messages if "sends the password as it is" in each]
    assert len(told) == warnings


FORKED = """
import os, sys
from prokurist import KafkaConsumer, KafkaProducer, errors

keys = dict(each.split("=", 1) for each in sys.argv[1:])
with KafkaProducer(keys) as producer, KafkaConsumer(keys) as consumer:
    producer.send("orders", b"before").result(20)
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (
            lambda: producer.send("orders", b"of the child"),
            lambda: producer.close(1),
            lambda: consumer.list_topics(5),
            lambda: consumer.close(),
        ):
            try:
                call()
            except errors.ForkedClientError:
                refused += 1
        with KafkaProducer(keys) as own:
            own.send("orders", b"child").result(20)
        sys.exit(refused)  # Its interpreter ends with copies of the parent's connections.
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    producer.send("orders", b"after").result(20)
    print(len(consumer.list_topics(20)["orders"]))
"""


def test_a_child_process_writes_nothing_to_its_parents_connections(
    authority: Authority, certificate: Path
) -> None:
    """S48: one record of a copy's would end the parent's TLS; its own clients work."""
    with EmbeddedBroker(
        topics={"orders": 1}, certificate=certificate, sasl=Sasl({"anna": "right"})
    ) as broker:
        keys = {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(authority.location),
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": "anna",
            "sasl.password": "right",
        }
        done = subprocess.run(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED,
             *(f"{key}={value}" for key, value in keys.items())],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        refused, partitions = done.stdout.split()
        assert int(refused) >= 2
        assert partitions == "1"
        assert len({entry.session for entry in broker.requests("SaslHandshake")}) <= 5


def test_an_expired_certificate(authority: Authority) -> None:
    """S3: the error says when it has expired, at once, and for whom it was."""
    ended = authority.issue("expired", ends=timedelta(days=-3))
    with EmbeddedBroker(certificate=ended) as broker:
        keys = {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": str(authority.location),
        }
        began = monotonic()
        with KafkaConsumer(keys) as consumer, pytest.raises(SslAuthenticationException) as no:
            consumer.list_topics(60)
        assert monotonic() - began < 10
    year = (datetime.now(UTC) - timedelta(days=3)).strftime("%Y")
    assert "has expired" in str(no.value)
    assert "localhost" in str(no.value)
    assert f"{year} GMT" in str(no.value)
