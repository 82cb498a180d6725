"""confluent-kafka's clients for asyncio, on an embedded broker."""

import asyncio
import warnings
from typing import Any

import pytest

from prokurist import ConfigWarning
from prokurist.compat.confluent_kafka import KafkaException, TopicPartition
from prokurist.compat.confluent_kafka.aio import AIOConsumer, AIOProducer
from prokurist.compat.confluent_kafka.aio import consumer as consumer_module
from prokurist.testing.broker import EmbeddedBroker


def reader(broker: EmbeddedBroker, **keys: Any) -> AIOConsumer:
    """A consumer that reads from the beginning."""
    return AIOConsumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **keys,
        }
    )


async def written(broker: EmbeddedBroker, count: int) -> list[Any]:
    """Write messages."""
    async with AIOProducer({"bootstrap.servers": broker.bootstrap}) as producer:
        futures = [
            await producer.produce("orders", b"%d" % n, headers=[("n", b"%d" % n)])
            for n in range(count)
        ]
        return [await each for each in futures]


def test_messages_are_delivered_in_order_with_headers() -> None:
    """B733, B734: without a flush, and 2 500 at once."""

    async def main(broker: EmbeddedBroker) -> None:
        sent = await written(broker, 2500)
        assert [each.offset() for each in sent] == list(range(2500))
        async with reader(broker) as consumer:
            await consumer.assign([TopicPartition("orders", 0, 0)])
            messages = await consumer.consume(3, 20.0)
            assert [each.headers() for each in messages] == [
                [("n", b"%d" % n)] for n in range(3)
            ]
        async with AIOProducer({"bootstrap.servers": broker.bootstrap}) as producer:
            lost = await producer.produce("orders", {"no": "bytes"})  # type: ignore[arg-type]
            with pytest.raises(TypeError, match="a value is bytes"):
                await lost
            large = await producer.produce("orders", bytes(2_000_000))
            with pytest.raises(KafkaException):
                await large
            assert len(producer) == 0
        with pytest.raises(RuntimeError, match="closed"):
            await producer.produce("orders", b"late")

    with EmbeddedBroker(1, {"orders": 1}) as broker:
        asyncio.run(main(broker))


def test_a_poll_that_is_cancelled_loses_no_message() -> None:
    """B732: also where it had its message already; other calls go on."""

    async def main(broker: EmbeddedBroker) -> None:
        await written(broker, 40)
        async with reader(broker) as consumer:
            await consumer.subscribe(["orders"])
            found: list[Any] = []
            turns = 0
            while len(found) < 40:
                turns += 1
                polling = asyncio.create_task(consumer.poll(5.0))
                if turns % 3 == 0:
                    await asyncio.sleep(0.0005 * (turns % 7))
                    polling.cancel()
                try:
                    message = await polling
                except asyncio.CancelledError:
                    continue
                if message is not None:
                    assert message.error() is None
                    found.append(message.value())
            assert found == [b"%d" % n for n in range(40)]
            done = await consumer.commit(asynchronous=False)
            assert done is not None
            assert [each.offset for each in done] == [40]

    with EmbeddedBroker(1, {"orders": 1}) as broker:
        asyncio.run(main(broker))


def test_callbacks_are_awaited_and_may_call_the_consumer() -> None:
    """B732: a call of another task waits until the callback has returned."""

    async def main(broker: EmbeddedBroker) -> None:
        await written(broker, 5)
        heard: list[Any] = []

        async def assigned(consumer: AIOConsumer, partitions: list[TopicPartition]) -> None:
            await asyncio.sleep(0.05)
            heard.append([each.offset for each in await consumer.committed(partitions)])

        def revoked(consumer: AIOConsumer, partitions: list[TopicPartition]) -> None:
            heard.append((type(consumer).__name__, len(partitions)))

        async with reader(broker) as consumer:
            await consumer.subscribe(["orders"], on_assign=assigned, on_revoke=revoked)
            beside = asyncio.create_task(consumer.assignment())
            message = await consumer.poll(20.0)
            assert message is not None
            await beside
        assert heard == [[-1001], ("AIOConsumer", 1)]

    with EmbeddedBroker(1, {"orders": 1}) as broker:
        asyncio.run(main(broker))


def test_what_has_no_effect_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """B735: pools and buffers."""
    monkeypatch.setattr(consumer_module, "_told", set())

    async def main() -> None:
        keys = {"bootstrap.servers": "localhost:1"}
        with pytest.warns(ConfigWarning, match="max_workers and executor are accepted"):
            await AIOConsumer({**keys, "group.id": "g"}, max_workers=2).close()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            await AIOConsumer({**keys, "group.id": "g"}, max_workers=2).close()
        with pytest.raises(ValueError, match=r"group\.id must be set"):
            AIOConsumer(keys)

    asyncio.run(main())
