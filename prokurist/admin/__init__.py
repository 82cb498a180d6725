"""The admin client: `KafkaAdmin`, its results, and the values that it takes and returns.

Thread: any application thread.
Holds: the public class in parts by area, on `calls`; `results`.
May import: `assembly`, `application`, `events` and the vocabulary; not the other clients.
"""

from prokurist.admin.admin import KafkaAdmin
from prokurist.admin.lag import GroupLags
from prokurist.admin.results import Listing, Results
from prokurist.types.clusters import ClusterDescription
from prokurist.types.configs import (
    Append,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ConfigSynonym,
    ConfigType,
    Delete,
    ResourceKind,
    Set,
    Subtract,
)
from prokurist.types.groups import (
    ALL,
    DeletedGroup,
    Everyone,
    Group,
    GroupKind,
    GroupListing,
    GroupMember,
    GroupState,
    MemberToRemove,
    PartitionLag,
    RemovedMember,
    StreamsProcess,
    StreamsTask,
    StreamsTasks,
    Subtopology,
    Topology,
)
from prokurist.types.operations import AclOperation
from prokurist.types.quorums import (
    FeatureLevels,
    FeatureUpdate,
    QuorumChange,
    QuorumDescription,
    QuorumReplica,
    Upgrade,
)
from prokurist.types.records import ListedOffset, OffsetSpec
from prokurist.types.replicas import (
    Cancel,
    Election,
    LogDir,
    Reassignment,
    ReassignmentAccepted,
    Replica,
    ReplicaInLogDir,
)
from prokurist.types.topics import (
    CreatedPartitions,
    CreatedTopic,
    DeletedTopic,
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicListing,
)

__all__ = [
    "ALL",
    "AclOperation",
    "Append",
    "Cancel",
    "ClusterDescription",
    "ConfigChange",
    "ConfigEntry",
    "ConfigResource",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigType",
    "CreatedPartitions",
    "CreatedTopic",
    "Delete",
    "DeletedGroup",
    "DeletedTopic",
    "Election",
    "Everyone",
    "FeatureLevels",
    "FeatureUpdate",
    "Group",
    "GroupKind",
    "GroupLags",
    "GroupListing",
    "GroupMember",
    "GroupState",
    "KafkaAdmin",
    "ListedOffset",
    "Listing",
    "LogDir",
    "MemberToRemove",
    "NewPartitions",
    "NewTopic",
    "OffsetSpec",
    "PartitionLag",
    "QuorumChange",
    "QuorumDescription",
    "QuorumReplica",
    "Reassignment",
    "ReassignmentAccepted",
    "RemovedMember",
    "Replica",
    "ReplicaInLogDir",
    "ResourceKind",
    "Results",
    "Set",
    "StreamsProcess",
    "StreamsTask",
    "StreamsTasks",
    "Subtopology",
    "Subtract",
    "TopicDescription",
    "TopicListing",
    "Topology",
    "Upgrade",
]
