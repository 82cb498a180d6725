"""What `make demo-spark` runs: a pipeline of Spark's, its broker frozen, its driver killed.

The pipeline is docs/demo_spark_pipeline.py, in a process of its own: orders in, windows out,
each batch exactly once. The broker is the embedded one; with KAFKA=1 it is a real Apache
Kafka, frozen by SIGSTOP.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from demo import CLOCK, Broker, say

from prokurist import KafkaConsumer, KafkaProducer, TopicPartition, __version__
from prokurist.events.clock import Deadline
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.kafka import RealKafka
from prokurist.testing.kafka.ports import free_ports

TOPIC: Final = "orders"
PARTITIONS: Final = 2
WRITTEN: Final = TopicPartition("windows", 0)
EACH_TIME: Final = 40
"""Orders in a tenth of a second."""

STARTING: Final = 300.0
"""Seconds for a first start of Spark."""

Write = Callable[[int, bytes], None]


@contextmanager
def embedded() -> Iterator[tuple[Broker, int, Write]]:
    """The embedded broker, its node's number, and what writes to a partition."""
    with EmbeddedBroker(1, {TOPIC: PARTITIONS, WRITTEN.topic: 1}) as broker:

        def write(partition: int, value: bytes) -> None:
            broker.append(TopicPartition(TOPIC, partition), value)

        yield broker, 1, write


@contextmanager
def real() -> Iterator[tuple[Broker, int, Write]]:
    """A real Kafka, likewise."""
    with (
        RealKafka() as kafka,
        KafkaProducer(bootstrap_servers=kafka.direct_bootstrap) as producer,
    ):
        kafka.create_topic(TOPIC, partitions=PARTITIONS)
        kafka.create_topic(WRITTEN.topic)

        def write(partition: int, value: bytes) -> None:
            producer.send(TOPIC, value, partition=partition)

        yield kafka, 0, write


class Shop:
    """Writes orders until it is closed, in a thread.

    Attributes:
        orders: How many were written.
        euros: What they come to.
    """

    def __init__(self, write: Write) -> None:
        self._write = write
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.orders = self.euros = 0
        self._thread.start()

    def _run(self) -> None:
        while not self._closed.wait(0.1):
            for _ in range(EACH_TIME):
                euros = 1 + self.orders % 99
                order = {"order": self.orders, "euros": euros}
                self._write(self.orders % PARTITIONS, json.dumps(order).encode())
                self.orders += 1
                self.euros += euros

    def close(self) -> None:
        """No orders any more."""
        self._closed.set()
        self._thread.join()


class Windows:
    """Reads the topic that the pipeline writes, as readers of committed records do.

    Attributes:
        rows: How many rows were read.
        again: How many of them were read before: a window of the same orders.
    """

    def __init__(self, bootstrap: str) -> None:
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap, isolation_level="read_committed"
        )
        self._consumer.assign([WRITTEN])
        self._consumer.seek_to_beginning([WRITTEN])
        self._last: dict[bytes, dict[str, int]] = {}
        self.rows = self.again = 0

    def counted(self) -> tuple[int, int, int]:
        """The last row of each window: how many there are, their orders, and their euros."""
        while records := self._consumer.poll(0.1):
            for record in records:
                self.rows += 1
                window = json.loads(record.value or b"{}")
                self.again += self._last.get(record.key or b"") == window
                self._last[record.key or b""] = window
        last = self._last.values()
        return len(last), sum(w["orders"] for w in last), sum(w["euros"] for w in last)

    def close(self) -> None:
        """Read no more."""
        self._consumer.close(1.0)


class Pipeline:
    """The pipeline's process, and what is seen of it."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        (self.port,) = free_ports(1)
        script = Path(__file__).with_name("demo_spark_pipeline.py")
        arguments = [bootstrap, str(self.port), str(folder / "checkpoint")]
        python = Path(sys.executable)
        path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        self._process = subprocess.Popen(
            [sys.executable, str(script), *arguments],
            # By its name: of a path with a space in it Spark would think that it is none.
            env={**os.environ, "PYSPARK_PYTHON": python.name, "PATH": path},
            stdout=subprocess.DEVNULL,
            stderr=(folder / "stderr.txt").open("ab"),
            start_new_session=True,
        )

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def metrics(self) -> Mapping[str, float]:
        """What its driver serves of Spark's queries; nothing while it does not."""
        try:
            page = f"http://127.0.0.1:{self.port}/metrics"
            with urllib.request.urlopen(page, timeout=2) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {}
        pairs = (line.rpartition(" ") for line in lines if line.startswith("prokurist_spark"))
        return {name: float(value) for name, _, value in pairs}

    def one(self, name: str) -> float | None:
        """A metric of the whole query."""
        return next(
            (each for key, each in self.metrics().items() if key.startswith(f"{name}{{")), None
        )

    def kill(self) -> None:
        """The driver, its JVM and its workers, at once."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def tell(shop: Shop, pipeline: Pipeline, written: Windows) -> None:
    """Print one line: how far the pipeline is."""
    windows, orders, _ = written.counted()
    lag, age = (
        pipeline.one("prokurist_spark_lag_records_sum"),
        pipeline.one("prokurist_spark_lag_seconds_max"),
    )
    behind = "lag not known" if lag is None or age is None else f"lag {lag:6.0f}, {age:4.1f} s"
    say(f"  written {shop.orders:6}   counted {orders:6} in {windows:2} windows   {behind}")


def watched(shop: Shop, pipeline: Pipeline, written: Windows, seconds: float) -> None:
    """A line every two seconds."""
    deadline = Deadline.after(CLOCK.now(), seconds)
    while not deadline.expired(CLOCK.now()):
        CLOCK.sleep(min(2.0, deadline.remaining(CLOCK.now())))
        tell(shop, pipeline, written)


def until(question: Callable[[], bool], pipeline: Pipeline) -> bool:
    """Wait until it is so: whether it is, within a time for slow machines."""
    deadline = Deadline.after(CLOCK.now(), STARTING)
    while not question():
        if deadline.expired(CLOCK.now()) or not pipeline.is_alive:
            return False
        CLOCK.sleep(0.2)
    return True


def story(broker: Broker, node: int, write: Write, folder: Path) -> int:
    """Show it all: 0, or 1 where something did not come out."""
    stderr = folder / "stderr.txt"
    shop, written = Shop(write), Windows(broker.bootstrap)
    say("\nOrders are written, some hundred a second. A pipeline starts, from nothing, and")
    say("writes each window that changes to the topic 'windows':")
    pipeline = Pipeline(broker.bootstrap, folder)
    try:
        if not until(lambda: written.counted()[1] > 0, pipeline):
            say(f"  it did not: {stderr.read_text()[-2000:]}")
            return 1
        watched(shop, pipeline, written, 6.0)

        say("\nThe broker freezes for ten seconds. The driver skips, and goes on living:")
        broker.freeze(node)
        watched(shop, pipeline, written, 10.0)
        broker.thaw(node)
        say("  it thaws:")
        watched(shop, pipeline, written, 6.0)
        say(f"  the driver is {'alive' if pipeline.is_alive else 'dead'}")

        say(
            "\nThe driver is killed, with its JVM and its workers, as soon as a batch is in the"
        )
        say("topic, and before Spark has noted that it is over; and started again:")
        rows = written.rows
        until(lambda: written.counted()[1] > 0 and written.rows > rows, pipeline)
        pipeline.kill()
        before, said = written.counted()[1], len(stderr.read_text())
        pipeline = Pipeline(broker.bootstrap, folder)
        if not until(lambda: written.counted()[1] > before, pipeline):
            say(f"  it did not: {stderr.read_text()[-2000:]}")
            return 1
        for line in stderr.read_text()[said:].splitlines():
            if "passed over" in line:
                say(f"  the new one says: {line.rpartition(':')[2]}")
        watched(shop, pipeline, written, 4.0)

        shop.close()
        say("\nThe shop closes. What was written, and what was counted:")
        until(lambda: written.counted()[1] >= shop.orders, pipeline)
        CLOCK.sleep(2.0)
        windows, orders, euros = written.counted()
        exact = (orders, euros, written.again) == (shop.orders, shop.euros, 0)
        say(f"  written {shop.orders} orders of {shop.euros} euros")
        say(f"  counted {orders} orders of {euros} euros in {windows} windows")
        say(f"  the topic 'windows' has {written.rows} rows, {written.again} of them twice")
        say(f"  {'each order and each row exactly once' if exact else 'THAT IS NOT THE SAME'}")

        say("\nWhat the driver's port serves for Prometheus:")
        for name, value in pipeline.metrics().items():
            if "_bucket" not in name and "_created" not in name:
                say(f"  {name} {value:g}")
        return 0 if exact else 1
    finally:
        shop.close()
        pipeline.kill()
        written.close()


def main() -> int:
    """Run the demonstration."""
    say(f"prokurist {__version__}, and Spark")
    if find_spec("pyspark") is None or shutil.which("java") is None:
        say("  not on this machine: PySpark and Java 17 are needed, see docs/howto/spark.md")
        return 0
    kafka = os.environ.get("KAFKA", "") not in ("", "0")
    say("Starting a real Apache Kafka ..." if kafka else "Starting a broker ...")
    with (
        tempfile.TemporaryDirectory() as folder,
        real() if kafka else embedded() as (broker, node, write),
    ):
        return story(broker, node, write, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
