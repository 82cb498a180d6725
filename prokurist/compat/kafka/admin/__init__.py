"""kafka-python's module for administration: KafkaAdminClient, and its values."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final, NoReturn

from prokurist.compat.absent import absent_in
from prokurist.compat.kafka.admin.client import KafkaAdminClient
from prokurist.compat.kafka.admin.values import (
    AlterConfigOp,
    ConfigFilterType,
    ConfigResource,
    ConfigResourceType,
    ConfigSourceType,
    ConfigType,
    ElectionType,
    GroupState,
    GroupType,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    OffsetTimestamp,
    UpdateFeatureType,
)

__all__ = [
    "AlterConfigOp",
    "ConfigFilterType",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSourceType",
    "ConfigType",
    "ElectionType",
    "GroupState",
    "GroupType",
    "KafkaAdminClient",
    "MemberToRemove",
    "NewPartitions",
    "NewTopic",
    "OffsetSpec",
    "OffsetTimestamp",
    "UpdateFeatureType",
]

_ACLS: Final = "KafkaAdmin of prokurist has no access control lists yet"
_TRANSACTIONS: Final = "KafkaAdmin of prokurist has no transactions yet"
_USERS: Final = "KafkaAdmin of prokurist has no users yet"
_LEFT_OUT: Final = MappingProxyType(
    {
        **dict.fromkeys(("ACL", "ACLFilter", "ACLOperation", "ACLPermissionType"), _ACLS),
        **dict.fromkeys(("ACLResourcePatternType", "ResourcePattern"), _ACLS),
        **dict.fromkeys(("ResourcePatternFilter", "ResourceType"), _ACLS),
        **dict.fromkeys(("AbortTransactionSpec", "PartitionProducerState"), _TRANSACTIONS),
        **dict.fromkeys(("ProducerState", "TransactionDescription"), _TRANSACTIONS),
        **dict.fromkeys(("TransactionListing", "TransactionState"), _TRANSACTIONS),
        **dict.fromkeys(("ScramMechanism", "UserScramCredentialDeletion"), _USERS),
        "UserScramCredentialUpsertion": _USERS,
    }
)


__getattr__: Callable[[str], NoReturn] = absent_in(__name__, _LEFT_OUT)
