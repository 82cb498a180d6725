"""A real Apache Kafka for tests: given, in containers, or out of jars.

`RealKafka` is the one class to start with; `python -m prokurist.testing.kafka`
runs one in the foreground.
"""

import prokurist.testing.kio_there  # noqa: F401 - says what to install
from prokurist.testing.groups import GroupDescription, GroupMember
from prokurist.testing.kafka.errors import (
    AdminFailed,
    BrokerDied,
    ControlRefused,
    DockerUnavailable,
    HarnessError,
    JavaMissing,
    JavaTooOld,
    KafkaFailed,
    KafkaUnavailable,
    MavenFailed,
    MavenMissing,
    NotReady,
    PortTaken,
)
from prokurist.testing.kafka.ladder import DEFAULT_VERSION, is_required, survey
from prokurist.testing.kafka.real_kafka import RealKafka
from prokurist.testing.kafka.security import SecuredListener

__all__ = [
    "DEFAULT_VERSION",
    "AdminFailed",
    "BrokerDied",
    "ControlRefused",
    "DockerUnavailable",
    "GroupDescription",
    "GroupMember",
    "HarnessError",
    "JavaMissing",
    "JavaTooOld",
    "KafkaFailed",
    "KafkaUnavailable",
    "MavenFailed",
    "MavenMissing",
    "NotReady",
    "PortTaken",
    "RealKafka",
    "SecuredListener",
    "is_required",
    "survey",
]
