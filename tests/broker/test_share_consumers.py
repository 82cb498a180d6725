"""Share consumers on a real Kafka, on one node."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from prokurist import KafkaProducer, KafkaShareConsumer, ShareRecord, errors
from prokurist.admin import ConfigResource, KafkaAdmin, Set
from prokurist.testing.kafka import RealKafka
from prokurist.types import Acknowledge, TopicPartition
from tests.broker.watching import LATE
from tests.stopwatch import Stopwatch

pytestmark = pytest.mark.kafka

LOCK = 6.0
PROPERTIES: dict[str, object] = {
    "group.share.min.record.lock.duration.ms": 1000,
    "group.share.record.lock.duration.ms": int(LOCK * 1000),
    "group.share.delivery.count.limit": 5,
}


class Sharing:
    """A node, and what tests do on it."""

    def __init__(self, kafka: RealKafka) -> None:
        self.kafka = kafka
        self._groups = 0

    def group(self, **more: str) -> str:
        """A group that begins at the start of topics."""
        self._groups += 1
        name = f"sharers-{self._groups}"
        given = {"share.auto.offset.reset": "earliest", **more}
        with KafkaAdmin(bootstrap_servers=self.kafka.direct_bootstrap) as admin:
            admin.alter_configs(
                {ConfigResource.group(name): {key: Set(value) for key, value in given.items()}},
                timeout=10.0,
            ).check()
        return name

    def write(
        self, topic: str, *values: bytes, partition: int = 0, apart: bool = False
    ) -> None:
        """Write records, in a batch or in batches of their own.

        Without a producer id, which a controller may have to give: it may be the frozen node.
        """
        with KafkaProducer(
            bootstrap_servers=self.kafka.direct_bootstrap,
            linger_ms=5 if apart else 60_000,
            enable_idempotence=False,
        ) as producer:
            for each in values:
                producer.send(topic, each, partition=partition)
                if apart:
                    producer.flush(10.0)
            producer.flush(10.0)

    def reader(self, topic: str, group: str, **keys: Any) -> KafkaShareConsumer:
        """A share consumer of a topic."""
        consumer = KafkaShareConsumer(
            bootstrap_servers=self.kafka.bootstrap, group_id=group, **keys
        )
        consumer.subscribe(topic)
        return consumer


@pytest.fixture(scope="module")
def sharing(startable: None) -> Iterator[Sharing]:
    """One node with locks of six seconds."""
    del startable
    with RealKafka(1, "4.3.1", properties=PROPERTIES) as kafka:
        yield Sharing(kafka)


def all_of(consumer: KafkaShareConsumer, count: int) -> list[ShareRecord]:
    """So many records, of as many polls as it takes; none is accepted by a poll."""
    found: list[ShareRecord] = []
    until = time.monotonic() + 30.0
    while len(found) < count:
        assert time.monotonic() < until, found
        found += consumer.poll(5.0)
    return found


def values(records: Any) -> list[bytes]:
    """The values of records."""
    return [each.value for each in records]


def test_a_fresh_member_gets_its_first_record_soon(sharing: Sharing) -> None:
    """B790: the coordinator assigns a second after joining at most."""
    topic, group = sharing.kafka.unique_topic(), sharing.group()
    sharing.write(topic, b"1", b"2")
    with sharing.reader(topic, group) as consumer:
        with Stopwatch() as took:
            assert values(consumer.poll(30.0)) == [b"1", b"2"]
        assert took.own < 5.0 + LATE


def test_a_topic_that_is_made_later_is_read(sharing: Sharing) -> None:
    """B791: until then polls name it."""
    with sharing.reader("made-later", sharing.group()) as consumer:
        with Stopwatch() as took:
            assert "made-later does not exist" in str(consumer.poll(2.0).why_empty)
        assert took.own < 2.0 + LATE
        sharing.kafka.create_topic("made-later")
        sharing.write("made-later", b"1")
        assert values(all_of(consumer, 1)) == [b"1"]


def test_the_id_of_another_group_is_refused_by_each_poll(sharing: Sharing) -> None:
    """B793: not by the first alone, as by Java's consumer."""
    from prokurist import KafkaConsumer

    topic = sharing.kafka.unique_topic()
    with KafkaConsumer(
        bootstrap_servers=sharing.kafka.bootstrap, group_id="of-consumers"
    ) as other:
        other.subscribe(topic)
        other.wait_until_ready(20.0)
        with sharing.reader(topic, "of-consumers") as consumer:
            for _ in range(3):
                with pytest.raises(errors.GroupIdNotFoundException, match=r"another group\.id"):
                    consumer.poll(10.0)


def test_limits_of_a_poll(sharing: Sharing) -> None:
    """B798: never a record outside of the ranges; B800, B801: exact, and by whole batches."""
    topic = sharing.kafka.unique_topic()
    sharing.write(topic, *[b"%d" % nth for nth in range(10)])
    with sharing.reader(
        topic, sharing.group(), share_acquire_mode="record_limit", max_poll_records=3
    ) as exact:
        assert [each.offset for each in exact.poll(30.0)] == [0, 1, 2]
        assert [each.offset for each in exact.poll(30.0)] == [3, 4, 5]
    with sharing.reader(topic, sharing.group(), max_poll_records=3) as whole:
        assert [each.offset for each in whole.poll(30.0)] == list(range(10))


def test_markers_are_acknowledged_as_gaps(sharing: Sharing) -> None:
    """B799: the user sees records alone, and nothing comes again."""
    topic, group = sharing.kafka.unique_topic(), sharing.group()
    with KafkaProducer(
        bootstrap_servers=sharing.kafka.direct_bootstrap, transactional_id=topic
    ) as producer:
        producer.init_transactions(20.0)
        for value in (b"1", b"2"):
            producer.begin_transaction()
            producer.send(topic, value)
            producer.commit_transaction(20.0)
    with sharing.reader(topic, group) as consumer:
        assert values(all_of(consumer, 2)) == [b"1", b"2"]
        consumer.commit_sync(10.0)
        assert not consumer.poll(LOCK + 1.0)


def test_a_released_record_comes_again(sharing: Sharing) -> None:
    """B802: with the next count, and not after a rejection."""
    topic, group = sharing.kafka.unique_topic(), sharing.group()
    sharing.write(topic, b"1", b"2", apart=True)
    with sharing.reader(topic, group) as consumer:
        first, second = all_of(consumer, 2)
        first.release()
        second.reject()
        (again,) = consumer.poll(10.0)
        assert (again.offset, again.delivery_count) == (0, 2)
        again.accept()
        consumer.commit_sync(10.0)
        assert not consumer.poll(1.0)


def test_a_record_that_nobody_can_decode(sharing: Sharing) -> None:
    """B807: marks and neighbours survive, and it can be rejected by its place."""
    topic, group = sharing.kafka.unique_topic(), sharing.group()
    sharing.write(topic, b"1", b"x", b"3")
    with sharing.reader(topic, group, value_deserializer=int) as consumer:
        assert [each.value for each in all_of(consumer, 2)] == [1, 3]
        with pytest.raises(errors.RecordDeserializationException):
            consumer.poll(5.0)
        consumer.acknowledge(topic, 0, 1, Acknowledge.REJECT)
        assert not consumer.poll(2.0)
    with sharing.reader(topic, group) as other:
        assert not other.poll(4.0)


def test_threads_mark_while_commits_go_on(sharing: Sharing) -> None:
    """B810: each of sixteen threads' records is acknowledged once, and none comes again."""
    topic, group = sharing.kafka.unique_topic(), sharing.group()
    sharing.write(topic, *[b"%d" % nth for nth in range(400)])
    with sharing.reader(topic, group, share_acknowledgement_mode="explicit") as consumer:
        records = list(consumer.poll(30.0))
        assert len(records) == 400

        def mark(mine: list[ShareRecord]) -> None:
            for each in mine:
                each.accept()
                time.sleep(0.001)

        threads = [threading.Thread(target=mark, args=(records[nth::16],)) for nth in range(16)]
        for each in threads:
            each.start()
        done: list[int] = []
        while any(each.is_alive() for each in threads):
            for offsets in consumer.commit_sync(10.0).values():
                done += offsets
        for each in threads:
            each.join()
        for offsets in consumer.commit_sync(10.0).values():
            done += offsets
        assert sorted(done) == list(range(400))
        assert not consumer.poll(1.0)


def test_marks_leave_before_their_locks_end(sharing: Sharing) -> None:
    """B814: nine seconds of work under a lock of six; what is done is done."""
    topic, group = sharing.kafka.unique_topic(), sharing.group()
    sharing.write(topic, *[b"%d" % nth for nth in range(9)])
    with sharing.reader(topic, group) as consumer:
        for record in consumer.poll(30.0):
            time.sleep(1.0)
            record.accept()
        with sharing.reader(topic, group) as other:
            again = {each.offset for each in other.poll(5.0)}
        assert not again & set(range(5))


def test_renewed_locks_outlast_long_work(sharing: Sharing) -> None:
    """B815: fifteen seconds under a lock of six, and the record is processed once."""
    topic, group = sharing.kafka.unique_topic(), sharing.group()
    sharing.write(topic, b"1")
    with (
        sharing.reader(topic, group, share_renew_automatically=True) as consumer,
        sharing.reader(topic, group) as other,
    ):
        (record,) = consumer.poll(30.0)
        until = time.monotonic() + 15.0
        while time.monotonic() < until:
            assert not other.poll(1.0)
        assert record.is_held
        record.accept()
        assert consumer.commit_sync(10.0)
        assert not other.poll(1.0)


def test_a_commit_after_the_locks_end_is_refused(sharing: Sharing) -> None:
    """B818: with its offsets, and the other partition is done; B817."""
    topic, group = sharing.kafka.unique_topic(partitions=2), sharing.group()
    sharing.write(topic, b"late")
    with sharing.reader(topic, group, share_acknowledge_ahead=False) as consumer:
        (late,) = consumer.poll(30.0)
        late.renew()
        consumer.poll(1.0)
        time.sleep(LOCK + 1.5)
        sharing.write(topic, b"in time", partition=1)
        in_time = [each for each in all_of(consumer, 1) if each.partition == 1]
        while not in_time:
            in_time = [each for each in consumer.poll(5.0) if each.partition == 1]
        late.accept()
        with pytest.raises(errors.AcknowledgeException) as raised:
            consumer.commit_sync(10.0)
        assert raised.value.refused[TopicPartition(topic, 0)][0] == (0,)
        assert TopicPartition(topic, 1) in raised.value.done


def test_a_frozen_broker_and_commits(sharing: Sharing) -> None:
    """B819: on time, and it may have happened; B820: the unsent one is not taken."""
    topic, group = sharing.kafka.unique_topic(), sharing.group()
    sharing.write(topic, b"1", b"2")
    with sharing.reader(
        topic, group, share_acknowledge_ahead=False, share_acknowledgement_mode="explicit"
    ) as consumer:
        first, second = consumer.poll(30.0)
        sharing.kafka.freeze()
        try:
            first.accept()
            with (
                Stopwatch() as took,
                pytest.raises(errors.AcknowledgeTimeoutException) as sent,
            ):
                consumer.commit_sync(1.5)
            assert took.own < 1.5 + LATE
            assert sent.value.may_have_happened
            second.accept()
            with pytest.raises(errors.AcknowledgeTimeoutException) as unsent:
                consumer.commit_sync(0.5)
            assert not unsent.value.may_have_happened
            assert second.mark is Acknowledge.ACCEPT
        finally:
            sharing.kafka.thaw()
        time.sleep(0.5)
        assert second.mark is Acknowledge.ACCEPT
        second.release()
        consumer.commit_sync(10.0)
        (again,) = consumer.poll(10.0)
        assert (again.offset, again.delivery_count) == (1, 2)
        again.accept()


def test_a_cut_connection_and_a_new_session(sharing: Sharing) -> None:
    """B826: its records are lost at once, and come again."""
    topic, group = sharing.kafka.unique_topic(), sharing.group()
    sharing.write(topic, b"1")
    with sharing.reader(topic, group) as consumer:
        (record,) = consumer.poll(30.0)
        sharing.kafka.proxy().reset()
        time.sleep(0.5)
        sharing.kafka.proxy().heal()
        assert not record.is_held
        (again,) = all_of(consumer, 1)
        assert again.delivery_count == 2


def test_close_gives_the_rest_to_others_at_once(sharing: Sharing) -> None:
    """B828: marks are taken, the rest comes with the next count."""
    topic, group = sharing.kafka.unique_topic(), sharing.group()
    sharing.write(topic, b"1", b"2", b"3", apart=True)
    consumer = sharing.reader(topic, group)
    first, *_ = all_of(consumer, 3)
    first.accept()
    with Stopwatch() as took:
        consumer.close(5.0)
    assert took.own < 2.0
    with sharing.reader(topic, group) as other:
        again = all_of(other, 2)
        assert [(each.offset, each.delivery_count) for each in again] == [(1, 2), (2, 2)]
        for each in again:
            each.accept()


def test_close_beside_a_frozen_broker(sharing: Sharing) -> None:
    """B829: it ends on time."""
    topic, group = sharing.kafka.unique_topic(), sharing.group()
    sharing.write(topic, b"1")
    consumer = sharing.reader(topic, group)
    (record,) = consumer.poll(30.0)
    record.accept()
    sharing.kafka.freeze()
    try:
        with Stopwatch() as took:
            consumer.close(2.0)
        assert took.own < 2.0 + LATE
    finally:
        sharing.kafka.thaw()


def test_an_iteration_that_is_left(sharing: Sharing) -> None:
    """B830: what it has not finished comes again, and the rest does not."""
    topic, group = sharing.kafka.unique_topic(), sharing.group()
    sharing.write(topic, b"1", b"2", b"3", apart=True)
    with sharing.reader(topic, group) as consumer:
        seen = []
        for record in consumer.records(idle_timeout=10.0):
            seen.append(record.offset)
            if len(seen) == 2:
                break
        rest = [each.offset for each in consumer.records(idle_timeout=2.0)]
    assert seen[0] not in rest
    assert seen[1] in rest
