"""Clients for coroutines on a real Kafka."""

import asyncio
import gc
import time
from typing import Any

import pytest

from prokurist import TopicPartition, errors
from prokurist.admin import NewTopic
from prokurist.aio import KafkaAdmin, KafkaConsumer, KafkaProducer
from prokurist.testing.kafka import RealKafka

MANY = 5000


def run(main: Any) -> None:
    """Run a coroutine in a loop in debug mode."""
    asyncio.run(main, debug=True)


def test_records_go_round(prokurist_kafka: RealKafka) -> None:
    """B700, B704: sent in many tasks, read in one, committed in others."""
    topic = prokurist_kafka.unique_topic(partitions=3)
    group = f"{topic}-group"

    async def main() -> None:
        async with KafkaProducer(bootstrap_servers=prokurist_kafka.bootstrap) as producer:

            async def send(number: int) -> int:
                return (await (await producer.send(topic, b"%d" % number))).offset

            async with asyncio.TaskGroup() as tasks:
                for number in range(MANY):
                    tasks.create_task(send(number))
        async with KafkaConsumer(
            bootstrap_servers=prokurist_kafka.bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer:
            consumer.subscribe(topic)
            values: set[Any] = set()
            async with asyncio.TaskGroup() as tasks:
                while len(values) < MANY:
                    records = await consumer.poll(10.0)
                    assert records
                    values |= {each.value for each in records}
                    tasks.create_task(consumer.commit(records.next_offsets(), timeout=10.0))
            partitions = [TopicPartition(topic, n) for n in range(3)]
            committed = await consumer.committed(partitions)
            ends = await consumer.end_offsets(partitions)
            assert {tp: at.offset for tp, at in committed.items() if at} == ends
            polls = asyncio.create_task(consumer.poll(60.0))
            await asyncio.sleep(0.2)
            polls.cancel()
            with pytest.raises(asyncio.CancelledError):
                await polls

    run(main())


def test_transactions_of_coroutines(prokurist_kafka: RealKafka) -> None:
    """B714: one is committed, one aborted."""
    topic = prokurist_kafka.unique_topic(partitions=1)

    async def main() -> None:
        async with KafkaProducer(
            bootstrap_servers=prokurist_kafka.bootstrap, transactional_id=f"{topic}-writer"
        ) as producer:
            await producer.init_transactions(30.0)

            async def fail() -> None:
                async with producer.transaction():
                    await producer.send(topic, b"aborted")
                    raise errors.KafkaException("of the test")

            async with producer.transaction():
                await producer.send(topic, b"committed")
            with pytest.raises(errors.KafkaException):
                await fail()
        async with KafkaConsumer(
            bootstrap_servers=prokurist_kafka.bootstrap,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        ) as consumer:
            consumer.assign(TopicPartition(topic, 0))
            values = [each.value async for each in consumer.records(idle_timeout=2.0)]
            assert values == [b"committed"]

    run(main())


def test_other_tasks_have_turns_beside_a_busy_poll(prokurist_kafka: RealKafka) -> None:
    """B712: between two turns of the loop little of the processor is used, by any thread."""
    topic = prokurist_kafka.unique_topic(partitions=3)
    records, mark = 200_000, 0.015

    async def main() -> None:
        async with KafkaProducer(bootstrap_servers=prokurist_kafka.bootstrap) as producer:
            for _ in range(records // 5000):
                await producer.send_many(topic, [bytes(100)] * 5000)
        stretches: list[float] = []

        async def beat() -> None:
            used = time.process_time()
            while True:
                await asyncio.sleep(0)
                stretches.append(time.process_time() - used)
                used += stretches[-1]

        async with KafkaConsumer(
            bootstrap_servers=prokurist_kafka.bootstrap, auto_offset_reset="earliest"
        ) as consumer:
            consumer.assign([TopicPartition(topic, number) for number in range(3)])
            await consumer.poll(10.0)
            gc.collect()
            gc.freeze()
            beating = asyncio.create_task(beat())
            read = 0
            while read < records - 500:
                found = await consumer.poll(10.0)
                read += len([each.value for each in found])
            beating.cancel()
            gc.unfreeze()
        assert len(stretches) > 20
        # Both threads may work at once: what one of them does alone is below half of it.
        assert max(stretches) < 2 * mark

    asyncio.run(main())


def test_topics_are_administered_in_tasks(prokurist_kafka: RealKafka) -> None:
    """B725: created at once, described, listed page by page, and deleted."""
    names = [prokurist_kafka.unique_topic(partitions=1) + suffix for suffix in ("a", "b")]

    async def main() -> None:
        async with KafkaAdmin(bootstrap_servers=prokurist_kafka.bootstrap) as admin:
            made = await asyncio.gather(
                *(admin.create_topics({each: NewTopic(2)}, wait=True) for each in names)
            )
            assert all(not each.errors for each in made)
            found = [each async for each in admin.iter_topic_partitions(names, page=1)]
            assert [(each.topic, each.partition) for each in found] == [
                (name, number) for name in sorted(names) for number in range(2)
            ]
            with pytest.raises(errors.TopicExistsException):
                await admin.create_topic(names[0], 1)
            (await admin.delete_topics(names, wait=True, timeout=30)).check()
            assert not set(names) & set(await admin.list_topics())

    run(main())


def test_records_are_copied_in_transactions(prokurist_kafka: RealKafka) -> None:
    """B728: one block is cancelled; each record counts once."""
    orders = prokurist_kafka.unique_topic(partitions=1)
    copies = prokurist_kafka.unique_topic(partitions=1)
    servers = {"bootstrap.servers": prokurist_kafka.bootstrap}

    async def main() -> None:
        async with KafkaProducer(servers) as writer:
            await (await writer.send_many(orders, [b"%d" % n for n in range(20)]))
        async with (
            KafkaConsumer(
                servers,
                group_id=f"{orders}-group",
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                max_poll_records=7,
            ) as consumer,
            KafkaProducer(servers, transactional_id=f"{orders}-writer") as producer,
        ):
            await producer.init_transactions(30.0)
            consumer.subscribe(orders)
            work = producer.read_process_write(consumer, 30.0)

            async def copy(pause: float = 0.0) -> int:
                async with work.poll(10.0) as records:
                    for record in records:
                        await producer.send(copies, record.value)
                    await asyncio.sleep(pause)
                return len(records)

            with pytest.raises(TimeoutError):
                async with asyncio.timeout(8.0):
                    await copy(60.0)
            copied = 0
            while copied < 20:
                copied += await copy()
        async with KafkaConsumer(
            servers, isolation_level="read_committed", auto_offset_reset="earliest"
        ) as reader:
            reader.assign(TopicPartition(copies, 0))
            values = [each.value async for each in reader.records(idle_timeout=2.0)]
            assert values == [b"%d" % n for n in range(20)]

    run(main())
