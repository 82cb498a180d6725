"""Every API in every version, asked and answered once, in kio's words and in ours.

The tables spell out both sides by hand: `sent` and `answered` are by kio's field
names, `request` and `expected` are ours. kio's own reader and writer stand for
the broker, and nothing of `wire` helps them.
"""

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from importlib import import_module
from types import NoneType
from typing import Any, get_args, get_origin
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from prokurist.network_thread.wire.api_versions import ApiVersions, ApiVersionsAnswer
from prokurist.network_thread.wire.committed_offsets import (
    CommittedOffset,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
)
from prokurist.network_thread.wire.consumer_group import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
    TopicIdPartitions,
)
from prokurist.network_thread.wire.log_offsets import (
    EpochEnd,
    EpochQuestion,
    ListedOffset,
    ListOffsets,
    ListOffsetsAnswer,
    Moment,
    OffsetForLeaderEpoch,
    OffsetForLeaderEpochAnswer,
    OffsetQuestion,
)
from prokurist.network_thread.wire.membership import (
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
from prokurist.network_thread.wire.metadata import (
    FindCoordinator,
    FindCoordinatorAnswer,
    Metadata,
    MetadataAnswer,
    PartitionMetadata,
    TopicMetadata,
)
from prokurist.network_thread.wire.request import Request
from prokurist.network_thread.wire.versions import Range, Versions
from prokurist.types import Node, OffsetAndMetadata, TopicPartition

Fields = Mapping[str, Any]
Path = tuple[str, ...]

ID = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
IDS = {"orders": ID}
ORDERS = TopicPartition("orders", 3)
THROTTLED = {"throttle_time": 250}


@dataclass(frozen=True)
class Exchange:
    """One API: a request and its answer, each in kio's words and in ours."""

    module: str
    versions: range
    request: Callable[[int], Request[object]]
    sent: Fields
    answered: Fields
    expected: Callable[[int], object]


@dataclass(frozen=True)
class Case:
    """An exchange in one version."""

    exchange: Exchange
    version: int

    def __str__(self) -> str:
        return f"{self.exchange.module}-{self.version}"

    @property
    def request(self) -> Request[object]:
        """What is asked, in our words."""
        return self.exchange.request(self.version)

    @property
    def expected(self) -> object:
        """What is answered, in our words."""
        return self.exchange.expected(self.version)

    def kio(self, kind: str) -> Any:
        """The class of kio's for the request or the response."""
        module = import_module(f"kio.schema.{self.exchange.module}.v{self.version}.{kind}")
        name = self.exchange.module.title().replace("_", "") + kind.title()
        return getattr(module, name)

    def frame(self, code_at: Path | None = None, code: int = 0) -> bytes:
        """The broker's answer, written by kio, with one of its codes set."""
        cls = self.kio("response")
        buffer = io.BytesIO()
        entity_writer(cls.__header_schema__)(buffer, cls.__header_schema__(correlation_id=77))
        entity_writer(cls)(buffer, as_kio(cls, self.exchange.answered, code_at, code))
        return buffer.getvalue()

    def codes(self) -> Iterator[Path]:
        """Every place in the answer where an error code stands."""
        return code_paths(self.kio("response"))


def struct_in(annotation: Any) -> tuple[Any, bool]:
    """The structure in a field of kio's, if there is one, and whether it is an array."""
    inner = next((a for a in get_args(annotation) if a is not NoneType), annotation)
    if NoneType not in get_args(annotation):
        inner = annotation
    array = get_origin(inner) is tuple
    inner = get_args(inner)[0] if array else inner
    return (inner if is_dataclass(inner) else None), array


def as_kio(cls: Any, values: Fields, code_at: Path | None = None, code: int = 0) -> Any:
    """A value of kio's from plain ones, by equal names."""
    made: dict[str, Any] = {}
    for field in fields(cls):
        value = values.get(field.name, 0)
        path = code_at[1:] if code_at and code_at[0] == field.name else None
        struct_type, array = struct_in(field.type)
        kind = field.metadata.get("kafka_type", "")
        if kind == "error_code":
            made[field.name] = ErrorCode(code if path == () else value)
        elif kind.startswith("timedelta"):
            made[field.name] = timedelta(milliseconds=value)
        elif struct_type is None or value is None:
            made[field.name] = values[field.name]
        elif array:
            made[field.name] = tuple(as_kio(struct_type, row, path, code) for row in value)
        else:
            made[field.name] = as_kio(struct_type, value, path, code)
    return cls(**made)


def code_paths(cls: Any) -> Iterator[Path]:
    """Every path to an error code in a message."""
    for field in fields(cls):
        inner, _ = struct_in(field.type)
        if field.metadata.get("kafka_type") == "error_code":
            yield (field.name,)
        elif inner is not None:
            yield from ((field.name, *path) for path in code_paths(inner))


def since(first: int, version: int, value: Any, before: Any = None) -> Any:
    """What a version can say only from some version on."""
    return value if version >= first else before


MEMBER = {"generation_id": 5, "member_id": "m-1", "group_instance_id": "i-1"}
COORDINATOR = {
    "key": "g",
    "node_id": 1,
    "host": "b1",
    "port": 9092,
    "error_code": 0,
    "error_message": None,
}
OFFSET_TOPICS = {
    "topics": (
        {
            "name": "orders",
            "topic_id": ID,
            "partitions": (
                {
                    "partition_index": 3,
                    "committed_offset": 42,
                    "committed_leader_epoch": 6,
                    "metadata": "note",
                    "error_code": 0,
                },
            ),
        },
    ),
}
OFFSET_GROUP = {
    "group_id": "g",
    "member_id": "m-1",
    "member_epoch": 5,
    "topics": ({"name": "orders", "topic_id": ID, "partition_indexes": (3,)},),
}

EXCHANGES = (
    Exchange(
        "api_versions",
        range(5),
        lambda _: ApiVersions("prokurist", "1.2.3"),
        {"client_software_name": "prokurist", "client_software_version": "1.2.3"},
        {
            **THROTTLED,
            "error_code": 0,
            "api_keys": (
                {"api_key": 3, "min_version": 0, "max_version": 13},
                {"api_key": 999, "min_version": 2, "max_version": 2},
            ),
            "supported_features": ({"name": "kraft", "min_version": 0, "max_version": 1},),
            "finalized_features_epoch": 9,
            "finalized_features": (),
            "zk_migration_ready": True,
        },
        lambda v: ApiVersionsAnswer(
            0, Versions({3: Range(0, 13), 999: Range(2, 2)}), since(1, v, 0.25, 0.0)
        ),
    ),
    Exchange(
        "metadata",
        range(14),
        lambda v: Metadata(names=("orders",), allow_auto_topic_creation=v < 4),
        {
            "topics": ({"name": "orders", "topic_id": None},),
            "allow_auto_topic_creation": False,
            "include_cluster_authorized_operations": False,
            "include_topic_authorized_operations": False,
        },
        {
            **THROTTLED,
            "brokers": (
                {"node_id": 1, "host": "b1", "port": 9092, "rack": "r1"},
                {"node_id": 2, "host": "::1", "port": 9093, "rack": None},
            ),
            "cluster_id": "c",
            "controller_id": 2,
            "cluster_authorized_operations": -(2**31),
            "error_code": 0,
            "topics": (
                {
                    "error_code": 0,
                    "name": "orders",
                    "topic_id": ID,
                    "is_internal": True,
                    "topic_authorized_operations": -(2**31),
                    "partitions": (
                        {
                            "error_code": 5,
                            "partition_index": 3,
                            "leader_id": -1,
                            "leader_epoch": 6,
                            "replica_nodes": (2, 1),
                            "isr_nodes": (2,),
                            "offline_replicas": (1,),
                        },
                    ),
                },
            ),
        },
        lambda v: MetadataAnswer(
            error=0,
            brokers=(Node(1, "b1", 9092, since(1, v, "r1")), Node(2, "::1", 9093)),
            cluster_id=since(2, v, "c"),
            controller_id=since(1, v, 2),
            topics=(
                TopicMetadata(
                    error=0,
                    name="orders",
                    topic_id=since(10, v, ID),
                    internal=since(1, v, True, False),
                    partitions=(
                        PartitionMetadata(
                            partition=3,
                            error=5,
                            leader_id=None,
                            leader_epoch=since(7, v, 6),
                            replicas=(2, 1),
                            in_sync_replicas=(2,),
                            offline_replicas=since(5, v, (1,), ()),
                        ),
                    ),
                ),
            ),
            throttle=since(3, v, 0.25, 0.0),
        ),
    ),
    Exchange(
        "find_coordinator",
        range(7),
        lambda _: FindCoordinator("g"),
        {"key": "g", "key_type": 0, "coordinator_keys": ("g",)},
        {**THROTTLED, **COORDINATOR, "coordinators": (COORDINATOR,)},
        lambda v: FindCoordinatorAnswer(
            error=0, node=Node(1, "b1", 9092), throttle=since(1, v, 0.25, 0.0)
        ),
    ),
    Exchange(
        "offset_commit",
        range(2, 11),
        lambda v: OffsetCommit(
            group_id="g",
            offsets=((ORDERS, OffsetAndMetadata(42, "note", 6)),),
            generation=5,
            member_id="m-1",
            instance_id=since(7, v, "i-1"),
            is_member_epoch=v >= 9,
            topic_ids=IDS,
        ),
        {
            "group_id": "g",
            "generation_id_or_member_epoch": 5,
            "member_id": "m-1",
            "group_instance_id": "i-1",
            "retention_time": -1,
            "topics": (
                {
                    "name": "orders",
                    "topic_id": ID,
                    "partitions": (
                        {
                            "partition_index": 3,
                            "committed_offset": 42,
                            "committed_leader_epoch": 6,
                            "committed_metadata": "note",
                        },
                    ),
                },
            ),
        },
        {**THROTTLED, **OFFSET_TOPICS},
        lambda v: OffsetCommitAnswer(((ORDERS, 0),), since(3, v, 0.25, 0.0)),
    ),
    Exchange(
        "offset_fetch",
        range(1, 11),
        lambda v: OffsetFetch(
            group_id="g",
            partitions=(ORDERS,),
            require_stable=v >= 7,
            member_id="m-1",
            member_epoch=5,
            topic_ids=IDS,
        ),
        {**OFFSET_GROUP, "groups": (OFFSET_GROUP,), "require_stable": True},
        {
            **THROTTLED,
            **OFFSET_TOPICS,
            "error_code": 0,
            "groups": ({"group_id": "g", "error_code": 0, **OFFSET_TOPICS},),
        },
        lambda v: OffsetFetchAnswer(
            error=0,
            committed=(CommittedOffset(ORDERS, 0, 42, since(5, v, 6), "note"),),
            throttle=since(3, v, 0.25, 0.0),
        ),
    ),
    Exchange(
        "list_offsets",
        range(1, 12),
        lambda v: ListOffsets(
            questions=(OffsetQuestion(ORDERS, Moment.LATEST, 6),),
            read_committed=v >= 2,
            timeout=1.5,
        ),
        {
            "replica_id": -1,
            "isolation_level": 1,
            "timeout": 1500,
            "topics": (
                {
                    "name": "orders",
                    "partitions": (
                        {"partition_index": 3, "timestamp": -1, "current_leader_epoch": 6},
                    ),
                },
            ),
        },
        {
            **THROTTLED,
            "topics": (
                {
                    "name": "orders",
                    "partitions": (
                        {
                            "partition_index": 3,
                            "error_code": 0,
                            "timestamp": -1,
                            "offset": 42,
                            "leader_epoch": 6,
                        },
                    ),
                },
            ),
        },
        lambda v: ListOffsetsAnswer(
            offsets=(ListedOffset(ORDERS, 0, 42, None, since(4, v, 6)),),
            throttle=since(2, v, 0.25, 0.0),
        ),
    ),
    Exchange(
        "offset_for_leader_epoch",
        range(2, 5),
        lambda _: OffsetForLeaderEpoch((EpochQuestion(ORDERS, 4, 6),)),
        {
            "replica_id": -1,
            "topics": (
                {
                    "topic": "orders",
                    "partitions": (
                        {"partition": 3, "current_leader_epoch": 6, "leader_epoch": 4},
                    ),
                },
            ),
        },
        {
            **THROTTLED,
            "topics": (
                {
                    "topic": "orders",
                    "partitions": (
                        {"error_code": 0, "partition": 3, "leader_epoch": 4, "end_offset": 40},
                    ),
                },
            ),
        },
        lambda _: OffsetForLeaderEpochAnswer((EpochEnd(ORDERS, 0, 4, 40),), 0.25),
    ),
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
)
CASES = tuple(Case(exchange, v) for exchange in EXCHANGES for v in exchange.versions)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for a `case` once for every API and version."""
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", CASES, ids=str)


@pytest.fixture(scope="session")
def cases() -> tuple[Case, ...]:
    """All of them at once, for tests that choose by themselves."""
    return CASES
