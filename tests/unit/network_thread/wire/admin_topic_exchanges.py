"""What administrators ask about topics, their configurations, and the cluster."""

from prokurist.config.secret import Secret
from prokurist.events.admin.work import WHOLE
from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer
from prokurist.network_thread.wire.admin.cluster import DescribeCluster
from prokurist.network_thread.wire.admin.configs import (
    DescribeConfigs,
    IncrementalAlterConfigs,
    ListConfigResources,
)
from prokurist.network_thread.wire.admin.topic_pages import DescribeTopicPartitions, TopicPage
from prokurist.network_thread.wire.admin.topics import (
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
)
from prokurist.network_thread.wire.metadata import PartitionMetadata, TopicMetadata
from prokurist.types import Node, TopicPartition
from prokurist.types.clusters import ClusterDescription
from prokurist.types.configs import (
    Append,
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
)
from tests.unit.network_thread.wire.exchange import ID, THROTTLED, Exchange, since

TOPIC = ConfigResource.topic("orders")
CONFIG = {
    "name": "retention.ms",
    "value": "1000",
    "read_only": False,
    "config_source": 1,
    "is_sensitive": False,
}
EXCHANGES = (
    Exchange(
        "create_topics",
        range(2, 8),
        lambda _: CreateTopics(
            {
                "orders": NewTopic(6, 3, {"retention.ms": "1000"}),
                "placed": NewTopic(replicas={0: [1, 2], 1: [2, 1]}),
            },
            1.5,
            validate_only=True,
        ),
        {
            "topics": (
                {
                    "name": "orders",
                    "num_partitions": 6,
                    "replication_factor": 3,
                    "assignments": (),
                    "configs": ({"name": "retention.ms", "value": "1000"},),
                },
                {
                    "name": "placed",
                    "num_partitions": -1,
                    "replication_factor": -1,
                    "assignments": (
                        {"partition_index": 0, "broker_ids": (1, 2)},
                        {"partition_index": 1, "broker_ids": (2, 1)},
                    ),
                    "configs": (),
                },
            ),
            "timeout": 1500,
            "validate_only": True,
        },
        {
            **THROTTLED,
            "topics": (
                {
                    "name": "orders",
                    "topic_id": ID,
                    "error_code": 0,
                    "error_message": None,
                    "topic_config_error_code": 0,
                    "num_partitions": 6,
                    "replication_factor": 3,
                    "configs": (CONFIG,),
                },
            ),
        },
        lambda v: ItemsAnswer(
            {
                "orders": ItemAnswer(
                    value=CreatedTopic(
                        since(7, v, ID),
                        since(5, v, 6),
                        since(5, v, 3),
                        since(
                            5,
                            v,
                            {
                                "retention.ms": ConfigEntry(
                                    "retention.ms", "1000", ConfigSource.TOPIC
                                )
                            },
                        ),
                    )
                )
            },
            throttle=0.25,
        ),
    ),
    Exchange(
        "delete_topics",
        range(1, 7),
        lambda v: DeleteTopics(("orders", since(6, v, ID, "other")), 1.5),
        {
            "topics": (
                {"name": "orders", "topic_id": None},
                {"name": None, "topic_id": ID},
            ),
            "topic_names": ("orders", "other"),
            "timeout": 1500,
        },
        {
            **THROTTLED,
            "responses": (
                {"name": "orders", "topic_id": None, "error_code": 0, "error_message": None},
            ),
        },
        lambda _: ItemsAnswer({"orders": ItemAnswer(value=DeletedTopic())}, throttle=0.25),
    ),
    Exchange(
        "create_partitions",
        range(4),
        lambda _: CreatePartitions(
            {"orders": NewPartitions(3, {1: [1], 2: [2]}), "more": NewPartitions(4)},
            1.5,
            validate_only=True,
        ),
        {
            "topics": (
                {
                    "name": "orders",
                    "count": 3,
                    "assignments": ({"broker_ids": (1,)}, {"broker_ids": (2,)}),
                },
                {"name": "more", "count": 4, "assignments": None},
            ),
            "timeout": 1500,
            "validate_only": True,
        },
        {
            **THROTTLED,
            "results": ({"name": "orders", "error_code": 0, "error_message": None},),
        },
        lambda _: ItemsAnswer(
            {"orders": ItemAnswer(value=CreatedPartitions(3))}, throttle=0.25
        ),
    ),
    Exchange(
        "describe_configs",
        range(1, 5),
        lambda _: DescribeConfigs(
            {TOPIC: ("retention.ms",), ConfigResource.broker(2): None},
            synonyms=True,
            documentation=True,
        ),
        {
            "resources": (
                {
                    "resource_type": 2,
                    "resource_name": "orders",
                    "configuration_keys": ("retention.ms",),
                },
                {"resource_type": 4, "resource_name": "2", "configuration_keys": None},
            ),
            "include_synonyms": True,
            "include_documentation": True,
        },
        {
            **THROTTLED,
            "results": (
                {
                    "error_code": 0,
                    "error_message": None,
                    "resource_type": 2,
                    "resource_name": "orders",
                    "configs": (
                        {
                            **CONFIG,
                            "is_sensitive": True,
                            "read_only": True,
                            "synonyms": (
                                {"name": "log.retention.ms", "value": "5", "source": 4},
                            ),
                            "config_type": 5,
                            "documentation": "How long.",
                        },
                    ),
                },
            ),
        },
        lambda v: ItemsAnswer(
            {
                TOPIC: ItemAnswer(
                    value={
                        "retention.ms": ConfigEntry(
                            "retention.ms",
                            "1000",
                            ConfigSource.TOPIC,
                            read_only=True,
                            sensitive=True,
                            type=since(3, v, ConfigType.LONG, ConfigType.UNKNOWN),
                            synonyms=(
                                ConfigSynonym(
                                    "log.retention.ms", "5", ConfigSource.STATIC_BROKER
                                ),
                            ),
                            documentation=since(3, v, "How long."),
                        )
                    }
                )
            },
            throttle=0.25,
        ),
    ),
    Exchange(
        "incremental_alter_configs",
        range(2),
        lambda _: IncrementalAlterConfigs(
            {
                TOPIC: {
                    "a": Set("1"),
                    "b": Delete(),
                    "c": Append("x"),
                    "d": Subtract("y"),
                    "e": Set(Secret("hidden")),
                }
            },
            validate_only=True,
        ),
        {
            "resources": (
                {
                    "resource_type": 2,
                    "resource_name": "orders",
                    "configs": (
                        {"name": "a", "config_operation": 0, "value": "1"},
                        {"name": "b", "config_operation": 1, "value": None},
                        {"name": "c", "config_operation": 2, "value": "x"},
                        {"name": "d", "config_operation": 3, "value": "y"},
                        {"name": "e", "config_operation": 0, "value": "hidden"},
                    ),
                },
            ),
            "validate_only": True,
        },
        {
            **THROTTLED,
            "responses": (
                {
                    "error_code": 0,
                    "error_message": None,
                    "resource_type": 2,
                    "resource_name": "orders",
                },
            ),
        },
        lambda _: ItemsAnswer({TOPIC: ItemAnswer()}, throttle=0.25),
    ),
    Exchange(
        "list_config_resources",
        range(2),
        lambda v: ListConfigResources(
            (ResourceKind.CLIENT_METRICS, *since(1, v, (ResourceKind.GROUP,), ()))
        ),
        {"resource_types": (16, 32)},
        {
            **THROTTLED,
            "error_code": 0,
            "config_resources": ({"resource_name": "m", "resource_type": 16},),
        },
        lambda _: ItemsAnswer(
            {WHOLE: ItemAnswer(value=(ConfigResource.client_metrics("m"),))}, throttle=0.25
        ),
    ),
    Exchange(
        "describe_topic_partitions",
        range(1),
        lambda _: DescribeTopicPartitions(("a", "b"), 2000, TopicPartition("a", 7)),
        {
            "topics": ({"name": "a"}, {"name": "b"}),
            "response_partition_limit": 2000,
            "cursor": {"topic_name": "a", "partition_index": 7},
        },
        {
            **THROTTLED,
            "topics": (
                {
                    "error_code": 0,
                    "name": "a",
                    "topic_id": ID,
                    "is_internal": False,
                    "partitions": (
                        {
                            "error_code": 0,
                            "partition_index": 7,
                            "leader_id": 1,
                            "leader_epoch": 5,
                            "replica_nodes": (1, 2),
                            "isr_nodes": (1,),
                            "eligible_leader_replicas": None,
                            "last_known_elr": None,
                            "offline_replicas": (2,),
                        },
                    ),
                    "topic_authorized_operations": -(1 << 31),
                },
            ),
            "next_cursor": {"topic_name": "b", "partition_index": 0},
        },
        lambda _: TopicPage(
            (
                TopicMetadata(
                    0, "a", ID, False, (PartitionMetadata(7, 0, 1, 5, (1, 2), (1,), (2,)),)
                ),
            ),
            TopicPartition("b", 0),
            0.25,
        ),
    ),
    Exchange(
        "describe_cluster",
        range(3),
        lambda v: DescribeCluster(operations=True, fenced=since(2, v, True, False)),
        {
            "include_cluster_authorized_operations": True,
            "endpoint_type": 1,
            "include_fenced_brokers": True,
        },
        {
            **THROTTLED,
            "error_code": 0,
            "error_message": None,
            "endpoint_type": 1,
            "cluster_id": "c-1",
            "controller_id": 1,
            "brokers": (
                {"broker_id": 2, "host": "b", "port": 2, "rack": "r", "is_fenced": True},
                {"broker_id": 1, "host": "a", "port": 1, "rack": None, "is_fenced": False},
            ),
            "cluster_authorized_operations": 1 << 8,
        },
        lambda v: ItemsAnswer(
            {
                WHOLE: ItemAnswer(
                    value=ClusterDescription(
                        "c-1",
                        Node(1, "a", 1),
                        since(
                            2,
                            v,
                            (Node(1, "a", 1),),
                            (Node(1, "a", 1), Node(2, "b", 2, "r")),
                        ),
                        since(2, v, (Node(2, "b", 2, "r"),), ()),
                        frozenset({AclOperation.DESCRIBE}),
                    )
                )
            },
            throttle=0.25,
        ),
    ),
)
