"""Coroutines beside a registry that is silent: the event loop goes on."""

import asyncio
import time
from typing import Any

from prokurist import TopicPartition, aio
from prokurist.registry import AvroDeserializer, AvroSerializer, SchemaRegistry
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.schema_registry import EmbeddedSchemaRegistry


def test_a_poll_of_a_coroutine_waits_in_the_loop() -> None:
    """B892: other tasks have their turns while a schema is looked up."""
    with EmbeddedBroker(1, {"orders": 1}) as broker, EmbeddedSchemaRegistry() as kept:

        async def scene() -> tuple[int, Any]:
            writing = AvroSerializer(SchemaRegistry(kept.url, timeout=60.0), '"string"')
            await asyncio.to_thread(writing.prepare, "orders")
            async with aio.KafkaProducer(
                bootstrap_servers=broker.bootstrap, value_serializer=writing
            ) as producer:
                await (await producer.send("orders", "hello"))
            kept.is_silent = True
            turns = 0
            async with aio.KafkaConsumer(
                bootstrap_servers=broker.bootstrap,
                auto_offset_reset="earliest",
                value_deserializer=AvroDeserializer(SchemaRegistry(kept.url, timeout=1.0)),
            ) as consumer:
                consumer.assign(TopicPartition("orders", 0))
                polling = asyncio.create_task(consumer.poll(60.0))
                began = time.monotonic()
                while not polling.done() and time.monotonic() - began < 60.0:
                    turns += 1
                    await asyncio.sleep(0.01)
                return turns, polling.exception()

        turns, error = asyncio.run(scene())
        assert turns > 10  # One alone, if the look-up had kept the loop.
        assert "schema 1" in str(error)
