"""The consumers of one of Spark's processes."""

import warnings
from collections.abc import Mapping
from typing import Any, Final

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import ConfigWarning
from prokurist.spark.worker_clients import WorkerClients


def made(config: Mapping[str, str], **keys: Any) -> KafkaConsumer:
    """Build a client, without warnings about its configuration.

    The driver gives them once, when it reads the options; clients are built in many processes.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        return KafkaConsumer(config, **keys)


class WorkerConsumers(WorkerClients[KafkaConsumer]):
    """The consumers of this process, kept from task to task."""

    def build(self, config: Mapping[str, str]) -> KafkaConsumer:
        """Build a consumer that reads nothing but what it is told to."""
        return made(config, auto_offset_reset="none")


CLIENTS: Final = WorkerConsumers()
