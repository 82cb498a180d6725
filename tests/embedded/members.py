"""Other people's consumers as members of a group, each behind the same few words."""

import asyncio
import logging
import threading
import warnings
from collections.abc import Callable
from queue import Empty, Queue
from typing import Any, ClassVar, Final, Protocol

import confluent_kafka

with warnings.catch_warnings():
    # It reads its own schemas in a way that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka  # type: ignore[import-untyped]

import aiokafka  # type: ignore[import-untyped]

GROUP: Final = "billing"
TOPIC: Final = "orders"


class Member(Protocol):
    """A consumer that has subscribed to the topic."""

    def __init__(self, bootstrap: str) -> None:
        """Subscribe, and wait for nothing."""

    def poll(self) -> list[bytes]:
        """The values that are there, after a moment at most."""

    def owned(self) -> int:
        """How many partitions it has."""

    def commit(self) -> None:
        """Commit what was returned."""

    def close(self) -> None:
        """Leave the group."""


class Librdkafka:
    """confluent-kafka."""

    protocol: ClassVar[str]
    settings: ClassVar[dict[str, Any]]

    def __init__(self, bootstrap: str) -> None:
        logger = logging.getLogger("tests.embedded.members")
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
        config = {
            "bootstrap.servers": bootstrap,
            "group.id": GROUP,
            "group.protocol": self.protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **self.settings,
        }
        self._consumer = confluent_kafka.Consumer(config, logger=logger)
        self._consumer.subscribe([TOPIC])

    def poll(self) -> list[bytes]:
        """One record, if there is one."""
        message = self._consumer.poll(0.05)
        if message is None:
            return []
        assert message.error() is None, message.error()
        value = message.value()
        assert value is not None
        return [value]

    def owned(self) -> int:
        """How many partitions it has."""
        return len(self._consumer.assignment())

    def commit(self) -> None:
        """Commit what was returned."""
        self._consumer.commit(asynchronous=False)

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()


class LibrdkafkaEager(Librdkafka):
    """The classic protocol: everybody gives up everything."""

    protocol = "classic"
    settings: ClassVar[dict[str, Any]] = {
        "heartbeat.interval.ms": 100,
        "partition.assignment.strategy": "range",
    }


class LibrdkafkaCooperative(Librdkafka):
    """The classic protocol: only what moves is given up."""

    protocol = "classic"
    settings: ClassVar[dict[str, Any]] = {
        "heartbeat.interval.ms": 100,
        "partition.assignment.strategy": "cooperative-sticky",
    }


class LibrdkafkaConsumer(Librdkafka):
    """The consumer protocol: the broker assigns."""

    protocol = "consumer"
    settings: ClassVar[dict[str, Any]] = {}


class KafkaPython:
    """kafka-python; a join is lost that does not end within a poll, so each has a thread."""

    def __init__(self, bootstrap: str) -> None:
        self._came: Queue[bytes] = Queue()
        self._asked: Queue[Callable[[Any], object]] = Queue()
        self._owned = 0
        self._over = False
        self._thread = threading.Thread(target=self._run, args=(bootstrap,), daemon=True)
        self._thread.start()

    def _run(self, bootstrap: str) -> None:
        consumer = kafka.KafkaConsumer(
            TOPIC,
            bootstrap_servers=bootstrap.split(","),
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=100,
            session_timeout_ms=6000,
        )
        while not self._over:
            for records in consumer.poll(500).values():
                for record in records:
                    self._came.put(record.value)
            self._owned = len(consumer.assignment())
            while not self._asked.empty():
                self._asked.get()(consumer)
                self._asked.task_done()
        consumer.close()

    def poll(self) -> list[bytes]:
        """One record, if there is one."""
        try:
            return [self._came.get(timeout=0.05)]
        except Empty:
            return []

    def owned(self) -> int:
        """How many partitions it has."""
        return self._owned

    def commit(self) -> None:
        """Commit what was returned."""
        self._asked.put(lambda consumer: consumer.commit())
        self._asked.join()

    def close(self) -> None:
        """Leave the group."""
        self._over = True
        self._thread.join(10)
        assert not self._thread.is_alive()


class Aiokafka:
    """aiokafka; its loop runs while it is asked for something."""

    def __init__(self, bootstrap: str) -> None:
        self._runner = asyncio.Runner()
        self._consumer = self._runner.run(self._started(bootstrap))

    async def _started(self, bootstrap: str) -> Any:
        consumer = aiokafka.AIOKafkaConsumer(
            TOPIC,
            bootstrap_servers=bootstrap,
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=100,
        )
        # A join waits for members whose loops do not run now: so not for its end.
        self._starting = asyncio.ensure_future(consumer.start())
        return consumer

    def poll(self) -> list[bytes]:
        """What is there."""
        return self._runner.run(self._polled())

    async def _polled(self) -> list[bytes]:
        if not self._starting.done():
            await asyncio.wait([self._starting], timeout=0.05)
            return []
        came = await self._consumer.getmany(timeout_ms=50)
        return [record.value for records in came.values() for record in records]

    def owned(self) -> int:
        """How many partitions it has."""
        return len(self._consumer.assignment())

    def commit(self) -> None:
        """Commit what was returned."""
        self._runner.run(self._consumer.commit())

    def close(self) -> None:
        """Leave the group."""
        self._runner.run(self._stopped())
        self._runner.close()

    async def _stopped(self) -> None:
        await self._starting
        await self._consumer.stop()


MEMBERS: Final[list[type[Member]]] = [
    LibrdkafkaEager,
    LibrdkafkaCooperative,
    LibrdkafkaConsumer,
    KafkaPython,
    Aiokafka,
]
