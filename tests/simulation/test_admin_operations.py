"""Operations of the admin client on the modelled cluster, with lost answers."""

from typing import Any

import pytest

from prokurist import TopicPartition
from prokurist.admin import (
    Append,
    ConfigChange,
    ConfigResource,
    ConfigSource,
    Delete,
    FeatureUpdate,
    KafkaAdmin,
    OffsetSpec,
    ResourceKind,
    Set,
)
from prokurist.admin.configs import change_of
from prokurist.config import Secret
from prokurist.errors import (
    BrokerNotAvailableException,
    IllegalStateException,
    InvalidConfigurationException,
    InvalidPartitionsException,
    InvalidReplicationFactorException,
    KafkaException,
    OffsetOutOfRangeException,
    TimeoutException,
    UnknownTopicOrPartitionException,
)
from tests.simulation.world import World

pytestmark = pytest.mark.usefixtures("closed_at_the_end")

TOPIC = ConfigResource.topic("orders")


@pytest.fixture
def world() -> World:
    """Three brokers."""
    return World(nodes=3)


@pytest.fixture
def admin(world: World) -> KafkaAdmin:
    """An admin client that knows them."""
    admin = world.admin()
    admin.describe_cluster()
    world.control.forget_requests()
    return admin


def error_of(call: Any) -> KafkaException:
    """The error that a call raises, which it must."""
    with pytest.raises(KafkaException) as raised:
        call()
    return raised.value


def test_a_lost_answer_to_a_deletion_is_judged(world: World, admin: KafkaAdmin) -> None:
    """B601: the repetition says that no topic has the id: this call has deleted it."""
    topic_id = world.cluster.state.topics["orders"].id
    world.control.cut("DeleteTopics", times=1, applied=True)
    deleted = admin.delete_topic("orders", timeout=10)
    assert deleted.earlier_attempt
    assert deleted.topic_id == topic_id
    assert "orders" not in world.cluster.state.topics


def test_a_repetition_deletes_no_topic_that_was_made_meanwhile(
    world: World, admin: KafkaAdmin
) -> None:
    """B601: the first attempt has deleted it; another client creates it again; it stays."""
    world.control.cut("DeleteTopics", times=1, applied=True)
    world.at(world.clock.time + 0.05, lambda: world.control.create_topic("orders", 1))
    assert admin.delete_topic("orders", timeout=10).earlier_attempt
    assert "orders" in world.cluster.state.topics


def test_a_topic_that_is_not_there_is_an_error(admin: KafkaAdmin) -> None:
    """B601: nothing was lost: that there is no such topic is an error."""
    error = error_of(lambda: admin.delete_topic("nope"))
    assert isinstance(error, UnknownTopicOrPartitionException)
    assert not error.may_have_happened


def test_a_deletion_is_awaited_at_all_brokers(world: World, admin: KafkaAdmin) -> None:
    """B607: by name and by id."""
    made = admin.create_topic("a", 1, wait=True)
    assert made.topic_id is not None
    world.control.delay_metadata(2.0, node=2)
    began = world.clock.time
    results = admin.delete_topics(["orders", made.topic_id], wait=True, timeout=10)
    assert all(each.visible for each in results.check().values())
    assert world.clock.time - began >= 2.0


def test_a_lost_answer_to_more_partitions_is_judged(world: World, admin: KafkaAdmin) -> None:
    """B601: it has as many as were asked for: this call has created them; not so more."""
    world.control.cut("CreatePartitions", times=1, applied=True)
    grown = admin.create_partitions({"orders": 5}, timeout=10)["orders"]
    assert grown.earlier_attempt
    assert grown.total == 5
    world.control.cut("CreatePartitions", times=1)
    results = admin.create_partitions({"orders": 4}, timeout=10)
    assert isinstance(results.errors["orders"], InvalidPartitionsException)


def test_configs_are_altered_key_by_key(world: World, admin: KafkaAdmin) -> None:
    """B611: set, appended to, deleted; repeated after a lost answer, with the same state."""
    world.control.cut("IncrementalAlterConfigs", times=1, applied=True)
    changes: dict[ConfigResource, dict[str, ConfigChange]] = {
        TOPIC: {"retention.ms": Set("5000"), "cleanup.policy": Append("compact")},
        ConfigResource.topic("nope"): {"retention.ms": Set("1")},
    }
    results = admin.alter_configs(changes, timeout=10)
    assert results[TOPIC] is None
    assert len(results.errors) == 1
    entries = admin.describe_configs([TOPIC], synonyms=True)[TOPIC]
    assert entries["retention.ms"].value == "5000"
    assert entries["retention.ms"].source is ConfigSource.TOPIC
    assert entries["cleanup.policy"].value == "delete,compact"
    admin.alter_configs({TOPIC: {"retention.ms": Delete()}}).check()
    keys = admin.describe_configs({TOPIC: ["retention.ms"]})[TOPIC]
    assert keys.keys() == {"retention.ms"}
    assert keys["retention.ms"].source is not ConfigSource.TOPIC


def test_a_refused_value_is_one_resources(world: World, admin: KafkaAdmin) -> None:
    """B611: the other resource is altered."""
    world.control.create_topic("a", 1)
    other = ConfigResource.topic("a")
    results = admin.alter_configs(
        {TOPIC: {"retention.ms": Set("many")}, other: {"retention.ms": Set("7")}}
    )
    assert isinstance(results.errors[TOPIC], InvalidConfigurationException)
    assert results[other] is None


def test_a_broker_is_asked_about_itself(world: World, admin: KafkaAdmin) -> None:
    """B611: what concerns one broker goes to that one."""
    resources = [ConfigResource.broker(2), ConfigResource.broker(3), TOPIC]
    results = admin.describe_configs(resources)
    assert results[ConfigResource.broker(2)]
    asked = [each.node for each in world.control.requests("DescribeConfigs")]
    assert len(asked) == 3
    assert {2, 3} <= set(asked)


def test_a_frozen_broker_fails_its_own_items(world: World, admin: KafkaAdmin) -> None:
    """B602: the configuration of broker 2 is missing at the deadline; the others are there."""
    world.control.freeze(2)
    results = admin.describe_configs(
        [ConfigResource.broker(2), ConfigResource.broker(3)], timeout=3
    )
    assert results[ConfigResource.broker(3)]
    error = results.errors[ConfigResource.broker(2)]
    assert isinstance(error, TimeoutException)
    assert "for broker 2 was given 3 s" in str(error)


@pytest.mark.parametrize("key", ["listener.name.x.ssl.keystore.password", "sasl.jaas.config"])
def test_secrets_are_in_no_text(key: str) -> None:
    """B611: a value that is one by its key is masked, also in the refusal of a plain str."""
    change = change_of(key, Set("hidden"))
    assert isinstance(change, Set)
    assert isinstance(change.value, Secret)
    assert "hidden" not in repr(change)
    with pytest.raises(TypeError) as raised:
        change_of(key, "hidden")
    assert "hidden" not in str(raised.value)
    assert change_of("retention.ms", Set("5")) == Set("5")


def test_config_resources_are_listed(admin: KafkaAdmin) -> None:
    """B611: those of a kind."""
    assert TOPIC in admin.list_config_resources([ResourceKind.TOPIC])
    with pytest.raises(TypeError, match="a kind is a ResourceKind"):
        admin.list_config_resources(["topic"])  # type: ignore[list-item]


def test_the_cluster_is_described(world: World, admin: KafkaAdmin) -> None:
    """B612: its brokers by id; also by Metadata where brokers lack the request."""
    cluster = admin.describe_cluster(operations=True)
    assert [each.id for each in cluster.brokers] == [1, 2, 3]
    assert cluster.operations
    world.control.withdraw("DescribeCluster")
    world.control.disconnect()
    older = admin.describe_cluster()
    assert older.brokers == cluster.brokers
    assert older.operations is None


def test_records_are_deleted_at_each_leader(world: World, admin: KafkaAdmin) -> None:
    """B613: the new start; beyond the end is an error of that partition, as is no partition."""
    first, second, nowhere = (TopicPartition("orders", number) for number in (0, 1, 9))
    for tp in (first, second):
        world.control.append(tp, *[b"v"] * 10)
    world.control.cut("DeleteRecords", times=1, applied=True)
    began = world.clock.time
    results = admin.delete_records({first: 4, second: 99, nowhere: 1}, timeout=20)
    assert results[first] == 4
    assert isinstance(results.errors[second], OffsetOutOfRangeException)
    assert isinstance(results.errors[nowhere], UnknownTopicOrPartitionException)
    assert world.clock.time - began < 5
    assert admin.delete_records({second: -1})[second] == 10
    found = admin.list_offsets({first: OffsetSpec.EARLIEST, second: OffsetSpec.LATEST})
    assert (found[first].offset, found[second].offset) == (4, 10)


def test_a_leader_that_moves_is_found_anew(world: World, admin: KafkaAdmin) -> None:
    """B613: between the look-up and the request; the others are not asked twice."""
    tps = [TopicPartition("orders", number) for number in range(3)]
    admin.list_offsets(dict.fromkeys(tps, OffsetSpec.LATEST)).check()
    world.control.move_leader(tps[0])
    world.control.forget_requests()
    assert admin.list_offsets(dict.fromkeys(tps, OffsetSpec.LATEST), timeout=5).check()
    assert len(world.control.requests("ListOffsets")) <= 4


def test_an_unclean_election_names_its_partitions(world: World, admin: KafkaAdmin) -> None:
    """B614: refused before anything is asked."""
    with pytest.raises(ValueError, match="name its partitions"):
        admin.elect_leaders(None, unclean=True)
    assert not world.control.requests()


def test_an_election_that_is_not_needed(world: World, admin: KafkaAdmin) -> None:
    """B614: it is no failure, and of an earlier attempt only where an answer was lost."""
    tp = TopicPartition("orders", 0)
    election = admin.elect_leaders([tp])[tp]
    assert not election.elected
    assert not election.earlier_attempt
    world.control.cut("ElectLeaders", times=1, applied=True)
    assert admin.elect_leaders([tp], timeout=10)[tp].earlier_attempt


def test_another_number_of_replicas_is_refused(world: World, admin: KafkaAdmin) -> None:
    """B615: unless it is allowed; no broker is asked to move anything."""
    tp = TopicPartition("orders", 0)
    have = len(world.cluster.state.topics["orders"].partitions[0].replicas)
    brokers = [1, 2, 3] if have != 3 else [1, 2]
    results = admin.reassign({tp: brokers})
    assert isinstance(results.errors[tp], InvalidReplicationFactorException)
    assert "allow_rf_change=True" in str(results.errors[tp])
    assert {str(each.api) for each in world.control.requests()} <= {"Metadata", "ApiVersions"}
    with pytest.raises(ValueError, match="each broker once"):
        admin.reassign({tp: [1, 1]})


def test_a_broker_that_is_not_there_is_an_error_of_its_own(admin: KafkaAdmin) -> None:
    """B616: it is asked for by its id."""
    results = admin.describe_log_dirs([7], timeout=5)
    assert isinstance(results.errors[7], BrokerNotAvailableException)


def test_the_living_are_not_unregistered(world: World, admin: KafkaAdmin) -> None:
    """B617: refused before anything but metadata is asked."""
    error = error_of(lambda: admin.unregister_broker(2))
    assert isinstance(error, IllegalStateException)
    assert {str(each.api) for each in world.control.requests()} <= {"Metadata", "ApiVersions"}
    with pytest.raises(ValueError, match="level 0 disables"):
        FeatureUpdate(0)


def test_partitions_come_page_by_page_while_topics_come_and_go(
    world: World, admin: KafkaAdmin
) -> None:
    """B618: each partition of a topic that stays comes once."""
    for number in range(20):
        world.control.create_topic(f"t-{number:02}", 10)
    seen: list[tuple[str, int]] = []
    for each in admin.iter_topic_partitions(page=7):
        seen.append((each.topic, each.partition))
        if len(seen) == 30:
            world.control.delete_topic("t-05")
            world.control.create_topic("t-00-new", 3)
            world.control.create_topic("t-18-new", 3)
    stable = {(f"t-{number:02}", each) for number in range(20) for each in range(10)}
    stable = {each for each in stable if each[0] != "t-05"}
    assert stable <= set(seen)
    assert len(seen) == len(set(seen))
    assert seen == sorted(seen)
    assert len(world.control.requests("DescribeTopicPartitions")) > 20
