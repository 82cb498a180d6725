"""Metrics pushed to a real Kafka, which hands them to a receiver that is compiled here.

The receiver reads them with the classes of OpenTelemetry that Kafka's clients bring along.
"""

import base64
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from kio.schema.incremental_alter_configs.v1 import request as alter
from kio.schema.incremental_alter_configs.v1.response import IncrementalAlterConfigsResponse
from kio.static.primitive import i8

from prokurist import KafkaConsumer, KafkaProducer, errors
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka import DEFAULT_VERSION, RealKafka
from prokurist.testing.kafka.jars import cached_jars
from prokurist.testing.kafka.ports import Address
from prokurist.testing.kafka.properties import QUICK_JAVA, heap_option
from prokurist.testing.kafka.wire import BrokerConnection
from tests.broker.java_programs import java
from tests.processes_watch import ProcessesWatch

pytestmark = pytest.mark.kafka

SOURCE: Final = Path(__file__).parent / "java" / "TelemetryReceiver.java"
CLIENT_METRICS: Final = i8(16)
CONSUMER: Final = "org.apache.kafka.consumer."
PRODUCER: Final = "org.apache.kafka.producer."
WITHIN: Final = 60.0
CLOCK: Final = MonotonicClock()


@dataclass(frozen=True)
class Point:
    """One value that came, as the receiver has written it."""

    client_id: str
    instance: str
    terminating: bool
    resource: str
    kind: str
    name: str
    value: float
    attributes: str


@dataclass(frozen=True)
class Receiving:
    """A Kafka with a receiver."""

    kafka: RealKafka
    out: Path

    def points(self, client_id: str) -> list[Point]:
        """What has come of a client."""
        if not self.out.exists():
            return []
        rows = [line.split("\t") for line in self.out.read_text("utf-8").splitlines()]
        return [
            Point(
                client_id=row[0],
                instance=row[1],
                terminating=row[2] == "true",
                resource=row[3],
                kind=row[4],
                name=row[5],
                value=float(row[6]),
                attributes=row[7],
            )
            for row in rows
            if row[0] == client_id and len(row) == 8
        ]

    def subscribe(self, name: str, **configs: str) -> None:
        """Make or change a subscription, as `kafka-client-metrics.sh` does."""
        host, _, port = self.kafka.direct_bootstrap.partition(":")
        deadline = Deadline.after(CLOCK.now(), WITHIN)
        request = alter.IncrementalAlterConfigsRequest(
            resources=(
                alter.AlterConfigsResource(
                    resource_type=CLIENT_METRICS,
                    resource_name=name,
                    configs=tuple(
                        alter.AlterableConfig(
                            name=key.replace("_", "."), config_operation=i8(0), value=value
                        )
                        for key, value in configs.items()
                    ),
                ),
            ),
            validate_only=False,
        )
        with BrokerConnection(Address(host, int(port)), deadline, CLOCK) as node:
            answer = node.exchange(request, IncrementalAlterConfigsResponse, deadline)
        [answered] = answer.responses
        assert int(answered.error_code.value) == 0, answered.error_message


def until(holds: Callable[[], Any], what: str) -> None:
    """Wait for something that comes from elsewhere."""
    deadline = Deadline.after(CLOCK.now(), WITHIN)
    while not holds():
        assert not deadline.expired(CLOCK.now()), f"in {WITHIN} s: {what}"
        CLOCK.sleep(0.05)


@pytest.fixture(scope="module")
def receiving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiving]:
    """A Kafka with the receiver, and a subscription to all metrics of all clients."""
    compiler, jars = shutil.which("javac"), cached_jars(DEFAULT_VERSION)
    if compiler is None or jars is None:
        pytest.skip("there is no JDK on the path, or Kafka's jars are not here")
    folder = tmp_path_factory.mktemp("receiver")
    subprocess.run(
        [
            compiler,
            "-Xlint:-removal",
            "-cp",
            f"{jars}/*",
            "-d",
            str(folder / "classes"),
            str(SOURCE),
        ],
        check=True,
    )
    agent, out = folder / "receiver.jar", folder / "points.tsv"
    with zipfile.ZipFile(agent, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Premain-Class: TelemetryReceiver\n")
        for each in (folder / "classes").iterdir():
            archive.write(each, each.name)
    with RealKafka(
        java_options=[
            heap_option(1),
            *QUICK_JAVA,
            f"-javaagent:{agent}",
            f"-Dprokurist.telemetry={out}",
        ],
        metric_reporters="TelemetryReceiver",
    ) as kafka:
        found = Receiving(kafka, out)
        found.subscribe("all", metrics="org.apache.kafka.", interval_ms="500")
        yield found


@pytest.fixture
def topic(receiving: Receiving) -> str:
    """A topic."""
    return receiving.kafka.unique_topic("told")


def test_a_real_broker_hands_on_what_is_pushed(receiving: Receiving, topic: str) -> None:
    """B338: under the id that it gave; sums of deltas come to what has happened."""
    servers = receiving.kafka.bootstrap
    with (
        KafkaProducer(
            bootstrap_servers=servers, enable_metrics_push=True, client_id="told-producer"
        ) as producer,
        KafkaConsumer(
            bootstrap_servers=servers,
            enable_metrics_push=True,
            client_id="told-consumer",
            group_id=topic,
            auto_offset_reset="earliest",
        ) as consumer,
    ):
        for _ in range(100):
            producer.send(topic, b"v")
        producer.flush(30.0)
        consumer.subscribe([topic])
        read = 0
        while read < 100:
            read += len(consumer.poll(1.0))
        ids = {
            "told-producer": producer.client_instance_id(30.0),
            "told-consumer": consumer.client_instance_id(30.0),
        }
        until(lambda: all(map(receiving.points, ids)), "a push of each")
        before = {name: len(receiving.points(name)) for name in ids}
        until(
            lambda: all(len(receiving.points(name)) > before[name] for name in ids), "another"
        )

    sent = receiving.points("told-producer")
    got = receiving.points("told-consumer")
    assert total(sent, PRODUCER + "record.send.total") == 100
    assert total(sent, PRODUCER + "topic.record.send.total", f"topic={topic}") == 100
    assert total(got, CONSUMER + "fetch.manager.records.consumed.total") == 100
    assert f"group_id={topic}" in got[-1].resource
    assert any(each.attributes == "node_id=node-0" for each in got)
    for points in (sent, got):
        assert {each.kind for each in points} == {"GAUGE", "AGGREGATION_TEMPORALITY_DELTA"}
        [instance] = {each.instance for each in points}
        # Kafka writes the sixteen bytes of a UUID in base 64.
        raw = base64.urlsafe_b64decode(instance + "==")
        assert raw == ids[points[0].client_id].bytes


def test_close_pushes_to_a_real_broker(receiving: Receiving, topic: str) -> None:
    """B342: one push that says it is the last."""
    producer = KafkaProducer(
        bootstrap_servers=receiving.kafka.bootstrap,
        enable_metrics_push=True,
        client_id="closes",
    )
    producer.client_instance_id(30.0)
    producer.send(topic, b"v")
    producer.close(30.0)
    last = [each for each in receiving.points("closes") if each.terminating]
    assert total(receiving.points("closes"), PRODUCER + "record.send.total") == 1
    assert last


def test_a_real_broker_changes_its_mind(receiving: Receiving, topic: str) -> None:
    """B340: UNKNOWN_SUBSCRIPTION_ID, and then what is wanted by now."""
    with KafkaProducer(
        bootstrap_servers=receiving.kafka.bootstrap,
        enable_metrics_push=True,
        client_id="changing",
    ) as producer:
        producer.send(topic, b"v")
        until(lambda: receiving.points("changing"), "a push")
        receiving.subscribe("one", metrics="another.prefix.", interval_ms="100")
        before, watch = pushes(producer), ProcessesWatch()
        until(lambda: pushes(producer) >= before + 12, "pushes go on")
        # As far apart as they were until then, they would take half a second more.
        assert watch.fair() < 5.0
        came = len(receiving.points("changing"))
        until(lambda: len(receiving.points("changing")) > came, "and are taken")


def pushes(producer: KafkaProducer) -> float:
    """How many it has written."""
    return producer.metrics().get('prokurist_requests_total{api="PushTelemetry"}', 0)


def test_names_are_those_of_java(receiving: Receiving, topic: str) -> None:
    """B338: nothing is pushed under a name that Java's consumer does not push."""
    servers = receiving.kafka.bootstrap
    with KafkaProducer(bootstrap_servers=servers) as producer:
        producer.send(topic, b"v")
    with KafkaConsumer(
        bootstrap_servers=servers,
        enable_metrics_push=True,
        client_id="ours",
        group_id=f"{topic}-ours",
        group_protocol="consumer",
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.subscribe([topic])
        while not consumer.poll(1.0):
            pass
        consumer.commit_sync()
        java(
            "org.apache.kafka.tools.consumer.ConsoleConsumer",
            *("--topic", topic, "--bootstrap-server", servers, "--from-beginning"),
            *("--timeout-ms", "5000", "--command-property", "group.protocol=consumer"),
            *("--command-property", "client.id=java"),
        )
        until(lambda: receiving.points("java"), "a push of Java's")
    ours = {each.name for each in receiving.points("ours")}
    theirs = {each.name for each in receiving.points("java")}
    assert len(ours) > 60
    assert ours <= theirs, sorted(ours - theirs)


def test_a_real_broker_without_a_receiver(prokurist_kafka: RealKafka) -> None:
    """B341: it does not offer the question, and the call says so at once."""
    with (
        KafkaConsumer(
            bootstrap_servers=prokurist_kafka.bootstrap, enable_metrics_push=True
        ) as consumer,
        pytest.raises(errors.UnsupportedVersionException),
    ):
        consumer.client_instance_id(30.0)


def total(points: list[Point], name: str, attributes: str = "") -> float:
    """What the deltas of a sum come to."""
    return sum(
        each.value for each in points if (each.name, each.attributes) == (name, attributes)
    )
