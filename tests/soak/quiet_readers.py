"""The readers of quiet topics: ours come to their positions in different ways; the reference.

`rack` and `latest` read from followers, and with the default `metadata.max.age.ms`, so that no
refresh that is due anyhow hides what they ought to ask for by themselves; so does `sought`,
which seeks in partitions that its metadata do not have yet. `group` and `pattern` find new
topics and partitions, for which they may take as long as their metadata may be old.

Thread: one for each reader, which alone calls its client.
"""

import queue
import re
import threading
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack, closing
from typing import Any, Final

import confluent_kafka

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition
from prokurist.testing.kafka import RealKafka
from tests.soak.comparison import Place, QuietTopicsResult

PARTITIONS: Final = 3
FINDS_WITHIN: Final = 5.0
"""`metadata.max.age.ms` of those that find new topics and partitions, in seconds."""


class QuietReader:
    """A client that is polled, and asked for something else now and then.

    Args:
        poll: Polls it.
        came: Where it is noted when each record came.
    """

    def __init__(self, poll: Callable[[], list[Place]], came: dict[Place, float]) -> None:
        self._poll = poll
        self._came = came
        self._stopped = threading.Event()
        self._asked: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._go, name="quiet-reader", daemon=True)
        self._thread.start()

    def _go(self) -> None:
        while not self._stopped.is_set():
            while not self._asked.empty():
                self._asked.get()()
            for place in self._poll():
                self._came.setdefault(place, time.monotonic())

    def ask(self, *calls: Callable[[], object]) -> None:
        """Have its thread make some calls between two polls, and wait for them."""
        done = threading.Event()
        for each in (*calls, done.set):
            self._asked.put(each)
        assert done.wait(60.0), "a reader does not come to what it is asked for"

    def stop(self) -> None:
        """Poll no more."""
        self._stopped.set()
        self._thread.join()


class QuietReaders:
    """All of them.

    Args:
        kafka: Where they read.
        tag: What ends the names of topics.
        outcome: Where it is noted what they have read.

    Attributes:
        ours: Our consumers, by name.
    """

    def __init__(self, kafka: RealKafka, tag: str, outcome: QuietTopicsResult) -> None:
        self._kafka = kafka
        self._tag = tag
        self._outcome = outcome
        self._readers: dict[str, QuietReader] = {}
        self.ours: dict[str, KafkaConsumer] = {}

    def start(self, stack: ExitStack, topics: dict[str, str], *, classic: bool) -> None:
        """Start all of them; each is ended with the stack.

        Args:
            stack: What ends them.
            topics: The topics that there are, by their short names.
            classic: Whether brokers may be too old for the consumer protocol.
        """
        every = f"(rare|idle|growing|again|new[0-9]+)-{self._tag}"
        common: dict[str, Any] = {
            "bootstrap_servers": self._kafka.bootstrap,
            "auto_offset_reset": "earliest",
        }
        finds = {**common, "metadata_max_age_ms": round(1000 * FINDS_WITHIN)}
        quiet = [topics["rare"], topics["idle"]]
        rack = KafkaConsumer(**common, group_id="rack", client_rack="rack-1")
        rack.subscribe(quiet)
        self._start(stack, "rack", rack, only=quiet)
        protocol = "classic" if classic else "consumer"
        group = KafkaConsumer(**finds, group_id="group", group_protocol=protocol)
        group.subscribe(list(topics.values()))
        self._start(stack, "group", group)
        pattern = KafkaConsumer(**finds, group_id="pattern", enable_auto_commit=False)
        pattern.subscribe(re.compile(every))
        self._start(stack, "pattern", pattern)
        self._outcome.finds.update(group=FINDS_WITHIN, pattern=FINDS_WITHIN)
        keys = {**common, "auto_offset_reset": "latest", "client_rack": "rack-2"}
        latest = KafkaConsumer(**keys, group_id="latest")
        latest.assign(all_of(quiet))
        for tp in all_of(quiet):
            latest.position(tp, timeout=30.0)
        self._start(stack, "latest", latest, only=quiet)
        sought = KafkaConsumer(**common)
        sought.assign(all_of([topics["growing"]]))
        sought.seek_to_beginning()
        self._start(stack, "sought", sought, only=[topics["growing"]])
        self._start_reference(stack, every)

    def _start(
        self,
        stack: ExitStack,
        name: str,
        consumer: KafkaConsumer,
        only: Collection[str] | None = None,
    ) -> None:
        self.ours[name] = consumer
        stack.callback(consumer.close, 5.0)
        if only is not None:
            self._outcome.narrow[name] = frozenset(only)
        came = self._outcome.read[name] = {}
        reader = self._readers[name] = QuietReader(polling(consumer), came)
        stack.callback(reader.stop)

    def _start_reference(self, stack: ExitStack, every: str) -> None:
        reference = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self._kafka.bootstrap,
                "group.id": "reference",
                "auto.offset.reset": "earliest",
                "topic.metadata.refresh.interval.ms": round(1000 * FINDS_WITHIN),
                "log_level": 0,
            }
        )
        reference.subscribe([f"^{every}$"])
        stack.enter_context(closing(reference))
        came = self._outcome.read["reference"] = {}

        def poll() -> list[Place]:
            records = reference.consume(100, 0.1)
            return [
                (str(each.topic()), int(each.partition() or 0), int(each.offset() or 0))
                for each in records
                if not each.error()
            ]

        stack.callback(QuietReader(poll, came).stop)

    # --- what they are asked for ---------------------------------------------------------

    def seek_to_end(self, topics: Collection[str]) -> None:
        """Have `latest` go to the end, in an epoch that may have no record, and stay there."""
        latest, parts = self.ours["latest"], all_of(topics)

        def known() -> None:
            for tp in parts:
                latest.position(tp, timeout=30.0)

        self._readers["latest"].ask(lambda: latest.seek_to_end(parts), known)

    def seek_in_new_partition(self, topic: str, partition: int) -> None:
        """Have `sought` read a partition that has just been created, from its beginning."""
        sought, tp = self.ours["sought"], TopicPartition(topic, partition)
        self._readers["sought"].ask(
            lambda: sought.assign([*sought.assignment(), tp]), lambda: sought.seek(tp, 0)
        )


def all_of(topics: Collection[str]) -> list[TopicPartition]:
    """The partitions that topics are created with."""
    return [TopicPartition(name, each) for name in topics for each in range(PARTITIONS)]


def polling(consumer: KafkaConsumer) -> Callable[[], list[Place]]:
    """Polls one of ours; where it has a group and no automatic commits, it commits."""

    def poll() -> list[Place]:
        records = [(each.topic, each.partition, each.offset) for each in consumer.poll(0.1)]
        config = consumer._counted.config
        if records and config.group_id is not None and not config.enable_auto_commit:
            offsets = {
                TopicPartition(topic, partition): OffsetAndMetadata(offset + 1)
                for topic, partition, offset in records
            }
            # A coordinator that is down or a round of the group fails one; the next
            # commit takes its place.
            consumer.commit_async(offsets)
        return records

    return poll
