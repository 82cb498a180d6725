"""Prints what the calls of aiokafka's clients return."""

import asyncio
import logging
import time

from prokurist.compat.aiokafka import (
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    ConsumerStoppedError,
    IllegalOperation,
    OffsetAndTimestamp,
    TopicPartition,
)
from prokurist.compat.aiokafka.errors import (
    IllegalStateError,
    KafkaConnectionError,
    KafkaError,
    NotLeaderForPartitionError,
    ProducerClosed,
    ProducerFenced,
    for_code,
)
from prokurist.compat.aiokafka.structs import ConsumerRecord

logging.disable()

SERVERS = {"bootstrap_servers": "localhost:9092"}
FIRST, SECOND = TopicPartition("parts", 0), TopicPartition("parts", 1)
LATER = 1_700_000_000_000


def shown(record):
    """A record in one line."""
    parts = (record.topic, record.partition, record.offset, record.key, record.value)
    more = (record.timestamp, record.timestamp_type, record.headers, record.checksum)
    sizes = (record.serialized_key_size, record.serialized_value_size)
    return f"{parts} {more} {sizes}"


async def raised(call, *kinds):
    """The name of what a call raises."""
    try:
        found = await call
    except kinds as error:
        return type(error).__name__
    return f"nothing, but {found!r}"


def raised_now(call, *kinds):
    """The name of what a call that is not awaited raises."""
    try:
        found = call()
    except kinds as error:
        return type(error).__name__
    return f"nothing, but {found!r}"


async def drained(consumer, count, *partitions, **keywords):
    """As many records, in the order of partitions and offsets."""
    found = []
    while len(found) < count:
        data = await consumer.getmany(*partitions, timeout_ms=2000, **keywords)
        for records in data.values():
            found += records
    return sorted(map(shown, found))


async def produced():
    """Write three records to each partition."""
    producer = AIOKafkaProducer(
        **SERVERS, acks="all", linger_ms=5, key_serializer=str.encode, compression_type="gzip"
    )
    await producer.start()
    futures = [
        await producer.send(
            "parts",
            b"value %d" % number,
            f"key {number}",
            headers=[("name", b"bytes")] if number < 2 else None,
            partition=number % 2,
            timestamp_ms=LATER + number,
        )
        for number in range(6)
    ]
    for future in futures:
        print("sent", (await future)[:4])
    await producer.flush()
    print("partitions", await producer.partitions_for("parts"))
    print("too large", await raised(producer.send("parts", bytes(2_000_000), "k"), KafkaError))
    print("not bytes", await raised(producer.send("parts", "text", "k"), TypeError))
    print("transaction", await raised(producer.begin_transaction(), IllegalOperation))
    await producer.stop()
    await producer.stop()
    print("stopped", await raised(producer.send("parts", b"v", "k"), ProducerClosed))


async def batched():
    """Fill a batch and send it."""
    async with AIOKafkaProducer(**SERVERS, max_batch_size=300) as producer:
        batch = producer.create_batch()
        print("empty", batch.record_count(), batch.size(), batch.closed())
        number = 0
        while True:
            found = batch.append(
                timestamp=LATER, key=b"k", value=b"x" * 20, headers=[("h", b"v")]
            )
            if found is None:
                break
            print("appended", found.offset, found.size, found.timestamp)
            number += 1
        print("full", number, batch.record_count(), batch.closed())
        sent = await producer.send_batch(batch, "parts", partition=1)
        metadata = await sent
        print("batch", metadata.topic_partition == SECOND, metadata.offset)
        metadata = await producer.send_and_wait("parts", b"last", key=b"one", timestamp_ms=1)
        print("one", metadata.topic, metadata.timestamp, metadata.timestamp_type)


async def read_by_hand():
    """Read assigned partitions."""
    consumer = AIOKafkaConsumer(
        **SERVERS, group_id="billing", enable_auto_commit=False, auto_offset_reset="earliest"
    )
    consumer.assign([FIRST, SECOND])
    await consumer.start()
    print("assigned", sorted(consumer.assignment()), consumer.subscription())
    for line in await drained(consumer, 3, FIRST, max_records=2):
        print("first", line)
    print("position", await consumer.position(FIRST), await consumer.position(SECOND))
    consumer.seek(FIRST, 1)
    one = await consumer.getone(FIRST)
    print("one", shown(one), isinstance(one, ConsumerRecord))
    print("position", await consumer.position(FIRST), consumer.highwater(FIRST))
    await consumer.commit()
    print("committed", await consumer.committed(FIRST), await consumer.committed(SECOND))
    await consumer.commit({FIRST: 1, SECOND: (2, "text")})
    print("committed", await consumer.committed(FIRST), await consumer.committed(SECOND))
    print("back to", sorted((await consumer.seek_to_committed()).items()))
    print("position", await consumer.position(FIRST), await consumer.position(SECOND))
    print("beginning", await consumer.seek_to_beginning(SECOND))
    print("position", await consumer.position(SECOND))
    print("end", await consumer.seek_to_end())
    ends = await consumer.end_offsets([FIRST, SECOND])
    print("ends", sorted(ends.items()), await consumer.beginning_offsets([FIRST]))
    print("position", await consumer.position(SECOND) == ends[SECOND])
    times = await consumer.offsets_for_times({FIRST: LATER + 1, SECOND: LATER + 10**12})
    print("times", times[FIRST], times[SECOND], isinstance(times[FIRST], OffsetAndTimestamp))
    print("nothing", await consumer.getmany(timeout_ms=50))
    consumer.pause(FIRST)
    print("paused", consumer.paused())
    consumer.resume(FIRST)
    print("paused", consumer.paused())
    print("partitions", consumer.partitions_for_topic("parts"))
    print("unknown", consumer.partitions_for_topic("missing"))
    print("topics", "parts" in await consumer.topics())
    third = TopicPartition("parts", 3)
    print("not assigned", await raised(consumer.position(third), IllegalStateError))
    print("not assigned", raised_now(lambda: consumer.seek(third, 0), IllegalStateError))
    print("not assigned", await raised(consumer.commit({third: 1}), IllegalStateError))
    print("not assigned", await raised(consumer.seek_to_end(third), IllegalStateError))
    print("negative", raised_now(lambda: consumer.seek(FIRST, -1), ValueError))
    print("no pair", await raised(consumer.commit({FIRST: [1]}), ValueError))
    print("no offsets", await raised(consumer.commit({}), ValueError))
    print("no text", await raised(consumer.commit({FIRST: (1, b"")}), TypeError))
    print("no partition", await raised(consumer.seek_to_end("parts"), TypeError))
    print("no time", await raised(consumer.offsets_for_times({FIRST: -1}), ValueError))
    print("no number", await raised(consumer.getmany(max_records=0), ValueError))
    print("both", raised_now(lambda: consumer.subscribe(["parts"]), IllegalStateError))
    print("neither", raised_now(consumer.subscribe, TypeError))
    print("text", raised_now(lambda: consumer.subscribe("parts"), TypeError))
    print("pattern", raised_now(lambda: consumer.subscribe(pattern="("), ValueError))
    print("listener", raised_now(lambda: consumer.subscribe(["x"], listener=1), TypeError))
    await consumer.stop()
    await consumer.stop()
    print("stopped", await raised(consumer.getone(), ConsumerStoppedError))
    print("stopped", await raised(consumer.getmany(), ConsumerStoppedError))


class Listener(ConsumerRebalanceListener):
    """Prints what it hears."""

    async def on_partitions_revoked(self, revoked):
        """Print partitions."""
        await asyncio.sleep(0)
        if revoked:
            print("revoked", sorted(revoked), type(revoked).__name__)

    def on_partitions_assigned(self, assigned):
        """Print partitions."""
        print("assigned", sorted(assigned), type(assigned).__name__)


async def read_in_a_group():
    """Read as a member."""
    consumer = AIOKafkaConsumer(
        **SERVERS,
        group_id="shipping",
        auto_offset_reset="earliest",
        enable_auto_commit=True,
        key_deserializer=bytes.decode,
        isolation_level="read_committed",
    )
    consumer.subscribe(["parts"], listener=Listener())
    print("subscribed", consumer.subscription())
    await consumer.start()
    print("started", sorted(consumer.assignment()))
    found = []
    async for record in consumer:
        found.append(shown(record))
        if record.value == b"value 5" or len(found) == 3:
            break
    print("read", len(found))
    print("stable", consumer.last_stable_offset(SECOND) is not None)
    waiting = asyncio.create_task(consumer.getone(TopicPartition("parts", 0)))
    both = asyncio.create_task(consumer.getmany(SECOND, timeout_ms=3000))
    many = await both
    print("second", {each.topic for each in many}, waiting.done() in (True, False))
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await consumer.seek_to_end()
    waiting = asyncio.create_task(consumer.getone())
    await asyncio.sleep(0.3)
    await consumer.stop()
    print("stopped", await raised(waiting, ConsumerStoppedError))
    async with AIOKafkaConsumer("parts", **SERVERS, group_id="shipping") as again:
        places = [await again.committed(each) for each in (FIRST, SECOND)]
        print("committed", all(each is not None for each in places))


async def read_without_a_group():
    """Read topics and patterns."""
    async with AIOKafkaConsumer(
        "parts", **SERVERS, auto_offset_reset="earliest", consumer_timeout_ms=200
    ) as consumer:
        print("assigned", sorted(consumer.assignment()), consumer.subscription())
        print("read", len(await drained(consumer, 6)) >= 6)
        print("no group", await raised(consumer.commit(), IllegalOperation))
        print("no group", await raised(consumer.committed(FIRST), IllegalOperation))
        print("no group", await raised(consumer.seek_to_committed(), IllegalOperation))
        consumer.unsubscribe()
        print("left", consumer.assignment(), sorted(consumer.subscription()))


async def interrupted(producer):
    """Leave a transaction with an error."""
    async with producer.transaction():
        await producer.send_and_wait("parts", b"aborted", partition=0)
        _ = 1 / 0


async def in_transactions():
    """Commit and abort transactions."""
    producer = AIOKafkaProducer(**SERVERS, transactional_id="billing")
    await producer.start()
    print("outside", await raised(producer.send("parts", b"v"), IllegalOperation))
    async with producer.transaction():
        metadata = await producer.send_and_wait("parts", b"committed", partition=0)
        await producer.send_offsets_to_transaction({FIRST: metadata.offset + 1}, "billing")
    print("aborted", await raised(interrupted(producer), ZeroDivisionError))
    async with AIOKafkaConsumer(**SERVERS, group_id="billing") as consumer:
        consumer.assign([FIRST])
        print("offset", await consumer.committed(FIRST) == metadata.offset + 1)
    consumer = AIOKafkaConsumer(**SERVERS, isolation_level="read_committed")
    consumer.assign([FIRST])
    await consumer.start()
    consumer.seek(FIRST, metadata.offset)
    values = [each.value for each in (await consumer.getmany(timeout_ms=3000))[FIRST]]
    print("values", values, await consumer.getmany(timeout_ms=300))
    await consumer.stop()
    other = AIOKafkaProducer(**SERVERS, transactional_id="billing")
    await other.start()
    await producer.begin_transaction()
    print("fenced", await raised(producer.send_and_wait("parts", b"late"), ProducerFenced))
    await other.stop()
    await raised(producer.stop(), ProducerFenced)


async def refused():
    """Ask for what is not there."""
    print(NotLeaderForPartitionError.errno, NotLeaderForPartitionError.retriable)
    print(for_code(3).__name__, for_code(3)("text"), for_code(999).__name__)
    for keys in ({"acks": 2}, {"compression_type": "zip"}):
        print("refused", raised_now(lambda keys=keys: AIOKafkaProducer(**keys), ValueError))
    lone = AIOKafkaConsumer("parts", bootstrap_servers="localhost:1")
    began = time.monotonic()
    print("lone", await raised(lone.start(), KafkaConnectionError))
    print("soon", time.monotonic() - began < 5)
    await lone.stop()
    lone = AIOKafkaProducer(bootstrap_servers="localhost:1")
    print("lone", await raised(lone.start(), KafkaConnectionError))
    await lone.stop()


async def main():
    """Print them all."""
    await produced()
    await batched()
    await read_by_hand()
    await read_in_a_group()
    await read_without_a_group()
    await in_transactions()
    await refused()


asyncio.run(main())
