"""What a closed client leaves of files, where the garbage collector does not run."""

import gc
from collections.abc import Callable
from pathlib import Path

import pytest

from prokurist import KafkaConsumer, KafkaProducer
from prokurist.testing.broker import EmbeddedBroker

ROUNDS = 5


def consume(bootstrap: str) -> None:
    """Build a consumer, poll, and close it."""
    with KafkaConsumer(bootstrap_servers=bootstrap, group_id="g") as consumer:
        consumer.subscribe("orders")
        consumer.poll(0.1)


def produce(bootstrap: str) -> None:
    """Build a producer, send, and close it."""
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        producer.send("orders", b"x").result(10.0)


@pytest.mark.parametrize("use", [consume, produce])
def test_a_closed_client_keeps_no_descriptor(use: Callable[[str], None]) -> None:
    """B190: also where cycles are not collected, as in servers that freeze the collector."""
    with EmbeddedBroker(1, {"orders": 1}) as broker:
        use(broker.bootstrap)
        gc.disable()
        try:
            before = len(list(Path("/proc/self/fd").iterdir()))
            for _ in range(ROUNDS):
                use(broker.bootstrap)
            # The broker's side of a connection may be closed a moment later.
            assert len(list(Path("/proc/self/fd").iterdir())) < before + ROUNDS
        finally:
            gc.enable()
