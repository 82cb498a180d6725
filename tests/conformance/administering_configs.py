"""Scenarios of DescribeConfigs, IncrementalAlterConfigs, AlterConfigs, ListConfigResources."""

from collections.abc import Sequence
from typing import Any, Final

from tests.conformance.stage import Stage

TOPIC, BROKER, LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = range(4)
KEYS: Final = ("retention.ms", "min.insync.replicas", "cleanup.policy", "flush.ms")
Change = tuple[str, int, str | None]


def describe(
    stage: Stage,
    *resources: tuple[int, str],
    keys: Sequence[str] | None = KEYS,
    synonyms: bool = True,
) -> None:
    """Ask for properties."""
    rows = [
        {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
        for kind, name in resources
    ]
    stage.ask("a", "DescribeConfigs", resources=rows, include_synonyms=synonyms)


def alter(
    stage: Stage, *resources: tuple[int, str, Sequence[Change]], dry: bool = False
) -> None:
    """Change properties one by one."""
    rows = [
        {
            "resource_type": kind,
            "resource_name": name,
            "configs": [
                {"name": key, "config_operation": operation, "value": value}
                for key, operation, value in changes
            ],
        }
        for kind, name, changes in resources
    ]
    stage.ask("a", "IncrementalAlterConfigs", resources=rows, validate_only=dry)


def configs_described(stage: Stage) -> None:
    """Properties of a topic and of a broker; of what is not there, and is none."""
    topic, node = stage.topic().name, str(stage.node(1))
    for synonyms in (True, False):
        describe(stage, (TOPIC, topic), keys=None, synonyms=synonyms)
    describe(stage, (TOPIC, topic), keys=())
    describe(stage, (TOPIC, topic), keys=("nosuch", "retention.ms", "retention.ms"))
    for name in ("no-such-topic", "a b", ""):
        describe(stage, (TOPIC, name))
    describe(stage, (TOPIC, topic), (TOPIC, topic), (TOPIC, "no-such-topic"))
    describe(stage)
    keys: tuple[str, ...] = (
        "num.partitions",
        "message.max.bytes",
        "log.retention.ms",
        "ssl.keystore.password",
    )
    keys += ("log.roll.ms", "delete.topic.enable", "log.retention.hours", "nosuch")
    describe(stage, (BROKER, node), keys=keys)
    describe(stage, (BROKER, ""), keys=None)
    describe(stage, (BROKER, str(stage.node(8))))
    describe(stage, (BROKER, "x"))
    describe(stage, (LOGGER, node), keys=("kafka.server.KafkaApis", "root"))
    describe(stage, (LOGGER, str(stage.node(8))))
    for kind in (0, 1, 99):
        describe(stage, (kind, "x"))


def configs_altered(stage: Stage) -> None:
    """Properties of a topic that are set, deleted, appended to and subtracted from."""
    topic = stage.topic().name
    for changes in (
        [("retention.ms", SET, "1000")],
        [("retention.ms", SET, "x")],
        [("retention.ms", SET, None)],
        [("retention.ms", APPEND, "1")],
        [("retention.ms", SUBTRACT, "1")],
        [("retention.ms", DELETE, None)],
        [("retention.ms", DELETE, None)],
        [("cleanup.policy", APPEND, "compact")],
        [("cleanup.policy", APPEND, "compact")],
        [("cleanup.policy", SUBTRACT, "delete")],
        [("cleanup.policy", SUBTRACT, "nosuch")],
        [("cleanup.policy", APPEND, "foo")],
        [("cleanup.policy", APPEND, None)],
        [("cleanup.policy", SUBTRACT, "compact")],
        [("nosuch", SET, "1")],
        [("nosuch", DELETE, None)],
        [("nosuch", APPEND, "1")],
        [("retention.ms", 9, "1")],
        [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)],
        [("flush.ms", SET, "5"), ("nosuch", SET, "1")],
        [("flush.ms", SET, "5"), ("retention.ms", SET, "6")],
        [],
    ):
        alter(stage, (TOPIC, topic, changes), dry=True)
        alter(stage, (TOPIC, topic, changes))
        describe(stage, (TOPIC, topic))


def resources_altered(stage: Stage) -> None:
    """Several resources in a request; topics that are not there, kinds that are none."""
    topic, other = stage.topic().name, stage.topic().name
    change = [("retention.ms", SET, "1000")]
    alter(stage, (TOPIC, topic, change), (TOPIC, "no-such-topic", change))
    alter(stage, (TOPIC, topic, change), (TOPIC, other, [("nosuch", SET, "1")]))
    alter(stage, (TOPIC, topic, change), (TOPIC, topic, change), (TOPIC, other, change))
    alter(stage, (TOPIC, "", change))
    alter(stage)
    for kind in (0, 1, 99):
        alter(stage, (kind, "x", change))
    describe(stage, (TOPIC, topic), (TOPIC, other))


def brokers_altered(stage: Stage) -> None:
    """Properties of one broker and of all; a topic's property has them behind it."""
    topic, node, key = stage.topic().name, str(stage.node(1)), "log.retention.ms"

    def look() -> None:
        stage.side.settle_metadata()
        keys = (key, "nosuch", "retention.ms")
        describe(stage, (BROKER, node), (TOPIC, topic), keys=keys)
        describe(stage, (BROKER, ""), keys=None)

    for name in (node, ""):
        for changes in (
            [(key, SET, "123456")],
            [(key, SET, "x")],
            [("nosuch", SET, "3")],
            [("num.partitions", SET, "3")],
        ):
            alter(stage, (BROKER, name, changes), dry=True)
            alter(stage, (BROKER, name, changes))
            look()
    for name in (node, ""):
        alter(stage, (BROKER, name, [(key, DELETE, None), ("nosuch", DELETE, None)]))
        look()
    for name in (str(stage.node(8)), "x"):
        alter(stage, (BROKER, name, [(key, SET, "1")]))


def loggers_altered(stage: Stage) -> None:
    """Levels of a broker's loggers."""
    node, logger = str(stage.node(1)), "kafka.server.KafkaApis"
    for changes in (
        [(logger, SET, "WARN")],
        [(logger, SET, "x")],
        [("nosuch.logger", SET, "WARN")],
        [(logger, DELETE, None)],
    ):
        alter(stage, (LOGGER, node, changes))
        describe(stage, (LOGGER, node), keys=(logger,))


def configs_replaced(stage: Stage) -> None:
    """All properties of a topic at once, by AlterConfigs."""
    topic = stage.topic().name
    changes = [("retention.ms", SET, "1000"), ("cleanup.policy", SET, "compact")]
    alter(stage, (TOPIC, topic, changes))

    def replace(kind: int, name: str, *values: tuple[str, str | None]) -> None:
        configs = [{"name": key, "value": value} for key, value in values]
        row: dict[str, Any] = {"resource_type": kind, "resource_name": name, "configs": configs}
        for dry in (True, False):
            stage.ask("a", "AlterConfigs", resources=[row], validate_only=dry)
            describe(stage, (TOPIC, topic))

    replace(TOPIC, topic, ("flush.ms", "99"))
    replace(TOPIC, topic, ("nosuch", "99"))
    replace(TOPIC, topic, ("flush.ms", None))
    replace(TOPIC, topic, ("flush.ms", "1"), ("flush.ms", "2"))
    replace(TOPIC, "no-such-topic", ("flush.ms", "99"))
    replace(99, topic)
    replace(TOPIC, topic)


def config_resources(stage: Stage) -> None:
    """Resources of types that there are few of, and a type that is none."""
    for types in ((4,), (8,), (4, 8), (16,), (32,), (99,), (4, 99)):
        body = stage.quietly("a", "ListConfigResources", 1, resource_types=types)
        rows = sorted(
            (each.resource_type, each.resource_name) for each in body.config_resources
        )
        seen = [(kind, str(int(name) - stage.node(1))) for kind, name in rows]
        stage.look(f"resources of {types}", (int(body.error_code), seen))
    stage.ask("a", "ListConfigResources", 0)
