"""Partitions that have to wait, and replicas that are preferred for a while."""

from random import Random

from prokurist.events.backoff import Backoff
from prokurist.events.cluster import Cluster, PartitionView, TopicView
from prokurist.network_thread.fetch.sources import PartitionBackoff, Replicas
from prokurist.network_thread.operations.timer import Timer
from prokurist.types import Node, TopicPartition

TP = TopicPartition("t", 0)
NODES = {number: Node(number, f"b{number}", 9092) for number in (1, 2)}
CLUSTER = Cluster(
    nodes=NODES, topics={"t": TopicView("t", partitions={0: PartitionView(0, leader=1)})}
)


def troubles(timer: Timer, over: list[float]) -> PartitionBackoff:
    """Pauses of about a tenth of a second, then twice that."""
    backoff = Backoff.of_milliseconds(100, 1000, Random(1))  # noqa: S311
    return PartitionBackoff(timer, backoff, lambda: over.append(timer.now))


def test_a_partition_waits_longer_each_time() -> None:
    """Until it has been fetched; another leader ends the pause."""
    timer, over = Timer(0.0), list[float]()
    waiting = troubles(timer, over)
    for shortest, longest in ((0.07, 0.13), (0.15, 0.25)):
        began = timer.now
        waiting.meet(TP, (1, 5))
        assert waiting.waits(TP, (1, 5))
        assert not waiting.waits(TP, (2, 6))
        timer.now += shortest
        assert waiting.waits(TP, (1, 5))
        timer.now = began + longest
        assert not waiting.waits(TP, (1, 5))
    timer.fire(timer.mark())
    assert over == [timer.now]
    waiting.end(TP)
    waiting.meet(TP, (1, 5))
    timer.now += 0.13
    assert not waiting.waits(TP, (1, 5))
    waiting.close()
    assert not len(timer)


def test_a_replica_is_preferred_for_a_while() -> None:
    """As long as it is alive and no answer has said otherwise."""
    timer = Timer(0.0)
    replicas = Replicas(timer, 60.0)
    assert replicas.source_of(TP, CLUSTER) == NODES[1]
    replicas.prefer(TP, 2)
    assert replicas.source_of(TP, CLUSTER) == NODES[2]
    assert replicas.forget(TP)
    assert not replicas.forget(TP)
    assert replicas.source_of(TP, CLUSTER) == NODES[1]
    replicas.prefer(TP, 2)
    timer.now = 60.0
    assert replicas.source_of(TP, CLUSTER) == NODES[1]
    replicas.prefer(TP, 9)
    assert replicas.source_of(TP, CLUSTER) == NODES[1]


def test_no_replica_is_asked_while_the_topic_is_absent() -> None:
    """By its name it would be asked, and may know one that was made again."""
    replicas = Replicas(Timer(0.0), 60.0)
    replicas.prefer(TP, 2)
    assert replicas.source_of(TP, Cluster(nodes=NODES)) is None
    assert replicas.source_of(TP, CLUSTER) == NODES[2]
