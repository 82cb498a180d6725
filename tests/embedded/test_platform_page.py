"""The service of docs/howto/platform.md: killed and restarted under load, and its traces.

Brokers let in who signs with the credentials that a pod's agent gives. Agent and schema
registry are stand-ins on loopback.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from google.protobuf.wrappers_pb2 import StringValue

from prokurist import KafkaConsumer, KafkaProducer
from prokurist.cli.brokers import BROKER, certified
from prokurist.registry import AvroSerializer, ProtobufDeserializer, SchemaRegistry
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster.sasl import Sasl
from prokurist.testing.schema_registry import EmbeddedSchemaRegistry
from tests.documents import blocks, names_of
from tests.spans import Told, context_of, instrumented, of
from tests.unit.security.cloud_stand_in import SECRET, standing_in

PROGRAM: Final = "billing_service.py"
CUSTOMERS: Final = 7
ORDER: Final = (
    '{"type": "record", "name": "Order", "fields": [{"name": "number", "type": "long"},'
    '{"name": "customer", "type": "string"}, {"name": "cents", "type": "long"}]}'
)
TOPICS: Final = {"orders": 4, "bills": 2, "orders.dead": 1}
PATIENCE: Final = 120.0


class Place:
    """A cluster, a registry and a cloud.

    Attributes:
        broker: The cluster.
        registry: The registry's client.
        environment: The environment of a pod there.
        keys: The configuration of a client there.
    """

    def __init__(
        self,
        broker: EmbeddedBroker,
        registry: SchemaRegistry,
        environment: Mapping[str, str],
        authority: str,
    ) -> None:
        self.broker = broker
        self.registry = registry
        self.environment = environment
        self.keys: dict[str, Any] = {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "AWS_MSK_IAM",
            "ssl.ca.location": authority,
        }

    def write_orders(self, numbers: range, stop: threading.Event | None = None) -> int:
        """Write orders until there are enough; the number behind the last one."""
        serializer = AvroSerializer(self.registry, ORDER)
        with KafkaProducer(self.keys, value_serializer=serializer) as producer:
            for number in numbers:
                customer = f"customer {number % CUSTOMERS}"
                order = {"number": number, "customer": customer, "cents": 100 + number}
                producer.send("orders", order, key=customer.encode())
                if stop is not None and stop.wait(0.01):
                    return number + 1
        return numbers.stop

    def bills(self) -> Generator[tuple[str, int]]:
        """Customers and order numbers of bills, in the order of each partition, without end."""
        with KafkaConsumer(
            self.keys,
            group_id="reader",
            auto_offset_reset="earliest",
            value_deserializer=ProtobufDeserializer(self.registry, StringValue),
        ) as consumer:
            consumer.subscribe("bills")
            for record in consumer.records(idle_timeout=PATIENCE):
                customer, _, number = record.value.value.rpartition(" for ")
                yield customer.partition(" owes ")[0], int(number)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """One whose pods have their role by an agent."""
    for name in tuple(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    authority = certified(tmp_path / "tls")["ssl.ca.location"]
    sasl = Sasl({}, amazon_keys={f"ASIA{n}": f"{SECRET}/{n}" for n in range(1, 100)})
    certificate = tmp_path / "tls" / BROKER
    with (
        EmbeddedBroker(3, TOPICS, sasl=sasl, certificate=certificate) as broker,
        EmbeddedSchemaRegistry() as registry,
        standing_in() as cloud,
    ):
        environment = {
            "BROKERS": broker.bootstrap,
            "REGISTRY": registry.url,
            "POD": "billing-0",
            "SSL_CERT_FILE": authority,
            "AWS_REGION": "eu-west-1",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{cloud.url}/v1/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": f"{SECRET}-pod",
            "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
            "AWS_CONFIG_FILE": str(tmp_path / "none"),
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield Place(broker, SchemaRegistry(registry.url), environment, authority)


@contextmanager
def service(place: Place, folder: Path) -> "Iterator[subprocess.Popen[str]]":
    """The page's program as a process, which has said that it begins."""
    (block,) = [each for each in blocks() if each.text.startswith(f"# {PROGRAM}\n")]
    (folder / PROGRAM).write_text(block.text, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-W", "error", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, **place.environment},
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "billing\n"
            yield process
        finally:
            process.kill()


def test_a_service_that_is_killed_bills_each_order(place: Place, tmp_path: Path) -> None:
    """Each order is billed, those of a customer in order, whatever is billed twice."""
    enough = threading.Event()
    written: list[int] = []
    writer = threading.Thread(
        target=lambda: written.append(place.write_orders(range(100_000), enough))
    )
    writer.start()
    seen: dict[str, list[int]] = {}
    found = place.bills()

    def read(most: int) -> None:
        while sum(map(len, seen.values())) < most:
            customer, number = next(found)
            if number not in seen.setdefault(customer, []):
                seen[customer].append(number)

    try:
        with service(place, tmp_path) as process:
            read(100)
            process.kill()
        with service(place, tmp_path) as process:
            read(300)
            enough.set()
            writer.join()
            read(written[0])
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=PATIENCE)
            assert (process.returncode, out, err) == (0, "closed\n", "")
    finally:
        enough.set()
        writer.join()
        found.close()
    for customer, numbers in seen.items():
        assert numbers == list(range(int(customer.split()[1]), written[0], CUSTOMERS))
    names = (tmp_path / "spans.jsonl").read_text("utf-8")
    for name in ("poll orders", "process orders", "send bills", "commit orders"):
        assert f'"name": "{name}"' in names


def test_the_trace_of_each_order(place: Place) -> None:
    """From its producer to the commit; a record that is no Avro fails, and is a dead letter."""
    serve = names_of(PROGRAM)["serve"]
    stop = threading.Event()
    with instrumented() as told:
        place.write_orders(range(20))
        with KafkaProducer(place.keys) as producer:
            producer.send("orders", b"no Avro", key=b"customer 3")
        worker = threading.Thread(target=serve, args=(stop,))
        worker.start()
        try:
            found = place.bills()
            assert {next(found)[1] for _ in range(20)} == set(range(20))
            found.close()
            with KafkaConsumer(
                place.keys, group_id="dead", auto_offset_reset="earliest"
            ) as consumer:
                consumer.subscribe("orders.dead")
                dead = consumer.next(PATIENCE)
                assert dead is not None
                assert dead.value == b"no Avro"
        finally:
            stop.set()
            worker.join()
        require_traces(told)


def require_traces(told: Told) -> None:
    """Each order is sent, polled, worked on and billed in one trace; offsets are committed."""
    sent = {context_of(each).span_id: each for each in told.spans("send orders")}
    assert len(sent) == 21
    polled = {link.context.span_id for each in told.spans("poll orders") for link in each.links}
    assert polled == sent.keys()
    worked = {context_of(each).span_id: each for each in told.spans("process orders")}
    assert {each.parent.span_id for each in worked.values() if each.parent} == sent.keys()
    billed = told.spans("send bills")
    assert len(billed) == 20
    for each in billed:
        assert each.parent is not None
        origin = worked[each.parent.span_id].parent
        assert origin is not None
        assert context_of(each).trace_id == context_of(sent[origin.span_id]).trace_id
    (failed,) = [each for each in worked.values() if not each.status.is_ok and each.events]
    assert of(failed)["error.type"].endswith("SerializationException")
    assert told.spans("commit orders")
