"""Every API in every version that kio has: answered, and to the last byte."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from kio.static.constants import EntityType

from prokurist.testing.cluster.apis import Api, by_key
from prokurist.testing.cluster.wire import encode, message_class, plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.testing.cluster.conftest import Lab

TOPIC_ID = "539ed6e2-1851-5c46-9ec5-9d3aca3d4af3"
BY_DEFAULT = timedelta(milliseconds=-1)
VALUES: dict[str, dict[str, Any]] = {
    "Produce": {
        "acks": 1,
        "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": b"?"}]}],
    },
    "Fetch": {"topics": [{"topic": "orders", "partitions": [{"partition": 0}]}]},
    "ListOffsets": {
        "topics": [{"name": "orders", "partitions": [{"partition_index": 0, "timestamp": -1}]}]
    },
    "Metadata": {"topics": [{"name": "orders"}]},
    "OffsetCommit": {
        "group_id": "billing",
        "topics": [{"name": "orders", "partitions": [{"partition_index": 0}]}],
    },
    "OffsetFetch": {
        "group_id": "billing",
        "topics": [{"name": "orders", "partition_indexes": [0]}],
        "groups": [
            {"group_id": "billing", "topics": [{"name": "orders", "partition_indexes": [0]}]}
        ],
    },
    "FindCoordinator": {"key": "billing", "coordinator_keys": ["billing"]},
    "JoinGroup": {
        "group_id": "billing",
        "session_timeout": timedelta(seconds=10),
        "rebalance_timeout": timedelta(seconds=10),
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    },
    "Heartbeat": {"group_id": "billing", "member_id": "m"},
    "LeaveGroup": {
        "group_id": "billing",
        "member_id": "m",
        "members": [{"member_id": "m", "group_instance_id": None}],
    },
    "SyncGroup": {"group_id": "billing", "member_id": "m"},
    "DescribeGroups": {"groups": ["billing"]},
    "ListGroups": {},
    "DeleteGroups": {"groups_names": ["billing"]},
    "ConsumerGroupHeartbeat": {
        "group_id": "checkout",
        "member_id": "m",
        "member_epoch": 0,
        "rebalance_timeout": timedelta(seconds=10),
        "subscribed_topic_names": ["orders"],
        "topic_partitions": [],
    },
    "ConsumerGroupDescribe": {"group_ids": ["billing"]},
    "ShareGroupHeartbeat": {
        "group_id": "workers",
        "member_id": "m",
        "member_epoch": 0,
        "subscribed_topic_names": ["orders"],
    },
    "ShareGroupDescribe": {"group_ids": ["workers"]},
    "ShareFetch": {
        "group_id": "workers",
        "member_id": "m",
        "share_session_epoch": 0,
        "max_wait": timedelta(0),
        "topics": [],
    },
    "ShareAcknowledge": {"group_id": "workers", "member_id": "m", "share_session_epoch": 1},
    "ApiVersions": {"client_software_name": "lab", "client_software_version": "1"},
    "CreateTopics": {
        "topics": [{"name": "made", "num_partitions": 1, "replication_factor": 1}],
    },
    "DeleteTopics": {"topics": [{"name": "made", "topic_id": None}], "topic_names": ["made"]},
    "CreatePartitions": {"topics": [{"name": "orders", "count": 4, "assignments": None}]},
    "DescribeTopicPartitions": {"topics": [{"name": "orders"}], "cursor": None},
    "DescribeConfigs": {
        "resources": [
            {"resource_type": 2, "resource_name": "orders", "configuration_keys": None}
        ],
        "include_synonyms": True,
    },
    "AlterConfigs": {
        "resources": [{"resource_type": 2, "resource_name": "orders", "configs": []}]
    },
    "IncrementalAlterConfigs": {
        "resources": [{"resource_type": 2, "resource_name": "orders", "configs": []}]
    },
    "ListConfigResources": {},
    "DescribeAcls": {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "operation": 1,
        "permission_type": 1,
    },
    "CreateAcls": {
        "creations": [
            {
                "resource_type": 2,
                "resource_name": "orders",
                "resource_pattern_type": 3,
                "principal": "User:anna",
                "host": "*",
                "operation": 3,
                "permission_type": 3,
            }
        ]
    },
    "DeleteAcls": {
        "filters": [
            {
                "resource_type_filter": 1,
                "resource_name_filter": None,
                "pattern_type_filter": 1,
                "operation": 1,
                "permission_type": 1,
            }
        ]
    },
    "DescribeLogDirs": {"topics": None},
    "ElectLeaders": {
        "topic_partitions": [{"topic": "orders", "partitions": (0,)}],
        "timeout": timedelta(seconds=5),
    },
    "AlterPartitionReassignments": {
        "topics": [
            {"name": "orders", "partitions": [{"partition_index": 0, "replicas": (1, 2)}]}
        ],
        "timeout": timedelta(seconds=5),
    },
    "ListPartitionReassignments": {"topics": None},
    "DescribeClientQuotas": {},
    "AlterClientQuotas": {
        "entries": [
            {
                "entity": [{"entity_type": "user", "entity_name": "anna"}],
                "ops": [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}],
            }
        ]
    },
    "DescribeUserScramCredentials": {"users": [{"name": "anna"}]},
    "AlterUserScramCredentials": {
        "upsertions": [
            {
                "name": "anna",
                "mechanism": 1,
                "iterations": 4096,
                "salt": b"?",
                "salted_password": b"?",
            }
        ]
    },
    "DeleteRecords": {
        "topics": [{"name": "orders", "partitions": [{"partition_index": 0, "offset": 0}]}]
    },
    "OffsetDelete": {
        "group_id": "billing",
        "topics": [{"name": "orders", "partitions": [{"partition_index": 0}]}],
    },
    "InitProducerId": {"transactional_id": None},
    "AddPartitionsToTxn": {
        "v3_and_below_transactional_id": "billing",
        "v3_and_below_topics": [{"name": "orders", "partitions": [0]}],
        "transactions": [
            {
                "transactional_id": "billing",
                "topics": [{"name": "orders", "partitions": [0]}],
            }
        ],
    },
    "AddOffsetsToTxn": {"transactional_id": "billing", "group_id": "billing"},
    "EndTxn": {"transactional_id": "billing"},
    "TxnOffsetCommit": {
        "transactional_id": "billing",
        "group_id": "billing",
        "topics": [{"name": "orders", "partitions": [{"partition_index": 0}]}],
    },
    "WriteTxnMarkers": {
        "markers": [
            {
                "producer_id": 7,
                "producer_epoch": 0,
                "transaction_result": False,
                "topics": [{"name": "orders", "partition_indexes": [0, 9]}],
                "coordinator_epoch": 0,
                "transaction_version": 0,
            }
        ]
    },
    "CreateDelegationToken": {
        "owner_principal_type": None,
        "owner_principal_name": None,
        "renewers": [{"principal_type": "User", "principal_name": "anna"}],
        "max_lifetime": BY_DEFAULT,
    },
    "RenewDelegationToken": {"hmac": b"?", "renew_period": BY_DEFAULT},
    "ExpireDelegationToken": {"hmac": b"?", "expiry_time_period": BY_DEFAULT},
    "DescribeDelegationToken": {"owners": None},
    "DescribeProducers": {"topics": [{"name": "orders", "partition_indexes": [0]}]},
    "DescribeTransactions": {"transactional_ids": ["billing"]},
    "ListTransactions": {},
    "OffsetForLeaderEpoch": {
        "topics": [{"topic": "orders", "partitions": [{"partition": 0, "leader_epoch": 0}]}]
    },
    "DescribeCluster": {},
    "GetTelemetrySubscriptions": {"client_instance_id": None},
    "PushTelemetry": {"client_instance_id": UUID(TOPIC_ID), "metrics": b"?"},
    "SaslHandshake": {"mechanism": "PLAIN"},
    "SaslAuthenticate": {"auth_bytes": b"?"},
}
"""A request that makes each handler say all it can say."""

CASES = [
    (api, version) for api in by_key().values() for version in range(api.oldest, api.newest + 1)
]


@pytest.mark.parametrize(("api", "version"), CASES, ids=str)
def test_an_answer_in_every_version_is_read_to_its_last_byte(
    lab: "Lab", api: Api, version: int
) -> None:
    """No version lacks a field or has one too many."""
    for group in ("billing", "checkout"):
        lab.control.move_coordinator(group, 1)
    lab.control.receive_telemetry()
    lab.control.accept_tokens("User:admin")
    body = lab.ask(api.name, version, **VALUES[api.name])
    assert type(body) is message_class(api, version, EntityType.response)


@pytest.mark.parametrize("api", by_key().values(), ids=lambda api: api.name)
def test_no_handler_names_a_field_that_no_version_has(
    make_lab: "Callable[..., Lab]", api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slip in a field's name cannot hide behind the versions that lack the field."""
    given: set[str] = set()

    def listen(api: Api, version: int, number: int, answer: Any) -> bytes:
        given.update(names(answer))
        return encode(api, version, number, answer)

    monkeypatch.setattr("prokurist.testing.cluster.cluster.encode", listen)
    known: set[str] = set()
    for version in range(api.oldest, api.newest + 1):
        known |= fields_of(message_class(api, version, EntityType.response))
        lab = make_lab(3, {"orders": 3})
        for group in ("billing", "checkout"):
            lab.control.move_coordinator(group, 1)
        lab.control.receive_telemetry()
        lab.ask(api.name, version, **VALUES[api.name])
    assert given - {"throttle_time"} <= known  # which the model adds to every answer


def names(answer: Any) -> set[str]:
    """Every field name in an answer."""
    if isinstance(answer, dict):
        return set(answer) | {name for each in answer.values() for name in names(each)}
    if isinstance(answer, list):
        return {name for each in answer for name in names(each)}
    return set()


def fields_of(cls: Any) -> set[str]:
    """Every field name in a class and in the structs inside it."""
    found: set[str] = set()
    for field in plan(cls):
        found.add(field.name)
        found |= fields_of(field.struct) if field.struct else set()
    return found
