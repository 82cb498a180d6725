"""What administrators ask about share and streams groups, and markers that they write."""

from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer
from prokurist.network_thread.wire.admin.group_descriptions import (
    DescribeConsumerGroups,
    DescribeShareGroups,
    DescribeStreamsGroups,
)
from prokurist.network_thread.wire.admin.groups import DeleteGroups
from prokurist.network_thread.wire.admin.share_offsets import (
    AlterShareOffsets,
    DeleteShareOffsets,
    DescribeShareOffsets,
)
from prokurist.network_thread.wire.admin.transactions import AbortInPartition
from prokurist.types import TopicPartition
from prokurist.types.groups import (
    DeletedGroup,
    Group,
    GroupKind,
    GroupMember,
    ShareOffset,
    StreamsProcess,
    StreamsTask,
    StreamsTasks,
    Subtopology,
    Topology,
)
from prokurist.types.operations import AclOperation
from prokurist.types.transactions import ActiveProducer, HangingTransaction
from tests.unit.network_thread.wire.exchange import ID, THROTTLED, Exchange, since

TP = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 3)
FINE = {"error_code": 0, "error_message": None}
MISSING = {"error_code": 69, "error_message": "Group h not found."}
ASSIGNED = {
    "topic_partitions": ({"topic_id": ID, "topic_name": "orders", "partitions": (0, 3)},)
}
NOTHING = {"topic_partitions": ()}
MEMBER = {
    "member_id": "m-1",
    "rack_id": "r",
    "member_epoch": 5,
    "client_id": "c",
    "client_host": "/1.2.3.4",
}
NOT_THERE = {
    **MISSING,
    "group_id": "h",
    "group_state": "",
    "group_epoch": 0,
    "assignment_epoch": 0,
    "members": (),
    "authorized_operations": -(1 << 31),
}
THERE = {
    **FINE,
    "group_id": "g",
    "group_state": "Stable",
    "group_epoch": 7,
    "assignment_epoch": 6,
    "authorized_operations": 1 << 3,
}
REFUSED = ItemAnswer(69, "Group h not found.")
ASKED = {"group_ids": ("g", "h"), "include_authorized_operations": True}
READ = frozenset({AclOperation.READ})


def tasks(*partitions: int) -> dict[str, object]:
    """Active tasks, in the protocol's words."""
    active = ({"subtopology_id": "0", "partitions": partitions},)
    return {"active_tasks": active, "standby_tasks": (), "warmup_tasks": ()}


EXCHANGES = (
    Exchange(
        "consumer_group_describe",
        range(2),
        lambda _: DescribeConsumerGroups(("g", "h"), True),
        ASKED,
        {
            **THROTTLED,
            "groups": (
                {
                    **THERE,
                    "assignor_name": "uniform",
                    "members": (
                        {
                            **MEMBER,
                            "instance_id": "i-1",
                            "subscribed_topic_names": ("orders",),
                            "subscribed_topic_regex": "o.*",
                            "assignment": ASSIGNED,
                            "target_assignment": NOTHING,
                            "member_type": 0,
                        },
                    ),
                },
                {**NOT_THERE, "assignor_name": ""},
            ),
        },
        lambda v: ItemsAnswer(
            {
                "g": ItemAnswer(
                    value=Group(
                        "g",
                        GroupKind.CONSUMER,
                        "Stable",
                        (
                            GroupMember(
                                "m-1",
                                "c",
                                "/1.2.3.4",
                                "i-1",
                                "r",
                                5,
                                frozenset({"orders"}),
                                "o.*",
                                frozenset({TP, OTHER}),
                                frozenset(),
                                since(1, v, True, False),
                            ),
                        ),
                        protocol_type="consumer",
                        assignor="uniform",
                        epoch=7,
                        target_epoch=6,
                        operations=READ,
                    )
                ),
                "h": REFUSED,
            },
            throttle=0.25,
        ),
    ),
    Exchange(
        "share_group_describe",
        range(1, 2),
        lambda _: DescribeShareGroups(("g", "h"), True),
        ASKED,
        {
            **THROTTLED,
            "groups": (
                {
                    **THERE,
                    "assignor_name": "simple",
                    "members": (
                        {
                            **MEMBER,
                            "subscribed_topic_names": ("orders",),
                            "assignment": ASSIGNED,
                        },
                    ),
                },
                {**NOT_THERE, "assignor_name": ""},
            ),
        },
        lambda _: ItemsAnswer(
            {
                "g": ItemAnswer(
                    value=Group(
                        "g",
                        GroupKind.SHARE,
                        "Stable",
                        (
                            GroupMember(
                                "m-1",
                                "c",
                                "/1.2.3.4",
                                rack="r",
                                epoch=5,
                                topics=frozenset({"orders"}),
                                assignment=frozenset({TP, OTHER}),
                            ),
                        ),
                        protocol_type="share",
                        assignor="simple",
                        epoch=7,
                        target_epoch=6,
                        operations=READ,
                    )
                ),
                "h": REFUSED,
            },
            throttle=0.25,
        ),
    ),
    Exchange(
        "streams_group_describe",
        range(1),
        lambda _: DescribeStreamsGroups(("g", "h"), True),
        ASKED,
        {
            **THROTTLED,
            "groups": (
                {
                    **THERE,
                    "topology": {
                        "epoch": 2,
                        "subtopologies": (
                            {
                                "subtopology_id": "0",
                                "source_topics": ("orders",),
                                "repartition_sink_topics": ("sink",),
                                "state_changelog_topics": (
                                    {
                                        "name": "log",
                                        "partitions": 2,
                                        "replication_factor": 1,
                                        "topic_configs": ({"key": "k", "value": "v"},),
                                    },
                                ),
                                "repartition_source_topics": (),
                            },
                        ),
                    },
                    "members": (
                        {
                            **MEMBER,
                            "instance_id": None,
                            "topology_epoch": 2,
                            "process_id": "p",
                            "user_endpoint": {"host": "here", "port": 4711},
                            "client_tags": ({"key": "zone", "value": "a"},),
                            "task_offsets": (),
                            "task_end_offsets": (),
                            "assignment": tasks(0),
                            "target_assignment": tasks(0, 1),
                            "is_classic": False,
                        },
                    ),
                },
                {**NOT_THERE, "topology": None},
            ),
        },
        lambda _: ItemsAnswer(
            {
                "g": ItemAnswer(
                    value=Group(
                        "g",
                        GroupKind.STREAMS,
                        "Stable",
                        (
                            GroupMember(
                                "m-1",
                                "c",
                                "/1.2.3.4",
                                rack="r",
                                epoch=5,
                                process=StreamsProcess(
                                    "p",
                                    2,
                                    {"zone": "a"},
                                    ("here", 4711),
                                    StreamsTasks((StreamsTask("0", (0,)),)),
                                    StreamsTasks((StreamsTask("0", (0, 1)),)),
                                ),
                            ),
                        ),
                        protocol_type="streams",
                        epoch=7,
                        target_epoch=6,
                        operations=READ,
                        topology=Topology(
                            2, (Subtopology("0", ("orders",), ("sink",), (), ("log",)),)
                        ),
                    )
                ),
                "h": REFUSED,
            },
            throttle=0.25,
        ),
    ),
    Exchange(
        "delete_groups",
        range(3),
        lambda _: DeleteGroups(("g", "h")),
        {"groups_names": ("g", "h")},
        {
            **THROTTLED,
            "results": (
                {"group_id": "g", "error_code": 0},
                {"group_id": "h", "error_code": 68},
            ),
        },
        lambda _: ItemsAnswer(
            {"g": ItemAnswer(value=DeletedGroup()), "h": ItemAnswer(68)}, throttle=0.25
        ),
    ),
    Exchange(
        "describe_share_group_offsets",
        range(2),
        lambda _: DescribeShareOffsets({"g": (TP, OTHER), "h": None}),
        {
            "groups": (
                {"group_id": "g", "topics": ({"topic_name": "orders", "partitions": (0, 3)},)},
                {"group_id": "h", "topics": None},
            )
        },
        {
            **THROTTLED,
            "groups": (
                {
                    **FINE,
                    "group_id": "g",
                    "topics": (
                        {
                            "topic_name": "orders",
                            "topic_id": ID,
                            "partitions": (
                                {
                                    **FINE,
                                    "partition_index": 0,
                                    "start_offset": 5,
                                    "leader_epoch": 2,
                                    "lag": 4,
                                },
                                {
                                    **FINE,
                                    "partition_index": 3,
                                    "start_offset": -1,
                                    "leader_epoch": 0,
                                    "lag": -1,
                                },
                            ),
                        },
                    ),
                },
                {**MISSING, "group_id": "h", "topics": ()},
            ),
        },
        lambda v: ItemsAnswer(
            {
                "g": ItemAnswer(
                    value={
                        TP: ItemAnswer(value=ShareOffset(5, 2, since(1, v, 4))),
                        OTHER: ItemAnswer(),
                    }
                ),
                "h": REFUSED,
            },
            throttle=0.25,
        ),
    ),
    Exchange(
        "alter_share_group_offsets",
        range(1),
        lambda _: AlterShareOffsets("g", {TP: 5, OTHER: 6}),
        {
            "group_id": "g",
            "topics": (
                {
                    "topic_name": "orders",
                    "partitions": (
                        {"partition_index": 0, "start_offset": 5},
                        {"partition_index": 3, "start_offset": 6},
                    ),
                },
            ),
        },
        {
            **THROTTLED,
            **FINE,
            "responses": (
                {
                    "topic_name": "orders",
                    "topic_id": ID,
                    "partitions": (
                        {**FINE, "partition_index": 0},
                        {"error_code": 3, "error_message": "no", "partition_index": 3},
                    ),
                },
            ),
        },
        lambda _: ItemsAnswer({TP: ItemAnswer(), OTHER: ItemAnswer(3, "no")}, throttle=0.25),
    ),
    Exchange(
        "delete_share_group_offsets",
        range(1),
        lambda _: DeleteShareOffsets("g", ("orders",)),
        {"group_id": "g", "topics": ({"topic_name": "orders"},)},
        {
            **THROTTLED,
            **FINE,
            "responses": (
                {
                    "topic_name": "orders",
                    "topic_id": ID,
                    "error_code": 3,
                    "error_message": "no",
                },
            ),
        },
        lambda _: ItemsAnswer({"orders": ItemAnswer(3, "no")}, throttle=0.25),
    ),
    Exchange(
        "write_txn_markers",
        range(1, 3),
        lambda _: AbortInPartition(
            HangingTransaction(TP, ActiveProducer(7, 2, 0, None, 4, 9), None)
        ),
        {
            "markers": (
                {
                    "producer_id": 7,
                    "producer_epoch": 2,
                    "transaction_result": False,
                    "topics": ({"name": "orders", "partition_indexes": (0,)},),
                    "coordinator_epoch": 4,
                    "transaction_version": 0,
                },
            )
        },
        {
            "markers": (
                {
                    "producer_id": 7,
                    "topics": (
                        {
                            "name": "orders",
                            "partitions": ({"partition_index": 0, "error_code": 47},),
                        },
                    ),
                },
            )
        },
        lambda _: ItemsAnswer({TP: ItemAnswer(47)}),
    ),
)
