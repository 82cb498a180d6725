"""Prints what the calls of kafka-python's administrator return."""

import time

from prokurist.compat.kafka import (
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    OffsetAndMetadata,
    OffsetSpec,
    TopicPartition,
)
from prokurist.compat.kafka.admin import (
    ConfigResource,
    ConfigResourceType,
    GroupState,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    OffsetTimestamp,
    UpdateFeatureType,
)
from prokurist.compat.kafka.errors import KafkaError

admin = KafkaAdminClient(bootstrap_servers=["localhost:9092"], request_timeout_ms=20_000)
TOPIC, OTHER, GROUP = "shipping", "invoices", "billing"
FIRST, SECOND = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
VARY = (
    "topic_id",
    "log_dir",
    "total_bytes",
    "usable_bytes",
    "member_id",
    "finalized_epoch",
    "partition_size",
)


def plain(value):
    """A value without what differs from run to run."""
    if isinstance(value, dict):
        known = {key: each for key, each in value.items() if key not in VARY}
        named = {
            "-".join(map(str, key)) if isinstance(key, tuple) else key: each
            for key, each in known.items()
        }
        return {key: plain(named[key]) for key in sorted(named)}
    if isinstance(value, list):
        items = [plain(each) for each in value]
        # A controller returns the answers about items in any order.
        return sorted(items, key=str) if isinstance(next(iter(items), None), dict) else items
    return value.__name__ if isinstance(value, type) else value


def told(name, *arguments, **keywords):
    """What a call returns, or the error that it raises."""
    try:
        found = getattr(admin, name)(*arguments, **keywords)
    except KafkaError as error:
        print(name, "refused:", type(error).__name__, error.errno)
    except (TypeError, ValueError) as error:
        print(name, "refused:", type(error).__name__)
    else:
        print(name, plain(found))


def coded(answer):
    """The codes of an answer by topic."""
    return sorted((each.name, each.error_code) for each in answer.results)


def created(*arguments, **keywords):
    """The topics of an answer, without their configurations."""
    try:
        found = admin.create_topics(*arguments, **keywords)["topics"]
    except (KafkaError, ValueError) as error:
        print("refused:", type(error).__name__)
        return
    for each in found:
        configs = each.pop("configs", {})
        print(plain(each), configs.get("retention.ms"))


def topics():
    """Topics are created, checked, grown and described."""
    created({TOPIC: {"num_partitions": 2, "configs": {"retention.ms": "100000"}}})
    created(["checked"], validate_only=True)
    created([NewTopic("third", 1, 1)], validate_only=True)
    created([OTHER])
    created({"bad/name": {}})
    created({TOPIC: {}, "checked": {}}, raise_errors=False, validate_only=True)
    created([])
    admin.wait_for_topics([TOPIC])
    print(TOPIC in admin.list_topics(), "checked" in admin.list_topics())
    told("describe_topics", [TOPIC])
    [found] = admin.describe_topics(["nowhere"])
    print(found["error_code"], found["name"], found["partitions"])
    print(coded(admin.create_partitions({TOPIC: 3})))
    print(coded(admin.create_partitions({TOPIC: NewPartitions(4)})))
    print(coded(admin.create_partitions({TOPIC: 1, "nowhere": 3}, raise_errors=False)))
    told("create_partitions", {TOPIC: 1})
    time.sleep(1)
    found = admin.describe_cluster()
    print(sorted(found), len(found["brokers"]), found["authorized_operations"])


def configs():
    """Configurations are described, altered and reset."""
    topic = ConfigResourceType.TOPIC
    told("describe_configs", [ConfigResource(topic, TOPIC)])
    keys = ConfigResource("topic", TOPIC, ["retention.ms"])
    told("describe_configs", [keys], include_synonyms=True)
    told("describe_configs", [keys], config_filter="default")
    changes = {"cleanup.policy": ("APPEND", "compact"), "retention.ms": "200000"}
    told("alter_configs", [ConfigResource(topic, TOPIC, changes)])
    told("alter_configs", [ConfigResource(topic, OTHER, {"retention.ms": "x"})])
    told("alter_configs", [ConfigResource(topic, TOPIC, {"no.such.key": "x"})])
    time.sleep(1)
    told("describe_configs", [ConfigResource(topic, TOPIC)])
    told("reset_configs", [ConfigResource(topic, TOPIC, ["retention.ms", "cleanup.policy"])])
    time.sleep(1)
    told("describe_configs", [ConfigResource(topic, TOPIC)])


def partitions():
    """Offsets are looked up, records deleted, leaders elected, replicas moved."""
    producer = KafkaProducer(bootstrap_servers="localhost:9092")
    for number in range(6):
        producer.send(TOPIC, b"value", partition=0, timestamp_ms=1_700_000_000_000 + number)
    producer.flush()
    producer.close()
    told("list_partition_offsets", {FIRST: OffsetSpec.LATEST, SECOND: OffsetSpec.EARLIEST})
    told("list_partition_offsets", {FIRST: OffsetTimestamp(1_700_000_000_003)})
    told("list_partition_offsets", {FIRST: OffsetSpec.MAX_TIMESTAMP})
    told("list_partition_offsets", {TopicPartition("nowhere", 0): OffsetSpec.LATEST})
    told("list_partition_offsets", {FIRST: "latest"})
    told("delete_records", {FIRST: 4})
    told("delete_records", {FIRST: 99})
    for numbers in ([0], [77]):
        answer = admin.elect_leaders(0, {TOPIC: numbers}, raise_errors=False)
        for each in answer.replica_election_results:
            print(
                each.topic,
                [(row.partition_id, row.error_code) for row in each.partition_result],
            )
    told("elect_leaders", 0, {TOPIC: [77]})
    told("alter_partition_reassignments", {SECOND: None, TopicPartition("nowhere", 1): [0]})
    told("list_partition_reassignments")
    told("describe_log_dirs", {TOPIC: [0]})
    [topic] = admin.describe_metadata_quorum()["topics"]
    print(topic["topic_name"], sorted(topic["partitions"][0]))
    told("describe_features")
    update = {"metadata.version": (UpdateFeatureType.SAFE_DOWNGRADE, 1)}
    told("update_features", update, validate_only=True)


def groups():
    """Offsets of groups are altered and looked up, and groups listed, described, deleted."""
    reader = KafkaConsumer(bootstrap_servers="localhost:9092", group_id=GROUP)
    reader.committed(FIRST)
    reader.close()
    told("alter_group_offsets", GROUP, {FIRST: OffsetAndMetadata(5, "note", -1)})
    told("list_group_offsets", GROUP)
    told("list_group_offsets", {GROUP: [FIRST, SECOND]})
    told("reset_group_offsets", GROUP, {FIRST: 1, SECOND: OffsetSpec.LATEST})
    told("describe_groups", [GROUP])
    print(admin.describe_groups(["nowhere"])["nowhere"]["group_state"])
    told("delete_group_offsets", GROUP, [SECOND])
    told("delete_group_offsets", "nowhere", [SECOND])
    member = KafkaConsumer(
        TOPIC, bootstrap_servers="localhost:9092", group_id=f"{GROUP}-live", client_id="me"
    )
    while not member.assignment():
        member.poll(1000)
    for keywords in ({}, {"states_filter": ["Empty"]}, {"states_filter": [GroupState.STABLE]}):
        found = admin.list_groups(**keywords)
        print(sorted(str(plain(each)) for each in found if each["group_id"].startswith(GROUP)))
    live = admin.describe_groups([f"{GROUP}-live"])[f"{GROUP}-live"]
    print(plain(live))
    told("alter_group_offsets", f"{GROUP}-live", {FIRST: OffsetAndMetadata(5, "", -1)})
    told("delete_group_offsets", f"{GROUP}-live", [FIRST])
    told("delete_groups", [f"{GROUP}-live", GROUP, "nowhere"])
    told("remove_group_members", f"{GROUP}-live", [MemberToRemove(group_instance_id="none")])
    member.close()


topics()
configs()
partitions()
groups()
told("delete_topics", ["nowhere"])
told("delete_topics", [OTHER, "nowhere"], raise_errors=False)
admin.close()
admin.close()
