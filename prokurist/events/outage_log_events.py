"""Log events of outages: brokers out of reach, topics and partitions that do not exist.

Rows of the table in `events/log_events.py`. Thread: any; nothing here changes.
"""

from functools import partial
from typing import Final

from prokurist.events.trace import EventKind, Level, Side

_connection = partial(EventKind, area="connection", side=Side.NETWORK)
_metadata = partial(EventKind, area="metadata", side=Side.NETWORK)

BOOTSTRAP_FAILED: Final = _metadata(
    "bootstrap_failed",
    Level.WARNING,
    "no broker of bootstrap.servers={servers} has answered, and trying goes on: {error}. "
    "Check the addresses; `prokurist doctor -b {servers}` takes each step to them by itself",
    "The client knows no broker: each address of `bootstrap.servers` was tried and failed. "
    "Nothing is read or committed until one of them answers.",
    story="servers",
)
BOOTSTRAP_SUCCEEDED: Final = _metadata(
    "bootstrap_succeeded",
    Level.WARNING,
    "a broker of bootstrap.servers={servers} answers, after {seconds:.0f} s",
    "The end of `bootstrap_failed`, as loud as its beginning.",
    story="servers",
    ends=BOOTSTRAP_FAILED,
)
CLUSTER_UNREACHABLE: Final = _metadata(
    "cluster_unreachable",
    Level.WARNING,
    "no broker of the cluster has answered for {seconds:.0f} s, and trying goes on: {error}",
    "All brokers that the client knows, and the addresses of `bootstrap.servers`, were tried "
    "and failed. Nothing is read or committed until one of them answers. The seconds count "
    "from the last answer.",
    also=("cluster",),
    story="cluster",
    patience=5.0,
)
CLUSTER_REACHABLE: Final = _metadata(
    "cluster_reachable",
    Level.WARNING,
    "the cluster answers, after {seconds:.0f} s",
    "The end of `cluster_unreachable`, as loud as its beginning.",
    also=("cluster",),
    story="cluster",
    ends=CLUSTER_UNREACHABLE,
)
TOPIC_MISSING: Final = _metadata(
    "topic_missing",
    Level.WARNING,
    "topic {topic} does not exist, and nothing is read of it, or written to it, until it does: "
    "check its name, or create it",
    "A topic that is subscribed to, assigned or sent to was deleted, or was never created. It "
    "is asked for again and again, and read or written to as soon as it exists; what is sent "
    "waits by `max.block.ms` or `delivery.timeout.ms`.",
    story="topic",
    patience=1.0,
)
TOPIC_FOUND: Final = _metadata(
    "topic_found",
    Level.WARNING,
    "topic {topic} exists, after {seconds:.0f} s",
    "The end of `topic_missing`, as loud as its beginning.",
    story="topic",
    ends=TOPIC_MISSING,
)

PARTITION_MISSING: Final = _metadata(
    "partition_missing",
    Level.WARNING,
    "{partition} does not exist, and nothing is read of it until it does (number of partitions "
    "of its topic: {partitions})",
    "A partition that is assigned has a number that its topic does not have. The cluster is "
    "asked again and again, and it is read as soon as it exists.",
    story="partition",
    patience=1.0,
)
PARTITION_FOUND: Final = _metadata(
    "partition_found",
    Level.WARNING,
    "{partition} exists, after {seconds:.0f} s",
    "The end of `partition_missing`, as loud as its beginning.",
    story="partition",
    ends=PARTITION_MISSING,
)

CONNECTION_REFUSED: Final = _connection(
    "connection_refused",
    Level.WARNING,
    "{node} refuses another connection, for {lane}, and the one for {other} carries its "
    "requests, which may wait there: {error}. If that lasts, raise the broker's "
    "max.connections.per.ip",
    "The broker closes a further connection of this client, while another one stands. All "
    "goes on over that, and more slowly: a broker works on one request of a connection at a "
    "time.",
    story="node",
    patience=5.0,
)
CONNECTION_ACCEPTED: Final = _connection(
    "connection_accepted",
    Level.WARNING,
    "{node} accepts a further connection, after {seconds:.0f} s",
    "The end of `connection_refused`, as loud as its beginning.",
    story="node",
    ends=CONNECTION_REFUSED,
)

OUTAGES: Final = (
    CONNECTION_REFUSED,
    CONNECTION_ACCEPTED,
    BOOTSTRAP_FAILED,
    BOOTSTRAP_SUCCEEDED,
    CLUSTER_UNREACHABLE,
    CLUSTER_REACHABLE,
    TOPIC_MISSING,
    TOPIC_FOUND,
    PARTITION_MISSING,
    PARTITION_FOUND,
)
"""All of them, in the order of the table."""
