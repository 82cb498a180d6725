"""What the log says of clients of a real Kafka that do not get on, and how often it says so."""

import logging
import re
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from prokurist import KafkaConsumer, KafkaProducer, TopicPartition, errors
from prokurist.records.why_empty import EmptyCause
from prokurist.testing.kafka import RealKafka
from prokurist.types import MembershipState
from tests.broker.conftest import Producing
from tests.broker.watching import lines, when

pytestmark = pytest.mark.kafka

Eventually = Callable[..., Any]


@pytest.fixture(scope="module")
def strict(startable: None) -> Iterator[RealKafka]:  # noqa: ARG001 - it skips
    """One that creates no topic by itself."""
    with RealKafka(controls=True, auto_create_topics_enable=False) as kafka:
        yield kafka


@pytest.fixture
def healed(strict: RealKafka) -> Iterator[RealKafka]:
    """The same, with its faults undone before its clients are closed."""
    yield strict
    strict.heal()


def test_an_answer_that_is_not_whole_in_time(
    prokurist_kafka: RealKafka,
    prokurist_topic: str,
    producer_of: Producing,
    eventually: Eventually,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B415: how much of it had come, and what to turn; a line a minute, however often."""
    caplog.set_level(logging.INFO)
    tp = TopicPartition(prokurist_topic, 0)
    with KafkaConsumer(
        bootstrap_servers=prokurist_kafka.bootstrap,
        auto_offset_reset="earliest",
        request_timeout_ms=1000,
    ) as consumer:
        consumer.assign(tp)
        assert consumer.position(tp, timeout=60) == 0
        with prokurist_kafka.proxy().throttle(30_000, "to_client"):
            writer = producer_of(prokurist_kafka.direct_bootstrap, compression_type="none")
            writer.produce(tp.topic, bytes(900_000), partition=0)
            assert writer.flush(60) == 0

            def unfinished() -> list[str]:
                assert not consumer.poll(0.2)
                said = [each.getMessage() for each in caplog.records]
                return [each for each in said if "lost the conn" in each and "had come" in each]

            eventually(lambda: len(unfinished()) > 2)
        (line,) = lines(caplog, "answer_unfinished")[:1]
    found = re.search(
        r"(\d+) of (\d+) bytes of the answer to Fetch had come from broker 0", line
    )
    assert found, line
    assert 0 < int(found[1]) < 900_000 < int(found[2])
    assert "raise request.timeout.ms, or lower fetch.max.bytes and max.partition" in line


def test_a_request_that_is_too_large_for_its_link(
    prokurist_kafka: RealKafka, prokurist_topic: str
) -> None:
    """B421: what cannot come in time says its size, and what to turn."""
    with KafkaProducer(
        bootstrap_servers=prokurist_kafka.bootstrap,
        request_timeout_ms=2000,
        delivery_timeout_ms=4000,
    ) as producer:
        assert producer.partitions_for(prokurist_topic, 60.0)
        with prokurist_kafka.proxy().throttle(100_000, "to_broker"):
            error = producer.send(prokurist_topic, bytes(900_000)).exception(60.0)
    assert isinstance(error, errors.TimeoutException)
    assert re.search(
        r"did not answer Produce of 900\d\d\d bytes within request.timeout.ms", str(error)
    )
    assert "Over a slow link, raise request.timeout.ms, or lower batch.size" in str(error)


def test_a_member_that_does_not_know_the_names_yet(
    prokurist_kafka: RealKafka, prokurist_topic: str, eventually: Eventually
) -> None:
    """B416: no metadata with the topic's name arrive, and the group's answers have its id."""
    name, tp = prokurist_topic.encode(), TopicPartition(prokurist_topic, 0)
    with KafkaConsumer(
        bootstrap_servers=prokurist_kafka.bootstrap,
        group_id=f"g-{secrets.token_hex(6)}",
        group_protocol="consumer",
        enable_auto_commit=False,
    ) as consumer:

        def is_at(state: MembershipState) -> bool:
            place = consumer.health().membership
            return place is not None and place.state is state

        proxy = prokurist_kafka.proxy()
        # Its answer comes the way of the metadata's, behind which nothing comes any more.
        consumer.committed(tp, timeout=60)
        with proxy.change(lambda data: b"" if name in data else data):
            consumer.subscribe(prokurist_topic)
            eventually(lambda: (consumer.poll(0.1), is_at(MembershipState.RECONCILING))[1])
            why = consumer.poll(0.1).why_empty
            assert why is not None
            assert why.cause is EmptyCause.JOINING
            with pytest.raises(errors.TimeoutException, match="the member is reconciling"):
                consumer.wait_until_ready(1.0)
        # What was left out is not sent again: metadata are asked for over another connection.
        proxy.cut()
        assert consumer.wait_until_ready(60.0) == frozenset({tp})
        assert is_at(MembershipState.STABLE)


def test_what_fails_in_send(healed: RealKafka, caplog: pytest.LogCaptureFixture) -> None:
    """B417: though no program looks at a delivery; a line for each topic and partition."""
    topic, large = healed.unique_topic("full"), healed.unique_topic("large")
    with KafkaProducer(
        bootstrap_servers=healed.bootstrap,
        max_block_ms=1500,
        max_request_size=50_000,
        buffer_memory=100_000,
    ) as producer:
        assert producer.partitions_for(topic, 60.0)
        assert producer.partitions_for(large, 60.0)
        for _ in range(2):
            producer.send("nowhere", b"v")
            producer.send("no such name", b"v")
            producer.send(large, bytes(60_000))
        healed.freeze()
        sent = [producer.send(topic, bytes(40_000)) for _ in range(3)]
        assert isinstance(sent[-1].exception(0), errors.BufferExhaustedException)
        healed.thaw()
    for name, why in (
        ("nowhere", "nowhere does not exist"),
        ("no such name", "no such name"),
        (large, "max.request.size=50000"),
        (topic, "buffer.memory"),
    ):
        (line, *_) = lines(caplog, "delivery_failed", f" for {name}: ")
        assert "failed to deliver 1 record for" in line
        assert why in line.partition(f" for {name}: ")[2]


def test_a_record_that_is_refused_by_name(
    prokurist_kafka: RealKafka, caplog: pytest.LogCaptureFixture
) -> None:
    """B418: a timestamp that the topic does not take, in a batch with others."""
    topic = prokurist_kafka.unique_topic(configs={"message.timestamp.before.max.ms": 60_000})
    with KafkaProducer(
        bootstrap_servers=prokurist_kafka.bootstrap,
        linger_ms=600_000,
        delivery_timeout_ms=900_000,
    ) as producer:
        sent = [producer.send(topic, b"v", timestamp=each) for each in (None, 1, None, 2)]
        producer.flush(60.0)
        refused = [type(each.exception(0)) for each in sent]
        counted = "prokurist_producer_record_errors_total"
        series = {name: each for name, each in producer.metrics().items() if counted in name}
    assert (
        refused
        == [
            errors.InvalidRecordException,
            errors.InvalidTimestampException,
        ]
        * 2
    )
    assert series == {
        f'{counted}{{error="InvalidTimestampException"}}': 2,
        f'{counted}{{error="InvalidRecordException"}}': 2,
    }
    (line,) = lines(caplog, "delivery_failed")
    assert "failed to deliver 4 records for" in line
    assert line.endswith(f"{topic}-0: {sent[1].exception(0)}")


def test_a_topic_that_a_producer_waits_for(
    healed: RealKafka, caplog: pytest.LogCaptureFixture
) -> None:
    """B420: before its record has failed; also where it was there, and was deleted."""
    topic = f"late-{secrets.token_hex(6)}"

    def is_told() -> bool:
        return bool(lines(caplog, "topic_missing"))

    with KafkaProducer(bootstrap_servers=healed.bootstrap, max_block_ms=120_000) as producer:
        with when(is_told, lambda: healed.create_topic(topic)):
            assert producer.send(topic, b"v").result(60.0).offset == 0
        (missing,) = lines(caplog, "topic_missing")
        (found,) = lines(caplog, "topic_found")
        assert f"topic {topic} does not exist" in missing
        assert f"topic {topic} exists, after" in found
        caplog.clear()
        healed.delete_topic(topic)
        with when(is_told, lambda: healed.create_topic(topic)):
            assert producer.send(topic, b"v").result(90.0).offset == 0
        assert f"topic {topic} exists, after" in lines(caplog, "topic_found")[0]
