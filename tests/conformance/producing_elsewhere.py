"""Scenarios of Produce that need three nodes: other leaders, and replicas out of sync."""

from datetime import timedelta
from typing import Final

from tests.conformance.idempotence import Writer
from tests.conformance.producing import Producer, batch, produce, request, topic_data
from tests.conformance.reading import list_offsets
from tests.conformance.several_nodes import NODES
from tests.conformance.stage import Stage

FOLLOWER: Final = 3
OUTLASTS: Final = timedelta(seconds=15)
"""Longer than it takes until a node that is frozen is out of sync."""


def produced_elsewhere(stage: Stage) -> None:
    """Each node is sent batches for partitions that another leads, or it has no copy of."""
    topic = stage.placed([1, 2], [2, 3], [3, 1])
    for node in NODES:
        for acks in (-1, 1):
            rows = [(index, batch(b"a")) for index in range(3)]
            produce(stage, topic, *rows, who=f"a@{node}", acks=acks)
        produce(stage, topic, (0, b""), (1, batch(b"a")[:-1] + b"x"), who=f"a@{node}")
        produce(stage, topic, (0, batch(b"a")), (7, batch(b"a")), who=f"a@{node}", acks=3)


def sequences_of_moved_leaders(stage: Stage) -> None:
    """A new leader knows the last five batches; the old one names it."""
    topic = stage.placed([1, 2, 3])
    writers = {node: Writer(stage, topic, 7, f"a@{node}") for node in NODES}
    for sequence in range(7):
        writers[1].write(0, sequence)
    written = 7
    for leader in (2, 3, 1):
        stage.side.move_leader(topic.name, 0, leader)
        for node in NODES:
            writers[node].write(0, written - 1)
        writer = writers[leader]
        for sequence in (written - 6, written - 5, written + 1, written):
            writer.write(0, sequence)
        written += 1
    writers[1].write(1, 0)
    stage.side.move_leader(topic.name, 0, 2)
    for epoch, sequence in ((0, written), (1, 0), (1, 1), (2, 1), (2, 0)):
        writers[2].write(epoch, sequence)
    list_offsets(stage, topic, -1, who="a@2")


def replicas_out_of_sync(stage: Stage) -> None:
    """What is answered before a replica leaves the ISR, when it leaves, and then."""
    topic = stage.placed([1, FOLLOWER], min_insync_replicas="2")
    alone = stage.placed([1], min_insync_replicas="2")
    writer, data = Writer(stage, topic, 7, "a@1"), batch(b"a")
    writer.write(0, 0)
    with stage.side.stopped(FOLLOWER):
        both = [topic_data(topic, (0, data)), topic_data(alone, (0, data))]
        stage.send("b@1", "Produce", **request(*both, timeout=OUTLASTS))
        stage.parked("b@1")
        produce(stage, topic, (0, data), acks=1)
        stage.side.until_in_sync(topic.name, 0, 1)
        stage.read("b@1")
        for acks in (-1, 1):
            produce(stage, topic, (0, data), acks=acks)
            produce(stage, topic, (0, data[:-1] + b"x"), acks=acks)
            produce(stage, topic, (0, b""), (9, data), acks=acks)
        for sequence in (0, 1, 2):
            writer.write(0, sequence)
    stage.side.until_in_sync(topic.name, 0, 2)
    for sequence in (0, 1, 0):
        writer.write(0, sequence)
    list_offsets(stage, topic, -1)


def leaders_that_move_meanwhile(stage: Stage) -> None:
    """A batch that waits for a replica when another node is elected, and its repetition."""
    topic = stage.placed([1, 2, 3])
    writers = {node: Writer(stage, topic, 7, f"a@{node}") for node in NODES}
    writers[1].write(0, 0)
    with stage.side.stopped(FOLLOWER):
        data = batch(b"v", producer=Producer(7, 0, 1))
        stage.send("b@1", "Produce", **request(topic_data(topic, (0, data))))
        stage.parked("b@1")
        stage.side.move_leader(topic.name, 0, 2, settled=False)
        stage.read("b@1")
    stage.side.until_in_sync(topic.name, 0, 3)
    for sequence in (1, 3, 2):
        writers[2].write(0, sequence)


def unclean_elections(stage: Stage) -> None:
    """What the new leader lacks is lost, and it takes the sequence numbers of that again."""
    topic = stage.placed([3, 2])
    writers = {node: Writer(stage, topic, 7, f"a@{node}") for node in NODES}
    for sequence in range(4):
        writers[3].write(0, sequence)
    with stage.side.stopped(2):
        stage.side.until_in_sync(topic.name, 0, 1)
        for epoch, sequence in ((0, 4), (0, 5), (1, 0)):
            writers[3].write(epoch, sequence)
        stage.close()
        stage.side.elect_unclean(topic.name, 0, 2)
    for epoch, sequence in ((1, 1), (0, 6), (0, 3), (0, 0), (0, 4), (0, 5), (0, 4), (1, 0)):
        writers[2].write(epoch, sequence)
