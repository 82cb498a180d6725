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

_LEFT_OUT: Final = MappingProxyType({"x": ""})


__getattr__: Callable[[str], NoReturn] = absent_in(__name__, _LEFT_OUT)
