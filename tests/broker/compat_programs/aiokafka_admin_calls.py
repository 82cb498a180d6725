"""Prints what the calls of aiokafka's admin client return."""

import asyncio
import logging

from prokurist.compat.aiokafka import AIOKafkaProducer, TopicPartition
from prokurist.compat.aiokafka.admin import (
    AIOKafkaAdminClient,
    NewPartitions,
    NewTopic,
    RecordsToDelete,
)
from prokurist.compat.aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from prokurist.compat.aiokafka.errors import (
    IllegalArgumentError,
    InvalidPartitionsError,
    KafkaConnectionError,
)

logging.disable()

SERVERS = {"bootstrap_servers": "localhost:9092"}
MADE, REFUSED = "billing", "shipping"


async def shown_config(admin, resource):
    """One key of a topic, as it is described."""
    (answer,) = await admin.describe_configs([resource], include_synonyms=True)
    code, _, kind, _, entries = answer.resources[0]
    name, value, read_only, source, is_sensitive, _ = entries[0]
    return code, int(kind), len(entries), name, value, bool(read_only), source, is_sensitive


async def main():
    """Print them all."""
    admin = AIOKafkaAdminClient(**SERVERS)
    await admin.start()
    made = await admin.create_topics(
        [
            NewTopic(MADE, 2, 1, topic_configs={"retention.ms": "5000"}),
            NewTopic(REFUSED, 1, 9),
        ],
        timeout_ms=20000,
    )
    print("made", [tuple(each) for each in made.topic_errors])
    again = await admin.create_topics([NewTopic(MADE, 1, 1)], validate_only=True)
    print("again", [tuple(each)[1:] for each in again.topic_errors])
    print("listed", MADE in await admin.list_topics())
    print("described", await admin.describe_topics([MADE]))
    cluster = await admin.describe_cluster()
    print("cluster", sorted(cluster), [sorted(each) for each in cluster["brokers"]])
    topic = ConfigResource(ConfigResourceType.TOPIC, MADE, {"retention.ms": None})
    print("config", await shown_config(admin, topic))
    broker = ConfigResource("broker", "0", {"num.partitions": None})
    both = await admin.describe_configs([topic, broker])
    print("both", len(both), [len(each.resources) for each in both])
    # All that is not named goes back to its default.
    change = ConfigResource(ConfigResourceType.TOPIC, MADE, {"max.message.bytes": "2000"})
    altered = await admin.alter_configs([change])
    print("altered", [tuple(each)[:2] for each in altered[0].resources])
    print("config", await shown_config(admin, topic))
    sizes = ConfigResource(ConfigResourceType.TOPIC, MADE, {"max.message.bytes": None})
    print("config", await shown_config(admin, sizes))
    more = await admin.create_partitions({MADE: NewPartitions(3)})
    print("more", [tuple(each) for each in more.topic_errors])
    try:
        await admin.create_partitions({MADE: NewPartitions(1)})
    except InvalidPartitionsError as error:
        print("fewer", error.errno)
    async with AIOKafkaProducer(**SERVERS) as producer:
        for _ in range(5):
            await producer.send_and_wait(MADE, b"x", partition=0)
    first = TopicPartition(MADE, 0)
    left = await admin.delete_records({first: RecordsToDelete(3)})
    print("left", left == {first: 3})
    gone = await admin.delete_topics([MADE])
    print("gone", [tuple(each)[1] for each in gone.topic_error_codes])
    await admin.close()
    try:
        NewTopic(MADE, 1, 1, replica_assignments={0: [0]})
    except IllegalArgumentError as error:
        print("refused", type(error).__name__)
    lone = AIOKafkaAdminClient(bootstrap_servers="localhost:1")
    try:
        await lone.start()
    except KafkaConnectionError as error:
        print("lone", type(error).__name__)
    await lone.close()


asyncio.run(main())
