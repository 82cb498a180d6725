"""What the tests of the manager of offsets share: a topic with records, and the manager."""

from prokurist import TopicPartition
from prokurist.spark import OffsetManager
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster.batches import Record

A, B, C = (TopicPartition("orders", number) for number in range(3))
BEGAN = 1_700_000_000_000
"""When the first record of each partition was written; the others follow by the minute."""


def filled(broker: EmbeddedBroker) -> EmbeddedBroker:
    """Forty records in the first partition, ten in the second, none in the third."""
    for tp, count in ((A, 40), (B, 10)):
        broker.append(
            tp, *(Record(b"v%d" % n, timestamp=BEGAN + n * 60_000) for n in range(count))
        )
    return broker


def manager(kafka: EmbeddedBroker) -> OffsetManager:
    """For the group billing, with time for a machine that is shared."""
    return OffsetManager(kafka.bootstrap, "billing", timeout=20.0)
