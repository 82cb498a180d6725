"""Readers and senders of a chaos run, by the client that each is a program of."""

from collections.abc import Mapping
from typing import Final

from tests.chaos.readers import ConfluentReader, CoreReader, KafkaPythonReader, Reader
from tests.chaos.readers_of_tasks import TaskReader
from tests.chaos.senders import ConfluentSender, CoreSender, KafkaPythonSender, Sender
from tests.chaos.senders_of_tasks import TaskSender

READERS: Final[Mapping[str, type[Reader]]] = {
    "core": CoreReader,
    "aio": TaskReader,
    "confluent-kafka": ConfluentReader,
    "kafka-python": KafkaPythonReader,
}
"""Readers by the client whose names they have."""

SENDERS: Final[Mapping[str, type[Sender]]] = {
    "core": CoreSender,
    "aio": TaskSender,
    "confluent-kafka": ConfluentSender,
    "kafka-python": KafkaPythonSender,
}
"""Senders by the client whose names they have."""
