"""The admin client: `KafkaAdmin`, its results, and the values that it takes and returns.

Thread: any application thread.
Holds: the public class in parts by area, on `calls`; `results`.
May import: `assembly`, `application`, `events` and the vocabulary; not the other clients.
"""

from prokurist.admin.admin import KafkaAdmin
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
from prokurist.types.operations import AclOperation
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
    "AclOperation",
    "Append",
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
    "DeletedTopic",
    "KafkaAdmin",
    "Listing",
    "NewPartitions",
    "NewTopic",
    "ResourceKind",
    "Results",
    "Set",
    "Subtract",
    "TopicDescription",
    "TopicListing",
]
