"""The administrators of other clients' names, in virtual time."""

from typing import Any

import pytest

from prokurist.compat import kafka
from prokurist.compat.confluent_kafka import KafkaError, KafkaException, TopicPartition
from prokurist.compat.confluent_kafka.admin import (
    AdminClient,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)
from prokurist.compat.confluent_kafka.settings import admin_settings
from prokurist.compat.kafka import errors
from prokurist.compat.kafka.settings import admin_settings as kafka_settings
from prokurist.errors import TimeoutException
from tests.simulation.world import World

pytestmark = pytest.mark.usefixtures("closed_at_the_end")
SERVERS = {"bootstrap.servers": "localhost:1"}


def confluent(world: World, **keys: Any) -> AdminClient:
    """confluent-kafka's administrator, in virtual time."""
    settings = admin_settings(SERVERS, keys)
    rest = {key: settings.rest[key] for key in settings.rest if key not in SERVERS}
    return AdminClient.over(world.admin(**rest), settings, world.clock)


def python(world: World, **keys: Any) -> kafka.KafkaAdminClient:
    """kafka-python's administrator, in virtual time."""
    rest, found = kafka_settings({"bootstrap_servers": "localhost:1", **keys})
    del rest["bootstrap_servers"]
    wait = found.default_api_timeout_ms / 1000
    return kafka.KafkaAdminClient.over(world.admin(**rest), wait, world.clock)


def code_of(future: Any) -> str:
    """The name of the error of a future."""
    error = future.exception()
    assert isinstance(error, KafkaException)
    return str(error.args[0].name())


def test_each_topic_has_a_future_of_its_own() -> None:
    """B670: one is refused, with its number and the broker's text, and the other made."""
    world = World(topics={"orders": 1})
    made = confluent(world).create_topics([NewTopic("a", 2), NewTopic("orders", 1)])
    assert made["a"].result() is None
    assert code_of(made["orders"]) == "TOPIC_ALREADY_EXISTS"
    error = made["orders"].exception()
    assert error is not None
    assert error.args[0] == KafkaError.TOPIC_ALREADY_EXISTS
    assert "orders" in error.args[0].str()
    assert len(world.cluster.state.topics["a"].partitions) == 2


def test_a_lost_answer_is_a_success() -> None:
    """B671: the topic is there, and the future says so, where there is `_TRANSPORT`."""
    world = World()
    client = confluent(world)
    world.control.cut("CreateTopics", times=1, applied=True)
    assert client.create_topics([NewTopic("a", 2)])["a"].result() is None
    assert "a" in world.cluster.state.topics


def test_futures_end_by_their_timeout() -> None:
    """B671: by `request_timeout`, else by `socket.timeout.ms`."""
    world = World()
    client = confluent(world, **{"socket.timeout.ms": 7000})
    client.cluster_id()
    world.control.freeze(1)
    began = world.clock.now()
    future = client.create_topics([NewTopic("a", 1)], request_timeout=2)["a"]
    assert code_of(future) == "_TIMED_OUT"
    assert world.clock.now() - began == pytest.approx(2, abs=0.01)
    error = future.exception()
    assert error is not None
    assert isinstance(error.__cause__, TimeoutException)
    began = world.clock.now()
    assert code_of(client.delete_topics(["a"])["a"]) == "_TIMED_OUT"
    assert world.clock.now() - began == pytest.approx(7, abs=0.01)


def test_no_operation_timeout_still_makes_the_topic() -> None:
    """B671: librdkafka sends 0, and tells a success of a topic that is not made."""
    world = World()
    made = confluent(world).create_topics([NewTopic("a", 1)], operation_timeout=0)
    assert made["a"].result() is None
    assert "a" in world.cluster.state.topics


def test_whole_configurations_are_set() -> None:
    """B672: `alter_configs` resets what it does not name, with a warning."""
    world = World(topics={"orders": 1})
    client = confluent(world)
    topic = ConfigResource("topic", "orders", set_config={"retention.ms": "5"})
    with pytest.warns(DeprecationWarning, match="incremental_alter_configs"):
        client.alter_configs([topic])[topic].result()
    topic = ConfigResource("topic", "orders", set_config={"segment.ms": "60000"})
    with pytest.warns(DeprecationWarning, match="resets the keys"):
        client.alter_configs([topic])[topic].result()
    found: dict[str, ConfigEntry] = client.describe_configs([topic])[topic].result()
    assert (found["segment.ms"].value, found["segment.ms"].source) == ("60000", 1)
    assert found["retention.ms"].source != 1


WRONG: list[tuple[Any, type[Exception]]] = [
    (lambda client: client.create_topics([]), ValueError),
    (lambda client: client.create_topics("a"), TypeError),
    (lambda client: client.create_topics([NewTopic("a", 0)]), ValueError),
    (lambda client: client.create_topics([NewTopic("a", 2, 1, [[1], [2]])]), ValueError),
    (lambda client: client.create_topics([NewTopic("a")], request_timeout=-1), ValueError),
    (lambda client: client.create_topics([NewTopic("a")], request_timeout="1"), TypeError),
    (lambda client: client.create_partitions([NewPartitions("a", 0)]), ValueError),
    (lambda client: client.describe_topics(["a"]), TypeError),
    (lambda client: client.describe_configs(["a"]), ValueError),
    (lambda client: client.incremental_alter_configs(["a"]), TypeError),
    (
        lambda client: client.incremental_alter_configs([ConfigResource("topic", "a")]),
        ValueError,
    ),
    (lambda client: client.list_offsets([]), TypeError),
    (lambda client: client.delete_records([TopicPartition("a")]), ValueError),
    (lambda client: client.elect_leaders(1), TypeError),
    (lambda client: client.list_consumer_groups(states=[1]), TypeError),
    (lambda client: client.delete_consumer_groups([]), ValueError),
]


@pytest.mark.parametrize(("call", "kind"), WRONG, ids=map(str, range(len(WRONG))))
def test_wrong_arguments_are_refused(call: Any, kind: type[Exception]) -> None:
    """B670: at once, by the same kinds of exceptions as there; nothing is asked."""
    world = World()
    client = confluent(world)
    with pytest.raises(kind):
        call(client)
    assert not world.control.requests("CreateTopics")


def test_a_closed_administrator_is_refused() -> None:
    """B670: as there, by a RuntimeError; leaving the block closes it."""
    world = World()
    with confluent(world) as client:
        assert client.cluster_id()
        assert client.poll(0) == len(client) == 0
    with pytest.raises(RuntimeError, match="has been closed"):
        client.delete_topics(["a"])


def test_kafka_pythons_answers_are_dicts() -> None:
    """B673: of one topic that is made, and of one that is refused."""
    world = World(topics={"orders": 1})
    client = python(world)
    with pytest.raises(errors.TopicAlreadyExistsError) as raised:
        client.create_topics(["orders"])
    assert raised.value.errno == 36
    told = client.create_topics({"a": {"num_partitions": 2}, "orders": {}}, raise_errors=False)
    assert [(each["name"], each["error_code"]) for each in told["topics"]] == [
        ("a", 0),
        ("orders", 36),
    ]
    assert told["topics"][0]["num_partitions"] == 2
    assert [
        each["partition_index"] for each in client.describe_topics(["a"])[0]["partitions"]
    ] == [
        0,
        1,
    ]
    with pytest.raises(ValueError, match="one at least"):
        client.create_topics([])


def test_kafka_pythons_calls_end_in_time() -> None:
    """B673: by `timeout_ms`, else by `request_timeout_ms`."""
    world = World()
    client = python(world, request_timeout_ms=4000)
    client.list_topics()
    world.control.freeze(1)
    for timeout, wait in ((1500, 1.5), (None, 4.0)):
        began = world.clock.now()
        with pytest.raises(errors.KafkaTimeoutError):
            client.create_topics(["a"], timeout_ms=timeout)
        assert world.clock.now() - began == pytest.approx(wait, abs=0.01)


def test_kafka_pythons_topics_are_awaited() -> None:
    """B673: until they have leaders, or the time is over."""
    world = World()
    client = python(world)
    client.create_topics(["a"], wait_for_metadata=True)
    client.wait_for_topics(["a"])
    with pytest.raises(errors.KafkaTimeoutError, match="not ready after 300 ms"):
        client.wait_for_topics(["b"], timeout_ms=300)
