"""The broker properties of a Kafka for tests.

Thread: any; no state.
Invariants: the user's properties win over these, except for the addresses and identities of the
nodes, which the harness needs to know.
"""

import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

Properties = dict[str, str]

# C1 only and one collector thread: a broker that lives for a minute on two cores
# never wins back what the second compiler costs at its start.
QUICK_JAVA: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")

# The harness would not find its own nodes again if these were set by the user.
_OURS: Final = frozenset(
    {
        "advertised.listeners",
        "broker.id",
        "controller.listener.names",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.voters",
        "inter.broker.listener.name",
        "listener.security.protocol.map",
        "listeners",
        "log.dir",
        "log.dirs",
        "metadata.log.dir",
        "node.id",
        "process.roles",
    }
)


def property_text(value: object) -> str:
    """A property's value as the broker reads it: `True` is `true`, a list is commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(property_text(item) for item in value)
    return str(value)


def user_properties(
    mapping: Mapping[str, object] | None, keywords: Mapping[str, object]
) -> Properties:
    """The properties that a user gave, by name and by keyword.

    Args:
        mapping: Properties by their real names.
        keywords: Properties with underscores for dots.

    Returns:
        Both as text; the mapping wins.

    Raises:
        ValueError: One of them belongs to the harness.
    """
    merged = {name.replace("_", "."): value for name, value in keywords.items()}
    merged |= mapping or {}
    if taken := sorted(_OURS & merged.keys()):
        raise ValueError(
            f"{', '.join(taken)}: the harness sets this itself, so that it knows where "
            "its nodes are; leave it out"
        )
    return {name: property_text(value) for name, value in merged.items()}


def heap_option(nodes: int) -> str:
    """The heap of each node: three share a machine that is one's alone otherwise."""
    return "-Xmx512m" if nodes == 1 else "-Xmx384m"


def new_cluster_id() -> str:
    """An id that Kafka's tools accept."""
    encoded = urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    # One that begins with a hyphen would be read as an option.
    return "k" + encoded[1:]


def quick_properties(nodes: int, version: str) -> Properties:
    """Properties of a quick and small broker, without effect on clients.

    Args:
        nodes: How many nodes the cluster has.
        version: The version of Kafka, to leave out properties unknown to older brokers.
    """
    replicas = str(min(nodes, 3))
    in_sync = "2" if nodes >= 3 else "1"
    properties = {
        "offsets.topic.num.partitions": "5",
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.num.partitions": "5",
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        # Groups settle in milliseconds, and their timeouts may be as short as a test needs.
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "100",
        "group.consumer.heartbeat.interval.ms": "1000",
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.session.timeout.ms": "10000",
        "group.consumer.min.session.timeout.ms": "500",
        # A node that was killed may register again only once its old session is over.
        "broker.heartbeat.interval.ms": "500",
        "broker.session.timeout.ms": "3000",
        # Otherwise the controller writes a record twice a second, which costs an idle node as
        # much as all the rest that it does.
        "metadata.max.idle.interval.ms": "10000",
        # A node that has not registered within it ends itself; on a busy machine Kafka's own
        # minute is shorter than what a start may take here.
        "initial.broker.registration.timeout.ms": "180000",
        # Serves only consumers that name a rack; each node is in one of its own.
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        # Records may be of any time: by the usual seven days, what has an old timestamp
        # would be deleted whenever the broker looks, every five minutes.
        "log.retention.ms": "-1",
        # The log cleaner alone would take 128 MiB of each node's heap.
        "log.cleaner.dedupe.buffer.size": "4194304",
        # Each partition has two indexes of this size from the first, all holes. At the first
        # touch the system makes zeros of as much as it reads ahead, which may be all: of the
        # usual 10 MiB up to 20 ms in which that processor does nothing else.
        "log.index.size.max.bytes": "65536",
        "num.network.threads": "2",
        "num.io.threads": "4",
    }
    if int(version.split(".", maxsplit=1)[0]) >= 4:
        properties |= {
            "share.coordinator.state.topic.num.partitions": "3",
            "share.coordinator.state.topic.replication.factor": replicas,
            "share.coordinator.state.topic.min.isr": in_sync,
        }
    return properties


def rack_property(node: int) -> Properties:
    """The rack that a node stands in, `rack-0` and so on, for consumers with `client.rack`."""
    return {"broker.rack": f"rack-{node}"}


def listener_properties(
    node: int,
    listeners: Mapping[str, str],
    advertised: Mapping[str, str],
    voters: Sequence[str],
    between_brokers: str,
    protocols: Mapping[str, str] = MappingProxyType({}),
) -> Properties:
    """The properties that say who a node is and where it listens.

    Args:
        node: Its id.
        listeners: Bound addresses, `host:port` by the listener's name; with `CONTROLLER`.
        advertised: Advertised addresses, by the listener's name; without it.
        voters: The controllers' addresses, by node id.
        between_brokers: The listener that the brokers use among themselves.
        protocols: The security protocol of listeners that are not in plain text.
    """
    return {
        "node.id": str(node),
        "process.roles": "broker,controller",
        "listeners": ",".join(f"{name}://{at}" for name, at in listeners.items()),
        "advertised.listeners": ",".join(f"{name}://{at}" for name, at in advertised.items()),
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocols.get(name, 'PLAINTEXT')}" for name in listeners
        ),
        "inter.broker.listener.name": between_brokers,
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": ",".join(
            f"{number}@{address}" for number, address in enumerate(voters)
        ),
    }


def properties_file(properties: Mapping[str, str]) -> str:
    """The text of a Java properties file."""
    return "".join(f"{name}={_escaped(value)}\n" for name, value in sorted(properties.items()))


def environment_of(properties: Mapping[str, str]) -> dict[str, str]:
    """The same for the `apache/kafka` image, which takes properties as variables.

    Its rule: a dot is `_`, an underscore `__`, a hyphen `___`.
    """
    return {
        "KAFKA_" + name.replace("_", "__").replace("-", "___").replace(".", "_").upper(): value
        for name, value in properties.items()
    }


def _escaped(value: str) -> str:
    text = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return "\\" + text if text.startswith(" ") else text
