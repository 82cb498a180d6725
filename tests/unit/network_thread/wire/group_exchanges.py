"""What is asked of a group's coordinator, in both group protocols."""

from prokurist.network_thread.wire.classic_group import (
    Heartbeat,
    HeartbeatAnswer,
    JoinedMember,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    LeaveGroupAnswer,
    SyncGroup,
    SyncGroupAnswer,
)
from prokurist.network_thread.wire.consumer_group import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
    TopicIdPartitions,
)
from prokurist.network_thread.wire.group_listing import (
    ListedGroup,
    ListGroups,
    ListGroupsAnswer,
)
from prokurist.network_thread.wire.rights import GroupRights, GroupRightsAnswer, Operation
from tests.unit.network_thread.wire.exchange import ID, THROTTLED, Exchange, since

MEMBER = {"generation_id": 5, "member_id": "m-1", "group_instance_id": "i-1"}
EXCHANGES = (
    Exchange(
        "consumer_group_heartbeat",
        range(2),
        lambda v: ConsumerGroupHeartbeat(
            group_id="g",
            member_id="m-1",
            member_epoch=5,
            rebalance_timeout=300.0,
            topics=("orders",),
            pattern=since(1, v, "o.*"),
            assignor="uniform",
            owned=(TopicIdPartitions(ID, (3, 4)),),
        ),
        {
            "group_id": "g",
            "member_id": "m-1",
            "member_epoch": 5,
            "instance_id": None,
            "rack_id": None,
            "rebalance_timeout": 300_000,
            "subscribed_topic_names": ("orders",),
            "subscribed_topic_regex": "o.*",
            "server_assignor": "uniform",
            "topic_partitions": ({"topic_id": ID, "partitions": (3, 4)},),
        },
        {
            **THROTTLED,
            "error_code": 0,
            "error_message": None,
            "member_id": "m-1",
            "member_epoch": 6,
            "heartbeat_interval": 5000,
            "assignment": {"topic_partitions": ({"topic_id": ID, "partitions": (3,)},)},
        },
        lambda _: ConsumerGroupHeartbeatAnswer(
            0, "m-1", 6, 5.0, (TopicIdPartitions(ID, (3,)),), None, 0.25
        ),
    ),
    Exchange(
        "join_group",
        range(10),
        lambda v: JoinGroup(
            group_id="g",
            protocols=(("range", b"\x00\xff"),),
            session_timeout=45.0,
            rebalance_timeout=300.0,
            member_id="m-1",
            instance_id=since(5, v, "i-1"),
            reason="subscription changed",
        ),
        {
            **MEMBER,
            "group_id": "g",
            "session_timeout": 45_000,
            "rebalance_timeout": 300_000,
            "protocol_type": "consumer",
            "protocols": ({"name": "range", "metadata": b"\x00\xff"},),
            "reason": "subscription changed",
        },
        {
            **THROTTLED,
            "error_code": 0,
            "generation_id": 5,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "leader": "m-1",
            "skip_assignment": True,
            "member_id": "m-1",
            "members": ({**MEMBER, "metadata": b"\x00\xff"},),
        },
        lambda v: JoinGroupAnswer(
            error=0,
            generation=5,
            protocol="range",
            leader="m-1",
            member_id="m-1",
            members=(JoinedMember("m-1", b"\x00\xff", since(5, v, "i-1")),),
            skip_assignment=since(9, v, True, False),
            throttle=since(2, v, 0.25, 0.0),
        ),
    ),
    Exchange(
        "sync_group",
        range(6),
        lambda v: SyncGroup(
            "g", 5, "m-1", "range", (("m-1", b"\x00\xff"),), since(3, v, "i-1")
        ),
        {
            **MEMBER,
            "group_id": "g",
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": ({"member_id": "m-1", "assignment": b"\x00\xff"},),
        },
        {
            **THROTTLED,
            "error_code": 0,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignment": b"\x00\xff",
        },
        lambda v: SyncGroupAnswer(0, b"\x00\xff", since(5, v, "range"), since(1, v, 0.25, 0.0)),
    ),
    Exchange(
        "heartbeat",
        range(5),
        lambda v: Heartbeat("g", 5, "m-1", since(3, v, "i-1")),
        {**MEMBER, "group_id": "g"},
        {**THROTTLED, "error_code": 0},
        lambda v: HeartbeatAnswer(0, since(1, v, 0.25, 0.0)),
    ),
    Exchange(
        "leave_group",
        range(6),
        lambda v: LeaveGroup("g", "m-1", since(3, v, "i-1"), "the end"),
        {
            "group_id": "g",
            "member_id": "m-1",
            "members": ({**MEMBER, "reason": "the end"},),
        },
        {**THROTTLED, "error_code": 0, "members": ({**MEMBER, "error_code": 0},)},
        lambda v: LeaveGroupAnswer(0, since(1, v, 0.25, 0.0)),
    ),
    Exchange(
        "list_groups",
        range(6),
        lambda _: ListGroups(),
        {"states_filter": (), "types_filter": ()},
        {
            **THROTTLED,
            "error_code": 0,
            "groups": (
                {
                    "group_id": "g",
                    "protocol_type": "consumer",
                    "group_state": "Stable",
                    "group_type": "classic",
                },
            ),
        },
        lambda v: ListGroupsAnswer(
            0,
            (ListedGroup("g", "consumer", since(4, v, "Stable"), since(5, v, "classic")),),
            since(1, v, 0.25, 0.0),
        ),
    ),
    Exchange(
        "describe_groups",
        range(3, 6),
        lambda _: GroupRights("g"),
        {"groups": ("g",), "include_authorized_operations": True},
        {
            **THROTTLED,
            "groups": (
                {
                    "error_code": 0,
                    "group_id": "g",
                    "group_state": "Dead",
                    "protocol_type": "",
                    "protocol_data": "",
                    "members": (),
                    "authorized_operations": 0b1_0000_1000,
                },
            ),
        },
        lambda _: GroupRightsAnswer(0, frozenset({Operation.READ, Operation.DESCRIBE}), 0.25),
    ),
)
