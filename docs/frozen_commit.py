"""What `make picture` runs: a commit to a frozen broker, drawn from what both threads did.

A broker is frozen, a commit has two seconds, and a request may take 0.9 of them. The
client and its sockets are real, the broker is the embedded one; so the figures differ
a little from run to run.
"""

import logging
import sys
from contextlib import suppress

from prokurist import (
    KafkaConsumer,
    OffsetAndMetadata,
    TimeoutException,
    TopicPartition,
    timeline,
)
from prokurist.testing.broker import EmbeddedBroker

TITLE = "commit_sync(timeout=2.0), and the broker is frozen"


def draw() -> str:
    """The picture."""
    orders = TopicPartition("orders", 0)
    with (
        EmbeddedBroker(1, {"orders": 1}) as broker,
        KafkaConsumer(
            bootstrap_servers=broker.bootstrap, group_id="billing", request_timeout_ms=900
        ) as consumer,
    ):
        consumer.commit_sync({orders: OffsetAndMetadata(41)})
        with broker.freeze(1), timeline.record(consumer) as recording:
            with suppress(TimeoutException):
                consumer.commit_sync({orders: OffsetAndMetadata(42)}, timeout=2.0)
            return recording.svg(title=TITLE)


if __name__ == "__main__":
    # The broker is frozen on purpose: no warning is wanted beside the picture.
    logging.getLogger("prokurist").setLevel(logging.ERROR)
    sys.stdout.write(draw())
