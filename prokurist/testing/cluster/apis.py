"""The APIs that the model speaks: names, keys, and the versions it may offer.

The names are Kafka's own. The versions are read off kio's index, which is a table
of strings: nothing of any version is imported here.

Thread: any; nothing here changes.
"""

from difflib import get_close_matches
from functools import cache
from typing import Final, Literal, get_args

from kio.schema.index import schema_name_map

from prokurist.lazy_dataclasses import dataclass

ApiName = Literal[
    "Produce",
    "Fetch",
    "ListOffsets",
    "Metadata",
    "OffsetCommit",
    "OffsetFetch",
    "FindCoordinator",
    "JoinGroup",
    "Heartbeat",
    "LeaveGroup",
    "SyncGroup",
    "DescribeGroups",
    "ListGroups",
    "SaslHandshake",
    "ApiVersions",
    "CreateTopics",
    "DeleteTopics",
    "DeleteRecords",
    "InitProducerId",
    "OffsetForLeaderEpoch",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "EndTxn",
    "WriteTxnMarkers",
    "TxnOffsetCommit",
    "DescribeAcls",
    "CreateAcls",
    "DeleteAcls",
    "DescribeConfigs",
    "AlterConfigs",
    "DescribeLogDirs",
    "SaslAuthenticate",
    "CreatePartitions",
    "CreateDelegationToken",
    "RenewDelegationToken",
    "ExpireDelegationToken",
    "DescribeDelegationToken",
    "DeleteGroups",
    "ElectLeaders",
    "IncrementalAlterConfigs",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
    "OffsetDelete",
    "DescribeClientQuotas",
    "AlterClientQuotas",
    "DescribeUserScramCredentials",
    "AlterUserScramCredentials",
    "DescribeCluster",
    "DescribeProducers",
    "DescribeTransactions",
    "ListTransactions",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupDescribe",
    "GetTelemetrySubscriptions",
    "PushTelemetry",
    "ListConfigResources",
    "DescribeTopicPartitions",
    "ShareGroupHeartbeat",
    "ShareGroupDescribe",
    "ShareFetch",
    "ShareAcknowledge",
]
"""Names of APIs in controls of the model; mypy and `named` reject any other."""

KEYS: Final[dict[ApiName, int]] = {
    "Produce": 0,
    "Fetch": 1,
    "ListOffsets": 2,
    "Metadata": 3,
    "OffsetCommit": 8,
    "OffsetFetch": 9,
    "FindCoordinator": 10,
    "JoinGroup": 11,
    "Heartbeat": 12,
    "LeaveGroup": 13,
    "SyncGroup": 14,
    "DescribeGroups": 15,
    "ListGroups": 16,
    "SaslHandshake": 17,
    "ApiVersions": 18,
    "CreateTopics": 19,
    "DeleteTopics": 20,
    "DeleteRecords": 21,
    "InitProducerId": 22,
    "OffsetForLeaderEpoch": 23,
    "AddPartitionsToTxn": 24,
    "AddOffsetsToTxn": 25,
    "EndTxn": 26,
    "WriteTxnMarkers": 27,
    "TxnOffsetCommit": 28,
    "DescribeAcls": 29,
    "CreateAcls": 30,
    "DeleteAcls": 31,
    "DescribeConfigs": 32,
    "AlterConfigs": 33,
    "DescribeLogDirs": 35,
    "SaslAuthenticate": 36,
    "CreatePartitions": 37,
    "CreateDelegationToken": 38,
    "RenewDelegationToken": 39,
    "ExpireDelegationToken": 40,
    "DescribeDelegationToken": 41,
    "DeleteGroups": 42,
    "ElectLeaders": 43,
    "IncrementalAlterConfigs": 44,
    "AlterPartitionReassignments": 45,
    "ListPartitionReassignments": 46,
    "OffsetDelete": 47,
    "DescribeClientQuotas": 48,
    "AlterClientQuotas": 49,
    "DescribeUserScramCredentials": 50,
    "AlterUserScramCredentials": 51,
    "DescribeCluster": 60,
    "DescribeProducers": 61,
    "DescribeTransactions": 65,
    "ListTransactions": 66,
    "ConsumerGroupHeartbeat": 68,
    "ConsumerGroupDescribe": 69,
    "GetTelemetrySubscriptions": 71,
    "PushTelemetry": 72,
    "ListConfigResources": 74,
    "DescribeTopicPartitions": 75,
    "ShareGroupHeartbeat": 76,
    "ShareGroupDescribe": 77,
    "ShareFetch": 78,
    "ShareAcknowledge": 79,
}

TELEMETRY: Final = frozenset({71, 72})
"""API keys offered only by a broker with a telemetry receiver."""

BEFORE_EPOCHS_GROW: Final[dict[ApiName, int]] = {
    "Produce": 11,
    "EndTxn": 4,
    "TxnOffsetCommit": 4,
}
"""Newest versions of Kafka 3.9, for APIs with newer ones for `transaction.version` 2."""

NEWEST: Final[dict[str, int]] = {"InitProducerId": 5}
"""Kafka 4.3's newest stable versions, for APIs of which kio knows unstable ones."""


@dataclass(frozen=True, slots=True)
class Api:
    """One API.

    Attributes:
        name: Kafka's name for it.
        key: Its number on the wire.
        folder: Its package below `kio.schema`.
        oldest: The oldest version that kio can speak.
        newest: The newest one.
    """

    name: ApiName
    key: int
    folder: str
    oldest: int
    newest: int

    def __repr__(self) -> str:
        return f"Api({self.name}, {self.oldest} to {self.newest})"


@cache
def by_key() -> dict[int, Api]:
    """Every API that the model speaks, by its number."""
    return {api.key: api for api in map(named, get_args(ApiName))}


@cache
def named(name: str) -> Api:
    """The API of a name.

    Raises:
        ValueError: The model speaks no API of that name.
    """
    key = KEYS.get(name)  # type: ignore[call-overload]  # any str may be asked for
    if key is None:
        close = get_close_matches(name, KEYS, 1)
        hint = f"; did you mean {close[0]}?" if close else f": it speaks {', '.join(KEYS)}"
        raise ValueError(f"the cluster model has no API {name!r}{hint}")
    folder = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
    versions = schema_name_map[folder]
    newest = min(max(versions), NEWEST.get(name, max(versions)))
    return Api(name, key, folder, min(versions), newest)  # type: ignore[arg-type]
