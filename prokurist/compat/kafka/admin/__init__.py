"""kafka-python's module for administration: KafkaAdminClient, and its values."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final, NoReturn

from prokurist.compat.absent import absent_in
from prokurist.compat.kafka.admin.access import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
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
    "ACL",
    "ACLFilter",
    "ACLOperation",
    "ACLPermissionType",
    "ACLResourcePatternType",
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
    "ResourcePattern",
    "ResourcePatternFilter",
    "ResourceType",
    "ScramMechanism",
    "UpdateFeatureType",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
]

_TRANSACTIONS: Final = "prokurist.KafkaAdmin lists, describes and aborts transactions"
_LEFT_OUT: Final = MappingProxyType(
    {
        **dict.fromkeys(("AbortTransactionSpec", "PartitionProducerState"), _TRANSACTIONS),
        **dict.fromkeys(("ProducerState", "TransactionDescription"), _TRANSACTIONS),
        **dict.fromkeys(("TransactionListing", "TransactionState"), _TRANSACTIONS),
    }
)


__getattr__: Callable[[str], NoReturn] = absent_in(__name__, _LEFT_OUT)
