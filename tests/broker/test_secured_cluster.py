"""Three secured nodes of which one has a certificate that no client accepts."""

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from prokurist import KafkaConsumer, KafkaProducer
from prokurist.errors import SslAuthenticationException
from prokurist.testing.kafka import RealKafka, SecuredListener
from prokurist.testing.kafka.pki import Authority
from tests.broker.watching import soon

pytestmark = pytest.mark.kafka

Keys = dict[str, Any]


class Cluster:
    """Three nodes, whose certificate is read from one file when they start."""

    def __init__(self, folder: Path) -> None:
        self._authority = Authority(folder)
        self._good = self._authority.issue("good")
        self._in_use = folder / "in-use.pem"
        shutil.copy(self._good, self._in_use)
        self.kafka = RealKafka(
            3, controls=True, security=SecuredListener(certificate=self._in_use)
        )

    def keys(self, **more: Any) -> Keys:
        """A client's configuration."""
        return {
            "bootstrap.servers": self.kafka.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": str(self._authority.location),
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    def restart(self, node: int, *, good: bool) -> None:
        """Restart a node with a certificate that has expired, or with a good one."""
        self.kafka.kill(node)
        bad = self._authority.issue("expired", ends=timedelta(days=-1))
        shutil.copy(self._good if good else bad, self._in_use)
        self.kafka.restart(node)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """One for each test, since nodes are restarted."""
    made = Cluster(tmp_path / "pki")
    with made.kafka:
        yield made


def read(consumer: KafkaConsumer, count: int) -> list[bytes | None]:
    """What is read, until there is so much.

    A leader's refusal is raised by `poll`, also of one that leads no more, until the client
    knows that.
    """
    values: list[bytes | None] = []
    until = time.monotonic() + 60.0
    while len(values) < count and time.monotonic() < until:
        with suppress(SslAuthenticationException):
            values += [record.value for record in consumer.poll(1.0)]
    return values


@pytest.mark.minutes
def test_one_expired_certificate_of_three(cluster: Cluster) -> None:
    """B358: clients that are there, and new ones, go on by the other two; alone it is told."""
    kafka = cluster.kafka
    topic = kafka.unique_topic(partitions=3, replication_factor=3)
    group = {"group_id": f"g-{topic}", "auto_offset_reset": "earliest"}
    bad = next(node for node in range(3) if node != kafka.coordinator(f"g-{topic}"))
    with (
        KafkaProducer(cluster.keys()) as producer,
        KafkaConsumer(cluster.keys(**group)) as consumer,
    ):
        for partition in range(3):
            producer.send(topic, b"before", partition=partition).result(60.0)
        consumer.subscribe([topic])
        assert len(read(consumer, 3)) == 3
        cluster.restart(bad, good=False)
        # Its partitions have other leaders by now, and keep them for minutes.
        for partition in range(3):
            producer.send(topic, b"after", partition=partition).result(60.0)
        assert len(read(consumer, 3)) == 3
        consumer.commit_sync(timeout=30.0)
    for _ in range(6):  # Which address is asked first is drawn.
        with KafkaProducer(cluster.keys()) as new, soon():
            new.send(topic, b"new", partition=0).result(60.0)
        with KafkaConsumer(cluster.keys()) as new_consumer, soon():
            new_consumer.list_topics(60.0)
    with KafkaConsumer(cluster.keys(**group)) as late:
        late.subscribe([topic])
        assert len(read(late, 6)) == 6
    alone = cluster.keys() | {"bootstrap.servers": kafka.bootstrap.split(",")[bad]}
    with (
        KafkaConsumer(alone) as refused,
        soon(),
        pytest.raises(SslAuthenticationException, match="expired"),
    ):
        refused.list_topics(60.0)
    cluster.restart(bad, good=True)
    with KafkaConsumer(alone) as accepted:
        assert accepted.list_topics(60.0)
