"""Prints what the calls of kafka-python's clients return."""

from prokurist.compat.kafka import (
    ConsumerRebalanceListener,
    KafkaConsumer,
    KafkaProducer,
    OffsetAndMetadata,
    TopicPartition,
)
from prokurist.compat.kafka.errors import (
    IllegalStateError,
    KafkaConfigurationError,
    KafkaError,
    KafkaTimeoutError,
    NotLeaderForPartitionError,
    for_code,
)

SERVERS = {"bootstrap_servers": ["localhost:9092"]}
FIRST, SECOND = TopicPartition("parts", 0), TopicPartition("parts", 1)
LATER = 1_700_000_000_000


def shown(record):
    """A record in one line."""
    parts = (record.topic, record.partition, record.offset, record.key, record.value)
    more = (record.timestamp, record.timestamp_type, record.headers, record.leader_epoch)
    sizes = (record.serialized_key_size, record.serialized_value_size)
    return f"{parts} {more} {sizes} {record.serialized_header_size} {record.checksum}"


def drained(consumer, count, **keywords):
    """As many records, in the order of partitions and offsets."""
    found = []
    while len(found) < count:
        for records in consumer.poll(timeout_ms=2000, **keywords).values():
            found += records
    return sorted(map(shown, found))


def produced():
    """Write three records to each partition."""
    heard = []
    producer = KafkaProducer(
        **SERVERS, acks=-1, retries=5, linger_ms=0, key_serializer=str.encode
    )
    futures = [
        producer.send(
            "parts",
            b"value %d" % number,
            f"key {number}",
            headers=[("name", b"bytes")] if number < 2 else None,
            partition=number % 2,
            timestamp_ms=LATER + number,
        ).add_callback(heard.append)
        for number in range(6)
    ]
    producer.flush(30)
    for future in futures:
        found = future.get(timeout=10)
        place = (found.topic, found.partition, found.offset, found.timestamp)
        print("sent:", place, found.topic_partition == (found.topic, found.partition))
        print(future.is_done, future.succeeded(), future.failed(), future.exception)
        print(future.retriable())
    print("heard:", len(heard), producer.partitions_for("parts"))
    producer.close(timeout=10)
    try:
        producer.send("parts", b"v", "k", partition=0).get(timeout=2)
    except (IllegalStateError, KafkaTimeoutError, AssertionError) as error:
        print("closed:", isinstance(error, Exception))


def assigned():
    """Read by hand: places, ends, times, pauses, and commits."""
    consumer = KafkaConsumer(
        **SERVERS,
        group_id="billing",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        value_deserializer=lambda data: data.decode() * 2,
    )
    consumer.assign([FIRST, SECOND])
    print("assignment:", sorted(consumer.assignment()), consumer.subscription())
    print(*drained(consumer, 6), sep="\n")
    print("positions:", consumer.position(FIRST), consumer.position(SECOND))
    print("ends:", consumer.beginning_offsets([FIRST]), consumer.end_offsets([FIRST]))
    found = consumer.offsets_for_times({FIRST: LATER + 2, SECOND: LATER + 99})
    print("times:", found[FIRST].offset, found[FIRST].timestamp, found[SECOND])
    print("committed:", consumer.committed(FIRST), consumer.committed(SECOND))
    consumer.commit()
    print("committed:", consumer.committed(FIRST), consumer.committed(SECOND))
    consumer.commit({FIRST: OffsetAndMetadata(2, "note", -1)})
    print("committed:", tuple(consumer.committed(FIRST, metadata=True))[:2])
    consumer.seek(FIRST, 1)
    print(*drained(consumer, 1, max_records=1), sep="\n")
    consumer.seek_to_beginning(FIRST)
    print("position:", consumer.position(FIRST), consumer.highwater(FIRST))
    consumer.seek_to_end()
    consumer.pause(FIRST)
    print("paused:", consumer.paused(), consumer.poll(500), consumer.position(SECOND))
    consumer.resume(FIRST)
    print("paused:", consumer.paused(), consumer.partitions_for_topic("parts"))
    print("topics:", {"parts", "invoices"} <= consumer.topics())
    consumer.unsubscribe()
    print("assignment:", consumer.assignment())
    consumer.close()


class Listener(ConsumerRebalanceListener):
    """Prints what it hears."""

    def on_partitions_revoked(self, revoked):
        """Some go."""
        if revoked:
            print("revoked:", sorted(revoked))

    def on_partitions_assigned(self, assigned):
        """Some come."""
        if assigned:
            print("assigned:", sorted(assigned))


def subscribed():
    """Read as a member of a group."""
    consumer = KafkaConsumer(
        **SERVERS,
        group_id="shipping",
        auto_offset_reset="earliest",
        consumer_timeout_ms=60000,
        enable_auto_commit=False,
    )
    consumer.subscribe(["parts"], listener=Listener())
    print("first:", next(consumer).offset)
    print("subscription:", consumer.subscription(), len(consumer.assignment()))
    with_next = next(consumer)
    tp = TopicPartition(with_next.topic, with_next.partition)
    print("position:", consumer.position(tp) == with_next.offset + 1)
    consumer.commit()
    print("committed:", consumer.committed(tp) == with_next.offset + 1)
    print("rest:", len([next(consumer) for _ in range(4)]))
    consumer.close()


def without_group():
    """Read all partitions of a topic, from the beginning."""
    consumer = KafkaConsumer(
        "parts", **SERVERS, auto_offset_reset="earliest", consumer_timeout_ms=30000
    )
    print(*sorted(shown(next(consumer)) for _ in range(6)), sep="\n")
    print("subscription:", consumer.subscription())
    consumer.close(autocommit=False)


def errors():
    """What the errors are."""
    print(NotLeaderForPartitionError.errno, NotLeaderForPartitionError.retriable)
    print(issubclass(NotLeaderForPartitionError, KafkaError), for_code(3).__name__)
    print(for_code(29).__name__, for_code(29).retriable, for_code(6).__mro__[1].__name__)
    try:
        KafkaConsumer(**SERVERS, no_such_key=1)
    except (KafkaConfigurationError, AssertionError) as error:
        print("refused:", isinstance(error, Exception))


def refused_in_the_midst():
    """B451: records before one that a deserializer refuses are returned, and committed."""

    def made(value):
        if value == b"bad":
            raise LookupError
        return value

    producer = KafkaProducer(**SERVERS)
    for value in (b"a", b"b", b"bad", b"c"):
        producer.send("invoices", value, partition=0)
    producer.close()
    place = TopicPartition("invoices", 0)
    consumer = KafkaConsumer(
        **SERVERS, group_id="shipping", auto_offset_reset="earliest", value_deserializer=made
    )
    consumer.assign([place])
    ends = consumer.end_offsets([place])[place]
    consumer.seek(place, ends - 4)
    found = []
    try:
        while True:
            for records in consumer.poll(timeout_ms=1000, max_records=500).values():
                found += [each.offset - ends for each in records]
    except LookupError:
        print("before it:", found)
    consumer.close()
    consumer = KafkaConsumer(**SERVERS, group_id="shipping")
    print("committed:", consumer.committed(place) - ends)
    consumer.close()


produced()
assigned()
subscribed()
refused_in_the_midst()
without_group()
errors()
