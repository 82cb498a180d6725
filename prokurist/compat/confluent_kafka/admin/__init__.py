"""confluent-kafka's module for administration: AdminClient, and its values."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final, NoReturn

from prokurist.compat.absent import absent_in
from prokurist.compat.confluent_kafka.admin.acls import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
)
from prokurist.compat.confluent_kafka.admin.client import AdminClient
from prokurist.compat.confluent_kafka.admin.cluster import DescribeClusterResult
from prokurist.compat.confluent_kafka.admin.configs import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
)
from prokurist.compat.confluent_kafka.admin.groups import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    GroupMember,
    GroupMetadata,
    ListConsumerGroupsResult,
    MemberAssignment,
    MemberDescription,
)
from prokurist.compat.confluent_kafka.admin.offsets import (
    DeletedRecords,
    ListOffsetsResultInfo,
    OffsetSpec,
)
from prokurist.compat.confluent_kafka.admin.resources import (
    ResourcePatternType,
    ResourceType,
)
from prokurist.compat.confluent_kafka.admin.topics import (
    NewPartitions,
    NewTopic,
    TopicDescription,
)
from prokurist.compat.confluent_kafka.admin.users import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)
from prokurist.compat.confluent_kafka.cluster import ClusterMetadata
from prokurist.compat.confluent_kafka.constants import (
    CONFIG_SOURCE_DEFAULT_CONFIG,
    CONFIG_SOURCE_DYNAMIC_BROKER_CONFIG,
    CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER_CONFIG,
    CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG,
    CONFIG_SOURCE_GROUP_CONFIG,
    CONFIG_SOURCE_STATIC_BROKER_CONFIG,
    CONFIG_SOURCE_UNKNOWN_CONFIG,
    RESOURCE_ANY,
    RESOURCE_BROKER,
    RESOURCE_GROUP,
    RESOURCE_TOPIC,
    RESOURCE_TRANSACTIONAL_ID,
    RESOURCE_UNKNOWN,
)
from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.compat.confluent_kafka.values import (
    OFFSET_INVALID,
    BrokerMetadata,
    PartitionMetadata,
    TopicMetadata,
)

__all__ = [
    "CONFIG_SOURCE_DEFAULT_CONFIG",
    "CONFIG_SOURCE_DYNAMIC_BROKER_CONFIG",
    "CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER_CONFIG",
    "CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG",
    "CONFIG_SOURCE_GROUP_CONFIG",
    "CONFIG_SOURCE_STATIC_BROKER_CONFIG",
    "CONFIG_SOURCE_UNKNOWN_CONFIG",
    "OFFSET_INVALID",
    "RESOURCE_ANY",
    "RESOURCE_BROKER",
    "RESOURCE_GROUP",
    "RESOURCE_TOPIC",
    "RESOURCE_TRANSACTIONAL_ID",
    "RESOURCE_UNKNOWN",
    "AclBinding",
    "AclBindingFilter",
    "AclOperation",
    "AclPermissionType",
    "AdminClient",
    "AlterConfigOpType",
    "BrokerMetadata",
    "ClusterMetadata",
    "ConfigEntry",
    "ConfigResource",
    "ConfigSource",
    "ConsumerGroupDescription",
    "ConsumerGroupListing",
    "DeletedRecords",
    "DescribeClusterResult",
    "GroupMember",
    "GroupMetadata",
    "KafkaError",
    "KafkaException",
    "ListConsumerGroupsResult",
    "ListOffsetsResultInfo",
    "MemberAssignment",
    "MemberDescription",
    "NewPartitions",
    "NewTopic",
    "OffsetSpec",
    "PartitionMetadata",
    "ResourcePatternType",
    "ResourceType",
    "ScramCredentialInfo",
    "ScramMechanism",
    "TopicDescription",
    "TopicMetadata",
    "UserScramCredentialAlteration",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
    "UserScramCredentialsDescription",
]

_LEFT_OUT: Final = MappingProxyType(
    {"string_type": "it is str", "concurrent": "import it", "warnings": "import it"}
)


__getattr__: Callable[[str], NoReturn] = absent_in(__name__, _LEFT_OUT)
