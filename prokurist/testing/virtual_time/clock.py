"""Virtual time for a test: a clock to move, a broker, and consumers.

    def test_my_service_gives_up_in_time(prokurist_clock):
        consumer = prokurist_clock.consumer(group_id="billing")
        ...

Thread: the test's alone; it runs the network threads' turns while it waits.
Invariants: time passes in `advance` and in calls that wait, and nowhere else; no thread sleeps.
The same test takes the same steps each time.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from prokurist.config import ConsumerConfig, ProducerConfig
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.producer.producer import KafkaProducer
from prokurist.testing.virtual_time.network import ModelNetwork
from prokurist.testing.virtual_time.world import World

if TYPE_CHECKING:
    from typing import Unpack

    from prokurist.config.typed import ConsumerKeywords, ProducerKeywords
    from prokurist.testing.cluster.control import Controls


class ModelWorld(World[ModelNetwork]):
    """A world with clients on the model alone."""

    def network(self) -> ModelNetwork:
        """Return a new client's network: the model's alone."""
        return ModelNetwork(self)


class VirtualClock:
    """A clock that a test moves, and consumers and brokers that live by it.

    Consumers are real ones, with all of their network thread but the thread, and speak Kafka's
    protocol to a model of brokers. A waiting call moves the time to its end, and everything due
    until then happens: retries, heartbeats, session timeouts. Your own code goes by this time
    where you give it `now` and `advance` in place of `time.monotonic` and `time.sleep`.

    Args:
        nodes: How many brokers.
        topics: How many partitions each topic has.
    """

    def __init__(self, nodes: int = 1, topics: Mapping[str, int] | None = None) -> None:
        self._world = ModelWorld(nodes, dict(topics or {}))
        self._consumers: list[KafkaConsumer] = []
        self._producers: list[KafkaProducer] = []

    def __repr__(self) -> str:
        return f"VirtualClock({self.now():g} s, {len(self._consumers)} consumers)"

    @property
    def broker(self) -> "Controls":
        """Controls of the brokers, as those of an `EmbeddedBroker`."""
        return self._world.control

    @property
    def bootstrap(self) -> str:
        """The addresses, as `bootstrap.servers` takes them; good for consumers of here."""
        return ",".join(self._world.bootstrap)

    def now(self) -> float:
        """Seconds since some moment, as `time.monotonic` says them."""
        return self._world.clock.now()

    def advance(self, seconds: float) -> None:
        """Let time pass; everything due until then happens, in order.

        Raises:
            ValueError: It would go back, or on for ever.
        """
        if not 0 <= seconds < math.inf:
            raise ValueError(
                f"advance takes a number of seconds from 0 on, and not without end: {seconds!r}"
            )
        self._world.clock.sleep(seconds)

    def after(self, seconds: float, action: Callable[[], object]) -> None:
        """Have something happen in so many seconds, also while a call waits then.

        Args:
            seconds: How long from now.
            action: The function to call: a broker's thaw, a `wakeup`. Its errors come out of
                the waiting call.
        """
        self._world.at(self.now() + seconds, action)

    def consumer(
        self,
        config: Mapping[str, object] | None = None,
        /,
        **keywords: "Unpack[ConsumerKeywords]",
    ) -> KafkaConsumer:
        """A consumer that lives by this clock; it is made as `KafkaConsumer` is.

        `bootstrap.servers` is set. Who is not closed by then is closed with the clock.

        Args:
            config: Configuration keys and their values.
            keywords: More keys, with underscores.
        """
        given = {"bootstrap.servers": self.bootstrap, **(config or {})}
        settings = ConsumerConfig(given, **keywords)
        member = self._world.join(settings)
        self._world.start(member)
        consumer = KafkaConsumer.wired(settings, self._world.clock, member.side)
        self._consumers.append(consumer)
        return consumer

    def producer(
        self,
        config: Mapping[str, object] | None = None,
        /,
        **keywords: "Unpack[ProducerKeywords]",
    ) -> KafkaProducer:
        """A producer that lives by this clock; it is made as `KafkaProducer` is.

        `bootstrap.servers` is set. One that is not closed by then is closed with the clock.

        Args:
            config: Configuration keys and their values.
            keywords: More keys, with underscores.
        """
        given = {"bootstrap.servers": self.bootstrap, **(config or {})}
        settings = ProducerConfig(given, **keywords)
        sender = self._world.join_producer(settings)
        self._world.start(sender)
        producer = KafkaProducer.wired(settings, self._world.clock, sender.side)
        self._producers.append(producer)
        return producer

    def close(self) -> None:
        """End all faults, and close all clients.

        Raises:
            Exception: A consumer could not be closed in order.
            BaseExceptionGroup: The broker could not handle a request.
        """
        self.broker.heal()
        self.broker.thaw()
        with ExitStack() as stack:
            for consumer in self._consumers:
                stack.callback(consumer.close)
            for producer in self._producers:
                stack.callback(producer.close)
        if failures := self._world.cluster.failures:
            raise BaseExceptionGroup("the model of the brokers failed", failures)
