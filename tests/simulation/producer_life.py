"""A producer's life by lot: records to two partitions, and all that may befall their topic.

The topic's limit for batches is lowered and raised, it is created again while batches are on
the wire, answers are lost, leaders refuse and move. At the end every fault is undone. What the
logs of all the topics of that name have is then compared with what the deliveries say, and
batches have to be as large again as the topic takes.
"""

from collections.abc import Callable
from random import Random
from typing import Final

from prokurist import Delivery, KafkaProducer, TopicPartition
from prokurist.errors import KafkaException
from prokurist.events.accumulator.batch_limits import LONGEST
from prokurist.testing.cluster.steering import Fault
from prokurist.testing.cluster.topics import Topic
from tests.oracles.writing import Fate, wrongs_of
from tests.simulation.producing import records_of
from tests.simulation.quiescence import check_at_rest
from tests.simulation.slow_brokers import let_brokers_lag
from tests.simulation.world import World

TOPIC: Final = "orders"
PARTITIONS: Final = 2
UNLIMITED: Final = 1_048_588
SHORT: Final = 100
"""A `metadata.max.age.ms` with which a client always has something to do."""
REFUSALS: Final = (3, 5, 6, 6, 7, 19, 56, 100)
"""What leaders answer to batches that they do not append, and that are sent again."""
AFTER_APPEND: Final = (7, 20)
"""What they answer to batches that they have appended."""


class ProducerLife:
    """One life.

    Args:
        seed: Everything comes of it.

    Attributes:
        log: What happened, for a failure's report.
    """

    def __init__(self, seed: int) -> None:
        self.lot = Random(f"producer {seed}")  # noqa: S311 - a replayable seed
        pick = self.lot.choice
        self.world = World(pick((1, 2, 3)), {TOPIC: PARTITIONS}, seed)
        self.control = self.world.control
        let_brokers_lag(self.world, seed)
        request = pick((300, 1000, 1000))
        self._deadline = pick((3.0, 20.0, 120.0))
        self.sender = self.world.sender(
            linger_ms=pick((0, 0, 5, 50)),
            batch_size=pick((1, 200, 2000, 16_384)),
            request_timeout_ms=request,
            delivery_timeout_ms=int(1000 * self._deadline),
            max_in_flight_requests_per_connection=pick((1, 5, 5)),
            metadata_max_age_ms=pick((SHORT, SHORT, 1000, 300_000)),
            max_block_ms=60_000,
        )
        self.producer = KafkaProducer.wired(
            self.sender.config, self.world.clock, self.sender.side
        )
        self.topics: list[Topic] = [self.world.cluster.state.topics[TOPIC]]
        self.sent: list[list[Delivery]] = [[] for _ in range(PARTITIONS)]
        self.log: list[str] = []
        self._undo: list[Callable[[], None]] = []

    def _say(self, what: str) -> None:
        self.log.append(f"{self.world.clock.time:9.3f} {what}")

    def _keep(self, what: str, fault: Fault) -> None:
        self._say(f"{what}: {fault!r}")
        self._undo.append(fault.undo)

    # --- living ------------------------------------------------------------------------

    def live(self) -> None:
        """Do things by lot, undo them, and judge what was written."""
        kinds, weights = list(EVENTS), list(EVENTS.values())
        for _ in range(self.lot.randint(10, 50)):
            (kind,) = self.lot.choices(kinds, weights)
            kind(self)
        for undo in self._undo:
            undo()
        self.control.heal()
        self._limit(UNLIMITED)
        self.world.clock.sleep(self._deadline + 5.0)
        self._judge()
        self._check_size_of_batches()
        if self.sender.config.metadata_max_age_ms > SHORT:
            check_at_rest(self.world)
        self.producer.close(5.0)

    def _judge(self) -> None:
        wrongs: list[str] = []
        for number, deliveries in enumerate(self.sent):
            where = TopicPartition(TOPIC, number)
            logs = [
                [
                    int((each.value or b"").split()[0])
                    for each in records_of(topic.partitions[number].log.batches, where)
                ]
                for topic in self.topics
            ]
            fates = {nth: fate_of(each) for nth, each in enumerate(deliveries)}
            wrongs += wrongs_of(where, logs, fates)
        assert not wrongs, "\n".join(wrongs)

    def _check_size_of_batches(self) -> None:
        """A limit that was lowered for a while is kept no longer than its longest pause."""
        if self.sender.side.accumulator.limits.is_lowered(TOPIC):
            self.world.clock.sleep(LONGEST + 1.0)
        for _ in range(9):
            self._batches_of_a_hundred()
        count = self._batches_of_a_hundred()
        assert count <= 2, f"thrift: {count} batches of a hundred records sent at once"

    def _batches_of_a_hundred(self) -> int:
        """How many batches a hundred records take that are sent at once."""
        batches = self.topics[-1].partitions[0].log.batches
        before = len(batches)
        for _ in range(100):
            self._send(0, 100)
        self.producer.flush(60.0)
        return len(batches) - before

    # --- what happens ------------------------------------------------------------------

    def send(self) -> None:
        """Some records for one partition, at once."""
        number = self.lot.randrange(PARTITIONS)
        count, size = self.lot.choice((1, 1, 3, 20)), self.lot.choice((10, 100, 300))
        nth = len(self.sent[number])
        self._say(f"send {count} of {size} bytes to {number}, from {nth} on")
        for _ in range(count):
            self._send(number, size)

    def send_apart(self) -> None:
        """Some records for one partition, one after the other."""
        number = self.lot.randrange(PARTITIONS)
        self._say(f"send 5 apart to {number}, from {len(self.sent[number])} on")
        for _ in range(5):
            self._send(number, 20)
            self.world.clock.sleep(0.002)

    def _send(self, number: int, size: int) -> None:
        value = (b"%d " % len(self.sent[number])).ljust(size, b"x")
        self.sent[number].append(self.producer.send(TOPIC, value, partition=number))

    def wait(self) -> None:
        """Nothing happens for a while."""
        self.world.clock.sleep(self.lot.choice((0.002, 0.01, 0.05, 0.3, 1.5)))

    def limit(self) -> None:
        """The topic takes smaller or larger batches."""
        self._limit(self.lot.choice((200, 300, 1000, 3000, UNLIMITED, UNLIMITED)))

    def _limit(self, size: int) -> None:
        self._say(f"max.message.bytes is {size}")
        self.control.configure_topic(TOPIC, max_message_bytes=size)

    def recreate(self) -> None:
        """The topic is deleted and created again, while batches may be on the wire."""
        self._say("create the topic again")
        self.control.recreate_topic(TOPIC)
        self.topics.append(self.world.cluster.state.topics[TOPIC])

    def recreate_in_a_pause(self) -> None:
        """The same, and the next requests come before its leaders know that they are."""
        self.recreate()
        self.world.clock.sleep(self.lot.choice((0.05, 0.2, 1.2)))
        self.refuse()
        self._keep("slow", self.control.delay("Produce", 0.02, times=5))
        self.send_apart()

    def refuse(self) -> None:
        """A leader appends no batch of the next requests."""
        code, times = self.lot.choice(REFUSALS), self.lot.choice((1, 1, 2, 5))
        self._keep("refuse", self.control.fail("Produce", code, topic=TOPIC, times=times))

    def refuse_after_append(self) -> None:
        """A leader has a batch, and too few replicas have it in time."""
        code = self.lot.choice(AFTER_APPEND)
        self._keep("refuse", self.control.fail("Produce", code, topic=TOPIC, applied=True))

    def lose(self) -> None:
        """Requests are not answered, appended or not."""
        applied, times = self.lot.random() < 0.6, self.lot.choice((1, 1, 2))
        lost = self.lot.choice((self.control.cut, self.control.drop))
        self._keep("lose", lost("Produce", applied=applied, times=times))

    def lose_and_lower(self) -> None:
        """An answer is lost, and the limit is lower before the batch is sent again."""
        applied = self.lot.random() < 0.6
        self._keep("lose", self.control.cut("Produce", applied=applied))
        self.send()
        self.world.clock.sleep(self.lot.choice((0.002, 0.01, 0.08)))
        self._limit(self.lot.choice((200, 300, 1000)))

    def slow(self) -> None:
        """Requests, or their answers, take long."""
        seconds, times = self.lot.choice((0.02, 0.05, 0.2)), self.lot.choice((1, 5, 20))
        slow = self.lot.choice((self.control.delay, self.control.answer_late))
        self._keep("slow", slow("Produce", seconds, times=times))

    def move(self) -> None:
        """Another broker leads a partition."""
        tp = TopicPartition(TOPIC, self.lot.randrange(PARTITIONS))
        node = self.lot.choice(list(self.world.cluster.state.brokers))
        self._say(f"move {tp} to {node}")
        self.control.move_leader(tp, node)

    def kill(self) -> None:
        """One broker of several ends, and is there again a while later."""
        brokers = self.world.cluster.state.brokers
        if len(brokers) > 1 and all(each.running for each in brokers.values()):
            node = self.lot.choice(list(brokers))
            self._say(f"kill {node}")
            after = self.lot.choice((0.2, 2.0))
            self.world.at(self.world.clock.time + after, self.control.kill(node).undo)

    def disconnect(self) -> None:
        """All connections end."""
        self._say("disconnect")
        self.control.disconnect(reset=self.lot.random() < 0.5)


def fate_of(delivery: Delivery) -> Fate:
    """The outcome of a record, which has to be known by now."""
    assert delivery.done(), f"{delivery!r} has not ended"
    error = delivery.exception(0)
    if error is None:
        return Fate(delivery.result(0).offset)
    assert isinstance(error, KafkaException)
    return Fate(None, error.may_have_happened, type(error).__name__)


EVENTS: Final = {
    ProducerLife.send: 12,
    ProducerLife.send_apart: 6,
    ProducerLife.wait: 8,
    ProducerLife.limit: 4,
    ProducerLife.recreate: 2,
    ProducerLife.recreate_in_a_pause: 2,
    ProducerLife.refuse: 4,
    ProducerLife.refuse_after_append: 1,
    ProducerLife.lose: 4,
    ProducerLife.lose_and_lower: 2,
    ProducerLife.slow: 4,
    ProducerLife.move: 2,
    ProducerLife.kill: 1,
    ProducerLife.disconnect: 1,
}
"""What may happen, and how often beside the others."""
