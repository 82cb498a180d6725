"""One handler for each API: small functions from a request to an answer.

A handler is `handle(state, request, context)`. It reads kio's request of any
version (`field` below reads what some versions lack) and gives back the fields of
all versions; `wire.build` takes those that the version has. It may also park the
request (`Wait`) or refuse to answer (`Silence`).

Thread: the one that drives the model.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from prokurist.testing.cluster.answers import Handler

HANDLERS: Final = {
    "Produce": "produce",
    "Fetch": "fetch",
    "ListOffsets": "list_offsets",
    "Metadata": "metadata",
    "OffsetCommit": "offset_commit",
    "OffsetFetch": "offset_fetch",
    "FindCoordinator": "find_coordinator",
    "JoinGroup": "join_group",
    "Heartbeat": "heartbeat",
    "LeaveGroup": "leave_group",
    "SyncGroup": "sync_group",
    "DescribeGroups": "describe_groups",
    "ListGroups": "list_groups",
    "SaslHandshake": "sasl",
    "SaslAuthenticate": "sasl",
    "ApiVersions": "api_versions",
    "CreateTopics": "create_topics",
    "DeleteTopics": "delete_topics",
    "DeleteRecords": "delete_records",
    "InitProducerId": "init_producer_id",
    "OffsetForLeaderEpoch": "offset_for_leader_epoch",
    "AddPartitionsToTxn": "add_partitions_to_txn",
    "AddOffsetsToTxn": "add_offsets_to_txn",
    "EndTxn": "end_txn",
    "WriteTxnMarkers": "write_txn_markers",
    "TxnOffsetCommit": "txn_offset_commit",
    "DescribeAcls": "acls",
    "CreateAcls": "acls",
    "DeleteAcls": "acls",
    "DescribeConfigs": "describe_configs",
    "AlterConfigs": "alter_configs",
    "DescribeLogDirs": "describe_log_dirs",
    "CreatePartitions": "create_partitions",
    "CreateDelegationToken": "delegation_tokens",
    "RenewDelegationToken": "delegation_tokens",
    "ExpireDelegationToken": "delegation_tokens",
    "DescribeDelegationToken": "delegation_tokens",
    "DeleteGroups": "delete_groups",
    "ElectLeaders": "elect_leaders",
    "IncrementalAlterConfigs": "incremental_alter_configs",
    "AlterPartitionReassignments": "partition_reassignments",
    "ListPartitionReassignments": "partition_reassignments",
    "OffsetDelete": "offset_delete",
    "DescribeClientQuotas": "client_quotas",
    "AlterClientQuotas": "client_quotas",
    "DescribeUserScramCredentials": "scram_credentials",
    "AlterUserScramCredentials": "scram_credentials",
    "DescribeCluster": "describe_cluster",
    "DescribeProducers": "describe_producers",
    "DescribeTransactions": "describe_transactions",
    "ListTransactions": "list_transactions",
    "ConsumerGroupHeartbeat": "consumer_group_heartbeat",
    "ConsumerGroupDescribe": "consumer_group_describe",
    "GetTelemetrySubscriptions": "get_telemetry_subscriptions",
    "PushTelemetry": "push_telemetry",
    "ListConfigResources": "list_config_resources",
    "DescribeTopicPartitions": "describe_topic_partitions",
    "ShareGroupHeartbeat": "share_group_heartbeat",
    "ShareGroupDescribe": "share_group_describe",
    "ShareFetch": "share_fetch",
    "ShareAcknowledge": "share_acknowledge",
}
"""The module of each API's handler."""


@cache
def handler_of(name: str) -> "Handler":
    """The handler of an API."""
    module = import_module(f"prokurist.testing.cluster.handlers.{HANDLERS[name]}")
    handler: Handler = module.handle
    return handler


def field(request: Any, name: str, default: Any = None) -> Any:
    """A field of a request, or of a part of one, that not all versions have."""
    return getattr(request, name, default)
