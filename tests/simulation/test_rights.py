"""What a user may not do: by name, at once, on a connection that stays."""

import re
from contextlib import ExitStack
from typing import Any

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition, errors
from prokurist.assembly.security import credentials_of
from prokurist.config import ConsumerConfig
from prokurist.testing.cluster.sasl import Sasl
from tests.simulation.joining import grouped, heartbeats, member, settle
from tests.simulation.world import World

OPEN, SECRET = TopicPartition("open", 0), TopicPartition("secret", 0)
BOTH = {tp: OffsetAndMetadata(1) for tp in (OPEN, SECRET)}


def test_a_topic_that_may_not_be_read() -> None:
    """B258, B260, S49: every call names it, at once, and the connection is kept."""
    world = World(topics={"open": 1, "secret": 1})
    with world.consumer(group_id="g") as consumer:
        consumer.commit_sync({OPEN: OffsetAndMetadata(1)}, timeout=5.0)
        network = world.members[-1].network
        consumer.assign([SECRET])
        consumer.seek_to_end()
        with world.control.deny(topic="secret"):
            connects = network.connects
            for call in (
                lambda: consumer.position(SECRET, 60.0),
                lambda: consumer.commit_sync(BOTH, timeout=60.0),
                lambda: consumer.end_offsets(SECRET, timeout=60.0),
                lambda: consumer.poll(60.0),
            ):
                began = world.clock.time
                with pytest.raises(errors.TopicAuthorizationException) as refused:
                    call()
                assert refused.value.topics == ("secret",)
                assert world.clock.time - began < 1.0
            assert network.connects == connects
        assert consumer.position(SECRET, 5.0) == 0
        consumer.commit_sync(BOTH, timeout=5.0)


def test_a_group_that_may_not_be_used() -> None:
    """B258, B260: commits and what was committed name it; seek and read need no right in it."""
    world = World(topics={"open": 1, "secret": 1})
    with world.control.deny(group="g"), world.consumer(group_id="g") as consumer:
        consumer.assign([OPEN])
        consumer.seek_to_beginning()
        assert consumer.position(OPEN, 5.0) == 0
        assert not consumer.poll(1.0)
        for call in (
            lambda: consumer.commit_sync(BOTH, timeout=60.0),
            lambda: consumer.committed(OPEN, timeout=60.0),
        ):
            began = world.clock.time
            with pytest.raises(errors.GroupAuthorizationException) as refused:
                call()
            assert refused.value.group_id == "g"
            assert world.clock.time - began < 1.0


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_pattern_of_topics_that_may_not_be_seen(protocol: str) -> None:
    """B259: the member is in, has nothing, and no poll raises; allowed, it gets them."""
    world = grouped(secret=2)
    with ExitStack() as stack:
        denied = stack.enter_context(world.control.deny(topic="secret"))
        consumer = stack.enter_context(
            member(
                world, re.compile("sec.*"), metadata_max_age_ms=5000, group_protocol=protocol
            )
        )
        settle(consumer, seconds=10.0)
        assert not consumer.assignment()
        assert not consumer.subscription()
        denied.undo()
        settle(consumer, seconds=30.0)
        assert len(consumer.assignment()) == 2


WAYS = pytest.mark.parametrize("way", ["by hand", "classic", "consumer"])


def refused_reader(world: World, way: str, stack: ExitStack) -> KafkaConsumer:
    """A consumer of the secret topic, by hand or as a member."""
    keys: dict[str, Any] = {} if way == "by hand" else {"group_protocol": way}
    consumer = stack.enter_context(
        world.consumer(None, auto_offset_reset="earliest", enable_auto_commit=False, **keys)
    )
    if way == "by hand":
        consumer.assign([SECRET])
    else:
        consumer.subscribe("secret")
    return consumer


def poll_in_spite(consumer: KafkaConsumer, seconds: float) -> tuple[int, list[str]]:
    """How many records came in a while, and the names of the errors between them."""
    records, met = 0, []
    for _ in range(round(seconds / 0.1)):
        try:
            records += len(list(consumer.poll(0.1)))
        except errors.KafkaException as error:
            met.append(type(error).__name__)
    return records, met


@WAYS
@pytest.mark.parametrize("late", [False, True], ids=["from the beginning", "after a while"])
@pytest.mark.parametrize(
    ("code", "name"),
    [
        (29, "TopicAuthorizationException"),
        (17, "InvalidTopicException"),
        (-1, "UnknownServerException"),
    ],
)
def test_a_topic_that_was_refused_for_a_while(
    way: str,
    late: bool,  # noqa: FBT001
    code: int,
    name: str,
) -> None:
    """B490: it is read within two seconds, and not after `metadata.max.age.ms` alone."""
    world = grouped(secret=1)
    with ExitStack() as stack:
        refused = None if late else world.control.fail("Metadata", code, times=None)
        consumer = refused_reader(world, way, stack)
        if refused is None:
            poll_in_spite(consumer, 10.0)
            refused = world.control.fail("Metadata", code, times=None)
            world.members[0].side.metadata.request_update()
        assert set(poll_in_spite(consumer, 30.0)[1]) == {name}
        refused.undo()
        world.control.append(SECRET, b"v")
        assert poll_in_spite(consumer, 2.0)[0] == 1


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_right_that_is_granted_later(protocol: str) -> None:
    """B490: whatever the group has shared out meanwhile."""
    world = grouped(secret=1)
    world.control.append(SECRET, b"v")
    with ExitStack() as stack:
        denied = stack.enter_context(world.control.deny(topic="secret"))
        consumer = refused_reader(world, protocol, stack)
        assert poll_in_spite(consumer, 30.0)[0] == 0
        denied.undo()
        assert poll_in_spite(consumer, 2.0)[0] == 1


@pytest.mark.parametrize("subscribed", [False, True])
def test_a_consumer_without_any_rights(subscribed: bool) -> None:  # noqa: FBT001
    """B264: it is made and closed without an error, in time."""
    world = World(topics={"open": 1, "secret": 1})
    with world.control.deny(topic="open"), world.control.deny(group="g"):
        consumer = world.consumer(group_id="g")
        if subscribed:
            consumer.subscribe("open")
        began = world.clock.time
        consumer.close(2.0)
        assert world.clock.time - began <= 2.0


def test_what_is_fetched_may_be_seen_and_not_read() -> None:
    """B386: with DESCRIBE alone poll says that the right to read is missing."""
    world = World(topics={"open": 1, "secret": 1})
    with world.consumer() as consumer:
        consumer.assign([SECRET])
        consumer.seek_to_beginning()
        assert consumer.position(SECRET, 5.0) == 0
        world.control.fail("Fetch", 29, times=1)
        with pytest.raises(errors.TopicAuthorizationException, match="right to read") as told:
            consumer.poll(5.0)
        assert told.value.topics == ("secret",)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_that_lost_its_right_for_a_while(protocol: str) -> None:
    """B387: granted again, it leaves, and joins again within a second."""
    world = grouped()
    with member(world, group_protocol=protocol) as consumer:
        settle(consumer, seconds=10.0)
        assert len(consumer.assignment()) == 4
        with world.control.deny(group="g"), pytest.raises(errors.GroupAuthorizationException):
            settle(consumer, seconds=10.0)
        consumer.unsubscribe()
        if protocol == "classic":
            assert len(world.cluster.journal.entries("LeaveGroup")) == 1
        else:
            assert heartbeats(world)[-1].member_epoch == -1
        consumer.subscribe("orders")
        settle(consumer, seconds=1.0)
        assert len(consumer.assignment()) == 4


ANNA: dict[str, Any] = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_username": "anna",
    "sasl_password": "a-secret",
}
AS_ANNA = "(asked with sasl.username=anna)"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_refusal_says_with_which_name_was_asked(mechanism: str) -> None:
    """B258: of calls, of polls and of records sent, each once; never with the password."""
    world = World(topics={"open": 1, "secret": 1})
    world.cluster.sasl = Sasl({"anna": "a-secret"})
    keys = {**ANNA, "sasl_mechanism": mechanism}
    texts: list[str] = []
    with (
        world.control.deny(topic="secret"),
        world.consumer(group_id="g", **keys) as consumer,
        world.producer(**keys) as producer,
    ):
        consumer.assign([SECRET])
        consumer.seek_to_end()
        for call in (
            lambda: consumer.position(SECRET, 60.0),
            lambda: consumer.commit_sync(BOTH, timeout=60.0),
            lambda: consumer.end_offsets(SECRET, timeout=60.0),
            lambda: consumer.poll(60.0),
            lambda: producer.partitions_for("secret", 60.0),
            lambda: producer.send("secret", b"v").result(60.0),
        ):
            with pytest.raises(errors.TopicAuthorizationException) as refused:
                call()
            assert refused.value.topics == ("secret",)
            texts.append(str(refused.value))
        consumer.assign([OPEN])
        consumer.seek_to_beginning()
        assert consumer.position(OPEN, 5.0) == 0
        world.control.fail("Fetch", 29, times=1)
        with pytest.raises(errors.TopicAuthorizationException, match="right to read") as unread:
            consumer.poll(5.0)
        texts.append(str(unread.value))
        world.control.fail("Produce", 31, times=1)
        with pytest.raises(errors.ClusterAuthorizationException) as forbidden:
            producer.send("open", b"v").result(60.0)
        texts.append(str(forbidden.value))
    for text in texts:
        assert text.endswith(AS_ANNA)
        assert text.count("asked with") == 1
        assert "a-secret" not in text


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_each_poll_says_with_which_name_the_group_was_asked(protocol: str) -> None:
    """B258: once in its text, however often it is raised."""
    world = grouped()
    world.cluster.sasl = Sasl({"anna": "a-secret"})
    with (
        member(world, group_protocol=protocol, sasl_mechanism="PLAIN", **ANNA) as consumer,
        world.control.deny(group="g"),
    ):
        for _ in range(3):
            with pytest.raises(errors.GroupAuthorizationException) as refused:
                consumer.poll(5.0)
            assert str(refused.value).endswith(AS_ANNA)
            assert str(refused.value).count("asked with") == 1


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, "no credentials, by security.protocol=PLAINTEXT"),
        ({"security.protocol": "SSL"}, "no credentials, by security.protocol=SSL"),
        (
            {"security.protocol": "SSL", "ssl.certificate.location": "/etc/anna.pem"},
            "the certificate in ssl.certificate.location=/etc/anna.pem",
        ),
        (
            {"security.protocol": "SSL", "ssl.keystore.location": "/etc/anna.p12"},
            "the certificate in ssl.keystore.location=/etc/anna.p12",
        ),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.token.endpoint.url": "https://tokens",
                "sasl.oauthbearer.client.credentials.client.id": "anna",
                "sasl.oauthbearer.client.credentials.client.secret": "a-secret",
            },
            "sasl.oauthbearer.client.credentials.client.id=anna",
        ),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.token.endpoint.url": "file:///token",
            },
            None,
        ),
    ],
)
def test_what_brokers_know_a_client_by(keys: dict[str, str], said: str | None) -> None:
    """B258: names and places, no secrets; a token is the brokers' to read."""
    config = ConsumerConfig({"bootstrap.servers": "b:9092", **keys})
    assert credentials_of(config) == said
