"""What confluent-kafka's face tells of topics and partitions that do not exist."""

import pytest

from prokurist.compat.confluent_kafka import KafkaError, KafkaException, TopicPartition
from prokurist.types import TopicPartition as OurPartition
from tests.simulation.joining import grouped
from tests.simulation.reading import written
from tests.simulation.test_compat_confluent_kafka import assigned, consumer_in


def test_a_topic_that_does_not_exist_is_told_once() -> None:
    """B361: by a message with an error, and its records come when it exists."""
    world = grouped(partitions=1)
    heard: list[str] = []
    with consumer_in(world, on_event=lambda event: heard.append(event.name)) as consumer:
        consumer.subscribe(["orders", "later"])
        found = [consumer.poll(2.0) for _ in range(3)]
        [told] = [each for each in found if each is not None]
        assert told.error() == KafkaError.UNKNOWN_TOPIC_OR_PART
        assert (told.topic(), told.partition(), told.offset()) == ("later", 0, None)
        assert "topic_missing" in heard
        world.cluster.state.create_topic("later", 1)
        world.control.append(OurPartition("later", 0), b"v")
        later = (consumer.poll(1.0) for _ in range(400))
        record = next(each for each in later if each is not None)
        assert (record.topic(), record.value(), record.error()) == ("later", b"v", None)


def test_topics_that_are_to_be_created_are_waited_for() -> None:
    """B361: with `allow.auto.create.topics` there is no error."""
    with consumer_in(grouped(), allow_auto_create_topics=True) as consumer:
        consumer.subscribe(["later"])
        assert [consumer.poll(2.0) for _ in range(3)] == [None] * 3


def test_partitions_that_do_not_exist_are_refused_at_once() -> None:
    """B361: by look-ups, and by a commit of offsets."""
    world = written(1)
    nowhere = TopicPartition("orders", 99, 0)
    with assigned(world) as consumer:
        began = world.clock.time
        for call, code in (
            (lambda: consumer.get_watermark_offsets(nowhere), KafkaError._UNKNOWN_PARTITION),
            (lambda: consumer.offsets_for_times([nowhere]), KafkaError._UNKNOWN_PARTITION),
            (
                lambda: consumer.commit(offsets=[nowhere], asynchronous=False),
                KafkaError.UNKNOWN_TOPIC_OR_PART,
            ),
        ):
            with pytest.raises(KafkaException) as raised:
                call()
            assert raised.value.args[0].code() == code
        assert world.clock.time - began < 1.0
