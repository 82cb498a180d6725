"""aiokafka's admin client, on an embedded broker."""

import asyncio

import pytest

from prokurist.compat.aiokafka import TopicPartition
from prokurist.compat.aiokafka.admin import (
    AIOKafkaAdminClient,
    NewPartitions,
    NewTopic,
    RecordsToDelete,
)
from prokurist.compat.aiokafka.admin.config_resource import ConfigResource
from prokurist.compat.aiokafka.errors import KafkaConnectionError, for_code
from prokurist.testing.broker import EmbeddedBroker


def test_answers_have_aiokafkas_fields() -> None:
    """B736: an error code for each item; keys that are not named go back to defaults."""

    async def main(broker: EmbeddedBroker) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
        await admin.start()
        made = await admin.create_topics([NewTopic("a", 2, 1), NewTopic("orders", 1, 1)])
        assert [each.error_code for each in made.topic_errors] == [0, 36]
        grown = await admin.create_partitions({"a": NewPartitions(3, [[1]])})
        assert [tuple(each) for each in grown.topic_errors] == [("a", 0, None)]
        with pytest.raises(for_code(37), match="Could not create partitions for a"):
            await admin.create_partitions({"a": NewPartitions(1)})
        (topic,) = await admin.describe_topics(["a"])
        assert [each["partition"] for each in topic["partitions"]] == [0, 1, 2]
        for keys in ({"retention.ms": "5000"}, {"max.message.bytes": "2000"}):
            await admin.alter_configs([ConfigResource("topic", "a", keys)])
        (answer,) = await admin.describe_configs([ConfigResource("topic", "a")])
        values = {each.config_names: each for each in answer.resources[0].config_entries}
        assert values["max.message.bytes"].config_value == "2000"
        assert values["retention.ms"].config_value != "5000"
        left = await admin.delete_records({TopicPartition("a", 0): RecordsToDelete(0)})
        assert left == {TopicPartition("a", 0): 0}
        gone = await admin.delete_topics(["a"])
        assert [tuple(each) for each in gone.topic_error_codes] == [("a", 0)]
        await admin.close()
        lone = AIOKafkaAdminClient(bootstrap_servers="localhost:1")
        with pytest.raises(KafkaConnectionError):
            await lone.start()
        await lone.close()

    with EmbeddedBroker(1, {"orders": 1}) as broker:
        asyncio.run(main(broker))
