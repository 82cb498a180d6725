"""Prints what the calls of confluent-kafka's administrator return."""

import time
import warnings

from prokurist.compat.confluent_kafka import (
    OFFSET_END,
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    IsolationLevel,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from prokurist.compat.confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

CLUSTER = {"bootstrap.servers": "localhost:9092"}
admin = AdminClient(CLUSTER)
TOPIC, OTHER, GROUP = "shipping", "invoices", "billing"
KEYS = ("retention.ms", "cleanup.policy", "segment.bytes")


def told(futures, value=lambda value: value):
    """What each future has come to."""
    for key in sorted(futures, key=str):
        try:
            print("  ", key if isinstance(key, str) else type(key).__name__, end=": ")
            print(value(futures[key].result(20)))
        except KafkaException as error:
            print("refused:", error.args[0].name(), error.args[0].code())


def refused(call):
    """The kind of exception that a call raises."""
    try:
        print("returned", call())
    except (AttributeError, TypeError, ValueError) as error:
        print("refused:", type(error).__name__)


def keys_of(found):
    """Keys of a configuration, with their values and origins."""
    return [
        (
            each.name,
            each.value,
            ConfigSource(each.source).name,
            each.is_default,
            each.is_read_only,
        )
        for each in (found[key] for key in KEYS)
    ]


def changed(name, value, operation):
    """A change of one key."""
    return ConfigEntry(name, value, incremental_operation=operation)


def settled():
    """Brokers learn of a change a moment later."""
    time.sleep(1)


def topics():
    """Topics are created, checked, grown and described."""
    made = [
        NewTopic(TOPIC, 2, 1, config={"retention.ms": "100000"}),
        NewTopic(OTHER, 1),
        NewTopic("bad/name", 1),
        NewTopic("many", 1, 5),
        NewTopic("odd", 1, config={"no.such.key": "1"}),
    ]
    told(admin.create_topics(made, operation_timeout=10))
    told(admin.create_topics([NewTopic(TOPIC, 1)], request_timeout=10))
    told(admin.create_topics([NewTopic("checked", 1), NewTopic(TOPIC)], validate_only=True))
    settled()
    told(admin.create_partitions([NewPartitions(TOPIC, 3), NewPartitions(OTHER, 1)]))
    settled()
    found = admin.describe_topics(TopicCollection([TOPIC]), include_authorized_operations=True)
    told(
        found,
        lambda each: (
            each.name,
            each.is_internal,
            len(str(each.topic_id)),
            [
                (part.id, part.leader.id, len(part.replicas), len(part.isr))
                for part in each.partitions
            ],
            sorted(operation.name for operation in each.authorized_operations),
        ),
    )
    told(admin.describe_topics(TopicCollection(["nowhere"])))
    cluster = admin.list_topics(timeout=10)
    print("topics:", TOPIC in cluster.topics, "checked" in cluster.topics)
    print("cluster:", len(cluster.cluster_id), cluster.controller_id in cluster.brokers)
    print("one:", sorted(admin.list_topics(TOPIC, timeout=10).topics[TOPIC].partitions))
    found = admin.describe_cluster(include_authorized_operations=True).result(20)
    print("cluster:", found.cluster_id == admin.cluster_id(10), len(found.nodes))
    print(sorted(each.name for each in found.authorized_operations), found.controller.id)


def configs():
    """Configurations are described, altered, and set as a whole."""
    topic = ConfigResource(ResourceType.TOPIC, TOPIC)
    told(admin.describe_configs([topic, ConfigResource("topic", "nowhere")]), keys_of)
    more = [
        changed("cleanup.policy", "compact", AlterConfigOpType.APPEND),
        changed("retention.ms", None, AlterConfigOpType.DELETE),
        changed("segment.bytes", "1048576", AlterConfigOpType.SET),
    ]
    wrong = [changed("retention.ms", "x", AlterConfigOpType.SET)]
    resources = [
        ConfigResource("topic", TOPIC, incremental_configs=more),
        ConfigResource("TOPIC", OTHER, incremental_configs=wrong),
    ]
    told(admin.incremental_alter_configs(resources))
    settled()
    told(admin.describe_configs([topic]), keys_of)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        whole = ConfigResource("topic", TOPIC, set_config={"retention.ms": "200000"})
        told(admin.alter_configs([whole]))
    settled()
    told(admin.describe_configs([topic]), keys_of)
    [entries] = [each.result(20) for each in admin.describe_configs([topic]).values()]
    print(sorted((each.name, each.value) for each in entries["retention.ms"].synonyms.values()))


def records():
    """Offsets are looked up, and records deleted."""
    producer = Producer(CLUSTER)
    for number in range(6):
        producer.produce(TOPIC, b"value", partition=0, timestamp=1_700_000_000_000 + number)
    producer.flush(30)
    first, second = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)

    def place(found):
        return found.offset, found.timestamp

    for specs in (
        {first: OffsetSpec.latest(), second: OffsetSpec.earliest()},
        {first: OffsetSpec.max_timestamp()},
        {first: OffsetSpec.for_timestamp(1_700_000_000_003)},
        {second: OffsetSpec.for_timestamp(5)},
    ):
        told(admin.list_offsets(specs, isolation_level=IsolationLevel.READ_COMMITTED), place)
    for wanted in (4, 99, 2, OFFSET_END):
        told(
            admin.delete_records([TopicPartition(TOPIC, 0, wanted)]),
            lambda found: found.low_watermark,
        )
    for arguments in ([first, TopicPartition(TOPIC, 77)],), (None,):
        found = admin.elect_leaders(ElectionType.PREFERRED, *arguments).result(20)
        print("elected:", sorted((tp.partition, error.name()) for tp, error in found.items()))


def groups():
    """Offsets of groups are altered and looked up, and groups listed, described, deleted."""
    reader = Consumer({**CLUSTER, "group.id": GROUP})
    while True:
        # A coordinator that is just begun refuses, and librdkafka does not ask again.
        try:
            reader.committed([TopicPartition(TOPIC, 0)], timeout=20)
            break
        except KafkaException:
            time.sleep(0.2)
    reader.close()

    def places(found):
        return [
            (tp.partition, tp.offset, tp.metadata, tp.error and tp.error.name())
            for tp in found.topic_partitions
        ]

    def group(*partitions):
        return [ConsumerGroupTopicPartitions(GROUP, list(partitions) or None)]

    offsets = [TopicPartition(TOPIC, 0, 3, "note"), TopicPartition(TOPIC, 1, 5)]
    told(admin.alter_consumer_group_offsets(group(*offsets)), places)
    told(admin.alter_consumer_group_offsets(group(TopicPartition("nowhere", 0, 5))), places)
    told(admin.list_consumer_group_offsets(group()), places)
    named = group(TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 7))
    told(admin.list_consumer_group_offsets(named, require_stable=True), places)

    def described(found):
        members = [
            (each.client_id, len(each.assignment.topic_partitions), each.group_instance_id)
            for each in found.members
        ]
        return (
            found.state.name,
            found.type.name,
            found.is_simple_consumer_group,
            found.partition_assignor,
            members,
        )

    told(admin.describe_consumer_groups([GROUP, "nowhere"]), described)
    member = Consumer({**CLUSTER, "group.id": f"{GROUP}-live", "client.id": "me"})
    member.subscribe([TOPIC])
    while not member.assignment():
        member.poll(0.2)
    told(admin.describe_consumer_groups([f"{GROUP}-live"]), described)

    def listed(**keywords):
        found = admin.list_consumer_groups(**keywords).result(20)
        mine = [each for each in found.valid if each.group_id.startswith(GROUP)]
        print(
            "groups:",
            sorted((each.group_id, each.state.name, each.type.name) for each in mine),
            [each.is_simple_consumer_group for each in mine if each.group_id == GROUP],
            found.errors,
        )

    listed()
    listed(states={ConsumerGroupState.EMPTY})
    listed(states={ConsumerGroupState.STABLE}, types={ConsumerGroupType.CLASSIC})
    [found] = admin.list_groups(f"{GROUP}-live", timeout=10)
    print("group:", found.state, found.protocol_type, found.protocol, len(found.members))
    live = ConsumerGroupTopicPartitions(f"{GROUP}-live", [TopicPartition(TOPIC, 0, 3)])
    told(admin.alter_consumer_group_offsets([live]), places)
    told(admin.delete_consumer_groups([f"{GROUP}-live", GROUP, "nowhere"]))
    member.close()
    told(admin.delete_consumer_groups([f"{GROUP}-live"]))


def misuse():
    """Wrong arguments are refused at once."""
    for call in (
        lambda: admin.create_topics([]),
        lambda: admin.create_topics([NewTopic(TOPIC, -5)]),
        lambda: admin.create_topics([NewTopic(TOPIC, 2, 1, [[1], [2]])]),
        lambda: admin.create_topics([NewTopic(TOPIC)], operation_timeout=-1),
        lambda: admin.create_topics([NewTopic(TOPIC)], no_such=1),
        lambda: admin.delete_topics([]),
        lambda: admin.delete_topics("one"),
        lambda: admin.describe_topics([TOPIC]),
        lambda: admin.describe_configs([TOPIC]),
        lambda: admin.incremental_alter_configs([TOPIC]),
        lambda: admin.incremental_alter_configs([ConfigResource("topic", TOPIC)]),
        lambda: admin.elect_leaders(1),
        lambda: admin.list_consumer_groups(states=[1]),
        lambda: admin.describe_consumer_groups([]),
        lambda: admin.list_consumer_group_offsets([]),
        lambda: admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP)]),
        lambda: NewTopic(1),
        lambda: NewTopic(TOPIC, config=1),
        lambda: ConfigResource("no such", TOPIC),
        lambda: ConfigResource(ResourceType.TOPIC, None),
        AdminClient,
    ):
        refused(call)
    print(NewTopic(TOPIC, 3), NewPartitions(TOPIC, 3), NewTopic(TOPIC, 1) < NewTopic(TOPIC, 2))


topics()
configs()
records()
groups()
misuse()
told(admin.delete_topics([TOPIC, OTHER], operation_timeout=10))
with AdminClient(CLUSTER) as closed:
    print("left:", len(closed))
try:
    closed.delete_topics([TOPIC])
except RuntimeError as error:
    print(type(error).__name__)
