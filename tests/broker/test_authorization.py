"""A real Kafka with an authorizer: what it refuses, by name; and when it thinks better of it.

Any client may do everything that no rule speaks of; each test adds a rule that denies.
"""

from collections.abc import Callable, Iterator

import pytest

from prokurist import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition, errors
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Asking
from tests.broker.ruled_kafka import forget_rules, rule, ruled_kafka
from tests.broker.watching import Watch, soon

pytestmark = pytest.mark.kafka

OPEN, SECRET, HIDDEN = (TopicPartition(name, 0) for name in ("open", "secret", "hidden"))
ALL = {tp: OffsetAndMetadata(1) for tp in (OPEN, SECRET, HIDDEN)}

Rule = Callable[[str, str], None]


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    """Where every topic of these tests is."""
    with ruled_kafka() as own:
        for tp in ALL:
            own.create_topic(tp.topic)
        yield own


@pytest.fixture
def deny(kafka: RealKafka, eventually: Asking) -> Iterator[Rule]:
    """Deny any client everything about a topic or a group; it is undone after the test."""

    def add(kind: str, name: str) -> None:
        rule(kafka, "DENY", (kind, name, "ALL"))

    yield add
    forget_rules(kafka, eventually)


@pytest.fixture
def consumer(kafka: RealKafka) -> Iterator[KafkaConsumer]:
    """A consumer of that Kafka."""
    with KafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id="billing") as it:
        yield it


def refused(call: Callable[[], object], error: type[Exception]) -> bool:
    """Whether a call is refused now, at once; a rule takes a moment to be in force."""
    with soon():
        try:
            call()
        except error:
            return True
        return False


def test_all_topics_that_may_not_be_committed_to_are_in_one_error(
    consumer: KafkaConsumer, deny: Rule, eventually: Asking
) -> None:
    """B48: one TopicAuthorization that lists all of them, at once."""
    deny("TOPIC", "secret")
    deny("TOPIC", "hidden")

    def both_named() -> bool:
        with pytest.raises(errors.TopicAuthorizationException) as caught:
            consumer.commit_sync(ALL, timeout=60)
        return sorted(caught.value.topics) == ["hidden", "secret"]

    eventually(lambda: refused(lambda: consumer.commit_sync(ALL), errors.KafkaException))
    eventually(both_named)


def test_a_group_that_may_not_be_used_is_named(
    consumer: KafkaConsumer, deny: Rule, eventually: Asking
) -> None:
    """B49, B260: GroupAuthorization with the group's name, for commits and look-ups alike."""
    consumer.commit_sync(ALL, timeout=20)
    deny("GROUP", "billing")
    denied = errors.GroupAuthorizationException
    eventually(lambda: refused(lambda: consumer.commit_sync(ALL), denied))
    for call in (
        lambda: consumer.commit_sync(ALL, timeout=60),
        lambda: consumer.committed(OPEN, timeout=60),
    ):
        with pytest.raises(denied, match="billing") as caught:
            call()
        assert caught.value.group_id == "billing"


def test_a_topic_that_may_not_be_read_is_named_by_every_look_up(
    consumer: KafkaConsumer, deny: Rule, eventually: Asking
) -> None:
    """B86, B199, B258, B260: at once, not at the deadline; others are not concerned."""
    deny("TOPIC", "secret")
    denied = errors.TopicAuthorizationException
    eventually(lambda: refused(lambda: consumer.end_offsets(SECRET), denied))
    consumer.assign([SECRET, OPEN])
    consumer.seek_to_end()
    for call in (
        lambda: consumer.end_offsets([SECRET, OPEN], timeout=60),
        lambda: consumer.offsets_for_times({SECRET: 0}, timeout=60),
        lambda: consumer.partitions_for("secret", timeout=60),
        lambda: consumer.position(SECRET, timeout=60),
        lambda: consumer.poll(60),
    ):
        with soon(), pytest.raises(denied, match="secret") as caught:
            call()
        assert caught.value.topics == ("secret",)
    assert consumer.position(OPEN, timeout=20) == 0
    assert "secret" not in consumer.list_topics(timeout=20)


def test_what_is_allowed_later_works_with_the_same_client(
    kafka: RealKafka, consumer: KafkaConsumer, deny: Rule, eventually: Asking
) -> None:
    """B201: the next call asks again, and does not believe what it heard before."""
    deny("TOPIC", "secret")
    denied = errors.TopicAuthorizationException
    eventually(lambda: refused(lambda: consumer.partitions_for("secret"), denied))
    forget_rules(kafka, eventually)
    eventually(lambda: not refused(lambda: consumer.partitions_for("secret"), denied))
    assert consumer.end_offsets(SECRET, timeout=20) == {SECRET: 0}
    consumer.commit_sync(ALL, timeout=20)


def test_records_are_written_and_read_once_that_is_allowed(
    kafka: RealKafka, deny: Rule, eventually: Asking
) -> None:
    """B440, B490: by clients that were refused; `metadata.max.age.ms` is not waited for."""
    deny("TOPIC", "secret")
    denied = errors.TopicAuthorizationException
    with (
        KafkaProducer(bootstrap_servers=kafka.bootstrap) as producer,
        KafkaConsumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="latest") as reader,
    ):

        def send() -> None:
            producer.send("secret", b"value", partition=0).result(20)

        eventually(lambda: refused(send, denied))
        reader.assign([SECRET])
        eventually(lambda: refused(lambda: reader.poll(0.5), denied))
        forget_rules(kafka, eventually)
        eventually(lambda: not refused(send, denied))
        eventually(lambda: not refused(lambda: reader.position(SECRET, timeout=5), denied))
        eventually(lambda: not refused(lambda: reader.poll(0.5), denied))
        send()
        eventually(lambda: reader.poll(0.5))


def test_without_rights_in_the_group_what_needs_none_works(
    consumer: KafkaConsumer, deny: Rule, eventually: Asking
) -> None:
    """B49, B258: only commits and what was committed need it; seek and look-ups do not."""
    deny("GROUP", "billing")
    denied = errors.GroupAuthorizationException
    eventually(lambda: refused(lambda: consumer.committed(OPEN), denied))
    consumer.assign(OPEN)
    consumer.seek_to_beginning()
    assert consumer.position(OPEN, timeout=20) == 0
    assert not consumer.poll(0.1)
    consumer.seek_to_end()
    consumer.unsubscribe()
    consumer.assign(OPEN)
    with pytest.raises(denied, match="billing"):
        consumer.position(OPEN, timeout=20)


def test_who_is_not_let_into_the_group_hears_that_alone(
    kafka: RealKafka, deny: Rule, eventually: Asking
) -> None:
    """B143: from every poll, until `unsubscribe`; then what needs no group works."""
    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        group_id="members",
        group_protocol="consumer",
        enable_auto_commit=False,
    ) as consumer:
        deny("GROUP", "members")
        outside = errors.GroupAuthorizationException
        eventually(lambda: refused(lambda: consumer.committed(OPEN), outside))
        consumer.subscribe("open")
        with pytest.raises(outside, match="members"):
            consumer.poll(60)
        for _ in range(3):
            with Watch(0.0), pytest.raises(outside, match="members"):
                consumer.poll(25)
        consumer.unsubscribe()
        consumer.assign(OPEN)
        consumer.seek_to_beginning()
        assert consumer.position(OPEN, timeout=20) == 0


def test_a_transactional_id_that_may_not_be_used(
    kafka: RealKafka, deny: Rule, eventually: Asking
) -> None:
    """B574: named by each error; the same producer goes on once the right is granted."""
    kind, missing = errors.TransactionalIdAuthorizationException, "transactional.id=refused:"
    with KafkaProducer(
        bootstrap_servers=kafka.bootstrap, transactional_id="refused"
    ) as producer:
        deny("TRANSACTIONAL_ID", "refused")
        with KafkaProducer(
            bootstrap_servers=kafka.bootstrap, transactional_id="refused"
        ) as another:
            eventually(lambda: refused(lambda: another.init_transactions(5.0), kind))
        with pytest.raises(kind, match=missing) as raised:
            producer.init_transactions(20.0)
        assert not raised.value.fatal
        forget_rules(kafka, eventually)
        eventually(lambda: not refused(lambda: producer.init_transactions(5.0), kind))
        with producer.transaction(20.0):
            producer.send("open", b"v")
