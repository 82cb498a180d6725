"""The module of confluent-kafka's C library, from which programs import as well."""

from prokurist.compat.confluent_kafka.consumer import Consumer
from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.compat.confluent_kafka.producer import Producer
from prokurist.compat.confluent_kafka.values import Message, TopicPartition

__all__ = [
    "Consumer",
    "KafkaError",
    "KafkaException",
    "Message",
    "Producer",
    "TopicPartition",
]
