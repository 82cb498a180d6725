"""APIs of the protocol in use, with their versions.

Thread: any; a table. The range is that of kio 0.6.5, the source of our tables. These are all
versions that Kafka 2.4 to 4.4 can negotiate with us (except ApiVersions 5, which adds nothing
that we send).
"""

from typing import Final

from prokurist.lazy_dataclasses import dataclass

SMALL: Final = 1 << 20
"""Bytes of an answer of a single field."""
LARGE: Final = 64 << 20
"""Bytes of an answer with a row for each partition or member."""
UNBOUNDED: Final = 0x7FFF_FFFF
"""An answer that is as long as the records in it: the limit of a frame is its own."""
FEW: Final = 4096
SEVERAL: Final = 1 << 16
"""Elements of an answer about the batches of one request."""
MANY: Final = 1 << 18
"""Elements of an answer about one consumer's or one group's partitions."""
MOST: Final = 1 << 20
"""Elements of an answer about a whole cluster, or about all transactions among records."""


@dataclass(frozen=True, slots=True)
class Api:
    """An API of the protocol, with the versions that the client speaks.

    Attributes:
        name: As the protocol calls it.
        key: Its number on the wire.
        oldest: The oldest version that we speak.
        newest: The newest version that we speak.
        most_bytes: The longest answer that is read.
        most_elements: How many elements the arrays of an answer may have all together;
            numbers count as an eighth.
    """

    name: str
    key: int
    oldest: int
    newest: int
    most_bytes: int = SMALL
    most_elements: int = FEW

    def __str__(self) -> str:
        return self.name


PRODUCE: Final = Api("Produce", 0, 3, 13, LARGE, SEVERAL)
FETCH: Final = Api("Fetch", 1, 4, 18, UNBOUNDED, MOST)
LIST_OFFSETS: Final = Api("ListOffsets", 2, 1, 11, LARGE, MANY)
METADATA: Final = Api("Metadata", 3, 0, 13, LARGE, MOST)
OFFSET_COMMIT: Final = Api("OffsetCommit", 8, 2, 10, LARGE, MANY)
OFFSET_FETCH: Final = Api("OffsetFetch", 9, 1, 10, LARGE, MANY)
FIND_COORDINATOR: Final = Api("FindCoordinator", 10, 0, 6)
JOIN_GROUP: Final = Api("JoinGroup", 11, 0, 9, LARGE, MANY)
HEARTBEAT: Final = Api("Heartbeat", 12, 0, 4)
LEAVE_GROUP: Final = Api("LeaveGroup", 13, 0, 5)
SYNC_GROUP: Final = Api("SyncGroup", 14, 0, 5, LARGE, MANY)
DESCRIBE_GROUPS: Final = Api("DescribeGroups", 15, 3, 5, LARGE, MANY)
"""From version 3 on it tells rights; from 6 on only those over classic groups that exist."""
LIST_GROUPS: Final = Api("ListGroups", 16, 0, 5, LARGE, MANY)
SASL_HANDSHAKE: Final = Api("SaslHandshake", 17, 1, 1)
"""From version 1 on the mechanism's messages are requests; version 0 would leave them bare."""
API_VERSIONS: Final = Api("ApiVersions", 18, 0, 4)
INIT_PRODUCER_ID: Final = Api("InitProducerId", 22, 0, 5)
OFFSET_FOR_LEADER_EPOCH: Final = Api("OffsetForLeaderEpoch", 23, 3, 4, LARGE, MANY)
"""Version 2 is answered only to those with rights over the whole cluster."""
ADD_PARTITIONS_TO_TXN: Final = Api("AddPartitionsToTxn", 24, 0, 3, LARGE, SEVERAL)
"""Newer versions are requests between brokers."""
ADD_OFFSETS_TO_TXN: Final = Api("AddOffsetsToTxn", 25, 0, 4)
END_TXN: Final = Api("EndTxn", 26, 0, 5)
TXN_OFFSET_COMMIT: Final = Api("TxnOffsetCommit", 28, 3, 5, LARGE, MANY)
"""Older versions do not name the member, so no group could refuse a former one (KIP-447)."""
SASL_AUTHENTICATE: Final = Api("SaslAuthenticate", 36, 0, 2)
CONSUMER_GROUP_HEARTBEAT: Final = Api("ConsumerGroupHeartbeat", 68, 0, 1, LARGE, MANY)
SHARE_GROUP_HEARTBEAT: Final = Api("ShareGroupHeartbeat", 76, 1, 1, LARGE, MANY)
"""Version 0 of the three was an early access, which Kafka 4.1 took back."""
SHARE_FETCH: Final = Api("ShareFetch", 78, 1, 2, UNBOUNDED, MOST)
SHARE_ACKNOWLEDGE: Final = Api("ShareAcknowledge", 79, 1, 2, LARGE, MANY)
GET_TELEMETRY_SUBSCRIPTIONS: Final = Api("GetTelemetrySubscriptions", 71, 0, 0)
PUSH_TELEMETRY: Final = Api("PushTelemetry", 72, 0, 0)

CREATE_TOPICS: Final = Api("CreateTopics", 19, 2, 7, LARGE, MOST)
"""An answer has each topic's configuration."""
DELETE_TOPICS: Final = Api("DeleteTopics", 20, 1, 6, LARGE, MANY)
DELETE_RECORDS: Final = Api("DeleteRecords", 21, 0, 2, LARGE, MANY)
WRITE_TXN_MARKERS: Final = Api("WriteTxnMarkers", 27, 1, 2, LARGE, MANY)
DESCRIBE_ACLS: Final = Api("DescribeAcls", 29, 1, 3, LARGE, MOST)
CREATE_ACLS: Final = Api("CreateAcls", 30, 1, 3, LARGE, SEVERAL)
DELETE_ACLS: Final = Api("DeleteAcls", 31, 1, 3, LARGE, MOST)
DESCRIBE_CONFIGS: Final = Api("DescribeConfigs", 32, 1, 4, LARGE, MOST)
ALTER_REPLICA_LOG_DIRS: Final = Api("AlterReplicaLogDirs", 34, 1, 2, LARGE, MANY)
DESCRIBE_LOG_DIRS: Final = Api("DescribeLogDirs", 35, 1, 5, LARGE, MOST)
CREATE_PARTITIONS: Final = Api("CreatePartitions", 37, 0, 3, LARGE, SEVERAL)
CREATE_DELEGATION_TOKEN: Final = Api("CreateDelegationToken", 38, 1, 3)
RENEW_DELEGATION_TOKEN: Final = Api("RenewDelegationToken", 39, 1, 2)
EXPIRE_DELEGATION_TOKEN: Final = Api("ExpireDelegationToken", 40, 1, 2)
DESCRIBE_DELEGATION_TOKEN: Final = Api("DescribeDelegationToken", 41, 1, 3, LARGE, MANY)
DELETE_GROUPS: Final = Api("DeleteGroups", 42, 0, 2, LARGE, SEVERAL)
ELECT_LEADERS: Final = Api("ElectLeaders", 43, 0, 2, LARGE, MANY)
INCREMENTAL_ALTER_CONFIGS: Final = Api("IncrementalAlterConfigs", 44, 0, 1, LARGE, SEVERAL)
ALTER_PARTITION_REASSIGNMENTS: Final = Api("AlterPartitionReassignments", 45, 0, 1, LARGE, MANY)
LIST_PARTITION_REASSIGNMENTS: Final = Api("ListPartitionReassignments", 46, 0, 0, LARGE, MOST)
OFFSET_DELETE: Final = Api("OffsetDelete", 47, 0, 0, LARGE, MANY)
DESCRIBE_CLIENT_QUOTAS: Final = Api("DescribeClientQuotas", 48, 0, 1, LARGE, MOST)
ALTER_CLIENT_QUOTAS: Final = Api("AlterClientQuotas", 49, 0, 1, LARGE, SEVERAL)
DESCRIBE_USER_SCRAM_CREDENTIALS: Final = Api(
    "DescribeUserScramCredentials", 50, 0, 0, LARGE, MANY
)
ALTER_USER_SCRAM_CREDENTIALS: Final = Api("AlterUserScramCredentials", 51, 0, 0, LARGE, SEVERAL)
DESCRIBE_QUORUM: Final = Api("DescribeQuorum", 55, 0, 2)
UPDATE_FEATURES: Final = Api("UpdateFeatures", 57, 0, 2)
DESCRIBE_CLUSTER: Final = Api("DescribeCluster", 60, 0, 2, LARGE, SEVERAL)
DESCRIBE_PRODUCERS: Final = Api("DescribeProducers", 61, 0, 0, LARGE, MOST)
UNREGISTER_BROKER: Final = Api("UnregisterBroker", 64, 0, 0)
DESCRIBE_TRANSACTIONS: Final = Api("DescribeTransactions", 65, 0, 0, LARGE, MOST)
LIST_TRANSACTIONS: Final = Api("ListTransactions", 66, 0, 2, LARGE, MOST)
CONSUMER_GROUP_DESCRIBE: Final = Api("ConsumerGroupDescribe", 69, 0, 1, LARGE, MOST)
LIST_CONFIG_RESOURCES: Final = Api("ListConfigResources", 74, 0, 1, LARGE, MANY)
DESCRIBE_TOPIC_PARTITIONS: Final = Api("DescribeTopicPartitions", 75, 0, 0, LARGE, MOST)
SHARE_GROUP_DESCRIBE: Final = Api("ShareGroupDescribe", 77, 1, 1, LARGE, MOST)
ADD_RAFT_VOTER: Final = Api("AddRaftVoter", 80, 0, 1)
REMOVE_RAFT_VOTER: Final = Api("RemoveRaftVoter", 81, 0, 0)
STREAMS_GROUP_DESCRIBE: Final = Api("StreamsGroupDescribe", 89, 0, 0, LARGE, MOST)
DESCRIBE_SHARE_GROUP_OFFSETS: Final = Api("DescribeShareGroupOffsets", 90, 0, 1, LARGE, MANY)
ALTER_SHARE_GROUP_OFFSETS: Final = Api("AlterShareGroupOffsets", 91, 0, 0, LARGE, MANY)
DELETE_SHARE_GROUP_OFFSETS: Final = Api("DeleteShareGroupOffsets", 92, 0, 0, LARGE, MANY)
