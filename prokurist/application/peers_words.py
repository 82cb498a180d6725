"""Hints for calls of other clients, by our names.

An AttributeError for a method of another client names ours. docs/coming_from.md has more of
them, with their arguments.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

CONSUMER_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bootstrap_connected": "health(), whose unreachable_for and answer_age say it",
        "cluster_id": "`prokurist brokers`, on the command line",
        "commit": "commit_sync(offsets, timeout) or commit_async(offsets, callback)",
        "config": "ConsumerConfig(config), which has every value",
        "consume": "poll(timeout, max_records=n), and poll_more(timeout) behind it",
        "consumer_group_metadata": "group_metadata()",
        "get_watermark_offsets": "beginning_offsets(partition) and end_offsets(partition)",
        "getmany": "poll(timeout, max_records=n)",
        "getone": "next(timeout)",
        "highwater": "position(partition) + current_lag(partition)",
        "incremental_assign": "assign(assignment() | {partition}), which keeps positions",
        "incremental_unassign": "assign(assignment() - {partition}), which keeps positions",
        "list_consumer_groups": "`prokurist groups`, on the command line",
        "memberid": "group_metadata().member_id",
        "partitions_for_topic": "partitions_for(topic)",
        "set_sasl_credentials": "sasl.username and sasl.password, of a consumer built again",
        "start": "the constructor: a consumer is ready when it is built",
        "stop": "close(timeout)",
        "topics": "list_topics()",
        "unassign": "unsubscribe()",
    }
)
"""Calls of other clients' consumers, each with its counterpart here."""

PRODUCER_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bootstrap_connected": "health(), whose unreachable_for and answer_age say it",
        "config": "ProducerConfig(config), which has every value",
        "list_topics": "partitions_for(topic), or list_topics() of a KafkaConsumer",
        "poll": "nothing: callbacks run by themselves, on the network thread",
        "produce": "send(topic, value, key, on_delivery=...)",
        "produce_batch": "send(topic, value, key) for each: batches are made by themselves",
        "send_and_wait": "send(topic, value, key).result(timeout)",
        "set_sasl_credentials": "sasl.username and sasl.password, of a producer built again",
        "start": "the constructor: a producer is ready when it is built",
        "stop": "close(timeout)",
    }
)
"""Calls of other clients' producers, each with its counterpart here."""

PACKAGE_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "AIOConsumer": "prokurist.aio.KafkaConsumer",
        "AIOKafkaAdminClient": "prokurist.aio.KafkaAdmin",
        "AIOKafkaConsumer": "prokurist.aio.KafkaConsumer",
        "AIOKafkaProducer": "prokurist.aio.KafkaProducer",
        "AIOProducer": "prokurist.aio.KafkaProducer",
        "AdminClient": "KafkaAdmin",
        "BrokerMetadata": "Node",
        "ConfigResource": "prokurist.admin.ConfigResource",
        "Consumer": "KafkaConsumer",
        "DeserializingConsumer": "KafkaConsumer, with key.deserializer and value.deserializer",
        "KafkaAdminClient": "KafkaAdmin",
        "KafkaError": "KafkaException, or a class of prokurist.errors",
        "Message": "ConsumerRecord",
        "NewPartitions": "prokurist.admin.NewPartitions",
        "NewTopic": "prokurist.admin.NewTopic",
        "OFFSET_BEGINNING": "seek_to_beginning(partitions) of a KafkaConsumer",
        "OFFSET_END": "seek_to_end(partitions) of a KafkaConsumer",
        "OFFSET_STORED": "committed(partitions) and seek(partition, offset) of a KafkaConsumer",
        "Producer": "KafkaProducer",
        "SerializingProducer": "KafkaProducer, with key.serializer and value.serializer",
        "TopicAndPartition": "TopicPartition",
        "libversion": "__version__",
        "structs": "TopicPartition, OffsetAndMetadata and OffsetAndTimestamp of prokurist",
    }
)
"""Names of other clients' packages, each with its counterpart here."""


def no_attribute(client: object, name: str, words: Mapping[str, str]) -> AttributeError:
    """Return the error for an attribute that a client lacks.

    Args:
        client: The client.
        name: The attribute's name.
        words: Our names for other clients' calls.
    """
    kind = type(client)
    text = f"{kind.__name__!r} object has no attribute {name!r}"
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    if name in words:
        text += f": write {words[name]}"
    elif snake != name and hasattr(kind, snake):
        text += f": write {snake}"
    return AttributeError(text, name=name, obj=client)
