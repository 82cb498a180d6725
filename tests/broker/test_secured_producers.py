"""A producer over SASL_SSL with a real Kafka: refusals, renewed sessions, frozen brokers."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from prokurist import KafkaProducer, errors
from prokurist.testing.kafka import RealKafka, SecuredListener
from prokurist.testing.kafka.pki import Authority
from tests.broker.watching import LATE, Watch, soon

pytestmark = pytest.mark.kafka

PASSWORD = "s3cret"  # noqa: S105 - of the test's Kafka
MECHANISMS = ("PLAIN", "SCRAM-SHA-512", "OAUTHBEARER")
SESSION = 6.0
"""Seconds. It is renewed when a twentieth or a little more is left; a broker that had no turn
for so long hangs up."""

Keys = dict[str, Any]


class Secured:
    """A Kafka with TLS, SASL and short sessions, and what clients need of it."""

    def __init__(self, folder: Path) -> None:
        authority = Authority(folder)
        self._authorities = str(authority.location)
        self.kafka = RealKafka(
            controls=True,
            security=SecuredListener(
                certificate=authority.issue("broker"),
                mechanisms=MECHANISMS,
                users={"anna": PASSWORD},
                session=int(SESSION * 1000),
            ),
        )

    def keys(self, mechanism: str = "SCRAM-SHA-512", **more: Any) -> Keys:
        """A client's configuration, which confluent-kafka takes as well."""
        made: Keys = {
            "bootstrap.servers": self.kafka.bootstrap,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": self._authorities,
            "sasl.mechanism": mechanism,
        }
        if mechanism == "OAUTHBEARER":
            made["sasl.oauthbearer.config"] = "principal=anna"
            made["enable.sasl.oauthbearer.unsecure.jwt"] = True
        else:
            made |= {"sasl.username": "anna", "sasl.password": PASSWORD}
        return made | {name.replace("_", "."): value for name, value in more.items()}

    def read(self, topic: str, count: int) -> list[bytes | None]:
        """What a stranger's client reads of the topic, until there is no more."""
        theirs = confluent_kafka.Consumer(self.keys(group_id=f"g-{topic}"))
        try:
            theirs.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
            found: list[bytes | None] = []
            until = time.monotonic() + 60.0
            while len(found) < count and time.monotonic() < until:
                found += [each.value() for each in theirs.consume(count - len(found), 1.0)]
            found += [each.value() for each in theirs.consume(1, 1.0)]
            return found
        finally:
            theirs.close()


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """One node of these tests' own."""
    made = Secured(tmp_path_factory.mktemp("secured"))
    with made.kafka:
        yield made


@pytest.fixture
def topic(secured: Secured) -> Iterator[str]:
    """A new topic; the node goes on afterwards."""
    yield secured.kafka.unique_topic()
    secured.kafka.heal()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password_is_told_at_once(secured: Secured, topic: str, mechanism: str) -> None:
    """B250: by a delivery and by a look-up, and without the password."""
    keys = secured.keys(mechanism, sasl_password="hunter2")  # noqa: S106 - a wrong one
    with KafkaProducer(keys) as producer:
        for call in (
            lambda: producer.send(topic, b"1").result(60.0),
            lambda: producer.partitions_for(topic, 60.0),
        ):
            with soon(), pytest.raises(errors.SaslAuthenticationException) as refused:
                call()
            assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "OAUTHBEARER"])
def test_sessions_are_renewed(secured: Secured, topic: str, mechanism: str) -> None:
    """B257: over some sessions each record arrives once and in order, on one connection."""
    with KafkaProducer(secured.keys(mechanism), linger_ms=0) as producer:
        until, count = time.monotonic() + 2.5 * SESSION, 0
        while time.monotonic() < until:
            producer.send(topic, b"%d" % count)
            count += 1
            time.sleep(0.01)
        producer.flush(30.0)
        side = producer._side
        assert side is not None
        counters = side.client.counters
        assert counters.reauthenticated.count >= 2
        assert not counters.nodes.of("0").lost
    assert secured.read(topic, count) == [b"%d" % each for each in range(count)]


def test_a_broker_that_freezes_before_a_renewal(secured: Secured, topic: str) -> None:
    """B343: flush and a wait end on time; thawed, what was sent meanwhile arrives once."""
    with KafkaProducer(secured.keys(), request_timeout_ms=60_000) as producer:
        producer.send(topic, b"0").result(30.0)
        secured.kafka.freeze()
        time.sleep(SESSION + 0.5)
        sent = [producer.send(topic, b"%d" % each) for each in range(1, 10)]
        with Watch(1.0), pytest.raises(errors.TimeoutException) as raised:
            producer.flush(1.0)
        assert "9 records (" in str(raised.value)
        with Watch(0.5), pytest.raises(errors.TimeoutException, match="delivery goes on"):
            sent[0].result(0.5)
        secured.kafka.thaw()
        producer.flush(60.0)
        assert [each.result(0).offset for each in sent] == list(range(1, 10))
    assert secured.read(topic, 10) == [b"%d" % each for each in range(10)]


def test_a_delivery_and_close_with_a_broker_that_freezes_before_a_renewal(
    secured: Secured, topic: str
) -> None:
    """B343: the delivery fails by its timeout; close gives up the rest in its time."""
    producer = KafkaProducer(
        secured.keys(), request_timeout_ms=1000, delivery_timeout_ms=2000, max_block_ms=500
    )
    producer.partitions_for(topic, 30.0)  # On a busy machine that takes longer than a send may.
    producer.send(topic, b"0").result(30.0)
    time.sleep(SESSION + 0.5)
    secured.kafka.freeze()
    with Watch(2.0), pytest.raises(errors.TimeoutException) as raised:
        producer.send(topic, b"1").result()  # Its time runs from within `send` on.
    assert not raised.value.may_have_happened
    given_up = producer.send(topic, b"2")
    with Watch(0.5, 0.5 + LATE):
        assert producer.close(1.0) == 1
    # A network thread that the machine keeps waiting comes to it behind close.
    assert isinstance(given_up.exception(30.0), errors.DeliveryAbortedException)
    secured.kafka.thaw()
    assert secured.read(topic, 1) == [b"0"]


def test_a_broker_that_is_frozen_when_a_producer_comes(secured: Secured, topic: str) -> None:
    """B343: neither TLS nor SASL costs a call more than its time, and close is at once."""
    secured.kafka.freeze()
    producer = KafkaProducer(secured.keys(), max_block_ms=500)
    with Watch(0.5):
        sent = producer.send(topic, b"1")
    assert isinstance(sent.exception(0), errors.TimeoutException)
    with Watch(1.0), pytest.raises(errors.TimeoutException):
        producer.partitions_for(topic, 1.0)
    with soon():
        assert producer.close(1.0) == 0
