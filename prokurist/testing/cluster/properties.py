"""Properties of topics, brokers and groups: types, defaults, limits.

Defaults and texts are those of Kafka 4.3. Brokers have many more properties; the model
describes those that clients and administrators look at.

Thread: any; the values are immutable.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from prokurist.lazy_dataclasses import dataclass

LARGEST: Final = 2**63 - 1
INT_LARGEST: Final = 2**31 - 1


class Kind(IntEnum):
    """Types of a property, by their numbers in DescribeConfigs."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


BITS: Final = {Kind.SHORT: 15, Kind.INT: 31, Kind.LONG: 63}


class InvalidValue(Exception):
    """An invalid value of a property; the text is a broker's."""


@dataclass(frozen=True, slots=True)
class Property:
    """One property.

    Attributes:
        name: Its name.
        kind: Its type.
        default: Its default value; None for none.
        server: For a topic's or group's property: the brokers' property behind it.
        server_default: The brokers' property with the default, and that default in its unit.
        least: The smallest number.
        most: The largest number.
        choices: The valid strings, in the order of the broker's text.
        read_only: True if it cannot be changed while a broker runs.
    """

    name: str
    kind: Kind
    default: str | None
    server: str | None = None
    server_default: tuple[str, str] | None = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    read_only: bool = False

    @property
    def sensitive(self) -> bool:
        """True if its value is never shown."""
        return self.kind in (Kind.PASSWORD, Kind.UNKNOWN)

    def check(self, value: str) -> None:
        """Check a value.

        Raises:
            InvalidValue: It is none; with a broker's text.
        """
        if self.kind is Kind.BOOLEAN:
            if value.strip().lower() not in {"true", "false"}:
                raise self._invalid(value, "Expected value to be either true or false")
        elif self.kind in BITS or self.kind is Kind.DOUBLE:
            self._check_number(value)
        elif self.choices:
            listed = items_of(value) if self.kind is Kind.LIST else [value]
            for each in listed:
                if each not in self.choices:
                    known = ", ".join(self.choices)
                    raise self._invalid(each, f"String must be one of: {known}")

    def _check_number(self, value: str) -> None:
        number: float
        try:
            number = float(value) if self.kind is Kind.DOUBLE else int(value)
        except ValueError:
            raise self._invalid(value, f"Not a number of type {self.kind.name}") from None
        if self.kind in BITS and not -(1 << BITS[self.kind]) <= number < 1 << BITS[self.kind]:
            raise self._invalid(value, f"Not a number of type {self.kind.name}")
        if self.least is not None and number < self.least:
            raise self._invalid(str(number), f"Value must be at least {self.least}")
        if self.most is not None and number > self.most:
            raise self._invalid(str(number), f"Value must be no more than {self.most}")

    def _invalid(self, value: str, why: str) -> InvalidValue:
        return InvalidValue(f"Invalid value {value} for configuration {self.name}: {why}")


def items_of(value: str) -> list[str]:
    """The items of a list's value."""
    return [each.strip() for each in value.split(",")] if value.strip() else []


def by_name(*properties: Property) -> Mapping[str, Property]:
    """The properties by their names."""
    return {each.name: each for each in properties}


def of_topic(
    name: str,
    kind: Kind,
    default: str,
    server: str | None = None,
    *,
    hours: tuple[str, str] | None = None,
    least: float | None = None,
    most: float | None = None,
    choices: tuple[str, ...] = (),
) -> Property:
    """A property of topics; its default is the default of the broker's property behind."""
    behind = hours or (None if server is None else (server, default))
    return Property(name, kind, default, server, behind, least, most, choices)


CODECS: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

TOPIC_PROPERTIES: Final = by_name(
    of_topic(
        "cleanup.policy",
        Kind.LIST,
        "delete",
        "log.cleanup.policy",
        choices=("compact", "delete"),
    ),
    of_topic("compression.gzip.level", Kind.INT, "-1", "compression.gzip.level"),
    of_topic("compression.lz4.level", Kind.INT, "9", "compression.lz4.level", least=1, most=17),
    of_topic("compression.type", Kind.STRING, "producer", "compression.type", choices=CODECS),
    of_topic(
        "compression.zstd.level",
        Kind.INT,
        "3",
        "compression.zstd.level",
        least=-131072,
        most=22,
    ),
    of_topic(
        "delete.retention.ms",
        Kind.LONG,
        "86400000",
        "log.cleaner.delete.retention.ms",
        least=0,
    ),
    of_topic(
        "file.delete.delay.ms", Kind.LONG, "60000", "log.segment.delete.delay.ms", least=0
    ),
    of_topic("flush.messages", Kind.LONG, str(LARGEST), "log.flush.interval.messages", least=1),
    Property("flush.ms", Kind.LONG, str(LARGEST), "log.flush.interval.ms", least=0),
    Property("follower.replication.throttled.replicas", Kind.LIST, ""),
    of_topic("index.interval.bytes", Kind.INT, "4096", "log.index.interval.bytes", least=0),
    Property("leader.replication.throttled.replicas", Kind.LIST, ""),
    of_topic("local.retention.bytes", Kind.LONG, "-2", "log.local.retention.bytes", least=-2),
    of_topic("local.retention.ms", Kind.LONG, "-2", "log.local.retention.ms", least=-2),
    of_topic(
        "max.compaction.lag.ms",
        Kind.LONG,
        str(LARGEST),
        "log.cleaner.max.compaction.lag.ms",
        least=1,
    ),
    of_topic("max.message.bytes", Kind.INT, "1048588", "message.max.bytes", least=0),
    of_topic(
        "message.timestamp.after.max.ms",
        Kind.LONG,
        "3600000",
        "log.message.timestamp.after.max.ms",
        least=0,
    ),
    of_topic(
        "message.timestamp.before.max.ms",
        Kind.LONG,
        str(LARGEST),
        "log.message.timestamp.before.max.ms",
        least=0,
    ),
    of_topic(
        "message.timestamp.type",
        Kind.STRING,
        "CreateTime",
        "log.message.timestamp.type",
        choices=("CreateTime", "LogAppendTime"),
    ),
    of_topic(
        "min.cleanable.dirty.ratio",
        Kind.DOUBLE,
        "0.5",
        "log.cleaner.min.cleanable.ratio",
        least=0,
        most=1,
    ),
    of_topic(
        "min.compaction.lag.ms", Kind.LONG, "0", "log.cleaner.min.compaction.lag.ms", least=0
    ),
    of_topic("min.insync.replicas", Kind.INT, "1", "min.insync.replicas", least=1),
    of_topic("preallocate", Kind.BOOLEAN, "false", "log.preallocate"),
    Property("remote.log.copy.disable", Kind.BOOLEAN, "false"),
    Property("remote.log.delete.on.disable", Kind.BOOLEAN, "false"),
    Property("remote.storage.enable", Kind.BOOLEAN, "false"),
    of_topic("retention.bytes", Kind.LONG, "-1", "log.retention.bytes"),
    of_topic(
        "retention.ms",
        Kind.LONG,
        "604800000",
        "log.retention.ms",
        hours=("log.retention.hours", "168"),
        least=-1,
    ),
    of_topic("segment.bytes", Kind.INT, "1073741824", "log.segment.bytes", least=1048576),
    of_topic("segment.index.bytes", Kind.INT, "10485760", "log.index.size.max.bytes", least=4),
    Property("segment.jitter.ms", Kind.LONG, "0", "log.roll.jitter.ms", least=0),
    Property("segment.ms", Kind.LONG, "604800000", "log.roll.ms", least=1),
    of_topic(
        "unclean.leader.election.enable",
        Kind.BOOLEAN,
        "false",
        "unclean.leader.election.enable",
    ),
)


def of_broker(name: str, kind: Kind, default: str | None, *, fixed: bool = False) -> Property:
    """A property of brokers alone."""
    return Property(name, kind, default, server_default=None, read_only=fixed)


def behind_topics() -> list[Property]:
    """The brokers' properties behind those of topics: the same types and limits."""
    return [
        Property(
            each.server,
            each.kind,
            each.default if each.server_default == (each.server, each.default) else None,
            server_default=each.server_default,
            least=each.least,
            most=each.most,
            choices=each.choices,
        )
        for each in TOPIC_PROPERTIES.values()
        if each.server is not None
    ]


FIXED: Final[Mapping[str, tuple[Kind, str | None]]] = {
    "advertised.listeners": (Kind.LIST, None),
    "auto.create.topics.enable": (Kind.BOOLEAN, "true"),
    "auto.leader.rebalance.enable": (Kind.BOOLEAN, "true"),
    "broker.id": (Kind.INT, "-1"),
    "broker.rack": (Kind.STRING, None),
    "broker.session.timeout.ms": (Kind.INT, "9000"),
    "connections.max.idle.ms": (Kind.LONG, "600000"),
    "default.replication.factor": (Kind.INT, "1"),
    "delete.topic.enable": (Kind.BOOLEAN, "true"),
    "fetch.max.bytes": (Kind.INT, "57671680"),
    "group.consumer.assignors": (Kind.LIST, "uniform,range"),
    "group.consumer.heartbeat.interval.ms": (Kind.INT, "5000"),
    "group.consumer.max.heartbeat.interval.ms": (Kind.INT, "15000"),
    "group.consumer.max.session.timeout.ms": (Kind.INT, "60000"),
    "group.consumer.max.size": (Kind.INT, str(INT_LARGEST)),
    "group.consumer.min.heartbeat.interval.ms": (Kind.INT, "5000"),
    "group.consumer.min.session.timeout.ms": (Kind.INT, "45000"),
    "group.consumer.session.timeout.ms": (Kind.INT, "45000"),
    "group.initial.rebalance.delay.ms": (Kind.INT, "3000"),
    "group.share.delivery.count.limit": (Kind.INT, "5"),
    "group.share.heartbeat.interval.ms": (Kind.INT, "5000"),
    "group.share.partition.max.record.locks": (Kind.INT, "2000"),
    "group.share.record.lock.duration.ms": (Kind.INT, "30000"),
    "group.share.session.timeout.ms": (Kind.INT, "45000"),
    "group.max.session.timeout.ms": (Kind.INT, "1800000"),
    "group.max.size": (Kind.INT, str(INT_LARGEST)),
    "group.min.session.timeout.ms": (Kind.INT, "6000"),
    "inter.broker.listener.name": (Kind.STRING, None),
    "log.dirs": (Kind.LIST, None),
    "log.retention.hours": (Kind.INT, "168"),
    "log.retention.minutes": (Kind.INT, None),
    "log.roll.hours": (Kind.INT, "168"),
    "node.id": (Kind.INT, None),
    "num.partitions": (Kind.INT, "1"),
    "offset.metadata.max.bytes": (Kind.INT, "4096"),
    "offsets.retention.minutes": (Kind.INT, "10080"),
    "offsets.topic.num.partitions": (Kind.INT, "50"),
    "offsets.topic.replication.factor": (Kind.SHORT, "3"),
    "process.roles": (Kind.LIST, None),
    "replica.lag.time.max.ms": (Kind.LONG, "30000"),
    "request.timeout.ms": (Kind.INT, "30000"),
    "socket.request.max.bytes": (Kind.INT, "104857600"),
    "transaction.max.timeout.ms": (Kind.INT, "900000"),
    "transaction.state.log.min.isr": (Kind.INT, "2"),
    "transaction.state.log.num.partitions": (Kind.INT, "50"),
    "transaction.state.log.replication.factor": (Kind.SHORT, "3"),
    "transactional.id.expiration.ms": (Kind.INT, "604800000"),
}
"""Properties of brokers with changes by restart only, with types and defaults."""

BROKER_PROPERTIES: Final = by_name(
    *behind_topics(),
    *(of_broker(name, *what, fixed=True) for name, what in FIXED.items()),
    of_broker("background.threads", Kind.INT, "10"),
    of_broker("listeners", Kind.LIST, "PLAINTEXT://:9092"),
    of_broker("log.cleaner.threads", Kind.INT, "1"),
    of_broker("max.connections", Kind.INT, str(INT_LARGEST)),
    of_broker("num.io.threads", Kind.INT, "8"),
    of_broker("num.network.threads", Kind.INT, "3"),
    of_broker("num.replica.fetchers", Kind.INT, "1"),
    of_broker("producer.id.expiration.ms", Kind.INT, "86400000"),
    of_broker("ssl.keystore.password", Kind.PASSWORD, None),
)


def of_group(name: str, kind: Kind, server: str) -> Property:
    """A property of groups."""
    behind = BROKER_PROPERTIES[server]
    return Property(name, kind, behind.default, server, (server, behind.default or ""), least=1)


GROUP_PROPERTIES: Final = by_name(
    *(
        of_group(name, Kind.INT, f"group.{name}")
        for name in (
            "consumer.heartbeat.interval.ms",
            "consumer.session.timeout.ms",
            "share.delivery.count.limit",
            "share.heartbeat.interval.ms",
            "share.partition.max.record.locks",
            "share.record.lock.duration.ms",
            "share.session.timeout.ms",
        )
    ),
    # What is valid is checked where it is used: by_duration has a value of its own.
    Property("share.auto.offset.reset", Kind.STRING, "latest"),
    Property(
        "share.isolation.level",
        Kind.STRING,
        "read_uncommitted",
        choices=("read_committed", "read_uncommitted"),
    ),
    Property("share.renew.acknowledge.enable", Kind.BOOLEAN, "true"),
)
