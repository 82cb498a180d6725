"""One Spark for all of these tests, with the JVM's Kafka connector where that can be had.

Skipped, by reason, where PySpark, Java or the connector are missing; where
`PROKURIST_REQUIRE_SPARK` is set they must not be.
"""

import os
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import confluent_kafka
import pytest

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka import DEFAULT_VERSION, KafkaUnavailable, RealKafka
from prokurist.testing.kafka.java import find_java
from tests.conftest import GRACE, Held
from tests.spark.interpreter import environment
from tests.spark_connector import connector_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE: Final = Path(__file__).parent
AT_THE_LATEST: Final = 900
"""Seconds after which a test is hung. To end one that only waits is worse than to let it: what
the JVM then answers would be taken for the answer to the next test's first question."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Allow the tests of this folder that time."""
    for each in items:
        if each.path.parent == HERE:
            each.add_marker(pytest.mark.timeout(AT_THE_LATEST))


def missing(reason: str) -> NoReturn:
    """There is no Spark here: skip, or fail where one has to be."""
    if os.environ.get("PROKURIST_REQUIRE_SPARK"):
        pytest.fail(f"PROKURIST_REQUIRE_SPARK is set: {reason}", pytrace=False)
    pytest.skip(reason)


def ours() -> frozenset[threading.Thread]:
    """The threads of this process but for those that carry Spark's callbacks."""
    return frozenset(each for each in threading.enumerate() if not is_py4j(each))


def is_py4j(thread: threading.Thread) -> bool:
    """Whether it runs a method of py4j's."""
    return getattr(getattr(thread, "_target", None), "__module__", "").startswith("py4j")


@pytest.fixture(autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    """Fail a test that leaves a thread, a client or a process of ours behind.

    In place of the guard for all tests: the session's Spark has connections and threads for
    callbacks, and begins and ends them as it likes. A client of ours that was left would be
    seen by its thread.
    """
    before, children = ours(), Held.now().children
    yield
    clock = MonotonicClock()
    deadline = Deadline.after(clock.now(), GRACE)
    while (left := ours() - before) and not deadline.expired(clock.now()):
        clock.sleep(0.02)
    left_children = Held.now().children - children
    if left or left_children:
        pytest.fail(f"the test left behind: {left | left_children}", pytrace=False)


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """A session on two threads, which tries a task three times."""
    sql: Any
    try:
        sql = import_module("pyspark.sql")
    except ImportError:
        missing("PySpark is not installed")
    try:
        find_java(DEFAULT_VERSION)
        jars = connector_jars()
    except KafkaUnavailable as error:
        missing(str(error))
    os.environ.update(environment())
    session = (
        sql.SparkSession.builder.master("local[2,3]")
        .config("spark.jars", ",".join(map(str, jars)))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        # `rows` sums up the reports that a query keeps: by default the last 100, which a query
        # without a pause between its batches passes within a minute.
        .config("spark.sql.streaming.numRecentProgressUpdates", "100000")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    gateway = session.sparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(120)


@pytest.fixture
def eventually() -> Callable[..., Any]:
    """Ask until the answer is true, for as long as a slow machine may need."""
    clock = MonotonicClock()

    def ask(question: Callable[[], Any], within: float = 120.0) -> Any:
        deadline = Deadline.after(clock.now(), within)
        while not (answer := question()):
            assert not deadline.expired(clock.now()), f"never true: {question}"
            clock.sleep(0.05)
        return answer

    return ask


@pytest.fixture
def write(prokurist_kafka: RealKafka) -> Callable[[str, int], None]:
    """Write so many records to a topic, evenly over its two partitions."""

    def written(topic: str, count: int) -> None:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": prokurist_kafka.direct_bootstrap, "log_level": 0}
        )
        for number in range(count):
            producer.produce(topic, b"%d" % number, partition=number % 2)
        assert producer.flush(60) == 0

    return written
