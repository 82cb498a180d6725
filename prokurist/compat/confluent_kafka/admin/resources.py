"""Kinds of resources, and the ways in which their names are matched."""

from prokurist.compat.confluent_kafka.model import Ordered


class ResourceType(Ordered):
    """Kinds of resources; of configurations and of access control lists alike."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    BROKER = 4
    TRANSACTIONAL_ID = 5


class ResourcePatternType(Ordered):
    """Ways in which the name of a resource is matched."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4
