"""Threads that send beside the thread that begins and ends transactions, over real sockets."""

import threading

from prokurist import Delivery, KafkaConsumer, KafkaProducer, TopicPartition, errors
from prokurist.testing.broker import EmbeddedBroker

TP = TopicPartition("orders", 0)
ROUNDS = 30


def test_a_record_belongs_to_the_transaction_in_which_send_returned() -> None:
    """B544: none slips in behind a commit, and none of a committed one is missing."""
    sent: list[tuple[int | None, bytes, Delivery]] = []
    over = threading.Event()

    def send_on(producer: KafkaProducer, name: int) -> None:
        transaction = producer._accumulator.transaction
        assert transaction is not None
        number = 0
        while not over.is_set():
            value, before = b"%d-%d" % (name, number), transaction.number
            try:
                delivery = producer.send(TP.topic, value, partition=0)
            except errors.IllegalStateException:
                over.wait(0.0005)
                continue
            # Where another one has begun meanwhile, it may be in either.
            sent.append((before if transaction.number == before else None, value, delivery))
            number += 1

    with (
        EmbeddedBroker(topics={"orders": 1}) as broker,
        KafkaProducer(
            bootstrap_servers=broker.bootstrap, transactional_id="t", linger_ms=1
        ) as producer,
    ):
        producer.init_transactions(10.0)
        producer.partitions_for(TP.topic, 10.0)
        threads = [
            threading.Thread(target=send_on, args=(producer, each), daemon=True)
            for each in range(3)
        ]
        for each in threads:
            each.start()
        for number in range(1, ROUNDS + 1):
            producer.begin_transaction()
            over.wait(0.005)
            if is_committed(number):
                producer.commit_transaction(20.0)
            else:
                producer.abort_transaction(20.0)
        over.set()
        for each in threads:
            each.join(10.0)
        with KafkaConsumer(
            bootstrap_servers=broker.bootstrap,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        ) as consumer:
            consumer.assign(TP)
            seen: dict[bytes | None, int] = {}
            while records := consumer.poll(2.0):
                seen |= {each.value: each.offset for each in records}
    assert len({each for each, *_ in sent if each}) > ROUNDS // 2
    for within, value, delivery in sent:
        if within and is_committed(within):
            assert seen[value] == delivery.result(10.0).offset
        elif within:
            assert value not in seen
        elif value in seen:
            assert seen[value] == delivery.result(10.0).offset


def is_committed(number: int) -> bool:
    """Whether a transaction is committed: two of three."""
    return number % 3 > 0
