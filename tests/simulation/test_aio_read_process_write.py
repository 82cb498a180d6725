"""Read–process–write of tasks in virtual time: each record counts once."""

import asyncio
import random

import pytest

from prokurist import ConfigException, TopicPartition, errors
from prokurist.aio import KafkaConsumer, KafkaProducer, ReadProcessWrite
from tests.simulation.joining import grouped
from tests.simulation.virtual_loop import consumer, producer, run
from tests.simulation.world import World

RECORDS = 6


def pair(world: World) -> tuple[KafkaConsumer, KafkaProducer]:
    """A consumer that has subscribed, and a producer."""
    reader = consumer(
        world,
        group_id="g",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
        max_poll_records=2,
    )
    reader.subscribe("orders")
    return reader, producer(world, transactional_id="t")


async def values_in(world: World, topic: str, partitions: int = 2) -> list[bytes]:
    """The committed values of a topic, sorted."""
    reader = consumer(world, isolation_level="read_committed", auto_offset_reset="earliest")
    async with reader:
        reader.assign([TopicPartition(topic, number) for number in range(partitions)])
        return sorted([each.value async for each in reader.records(idle_timeout=2.0)])


async def copy_once(work: ReadProcessWrite, sender: KafkaProducer) -> int:
    """Copy the records of one poll."""
    async with work.poll(1.0) as records:
        for record in records:
            await sender.send("copies", record.value, partition=record.partition)
            await asyncio.sleep(0.01)
    return len(records)


async def copy_all(work: ReadProcessWrite, sender: KafkaProducer) -> None:
    """Copy until nothing has come three times."""
    idle = 0
    while idle < 3:
        idle = 0 if await copy_once(work, sender) else idle + 1


def test_each_record_counts_once_whatever_is_cancelled() -> None:
    """B728: a block that is cancelled anywhere is aborted, and its records come again."""
    world = grouped(partitions=2, records=RECORDS, copies=2)
    lot = random.Random(7)  # noqa: S311 - a test that can be repeated

    async def main() -> None:
        reader, sender = pair(world)
        async with reader, sender:
            await sender.init_transactions(10.0)
            work = sender.read_process_write(reader, 10.0)
            cancelled = 0
            for _ in range(25):
                copying = asyncio.create_task(copy_once(work, sender))
                await asyncio.sleep(lot.random() * 0.15)
                copying.cancel()
                await asyncio.gather(copying, return_exceptions=True)
                cancelled += copying.cancelled()
            assert cancelled > 5
            await copy_all(work, sender)
        values = await values_in(world, "copies")
        assert len(values) == 2 * RECORDS
        assert values == await values_in(world, "orders")

    run(world, main())


def test_an_error_in_the_block_has_its_records_come_again() -> None:
    """B728: nothing of it is visible."""
    world = grouped(partitions=1, records=3, copies=2)

    async def main() -> None:
        reader, sender = pair(world)
        async with reader, sender:
            await sender.init_transactions(10.0)
            work = sender.read_process_write(reader, 10.0)

            async def fail() -> None:
                async with work.poll(5.0) as records:
                    await sender.send("copies", next(iter(records)).value, partition=0)
                    raise errors.KafkaException("of the test")

            with pytest.raises(errors.KafkaException, match="of the test"):
                await fail()
            assert not sender.has_transaction
            await copy_all(work, sender)
        assert len(await values_in(world, "copies")) == 3

    run(world, main())


def test_a_consumer_without_a_group_is_refused() -> None:
    """B728: as by threads."""
    world = World()

    async def main() -> None:
        async with producer(world, transactional_id="t") as sender, consumer(world) as reader:
            with pytest.raises(ConfigException, match="the consumer has none"):
                sender.read_process_write(reader)
        async with producer(world) as sender, consumer(world, group_id="g") as reader:
            with pytest.raises(errors.IllegalStateException, match="transactional"):
                sender.read_process_write(reader)

    run(world, main())
