"""aiokafka's admin client, and what it is given."""

from prokurist.compat.aiokafka.admin.client import AIOKafkaAdminClient
from prokurist.compat.aiokafka.admin.values import NewPartitions, NewTopic, RecordsToDelete

__all__ = ["AIOKafkaAdminClient", "NewPartitions", "NewTopic", "RecordsToDelete"]
