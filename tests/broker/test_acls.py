"""The rights that docs/howto/operations.md asks for: they are enough, and none is too much.

A resource with a rule refuses all that no rule of it allows, so topic and group have rules of
their own here. Of the cluster, on which the node itself needs rights under the same name, what
idempotent producers needed before Kafka 3.0 is denied.
"""

import json
from collections.abc import Iterator

import pytest

from prokurist import (
    KafkaConsumer,
    KafkaProducer,
    LogEvent,
    OffsetAndMetadata,
    TopicPartition,
    errors,
)
from prokurist.cli.entry import DONE, main
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Asking
from tests.broker.ruled_kafka import Right, rule, ruled_kafka
from tests.broker.watching import once_a_minute

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    """Where the node itself is allowed all but what producers needed once."""
    with ruled_kafka() as own:
        allow(own, ("BROKER", "kafka-cluster", "ALL"))
        rule(own, "DENY", ("BROKER", "kafka-cluster", "IDEMPOTENT_WRITE"))
        yield own


@pytest.fixture
def name(kafka: RealKafka) -> str:
    """A topic of the test's own with a record in it; a group is called alike."""
    name = kafka.unique_topic("acl")
    with KafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
        producer.send(name, b"first").result(20)
    return name


def allow(kafka: RealKafka, *rights: Right) -> None:
    """Allow these, and of their resources nothing else."""
    rule(kafka, "ALLOW", *rights)


def consumer_rights(name: str) -> tuple[Right, ...]:
    """What the page asks for a consumer."""
    return ("TOPIC", name, "READ"), ("GROUP", name, "READ")


def reader(kafka: RealKafka, group: str, protocol: str) -> KafkaConsumer:
    """A consumer that reads from the beginning."""
    return KafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        group_id=group,
        group_protocol=protocol,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_consumer_needs_read_of_topics_and_group(
    kafka: RealKafka, name: str, protocol: str
) -> None:
    """It joins, reads, commits, looks up and leaves."""
    allow(kafka, *consumer_rights(name))
    with reader(kafka, name, protocol) as consumer:
        consumer.subscribe(name)
        record = consumer.next(20.0)
        assert record is not None
        consumer.commit_sync(timeout=20)
        (tp,) = consumer.assignment()
        assert consumer.committed(tp, timeout=20)
        assert consumer.end_offsets(tp, timeout=20)
        assert consumer.partitions_for(name, timeout=20)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_commit_after_the_right_was_taken_away_says_so(
    kafka: RealKafka, name: str, protocol: str
) -> None:
    """B413: it does not say that a poll would rejoin."""
    allow(kafka, *consumer_rights(name))
    with reader(kafka, name, protocol) as consumer:
        consumer.subscribe(name)
        record = consumer.next(20.0)
        assert record is not None
        tp = TopicPartition(record.topic, record.partition)
        rule(kafka, "DENY", ("GROUP", name, "READ"))
        with pytest.raises(errors.GroupAuthorizationException) as ended:
            consumer.poll(60.0)
        with pytest.raises(errors.CommitFailedException, match=f"group {name}") as refused:
            consumer.commit_sync({tp: OffsetAndMetadata(1)}, timeout=20)
        assert refused.value.__cause__ is ended.value


def test_commits_that_go_on_failing_are_told_once_a_minute(
    kafka: RealKafka, name: str, eventually: Asking, caplog: pytest.LogCaptureFixture
) -> None:
    """B419: in the log and for `on_event`; `on_committed` hears of each."""
    heard: list[errors.KafkaException | None] = []
    told: list[LogEvent] = []
    allow(kafka, *consumer_rights(name))
    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        group_id=name,
        auto_offset_reset="earliest",
        auto_commit_interval_ms=100,
        on_committed=lambda _, error: heard.append(error),
        on_event=told.append,
    ) as consumer:
        consumer.assign(TopicPartition(name, 0))
        assert consumer.next(20.0)
        eventually(lambda: (consumer.poll(0.1), None in heard)[1])
        rule(kafka, "DENY", ("GROUP", name, "READ"))
        refused = errors.GroupAuthorizationException
        eventually(
            lambda: (
                (consumer.poll(0.1), sum(isinstance(each, refused) for each in heard))[1] > 4
            )
        )
    logged = [each for each in caplog.records if "automatic commit failed" in each.getMessage()]
    assert name in once_a_minute(logged)[0]
    assert [each.name for each in told].count("auto_commit_failed") == len(logged)


@pytest.mark.parametrize("without", ["TOPIC", "GROUP"])
def test_a_consumer_gets_on_with_no_less(
    kafka: RealKafka, name: str, without: str, eventually: Asking
) -> None:
    """DESCRIBE in the place of READ is refused, and the error names the resource."""
    rights = {kind: (kind, name, operation) for kind, name, operation in consumer_rights(name)}
    allow(kafka, *(rights | {without: (without, name, "DESCRIBE")}).values())
    expected: type[errors.KafkaException] = {
        "TOPIC": errors.TopicAuthorizationException,
        "GROUP": errors.GroupAuthorizationException,
    }[without]

    def is_refused() -> bool:
        with KafkaConsumer(
            bootstrap_servers=kafka.bootstrap, group_id=name, enable_auto_commit=False
        ) as consumer:
            consumer.subscribe(name)
            try:
                consumer.poll(5.0)
            except expected as error:
                return name in str(error)
            return False

    eventually(is_refused)


@pytest.mark.parametrize("idempotent", [True, False])
def test_a_producer_needs_write_of_topics(
    kafka: RealKafka,
    name: str,
    idempotent: bool,  # noqa: FBT001 - a parameter of the test
    eventually: Asking,
) -> None:
    """With idempotence no more than without; DESCRIBE alone is refused."""
    allow(kafka, ("TOPIC", name, "DESCRIBE"))

    def sends() -> bool:
        with KafkaProducer(
            bootstrap_servers=kafka.bootstrap, enable_idempotence=idempotent
        ) as producer:
            try:
                producer.send(name, b"second").result(10)
            except errors.TopicAuthorizationException:
                return False
            return True

    eventually(lambda: not sends())
    allow(kafka, ("TOPIC", name, "WRITE"))
    eventually(sends)


def test_a_producer_sees_a_grant_at_the_next_call(
    kafka: RealKafka, name: str, eventually: Asking
) -> None:
    """B440: the same client, long before `metadata.max.age.ms`."""
    allow(kafka, ("TOPIC", name, "CREATE"))

    def refusal(producer: KafkaProducer) -> errors.KafkaException | None:
        return producer.send(name, b"second").exception(10)

    denied = errors.TopicAuthorizationException

    def is_refused() -> bool:
        with KafkaProducer(bootstrap_servers=kafka.bootstrap) as fresh:
            return isinstance(refusal(fresh), denied)

    eventually(is_refused)
    with KafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
        assert isinstance(refusal(producer), denied)
        with pytest.raises(denied):
            producer.partitions_for(name, 10)
        allow(kafka, ("TOPIC", name, "WRITE"))
        eventually(lambda: refusal(producer) is None)
        assert producer.partitions_for(name, 10)


def test_lag_of_a_group_needs_describe_of_both(
    kafka: RealKafka, name: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """What `prokurist lag` asks, of a group that another program reads in."""
    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap, group_id=name, auto_offset_reset="earliest"
    ) as consumer:
        consumer.subscribe(name)
        assert consumer.next(20.0)
    allow(kafka, ("TOPIC", name, "DESCRIBE"), ("GROUP", name, "DESCRIBE"))
    assert main(["lag", "-b", kafka.bootstrap, "-J", "-G", name]) == DONE
    (row,) = map(json.loads, capfdbinary.readouterr().out.splitlines())
    assert (row["group"], row["topic"]) == (name, name)


def test_the_doctor_says_what_is_allowed(
    kafka: RealKafka,
    name: str,
    capfdbinary: pytest.CaptureFixture[bytes],
    eventually: Asking,
) -> None:
    """READ of the topic, DESCRIBE of the group: what is missing, and how to grant it."""
    rights = ("TOPIC", name, "READ"), ("GROUP", name, "DESCRIBE")
    allow(kafka, *rights)

    def step() -> dict[str, object]:
        main(["doctor", "-b", kafka.bootstrap, "-t", name, "-G", name, "-J"])
        rows = map(json.loads, capfdbinary.readouterr().out.splitlines())
        (found,) = [each for each in rows if each["step"] == "Rights"]
        return dict(found)

    told = f"User:ANONYMOUS may read and not write {name}; see and not use group {name}"
    eventually(lambda: step()["finding"] == told)
    found = step()
    assert found["verdict"] == "failed"
    assert f"--operation Read --group {name}" in str(found["advice"])
    rule(kafka, "ALLOW", ("GROUP", name, "READ"))
    eventually(lambda: step()["verdict"] == "ok")
    rule(kafka, "DENY", ("TOPIC", name, "ALL"))
    eventually(lambda: f"may not see {name};" in str(step()["finding"]))
