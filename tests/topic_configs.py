"""Sets a topic's configuration on a real Kafka, which its own commands take seconds for."""

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)


def set_config(client: AdminClient, topic: str, name: str, value: int, within: float) -> None:
    """Set one key of a topic.

    Raises:
        confluent_kafka.KafkaException: The cluster has not taken it within so many seconds.
    """
    entry = ConfigEntry(name, str(value), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    (done,) = client.incremental_alter_configs([resource]).values()
    done.result(within)
