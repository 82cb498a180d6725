"""Metadata: brokers, topics, and who leads what."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topics import INTERNAL, NO_LEADER, Partition, Topic, legal_name
from prokurist.testing.cluster.wire import Values

TOPIC_OPERATIONS: Final = 0b1101_1111_1000
CLUSTER_OPERATIONS: Final = 0b1_1111_1010_0000
NOT_ASKED_FOR: Final = -(1 << 31)
LOGS: Final = frozenset({"__consumer_offsets", "__transaction_state"})
"""Logs of coordinators: there from the beginning, unless a control says otherwise."""
IDS_SHOWN_FROM: Final = 10
IDS_ASKED_FROM: Final = 12


def handle(state: State, request: Any, context: Context) -> Values:
    """Describe the cluster, and the topics asked for or all."""
    operations = TOPIC_OPERATIONS
    if not field(request, "include_topic_authorized_operations", default=False):
        operations = NOT_ASKED_FOR
    cluster_operations = CLUSTER_OPERATIONS
    if not field(request, "include_cluster_authorized_operations", default=False):
        cluster_operations = NOT_ASKED_FOR
    code = context.refusals.whole(usual=False)
    if not code and (wrong := form_refusal(request, context)):
        return refused(request, wrong)
    topics = [] if code else asked_for(state, request, context)
    return {
        "error_code": code,
        "brokers": [
            {
                "node_id": broker.node.id,
                "host": broker.node.host,
                "port": broker.node.port,
                "rack": broker.node.rack,
            }
            for broker in state.registered()
        ],
        "cluster_id": state.cluster_id,
        "controller_id": state.controller(),
        "cluster_authorized_operations": cluster_operations,
        "topics": [{"topic_authorized_operations": operations, **topic} for topic in topics],
    }


def asked_for(state: State, request: Any, context: Context) -> list[Values]:
    """The topics of the answer, in the order asked, or of their creation."""
    # Before version 1 there is no null, and nothing means everything.
    if request.topics is None or (context.version == 0 and not request.topics):
        visible = [
            each for each in state.topics.values() if each.name not in state.denied_topics
        ]
        return [described(state, each, context) for each in visible]
    may_create = state.auto_create and field(request, "allow_auto_topic_creation", default=True)
    # What is named twice is answered once; where there are ids, names are not looked at.
    if ids := {each.topic_id: None for each in request.topics if field(each, "topic_id")}:
        return [by_id(state, each, context) for each in ids]
    names = {each.name: None for each in request.topics}
    return [by_name(state, each, context, may_create=may_create) for each in names]


def form_refusal(request: Any, context: Context) -> ErrorCode:
    """Return the error code for an id in too old a version, or for neither name nor id."""
    for each in request.topics or ():
        topic_id = field(each, "topic_id")
        if topic_id is not None and IDS_SHOWN_FROM <= context.version < IDS_ASKED_FROM:
            return ErrorCode.invalid_request
        if topic_id is None and each.name is None:
            return ErrorCode.unknown_server_error
    return ErrorCode.none


def refused(request: Any, code: int) -> Values:
    """An answer that has nothing but a code, for the whole and for each topic."""
    return {
        "error_code": code,
        "brokers": [],
        "cluster_id": None,
        "controller_id": -1,
        "cluster_authorized_operations": NOT_ASKED_FOR,
        "topics": [
            {
                "error_code": code,
                "name": each.name or "",
                "topic_id": field(each, "topic_id"),
                "topic_authorized_operations": NOT_ASKED_FOR,
                "partitions": [],
            }
            for each in request.topics
        ],
    }


def by_name(state: State, name: str, context: Context, *, may_create: bool) -> Values:
    """One topic that was asked for by its name."""
    topic = state.topics.get(name)
    if not legal_name(name):
        code = ErrorCode.invalid_topic_exception
    elif name in state.denied_topics:
        code = ErrorCode.topic_authorization_failed
    elif topic is None and name in LOGS and name not in state.missing_logs:
        # Its partitions are kept elsewhere, and no client reads them.
        code = ErrorCode.none
    elif topic is None:
        # A broker that makes the topic says so only when asked again.
        code = ErrorCode.unknown_topic_or_partition
        if may_create and name not in state.latest.topics:
            state.latest.create_topic(name, state.default_partitions)
            state.changed(context.now)
    else:
        return described(state, topic, context)
    return {
        "error_code": context.refusals.part(name) or code,
        "name": name,
        "topic_id": None,
        "partitions": [],
    }


def by_id(state: State, topic_id: Any, context: Context) -> Values:
    """One topic that was asked for by its id; a denied one is not betrayed."""
    topic = state.topic_by_id(topic_id)
    if topic is not None and topic.name not in state.denied_topics:
        return described(state, topic, context)
    return {
        "error_code": context.refusals.part() or ErrorCode.unknown_topic_id,
        # Null where the version has a null: from 12, which is where asking began.
        "name": None if context.version >= 12 else "",
        "topic_id": topic_id,
        "partitions": [],
    }


def described(state: State, topic: Topic, context: Context) -> Values:
    """A topic with its partitions."""
    code = context.refusals.part(topic.name)
    return {
        "error_code": code,
        "name": topic.name,
        "topic_id": topic.id,
        "is_internal": topic.name in INTERNAL,
        "partitions": [] if code else [placed(state, each) for each in topic.partitions],
    }


def placed(state: State, partition: Partition) -> Values:
    """Return the metadata of a partition: leader, epoch, replicas."""
    leaderless = partition.leader == NO_LEADER
    return {
        "error_code": ErrorCode.leader_not_available if leaderless else ErrorCode.none,
        "partition_index": partition.index,
        "leader_id": partition.leader,
        "leader_epoch": partition.epoch,
        "replica_nodes": partition.replicas,
        "isr_nodes": partition.isr,
        "offline_replicas": [
            each for each in partition.replicas if not state.brokers[each].registered
        ],
    }
