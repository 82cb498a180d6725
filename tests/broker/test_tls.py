"""TLS with a real Kafka: what is verified, what is refused, and how soon."""

import logging
import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Any

import confluent_kafka
import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition
from prokurist.cli.entry import main
from prokurist.errors import KafkaException, SslAuthenticationException, TimeoutException
from prokurist.testing.kafka import RealKafka, SecuredListener
from prokurist.testing.kafka.pki import PASSWORD, Authority
from tests.broker.watching import Watch, soon

SOON = 5.0
"""Seconds within which a refusal is told, regardless of the timeouts (B250)."""

Keys = dict[str, Any]


class Secured:
    """A Kafka with TLS, the authority of its certificate, and another one."""

    def __init__(self, folder: Path, *, mutual: bool) -> None:
        self.authority = Authority(folder)
        self.other = Authority(folder, "other")
        self.certificate = self.authority.issue("broker")
        self.kafka = RealKafka(
            controls=True,
            security=SecuredListener(
                certificate=self.certificate,
                authority=self.authority.location if mutual else None,
            ),
        )

    def keys(self, **more: Any) -> Keys:
        """A client's configuration."""
        named = {key.replace("_", "."): value for key, value in more.items()}
        return {
            "bootstrap.servers": self.kafka.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.authority.location),
            **named,
        }

    def written(self, count: int, **more: Any) -> str:
        """A topic with records, written by a stranger's client over TLS."""
        topic = self.kafka.unique_topic()
        producer = confluent_kafka.Producer(self.keys(**more))
        for number in range(count):
            producer.produce(topic, str(number).encode())
        assert producer.flush(30) == 0
        return topic


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """TLS, where a client needs no certificate."""
    made = Secured(tmp_path_factory.mktemp("tls"), mutual=False)
    with made.kafka:
        yield made


@pytest.fixture(scope="module")
def mutual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """TLS, where a client has to have a certificate."""
    made = Secured(tmp_path_factory.mktemp("mutual"), mutual=True)
    with made.kafka:
        yield made


def read(keys: Mapping[str, Any], topic: str, count: int) -> list[bytes | None]:
    """What is read of a topic, with a group."""
    values: list[bytes | None] = []
    group = {"group.id": f"g-{secrets.token_hex(4)}", "auto.offset.reset": "earliest"}
    with KafkaConsumer({**keys, **group}) as consumer:
        consumer.subscribe([topic])
        until = monotonic() + 30
        while len(values) < count and monotonic() < until:
            values += [record.value for record in consumer.poll(1)]
        consumer.commit_sync(timeout=10)
    return values


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_records_are_read_over_tls(secured: Secured, version: str) -> None:
    """A group reads and commits over TLS 1.2 and 1.3 what a stranger's client has written."""
    topic = secured.written(1000)
    values = read(secured.keys(ssl_enabled_protocols=version), topic, 1000)
    assert values == [str(number).encode() for number in range(1000)]


def test_with_a_certificate_of_ours(mutual: Secured) -> None:
    """Mutual TLS by PEM files, an encrypted key, text and PKCS12."""
    client = str(mutual.authority.issue("client", ()))
    topic = mutual.written(10, ssl_certificate_location=client, ssl_key_location=client)
    locked = str(mutual.authority.issue("locked", (), password=PASSWORD))
    store = str(mutual.authority.issue_pkcs12("store"))
    text = Path(client).read_text(encoding="ascii")
    for more in (
        {"ssl.certificate.location": client, "ssl.key.location": client},
        {"ssl.certificate.location": locked, "ssl.key.password": PASSWORD},
        {"ssl.keystore.certificate.chain": text, "ssl.keystore.key": text},
        {"ssl.keystore.location": store, "ssl.keystore.password": PASSWORD},
    ):
        assert len(read(mutual.keys(**more), topic, 10)) == 10


def refused(consumer: KafkaConsumer, topic: str) -> Iterator[tuple[str, KafkaException]]:
    """What each call ends with, and soon."""
    partition = TopicPartition(topic, 0)
    calls: Mapping[str, Callable[[], object]] = {
        "partitions_for": lambda: consumer.partitions_for(topic, 15),
        "end_offsets": lambda: consumer.end_offsets([partition], 15),
        "committed": lambda: consumer.committed([partition], 15),
        "position": lambda: consumer.position(partition, 15),
        "commit_sync": lambda: consumer.commit_sync(
            {partition: OffsetAndMetadata(1)}, timeout=15
        ),
        "poll": lambda: consumer.poll(15),
    }
    consumer.assign([partition])
    for name, call in calls.items():
        with soon(SOON), pytest.raises(KafkaException) as raised:
            call()
        yield name, raised.value


def test_every_call_tells_a_refusal_at_once(secured: Secured) -> None:
    """B252: no call waits for its deadline where the broker's certificate is not accepted."""
    keys = secured.keys(group_id="g-refused", ssl_ca_location=str(secured.other.location))
    with KafkaConsumer(keys) as consumer:
        for name, error in refused(consumer, "any"):
            assert isinstance(error, SslAuthenticationException), (name, error)
            assert "ssl.ca.location" in str(error), name


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT"])
def test_a_client_without_tls_is_refused_at_once(secured: Secured, protocol: str) -> None:
    """B381: the listener's alert is a refusal; each call says which key to turn."""
    keys: Keys = {"bootstrap.servers": secured.kafka.bootstrap, "group.id": "g-without"}
    keys["security.protocol"] = protocol
    if protocol == "SASL_PLAINTEXT":
        keys |= {"sasl.mechanism": "PLAIN", "sasl.username": "anna", "sasl.password": "secret"}
    with KafkaConsumer(keys) as consumer:
        for name, error in refused(consumer, "any"):
            assert isinstance(error, SslAuthenticationException), (name, error)
            assert "set security.protocol to SSL or SASL_SSL" in str(error), name


def test_another_name(tmp_path: Path) -> None:
    """S4, S6: a certificate for other names is refused, with both, unless names are ignored."""
    authority = Authority(tmp_path)
    listener = SecuredListener(certificate=authority.issue("broker", ["elsewhere.example"]))
    with RealKafka(security=listener) as kafka:
        keys = {
            "bootstrap.servers": kafka.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": str(authority.location),
        }
        with KafkaConsumer(keys) as consumer, pytest.raises(SslAuthenticationException) as no:
            consumer.list_topics(10)
        assert "'127.0.0.1'" in str(no.value)
        assert "elsewhere.example" in str(no.value)
        keys["ssl.endpoint.identification.algorithm"] = "none"
        with KafkaConsumer(keys) as consumer:
            consumer.list_topics(10)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_goes_on_when_its_authorities_are_mended(
    secured: Secured, tmp_path: Path, protocol: str
) -> None:
    """B251: a subscribed consumer raises at once, not at every poll, and joins afterwards."""
    topic = secured.written(3)
    trusted = tmp_path / "ca.pem"
    trusted.write_bytes(secured.other.location.read_bytes())
    keys = secured.keys(
        ssl_ca_location=str(trusted),
        group_id=f"g-{topic}",
        group_protocol=protocol,
        auto_offset_reset="earliest",
    )
    with KafkaConsumer(keys) as consumer:
        consumer.subscribe([topic])
        with soon(SOON), pytest.raises(SslAuthenticationException):
            consumer.poll(15)
        raised, began = 0, monotonic()
        while monotonic() < began + 4:
            try:
                consumer.poll(0.5)
            except SslAuthenticationException:
                raised += 1
        assert 1 <= raised <= 8
        trusted.write_bytes(secured.authority.location.read_bytes())
        values: list[bytes | None] = []
        until = monotonic() + 20
        while len(values) < 3 and monotonic() < until:
            try:
                values += [record.value for record in consumer.poll(2)]
            except SslAuthenticationException:
                continue  # of a try that began before
        assert values == [b"0", b"1", b"2"]


def test_no_client_certificate(mutual: Secured) -> None:
    """S8: a broker that wants a certificate of the client refuses at once, in words."""
    with KafkaConsumer(mutual.keys(group_id="g-refused")) as consumer:
        for name, error in refused(consumer, "any"):
            assert isinstance(error, SslAuthenticationException), (name, error)
            assert "ssl.certificate.location" in str(error), name


def test_tls_to_a_listener_in_plain_text(secured: Secured) -> None:
    """B253: EOF in the handshake is tried again until the deadline, which says so."""
    keys = secured.keys() | {"bootstrap.servers": secured.kafka.direct_bootstrap}
    with KafkaConsumer(keys) as consumer, Watch(2.0), pytest.raises(TimeoutException) as raised:
        consumer.partitions_for("any", 2)
    assert "security.protocol" in str(raised.value)


def test_a_frozen_broker_does_not_delay_a_deadline(secured: Secured) -> None:
    """S10, B343: a TLS peer that is silent costs no call more than its deadline."""
    with KafkaConsumer(secured.keys()) as consumer:
        secured.kafka.freeze()
        try:
            with Watch(1.0, 0.5), pytest.raises(TimeoutException) as raised:
                consumer.partitions_for("any", 1)
        finally:
            secured.kafka.thaw()
    assert "a connection" in str(raised.value)


def test_renewed_authorities_serve_the_same_client(secured: Secured, tmp_path: Path) -> None:
    """S16, B251, B344: a client that was refused works when its file has been mended."""
    topic = secured.written(3)
    trusted = tmp_path / "ca.pem"
    trusted.write_bytes(secured.other.location.read_bytes())
    with KafkaConsumer(secured.keys(ssl_ca_location=str(trusted))) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek_to_beginning()
        with pytest.raises(SslAuthenticationException):
            consumer.poll(10)
        trusted.write_bytes(secured.authority.location.read_bytes())
        values: list[bytes | None] = []
        until = monotonic() + 20
        while len(values) < 3 and monotonic() < until:
            try:
                values += [record.value for record in consumer.poll(2)]
            except SslAuthenticationException:
                continue  # of a try that began before
        assert values == [b"0", b"1", b"2"]


def test_a_broken_connection_comes_back(secured: Secured) -> None:
    """Reading goes on over TLS after the wire was cut and the broker killed."""
    topic = secured.written(5)
    keys = secured.keys(group_id=f"g-{topic}", auto_offset_reset="earliest")
    with KafkaConsumer(keys) as consumer:
        consumer.subscribe([topic])
        seen = 0
        until = monotonic() + 60
        while seen < 5 and monotonic() < until:
            seen += len(consumer.poll(1))
        secured.kafka.kill()
        consumer.poll(1)
        secured.kafka.restart()
        producer = confluent_kafka.Producer(secured.keys())
        producer.produce(topic, b"after")
        assert producer.flush(30) == 0
        until = monotonic() + 60  # However long the broker took to come back.
        while seen < 6 and monotonic() < until:
            seen += len(consumer.poll(1))
        assert seen == 6


def test_verification_that_is_off_is_said(
    secured: Secured, caplog: pytest.LogCaptureFixture
) -> None:
    """S5: without verification anything is accepted, and one warning says so."""
    keys = secured.keys(enable_ssl_certificate_verification=False)
    keys["ssl.ca.location"] = str(secured.other.location)
    with caplog.at_level(logging.WARNING, "prokurist"), KafkaConsumer(keys) as consumer:
        consumer.list_topics(10)
    assert [each for each in caplog.messages if "not verified" in each]


def test_the_doctor_looks_at_the_certificate(
    secured: Secured, capsys: pytest.CaptureFixture[str]
) -> None:
    """`prokurist doctor` says what TLS agreed on, the certificate's names and the days left."""
    keys = secured.keys()
    named = [f"{key}={value}" for key, value in keys.items() if key != "bootstrap.servers"]
    options = [part for each in named for part in ("-X", each)]
    assert main(["doctor", "-b", secured.kafka.bootstrap, *options]) == 0
    said = capsys.readouterr().out
    assert "TLSv1.3 with TLS_" in said
    assert "localhost, 127.0.0.1" in said
    assert "29 days from now" in said
