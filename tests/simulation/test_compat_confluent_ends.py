"""confluent-kafka's face in virtual time: the ends of partitions that it tells of."""

from prokurist.compat.confluent_kafka import KafkaError, TopicPartition
from tests.simulation.reading import A, written
from tests.simulation.test_compat_confluent_kafka import assigned


def test_an_end_is_told_once() -> None:
    """B331: with `enable.partition.eof`, and again when there was more."""
    world = written(2)
    with assigned(world, **{"enable.partition.eof": "true"}) as consumer:
        got = consumer.consume(3, 5.0)
        assert [each.offset() for each in got] == [0, 1, 2]
        end = got[-1].error()
        assert end is not None
        assert end.code() == KafkaError._PARTITION_EOF
        assert consumer.poll(2.0) is None
        world.control.append(A, b"more")
        assert [each.error() for each in consumer.consume(2, 5.0)] == [None, end]
        consumer.seek(TopicPartition("orders", 0, 3))
        assert [each.error() for each in consumer.consume(2, 1.0)] == [end]
        consumer.pause(consumer.assignment())
        consumer.seek(TopicPartition("orders", 0, 3))
        assert consumer.poll(1.0) is None


def test_an_end_that_others_have_moved_is_none() -> None:
    """B456: a broker has to have had nothing more when it was asked from there."""
    world = written(1)
    with assigned(world, **{"enable.partition.eof": True}) as consumer:
        first = consumer.poll(1.0)
        world.control.append(A, b"second")
        second = consumer.poll(5.0)
        assert first is not None
        assert second is not None
        assert second.error() is None
        assert second.offset() == 1
        end = consumer.poll(5.0)
        assert end is not None
        assert end.error() == KafkaError._PARTITION_EOF
        assert end.offset() == 2


def test_a_place_behind_the_end_is_no_end() -> None:
    """B335: it is out of range."""
    world = written(2)
    keys = {"auto_offset_reset": "none", "enable.partition.eof": True}
    with assigned(world, **keys) as consumer:
        consumer.seek(TopicPartition("orders", 0, 0))
        assert len(consumer.consume(3, 5.0)) == 3
        consumer.seek(TopicPartition("orders", 0, 9))
        message = consumer.poll(5.0)
        assert message is not None
        assert message.error() == KafkaError._AUTO_OFFSET_RESET
