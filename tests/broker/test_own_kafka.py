"""A Kafka of a test's own: killed, configured, old."""

import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from prokurist.events.clock import Clock, Deadline
from prokurist.testing.kafka import BrokerDied, NotReady, PortTaken, RealKafka, class_archive
from prokurist.testing.kafka.jars import cached_jars
from prokurist.testing.kafka.java import find_java
from prokurist.testing.kafka.local_nodes import LocalNodes
from prokurist.testing.kafka.ports import Address, free_ports

pytestmark = pytest.mark.kafka

Making = Callable[..., Any]


def test_a_node_that_was_killed_comes_back_with_its_data(
    prokurist_own_kafka: RealKafka, producer_of: Making, consumer_of: Making
) -> None:
    """Same addresses, same topics, same records; in between there is no node."""
    kafka = prokurist_own_kafka
    where = (kafka.bootstrap, kafka.direct_bootstrap)
    topic = kafka.unique_topic()
    producer = producer_of(kafka.bootstrap)
    producer.produce(topic, b"kept")
    assert producer.flush(20) == 0
    del producer

    kafka.kill()
    for bootstrap in where:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(Address.parse(bootstrap), 5)

    kafka.restart()
    assert (kafka.bootstrap, kafka.direct_bootstrap) == where
    consumer = consumer_of(kafka.bootstrap, f"readers-of-{topic}")
    consumer.subscribe([topic])
    message = consumer.poll(60)
    assert message is not None
    assert message.value() == b"kept"


@pytest.mark.prokurist_broker(properties={"message.max.bytes": 2000})
def test_a_broker_has_the_properties_of_the_marker(
    prokurist_own_kafka: RealKafka, producer_of: Making
) -> None:
    """A record above the broker's limit is refused by the broker, not by the client."""
    topic = prokurist_own_kafka.unique_topic()
    producer = producer_of(prokurist_own_kafka.bootstrap)
    refused: list[str] = []
    producer.produce(topic, b"x" * 5000, callback=lambda error, _: refused.append(error.name()))
    assert producer.flush(20) == 0
    assert refused == ["MSG_SIZE_TOO_LARGE"]


@pytest.mark.prokurist_broker(version="3.9.2")
def test_the_old_broker_starts(prokurist_own_kafka: RealKafka) -> None:
    """3.9.2 serves too, and knows classic groups only."""
    assert prokurist_own_kafka.version == "3.9.2"
    assert prokurist_own_kafka.leaders(prokurist_own_kafka.unique_topic()) == [0]
    assert prokurist_own_kafka.describe_group("no-such-group").protocol == "classic"


@pytest.mark.usefixtures("startable")
def test_a_property_that_kafka_refuses_is_told_with_its_log() -> None:
    """A broker that dies while it starts shows why."""
    kafka = RealKafka(controls=True, num_io_threads=0)
    with pytest.raises(BrokerDied, match=r"num\.io\.threads") as died:
        kafka.start()
    assert "exit code 1" in died.value.reason
    assert "\n" not in died.value.reason


@pytest.mark.usefixtures("startable")
def test_a_broker_that_dies_while_it_starts_shows_its_log() -> None:
    """What only the broker itself refuses is found in the tail of its log."""
    kafka = RealKafka(controls=True, authorizer_class_name="no.such.Authorizer")
    with pytest.raises(BrokerDied, match=r"(?s)died, exit code 1.*no\.such\.Authorizer"):
        kafka.start()


@pytest.mark.usefixtures("startable")
def test_a_deadline_that_is_too_short_says_what_did_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not ready is an error by the deadline, which names the node and shows the log."""
    launch = LocalNodes.launch

    def launch_and_freeze(self: LocalNodes, *given: Any) -> None:
        launch(self, *given)
        self.freeze(0)

    # However quick this machine is, and with time for one that is slow to come so far.
    monkeypatch.setattr(LocalNodes, "launch", launch_and_freeze)
    kafka = RealKafka(controls=True)
    with pytest.raises(NotReady, match="by the deadline: node 0: "):
        kafka.start(timeout=10.0)


@pytest.mark.usefixtures("startable")
def test_a_broker_starts_without_an_archive_of_its_classes_that_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And says nothing: what Java says there would stand between the lines that are read."""
    broken = tmp_path / "broken.jsa"
    broken.write_bytes(b"no archive" * 1000)
    asked: list[str] = []

    def answer(version: str, *_: Any) -> Path:
        asked.append(version)
        return broken

    monkeypatch.setattr("prokurist.testing.kafka.ladder.class_archive", answer)
    with RealKafka(controls=True) as kafka:
        assert asked or kafka.rung != "jars"
        assert "[cds" not in kafka.log_tail(lines=10_000)


@pytest.mark.usefixtures("startable")
def test_a_broker_has_the_archive_of_its_classes(clock: Clock) -> None:
    """One that Java finds fault with would serve no one, and no one would be told."""
    with RealKafka(controls=True) as kafka:
        if kafka.rung != "jars" or sys.platform != "linux":
            pytest.skip("no process of ours to look at")
        version, java = kafka.version, find_java(kafka.version)
        jars = cached_jars(version)
        assert jars is not None
        class_archive._starts[jars] = 1
        soon = Deadline.after(clock.now(), 180)
        made = class_archive.class_archive(version, java, jars, soon, clock)
        if made is None:
            pytest.skip("another process makes the archive just now, or this Java is too old")
        nodes = kafka._started().nodes
        assert isinstance(nodes, LocalNodes)
        nodes._archive = made
        kafka.restart()
        assert str(made) in Path(f"/proc/{nodes.processes[0].pid}/maps").read_text()


@pytest.mark.usefixtures("startable")
def test_a_port_taken_by_another_process_is_exchanged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between our look at a free port and the broker's bind another may come first."""
    choices: list[list[int]] = []
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()

        def choose(count: int, *, but: int | None, held: ExitStack) -> list[int]:
            chosen = free_ports(count, but=but, held=held)
            if not choices:
                chosen[0] = holder.getsockname()[1]
            choices.append(chosen)
            return chosen

        monkeypatch.setattr("prokurist.testing.kafka.local_nodes.free_ports", choose)
        with RealKafka(controls=True) as kafka:
            assert kafka.direct_bootstrap == f"127.0.0.1:{choices[1][0]}"
    assert len(choices) == 2


@pytest.mark.usefixtures("startable")
def test_a_port_of_the_users_own_that_is_taken_is_told() -> None:
    """It is not exchanged for another: the user wanted this one."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        kafka = RealKafka(port=port)
        with pytest.raises(PortTaken, match=f"port {port} is taken"):
            kafka.start()
