"""Other people's consumers as members of a group, each behind the same few words."""

import asyncio
import logging
import threading
import warnings
from collections.abc import Callable, Coroutine
from queue import Empty, Queue
from typing import Any, ClassVar, Final, Protocol, TypeVar

import confluent_kafka

with warnings.catch_warnings():
    # It reads its own schemas in a way that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka  # type: ignore[import-untyped]

import aiokafka

GROUP: Final = "billing"
TOPIC: Final = "orders"

T = TypeVar("T")


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
    """The classic protocol: every member gives up all its partitions."""

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
    """aiokafka; its `getmany` outlasts its timeout in a rebalance, so each has a thread.

    Polled in turn, one would wait for a join that waits for another's turn.
    """

    def __init__(self, bootstrap: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._do(self._begin(bootstrap))

    def _do(self, asked: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result()

    async def _begin(self, bootstrap: str) -> None:
        self._consumer = aiokafka.AIOKafkaConsumer(
            TOPIC,
            bootstrap_servers=bootstrap,
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=100,
        )
        # It ends with the first join, which waits for members that are not polled now.
        self._starting = asyncio.ensure_future(self._consumer.start())

    def poll(self) -> list[bytes]:
        """What is there."""
        return self._do(self._polled())

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
        self._do(self._consumer.commit())

    def close(self) -> None:
        """Leave the group."""
        self._do(self._stopped())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

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
