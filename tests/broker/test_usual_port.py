"""Brokers of a real Kafka that are named without their port."""

import secrets
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import pytest

import prokurist.compat.confluent_kafka as face
from prokurist import KafkaConsumer, KafkaProducer
from prokurist.testing.kafka import RealKafka

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(
        sys.platform != "linux", reason="elsewhere loopback has but one address of its own"
    ),
]


class Forwarding(ThreadingTCPServer):
    """Forwards connections from an address of its own, at the usual port, to a broker."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, upstream: str) -> None:
        # All of 127.0.0.0/8 is loopback: so other tests' port 9092 is not in the way.
        self.host = ".".join(["127", *(str(1 + secrets.randbelow(254)) for _ in range(3))])
        broker, _, port = upstream.rpartition(":")
        self.upstream = (broker, int(port))
        super().__init__((self.host, 9092), Forward)


class Forward(BaseRequestHandler):
    """One connection."""

    def handle(self) -> None:
        """Copy both ways until either end is closed."""
        server: Any = self.server
        with socket.create_connection(server.upstream) as broker:
            back = threading.Thread(target=copy, args=(broker, self.request), daemon=True)
            back.start()
            copy(self.request, broker)
            back.join()


def copy(source: socket.socket, sink: socket.socket) -> None:
    """Copy bytes until the source ends."""
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return


@contextmanager
def usual_port(upstream: str) -> Iterator[str]:
    """The address of loopback at whose port 9092 a broker answers."""
    with Forwarding(upstream) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server.host
        finally:
            server.shutdown()
            thread.join()


def test_a_broker_without_a_port_is_found(prokurist_kafka: RealKafka) -> None:
    """B458: the address alone is enough, for what is written and what is read."""
    topic = prokurist_kafka.unique_topic()
    with usual_port(prokurist_kafka.bootstrap) as host:
        with KafkaProducer(bootstrap_servers=host) as producer:
            producer.send(topic, b"by its name alone").result(30)
        with KafkaConsumer(bootstrap_servers=f"127.0.0.1:1,{host}") as consumer:
            (tp,) = consumer.list_topics(30)[topic]
            assert tp.topic == topic


@pytest.mark.parametrize("written", ["PLAINTEXT://{}", "{},", "PLAINTEXT://{}/"])
def test_a_broker_is_found_by_librdkafkas_spellings(
    prokurist_kafka: RealKafka, written: str
) -> None:
    """B458: the face takes them, and reads what there is."""
    topic = prokurist_kafka.unique_topic()
    with usual_port(prokurist_kafka.bootstrap) as host:
        servers = written.format(host)
        producer = face.Producer({"bootstrap.servers": servers})
        producer.produce(topic, b"x")
        assert producer.flush(30) == 0
        consumer = face.Consumer({"bootstrap.servers": servers, "group.id": topic})
        try:
            consumer.assign([face.TopicPartition(topic, 0, 0)])
            message = consumer.poll(30)
            assert message is not None
            assert message.value() == b"x"
        finally:
            consumer.close()
