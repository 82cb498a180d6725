"""Prints what the calls of confluent-kafka's clients for asyncio return."""

import asyncio

from prokurist.compat.confluent_kafka import KafkaError, KafkaException, TopicPartition
from prokurist.compat.confluent_kafka.aio import AIOConsumer, AIOProducer

SERVERS = {"bootstrap.servers": "localhost:9092"}
FIRST, SECOND = TopicPartition("parts", 0), TopicPartition("parts", 1)


async def produced():
    """Write three messages to each partition."""
    producer = AIOProducer({**SERVERS, "linger.ms": 5})
    futures = [
        await producer.produce("parts", value=f"value {n}", key=f"key {n}", partition=n % 2)
        for n in range(6)
    ]
    print("on their way", len(producer) > 0)
    print("left", await producer.flush())
    for future in futures:
        message = await future
        print("sent", message.topic(), message.partition(), message.offset(), message.error())
    one = await producer.produce("parts", b"late", partition=0)
    message = await asyncio.wait_for(one, 20)
    print("one", message.value(), message.offset())
    print("topics", "parts" in (await producer.list_topics("parts")).topics)
    print("nothing", len(producer), await producer.poll(0))
    await producer.close()


async def consumed():
    """Read them in a group."""
    heard = []

    async def assigned(consumer, partitions):
        heard.append(type(consumer).__name__)
        print("assigned", sorted(each.partition for each in partitions))
        await consumer.assign(partitions)
        await asyncio.sleep(0)

    async def revoked(consumer, partitions):
        print("revoked", sorted(each.partition for each in partitions))
        print("then", len(await consumer.assignment()))

    consumer = AIOConsumer(
        {
            **SERVERS,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    await consumer.subscribe(["parts"], on_assign=assigned, on_revoke=revoked)
    found = []
    while len(found) < 7:
        message = await consumer.poll(1.0)
        if message is not None and message.error() is None:
            found.append((message.partition(), message.offset(), message.value()))
    for each in sorted(found):
        print("consumed", each)
    print("heard", heard)
    print("assignment", len(await consumer.assignment()))
    done = await consumer.commit(asynchronous=False)
    print("committed", sorted((each.partition, each.offset) for each in done))
    places = await consumer.committed([FIRST, SECOND])
    print("committed", [(each.partition, each.offset) for each in places])
    places = await consumer.position([FIRST, SECOND])
    print("position", [(each.partition, each.offset) for each in places])
    print("watermarks", await consumer.get_watermark_offsets(FIRST))
    print(
        "times", (await consumer.offsets_for_times([TopicPartition("parts", 0, 0)]))[0].offset
    )
    await consumer.seek(TopicPartition("parts", 1, 1))
    messages = await consumer.consume(2, 20.0)
    print("again", [(each.partition(), each.offset()) for each in messages])
    await consumer.pause([FIRST])
    await consumer.resume([FIRST])
    print("none", await consumer.poll(0.1))
    print("topics", "parts" in (await consumer.list_topics("parts")).topics)
    both = await asyncio.gather(consumer.poll(0.2), consumer.committed([FIRST]))
    print("at once", both[0], len(both[1]))
    await consumer.close()
    try:
        await consumer.poll(0.1)
    except RuntimeError as error:
        print("closed", error)


async def in_transactions():
    """Commit one, and abort one."""
    async with AIOProducer({**SERVERS, "transactional.id": "shipping"}) as producer:
        await producer.init_transactions(30)
        await producer.begin_transaction()
        await producer.produce("invoices", b"committed")
        await producer.commit_transaction()
        await producer.begin_transaction()
        lost = await producer.produce("invoices", b"aborted")
        await producer.flush()
        await producer.abort_transaction()
        print("aborted", (await lost).value())
    async with AIOConsumer(
        {**SERVERS, "group.id": "shipping", "auto.offset.reset": "earliest"}
    ) as consumer:
        await consumer.assign([TopicPartition("invoices", 0)])
        print("read", [each.value() for each in await consumer.consume(1, 20.0)])
        print("more", await consumer.consume(1, 1.0))


async def refused():
    """Ask for what is not there."""
    async with AIOProducer({**SERVERS, "message.timeout.ms": 3000}) as producer:
        lost = await producer.produce("parts", b"v", partition=17)
        await producer.flush()
        try:
            await lost
        except KafkaException as error:
            print("refused", error.args[0].code() == KafkaError._UNKNOWN_PARTITION)


async def main():
    """Print them all."""
    await produced()
    await consumed()
    await in_transactions()
    await refused()


asyncio.run(main())
