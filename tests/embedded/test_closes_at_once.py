"""Awaits of many records, and a close beside another one, with real threads."""

import asyncio
import threading

import pytest

from prokurist import Deliveries, KafkaProducer
from prokurist.testing.broker import EmbeddedBroker


@pytest.mark.parametrize("count", [1, 200])
def test_deliveries_are_awaited_and_iterated(count: int) -> None:
    """B448: in one wait for all, or as a handle for each record."""
    with EmbeddedBroker() as broker:
        broker.create_topic("orders", 2)
        with KafkaProducer(bootstrap_servers=broker.bootstrap, batch_size=1000) as producer:
            sent: Deliveries = producer.send_many("orders", [b"x" * 50] * count)

            async def wait() -> int:
                runs = await sent
                return sum(run.records for run in runs)

            assert asyncio.run(wait()) == count
            handles = list(sent)
            assert len(handles) == count
            assert all(each.done() for each in handles)
            places = {(each.partition, each.offset) for each in handles}
            assert len(places) == count


def test_a_close_beside_another_waits_for_it() -> None:
    """B449: by its own time, and returns what is left; afterwards it returns 0 at once."""
    with EmbeddedBroker() as broker:
        broker.create_topic("orders", 1)
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
        producer.send("orders", b"v").result(10.0)
        with broker.freeze():
            for _ in range(3):
                producer.send("orders", b"v")
            first = threading.Thread(target=producer.close, args=(20.0,))
            first.start()
            while not producer._is_closing:
                threading.Event().wait(0.001)
            assert producer.close(0.2) == 3
        assert producer.close(20.0) == 0
        first.join(20.0)
        assert not first.is_alive()
        assert producer.close() == 0
