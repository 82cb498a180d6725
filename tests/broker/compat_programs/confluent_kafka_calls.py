"""Prints what the calls of confluent-kafka's clients return."""

from prokurist.compat.confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    TIMESTAMP_CREATE_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from prokurist.compat.confluent_kafka.error import KafkaError as SameError

CLUSTER = {"bootstrap.servers": "localhost:9092"}
FIRST, SECOND = TopicPartition("parts", 0), TopicPartition("parts", 1)
LATER = 1_700_000_000_000


def refused(call, *arguments, **keywords):
    """The name of the error that a call raises."""
    try:
        print("returned", call(*arguments, **keywords))
    except KafkaException as error:
        print("refused:", error.args[0].name(), error.args[0].code(), error.args[0].fatal())
    except (RuntimeError, TypeError, ValueError) as error:
        print("refused:", type(error).__name__)


def shown(message):
    """A message in one line."""
    if message is None:
        return "nothing"
    if message.error() is not None:
        return f"{message.error().name()} {message.partition()} {message.offset()}"
    parts = (message.topic(), message.partition(), message.offset(), message.key())
    kind, stamp = message.timestamp()
    more = (message.value(), message.headers(), kind == TIMESTAMP_CREATE_TIME, stamp)
    return f"{parts} {more} {message.leader_epoch()} {len(message)}"


def several(consumer, count):
    """As many messages, in the order of partitions and offsets."""
    found = []
    while len(found) < count:
        found += consumer.consume(count - len(found), timeout=2.0)
    return sorted(map(shown, found))


def delivered(error, message):
    """Called for each message."""
    print("delivered:", error, shown(message)[:60], message.latency() > 0)


def delivered_nowhere(error, message):
    """Called for a message whose partition does not exist."""
    print("not delivered:", error.name(), message.partition(), message.offset())


def produced():
    """Write three messages to each partition."""
    producer = Producer(CLUSTER)
    for number in range(6):
        producer.produce(
            "parts",
            f"value {number}",
            f"key {number}",
            partition=number % 2,
            timestamp=LATER + number,
            headers={"name": "text", "other": b"bytes"} if number < 2 else None,
            callback=delivered if number == 0 else None,
        )
    print("left:", producer.flush(30), len(producer), bool(producer))
    refused(producer.produce, "parts", 5)
    refused(producer.produce, "parts", b"x" * 1_000_001)
    refused(producer.produce, "parts", "nowhere", partition=99)
    other = Producer(CLUSTER)
    other.produce("parts", "nowhere", partition=99, on_delivery=delivered_nowhere)
    print("left:", other.flush(30))
    refused(Producer, {"bootstrap.servers": "localhost:9092", "no.such.key": "1"})
    cluster = producer.list_topics(timeout=10)
    print("all topics:", sorted(cluster.topics["parts"].partitions), len(cluster.brokers))
    cluster = producer.list_topics("parts", timeout=10)
    print("topic:", sorted(cluster.topics["parts"].partitions), len(cluster.brokers))
    batch = [{"value": "one", "key": b"k"}, {"value": "two", "callback": delivered}]
    print("batch:", producer.produce_batch("invoices", batch, on_delivery=delivered))
    batch = [{"value": b"x" * 1_000_001}, {"value": "three", "partition": 0}]
    print("batch:", producer.produce_batch("invoices", batch, partition=0))
    print("refused:", batch[0]["_error"].name(), "_error" in batch[1])
    producer.produce("invoices", "four", headers=[(None, "text"), ("name", None)])
    print("left:", producer.flush(30))


def assigned():
    """Read by hand: places, ends, times, pauses, and commits."""
    consumer = Consumer(
        {
            **CLUSTER,
            "group.id": "billing",
            "enable.auto.commit": "false",
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
        }
    )
    refused(consumer.commit, asynchronous=False)
    refused(consumer.seek, TopicPartition("parts", 0, 1))
    refused(consumer.get_watermark_offsets, TopicPartition("parts", 99), timeout=10)
    refused(consumer.get_watermark_offsets, TopicPartition("nowhere", 0), timeout=10)
    refused(consumer.offsets_for_times, [TopicPartition("nowhere", 0, 1)], timeout=10)
    consumer.assign(
        [TopicPartition("parts", 0, 1), TopicPartition("parts", 1, OFFSET_BEGINNING)]
    )
    print("assignment:", [each.offset for each in sorted(consumer.assignment())])
    print(*several(consumer, 7), sep="\n")
    print("positions:", [each.offset for each in consumer.position([FIRST, SECOND])])
    print("watermarks:", consumer.get_watermark_offsets(FIRST, timeout=10))
    times = [TopicPartition("parts", 0, LATER + 2), TopicPartition("parts", 1, LATER + 99)]
    print("times:", [each.offset for each in consumer.offsets_for_times(times, timeout=10)])
    print(
        "committed:", [each.offset for each in consumer.committed([FIRST, SECOND], timeout=10)]
    )
    done = consumer.commit(asynchronous=False)
    print("commit:", sorted((each.topic, each.partition, each.offset) for each in done))
    print(
        "committed:", [each.offset for each in consumer.committed([FIRST, SECOND], timeout=10)]
    )
    consumer.commit(offsets=[TopicPartition("parts", 0, 2, "note")], asynchronous=False)
    [found] = consumer.committed([FIRST], timeout=10)
    print("committed:", found.offset, found.metadata, found.error, found == FIRST)
    consumer.seek(TopicPartition("parts", 0, 2))
    print(*several(consumer, 2), sep="\n")
    consumer.incremental_unassign([SECOND])
    consumer.pause([FIRST])
    consumer.seek(TopicPartition("parts", 0, 0))
    print(shown(consumer.poll(1.0)))
    consumer.resume([FIRST])
    print(*several(consumer, 4), sep="\n")
    consumer.assign([TopicPartition("parts", 0, OFFSET_END)])
    print(shown(consumer.poll(10.0)))
    consumer.unassign()
    print("assignment:", consumer.assignment())
    consumer.assign([TopicPartition("parts", 1, 99)])
    message = consumer.poll(10.0)
    print("out of range:", message.error().name(), message.topic(), message.partition())
    cluster = consumer.list_topics("parts", timeout=10)
    print("topic:", cluster.topics["parts"].topic, cluster.topics["parts"].error)
    print("partitions:", [each.id for each in cluster.topics["parts"].partitions.values()])
    consumer.close()
    refused(consumer.poll, 0)
    consumer.close()


def subscribed():
    """Read as a member of a group."""
    heard = []
    consumer = Consumer(
        {
            **CLUSTER,
            "group.id": "shipping",
            "enable.auto.offset.store": False,
            "auto.offset.reset": "smallest",
            "on_commit": lambda error, partitions: heard.append(
                (error, [(each.partition, each.offset) for each in partitions])
            ),
        }
    )

    def on_assign(consumer, partitions):
        print("assigned:", sorted(each.partition for each in partitions))
        consumer.assign([TopicPartition(each.topic, each.partition, 1) for each in partitions])

    def on_revoke(consumer, partitions):
        print("revoked:", sorted(each.partition for each in partitions))
        consumer.unassign()

    consumer.subscribe(["parts"], on_assign=on_assign, on_revoke=on_revoke)
    done = consumer.commit(offsets=[TopicPartition("parts", 0, 2)], asynchronous=False)
    print("commit before a poll:", [each.offset for each in done])
    print("committed:", [each.offset for each in consumer.committed([FIRST], timeout=10)])
    refused(consumer.commit, offsets=[TopicPartition("parts", 99, 0)], asynchronous=False)
    refused(consumer.commit)
    print(*several(consumer, 4), sep="\n")
    print("member:", consumer.memberid() != "", consumer.consumer_group_metadata() is not None)
    consumer.store_offsets(offsets=[TopicPartition("parts", 0, 3)])
    print("commit:", [each.offset for each in consumer.commit(asynchronous=False)])
    consumer.store_offsets(offsets=[TopicPartition("parts", 1, 2)])
    consumer.unsubscribe()
    print("unsubscribed")
    consumer.poll(0.5)
    consumer.subscribe(["invoices"])
    found = [consumer.poll(1.0) for _ in range(10)]
    print("headers:", *sorted(str(each.headers()) for each in found if each is not None))
    consumer.close()
    print("heard:", all(error is None for error, found in heard if found))


def errors():
    """What an error says of itself."""
    error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, "mine", True, True)
    print(repr(error), error.retriable(), error == 3, error == KafkaError(3), error != 4)
    print(
        error is not SameError, hash(error), error.str(), KafkaException(error).args[0].name()
    )
    print(KafkaError(-191).name(), KafkaError._PARTITION_EOF, KafkaError(-191).code())
    print(sorted([TopicPartition("b"), TopicPartition("a", 2), TopicPartition("a", 1)]))


def stored_and_given_up():
    """B450: what was stored goes with its partition, and no commit moves an offset back."""
    keys = {"enable.auto.commit": False, "enable.auto.offset.store": False}
    consumer = Consumer({**CLUSTER, **keys, "group.id": "shipping"})
    consumer.assign([TopicPartition("parts", 0, 0)])
    print("first:", consumer.poll(30.0) is not None)
    consumer.store_offsets(offsets=[TopicPartition("parts", 0, 1)])
    consumer.incremental_unassign([FIRST])
    consumer.commit(offsets=[TopicPartition("parts", 0, 2)], asynchronous=False)
    consumer.incremental_assign([FIRST])
    consumer.poll(1.0)
    try:
        consumer.commit(asynchronous=False)
    except (KafkaError, KafkaException) as error:
        print("refused:", type(error).__name__, error.args[0].name())
    print("committed:", [each.offset for each in consumer.committed([FIRST], timeout=10)])
    consumer.close()


produced()
assigned()
subscribed()
stored_and_given_up()
errors()
