"""The service of docs/howto/service.md in a real uvicorn, ended by SIGTERM under load."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from prokurist import KafkaConsumer, KafkaProducer, TopicPartition
from prokurist.testing.kafka import RealKafka
from tests.documents import blocks

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

ORDERS = 3000
PATIENCE = 90.0


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def program() -> str:
    """The page's program."""
    (block,) = [each for each in blocks() if each.text.startswith("# app.py\n")]
    return block.text


def over_its_own(kafka: RealKafka) -> tuple[str, str]:
    """The page's program over topics of its own, and the name that they begin with."""
    own = kafka.unique_topic(partitions=3)
    for suffix in ("payments", "orders.dead"):
        kafka.create_topic(f"{own}-{suffix}", partitions=3)
    kafka.create_topic(f"{own}-orders", partitions=3)
    return re.sub(r'"(orders|payments|orders\.dead|billing)"', rf'"{own}-\1"', program()), own


@contextmanager
def served(folder: Path, bootstrap: str, port: int) -> "Iterator[subprocess.Popen[str]]":
    """A uvicorn with the service."""
    command = ["-m", "uvicorn", "app:app", "--port", str(port), "--log-level", "warning"]
    with subprocess.Popen(
        [sys.executable, *command, "--timeout-graceful-shutdown", "20"],
        cwd=folder,
        env={**os.environ, "KAFKA": bootstrap, "PYTHONUNBUFFERED": "1"},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def asked(port: int, path: str, body: bytes | None = None) -> tuple[int, str]:
    """The status and text of an answer; 0 while nobody listens."""
    url = f"http://127.0.0.1:{port}{path}"
    try:
        with urllib.request.urlopen(url, body, timeout=10.0) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError:
        return 0, ""


def await_answer(port: int, path: str, wanted: str = "") -> str:
    """Ask until the answer is 200, with a text in it."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        status, text = asked(port, path)
        if status == 200 and re.search(wanted, text):
            return text
        time.sleep(0.1)
    pytest.fail(f"{path} has not answered 200 with {wanted!r}")


def end(process: "subprocess.Popen[str]") -> None:
    """Send SIGTERM, and see it end by itself, without a word."""
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    # uvicorn raises the signal again when all is done.
    assert process.returncode in (0, -signal.SIGTERM), err
    assert not err


def values_of(kafka: RealKafka, topic: str) -> list[bytes]:
    """All that is in a topic."""
    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([TopicPartition(topic, number) for number in range(3)])
        found = []
        while not consumer.at_end():
            found += [each.value for each in consumer.poll(1.0)]
        return found


def committed(kafka: RealKafka, group: str, topic: str) -> int:
    """How many records a group has committed of a topic."""
    with KafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id=group) as consumer:
        wanted = [TopicPartition(topic, number) for number in range(3)]
        found = consumer.committed(wanted)
        return sum(each.offset for each in found.values() if each is not None)


def test_a_service_ends_under_load_and_the_next_one_goes_on(
    prokurist_kafka: RealKafka, tmp_path: Path
) -> None:
    """B730: at SIGTERM what was worked on is committed, once; the rest comes to the next."""
    text, own = over_its_own(prokurist_kafka)
    (tmp_path / "app.py").write_text(text, encoding="utf-8")
    orders = [b"order %d" % number for number in range(ORDERS)]
    with KafkaProducer(bootstrap_servers=prokurist_kafka.bootstrap) as producer:
        producer.send_many(f"{own}-orders", orders)
    port = free_port()
    with served(tmp_path, prokurist_kafka.bootstrap, port) as process:
        await_answer(port, "/ready")
        await_answer(port, "/live")
        status, answer = asked(port, "/orders", b"by hand")
        assert (status, "offset" in answer) == (201, True), answer
        # Amid the work, with records in hand and more to come.
        await_answer(port, "/metrics/", r"records_done_total\{[^\n]* [1-9]")
        end(process)
    first = values_of(prokurist_kafka, f"{own}-payments")
    assert 0 < len(first) < ORDERS
    assert committed(prokurist_kafka, f"{own}-billing", f"{own}-orders") == len(first)
    with served(tmp_path, prokurist_kafka.bootstrap, port) as process:
        until = time.monotonic() + PATIENCE
        while len(found := values_of(prokurist_kafka, f"{own}-payments")) <= ORDERS:
            assert time.monotonic() < until, len(found)
        end(process)
    assert sorted(found) == sorted([*orders, b"by hand"])
    assert values_of(prokurist_kafka, f"{own}-orders.dead") == []
