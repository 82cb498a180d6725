"""confluent-kafka beside the members of a chaos run: when it has read each record.

Thread: its own; the figures are read when it has ended.
"""

import threading
import time
from array import array
from contextlib import closing
from typing import Final

import confluent_kafka

NEVER: Final = float("inf")


class Reference:
    """Reads every partition from its beginning, in no group.

    Args:
        bootstrap: Where the cluster is.
        topic: The topic to read.
        partitions: How many it has.

    Attributes:
        came: For each partition the moment at which each record came, by its offset;
            infinite for what has not.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.came: dict[int, array[float]] = {each: array("d") for each in range(partitions)}
        self._bootstrap = bootstrap
        self._topic = topic
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chaos-reference", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Read no more."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "reference",
                "enable.auto.commit": False,
                "topic.metadata.refresh.interval.ms": 5_000,
                "log_level": 0,
            }
        )
        with closing(consumer):
            consumer.assign(
                [confluent_kafka.TopicPartition(self._topic, each, 0) for each in self.came]
            )
            while not self._stopped.is_set():
                for message in consumer.consume(500, 0.2):
                    partition, offset = message.partition(), message.offset()
                    if message.error() or partition is None or offset is None:
                        continue
                    came = self.came[partition]
                    came.extend([NEVER] * (offset + 1 - len(came)))
                    came[offset] = min(came[offset], time.monotonic())
