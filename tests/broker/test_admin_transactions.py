"""Transactions as the admin client sees, fences and aborts them, on real brokers."""

import struct
import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import count

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.produce.v9 import request as produce
from kio.schema.produce.v9.response import ProduceResponse
from kio.schema.types import TopicName, TransactionalId
from kio.static.primitive import i16, i32, i32Timedelta

from prokurist import KafkaConsumer, KafkaProducer, TopicPartition
from prokurist.admin import FencedProducer, KafkaAdmin, TransactionState
from prokurist.errors import (
    IllegalStateException,
    IncompleteListingException,
    KafkaException,
)
from prokurist.errors.transactions import TransactionalIdNotFoundException
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.records.checksum import crc32c
from prokurist.testing.cluster.batches import TRANSACTIONAL, Record, make_batch
from prokurist.testing.kafka import RealKafka
from tests.broker.raw import SECONDS, connected
from tests.broker.test_admin import RELEASES, started

pytestmark = pytest.mark.kafka

NAMES = count()
CRC, CHECKED, SEQUENCE = 17, 21, 53
"""Places in the header of a batch."""


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    """A node of each release that verifies no partition of a transaction."""
    kafka = RealKafka(
        version=request.param,
        controls=True,
        properties={"transaction.partition.verification.enable": False},
    )
    with started(kafka) as kafka:
        yield kafka


@pytest.fixture
def admin(kafka: RealKafka) -> Iterator[KafkaAdmin]:
    """An admin client."""
    with KafkaAdmin({"bootstrap.servers": kafka.bootstrap}) as admin:
        yield admin


@pytest.fixture
def topic(admin: KafkaAdmin) -> str:
    """A topic of one partition."""
    name = f"admin-transactions-{next(NAMES)}"
    admin.create_topic(name, 1, wait=True, timeout=30)
    return name


def write_raw(kafka: RealKafka, topic: str, name: str, producer: FencedProducer) -> None:
    """Write a record of a transaction that its coordinator does not know of."""
    batch = bytearray(
        make_batch(
            [Record(b"raw", None, round(time.time() * 1000))],
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            attributes=TRANSACTIONAL,
        ).data
    )
    struct.pack_into(">i", batch, SEQUENCE, 0)
    struct.pack_into(">I", batch, CRC, crc32c(bytes(batch[CHECKED:])))
    request = produce.ProduceRequest(
        transactional_id=TransactionalId(name),
        acks=i16(-1),
        timeout=i32Timedelta.parse(timedelta(seconds=10)),
        topic_data=(
            produce.TopicProduceData(
                name=TopicName(topic),
                partition_data=(
                    produce.PartitionProduceData(
                        index=i32(0),
                        records=bytes(batch),  # type: ignore[arg-type]  # kio's records
                    ),
                ),
            ),
        ),
    )
    deadline = Deadline.after(MonotonicClock().now(), SECONDS)
    with connected(kafka) as node:
        answer = node.exchange(request, ProduceResponse, deadline)
    assert answer.responses[0].partition_responses[0].error_code is ErrorCode.none


def test_transactions_are_listed_described_and_fenced(
    kafka: RealKafka, admin: KafkaAdmin, topic: str
) -> None:
    """B620, B622, B633, B634: before the first transaction, open, and fenced."""
    if "__transaction_state" not in admin.list_topics(internal=True, timeout=30):
        nope = admin.describe_transactions(["nope"], timeout=30).errors["nope"]
        assert isinstance(nope, TransactionalIdNotFoundException)
        assert "__transaction_state" not in admin.list_topics(internal=True, timeout=30)
    name, tp = f"{topic}-id", TopicPartition(topic, 0)
    with KafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id=name) as producer:
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.send(topic, b"1")
        producer.flush(30)
        found = {each.transactional_id: each for each in admin.list_transactions(timeout=30)}
        assert found[name].state == TransactionState.ONGOING
        by_id = admin.list_transactions(producer_ids=[found[name].producer_id], timeout=30)
        assert [each.transactional_id for each in by_id] == [name]
        by_pattern = admin.list_transactions(pattern=f"{topic}-.*", timeout=30)
        assert [each.transactional_id for each in by_pattern] == [name]
        assert not admin.list_transactions(pattern="nope", timeout=30)
        try:
            long_ones = admin.list_transactions(running_for=3600, timeout=30)
        except IncompleteListingException:
            assert not kafka.version.startswith("4")
        else:
            assert name not in {each.transactional_id for each in long_ones}
        results = admin.describe_transactions([name, "nope"], timeout=30)
        assert isinstance(results.errors["nope"], TransactionalIdNotFoundException)
        assert results[name].partitions == {tp}
        assert results[name].started is not None
        (writer,) = admin.describe_producers([tp], timeout=30)[tp]
        assert (writer.producer_id, writer.transaction_start) == (found[name].producer_id, 0)
        assert admin.describe_producers([tp], broker=0, timeout=30)[tp] == (writer,)
        assert admin.find_hanging([topic], older=0, timeout=30) == ()
        fenced = admin.fence_producers([name], timeout=30)[name]
        assert fenced.epoch > writer.epoch
        with pytest.raises(KafkaException):
            producer.commit_transaction(30)
    assert admin.describe_transactions([name], timeout=30)[name].state != "Ongoing"


def test_a_hanging_transaction_is_found_and_aborted(
    kafka: RealKafka, admin: KafkaAdmin, topic: str
) -> None:
    """B635: one that its coordinator does not know; a reader of committed records goes on."""
    name, tp = f"{topic}-raw", TopicPartition(topic, 0)
    write_raw(kafka, topic, name, admin.fence_producers([name], timeout=30)[name])
    with KafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
        producer.send(topic, b"behind").result(30)
    assert admin.find_hanging([topic], older=3600, timeout=30) == ()
    (hanging,) = admin.find_hanging([topic], older=0, timeout=30)
    assert hanging.partition == tp
    assert hanging.transactional_id == name
    assert admin.find_hanging(broker=0, older=0, timeout=30) == (hanging,)
    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.assign([tp])
        assert not consumer.poll(1.0)
        admin.abort_transaction(hanging, timeout=30)
        values = [each.value for each in consumer.records(idle_timeout=5.0)]
        assert values == [b"behind"]
    with pytest.raises(IllegalStateException, match="is over by now"):
        admin.abort_transaction(hanging, timeout=30)
