"""The producers of one of Spark's processes."""

import warnings
from collections.abc import Mapping
from typing import Final

from prokurist.errors import ConfigWarning
from prokurist.producer.producer import KafkaProducer
from prokurist.spark.worker_clients import WorkerClients


def made(config: Mapping[str, str]) -> KafkaProducer:
    """Build a producer, without warnings about its configuration: the driver gives them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        return KafkaProducer(config)


class WorkerProducers(WorkerClients[KafkaProducer]):
    """The producers of this process, kept from task to task."""

    keeps_interrupted = False  # Rows of a task that was given up are not sent behind it.

    def build(self, config: Mapping[str, str]) -> KafkaProducer:
        """Build a producer."""
        return made(config)


PRODUCERS: Final = WorkerProducers()
