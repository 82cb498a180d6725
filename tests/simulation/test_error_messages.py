"""What errors say: the value, the rule that it breaks, and the way out."""

import re
from collections.abc import Callable

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.every_call import TP, ready
from tests.simulation.world import World

OTHER = TopicPartition("orders", 2)
LONG = OffsetAndMetadata(1, "x" * 5000)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c.commit_sync({TP: 7}), "orders-0 .*such as OffsetAndMetadata(42), not 7"),
        (
            lambda c: c.committed(("orders", 0)),
            "a partition is a TopicPartition, such as Topic",
        ),
        (lambda c: c.committed("orders"), "TopicPartitions, such as .*, one or several, not"),
        (lambda c: c.position("orders"), "such as TopicPartition(.*, not 'orders'"),
        (lambda c: c.offsets_for_times(TP), "a mapping of TopicPartition to int, not Topic"),
        (lambda c: c.committed(TP, -1), "timeout is not negative.*: -1"),
        (lambda c: c.committed(TP, "1"), "seconds or a timedelta, not str: '1'"),
        (lambda c: c.poll(), "no default timeout: give it one, in seconds"),
        (lambda c: c.seek(OTHER, 1), "orders-2, which is not assigned.*: assign it first"),
        (lambda c: c.subscribe(["orders"]), "assigned by hand.*call unsubscribe"),
        (lambda c: c.partitions_for("a b"), "'a b': a name has 1 to 249 letters"),
        (lambda c: c.partitions_for(""), "it is empty"),
        (lambda c: c.partitions_for("x", timeout=0), "partitions_for of topic x.*above 0"),
        (lambda c: c.commit_async({}, 3), "callable, not 3"),
    ],
)
def test_what_users_get_wrong_is_told_with_the_way_out(
    call: Callable[[KafkaConsumer], object], words: str
) -> None:
    """B16, B25: in one line, without a look into the documentation."""
    world = World()
    with world.consumer() as consumer:
        ready(consumer)
        if "letters" in words:
            world.control.fail("Metadata", 17, times=1, topic="a b")
        with pytest.raises(Exception, match=words.replace("(", r"\(").replace(")", r"\)")):
            call(consumer)


def test_a_note_that_is_too_long_names_the_partition_and_the_brokers_key() -> None:
    """B50: whose note, and how long one may be."""
    world = World()
    with world.consumer() as consumer:
        world.control.fail("OffsetCommit", 12, times=1, partition=0)
        with pytest.raises(
            Exception, match=r"orders-0 .*offset\.metadata\.max\.bytes.*shorter"
        ):
            consumer.commit_sync({TP: LONG, OTHER: OffsetAndMetadata(1)})


def test_what_is_over_says_what_to_do_instead() -> None:
    """B176: of a closed client, and of one that was not closed."""
    world = World()
    consumer = world.consumer()
    with pytest.warns(ResourceWarning, match="close it, or use it in a with statement"):
        consumer.__del__()
    with pytest.raises(Exception, match=re.escape("a client that is closed: build another")):
        consumer.poll(1)
    world.clock.sleep(0.01)
