"""Keys whose values are the user's own code."""

import json

import pytest

from prokurist.config.kinds import Rejected, ValueKind
from prokurist.config.objects import Assignors, Function, Interceptors, Partitioner

JAVA = "org.apache.kafka.clients.consumer"


class Mine:
    """Some object of the user's."""


MINE = Mine()


@pytest.mark.parametrize(
    ("kind", "given", "read"),
    [
        (Function("f"), json.loads, json.loads),
        (Partitioner(), max, max),
        (Partitioner(), "murmur2_random", None),
        (Interceptors(), [MINE], (MINE,)),
        (Interceptors(), "", ()),
        (Interceptors(), (), ()),
        (Assignors(), "range", ("range",)),
        (Assignors(), "cooperative-sticky, roundrobin", ("cooperative-sticky", "roundrobin")),
        (Assignors(), ["sticky", MINE], ("sticky", MINE)),
        (Assignors(), f"{JAVA}.RangeAssignor", ("range",)),
        (Assignors(), [f"{JAVA}.CooperativeStickyAssignor"], ("cooperative-sticky",)),
        (Assignors(), [f"{JAVA}.StickyAssignor"], ("sticky",)),
        (Assignors(), [f"{JAVA}.RoundRobinAssignor"], ("roundrobin",)),
    ],
)
def test_reads(kind: ValueKind, given: object, read: object) -> None:
    """Objects pass through as they are; Java's names of what is built in are known."""
    assert kind.read(given) == read


@pytest.mark.parametrize(
    ("kind", "given", "rule"),
    [
        (
            Function("value_deserializer=json.loads"),
            "org.apache.kafka.common.serialization.StringDeserializer",
            "not the name of a Java class.*value_deserializer=json.loads",
        ),
        (Function("f"), 3, "callable"),
        (Partitioner(), f"{JAVA}.RoundRobinPartitioner", "callable"),
        (Partitioner(), "consistent_random", "same key would go to another partition"),
        (Interceptors(), "com.example.Interceptor", "Java class names cannot be loaded"),
        (Interceptors(), [MINE, "com.example.Interceptor"], "list of interceptor objects"),
        (Interceptors(), [None], "list of interceptor objects"),
        (Interceptors(), MINE, "must be a list"),
        (Assignors(), "", "at least one"),
        (Assignors(), [], "at least one"),
        (Assignors(), "com.example.MyAssignor", "pass an assignor object"),
        (Assignors(), ["range", 3], "must be a list of range"),
        (Assignors(), ["range", f"{JAVA}.RangeAssignor"], "each assignor once"),
    ],
)
def test_rejects(kind: ValueKind, given: object, rule: str) -> None:
    """A Java class name that cannot be loaded is an error that says what to give."""
    with pytest.raises(Rejected, match=rule):
        kind.read(given)
