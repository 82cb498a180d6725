"""How slowly brokers learn of each other in a life by lot: nothing in half of the lives.

Also what a reader may see of a log then: a leader answers up to the high watermark that it
knows, and one that was deposed and has not learned so yet answers up to an older one.
"""

from random import Random
from typing import Final

from prokurist.types import TopicPartition
from tests.simulation.world import World

SECONDS: Final = (0.0, 0.002, 0.1, 0.5)


def let_brokers_lag(world: World, seed: int) -> float:
    """Delay replication and metadata by a lot of its own, so that a life's is the same.

    Returns:
        Seconds within which every broker has learned of a change.
    """
    lot = Random(f"slow brokers {seed}")  # noqa: S311 - a replayable seed
    pick = lot.choice
    election, metadata, coordinators = 0.0, [0.0], 0.0
    if lot.random() < 0.5:
        fetch, watermark, election = pick(SECONDS), pick(SECONDS), pick(SECONDS)
        world.control.delay_replication(fetch=fetch, watermark=watermark, election=election)
    if lot.random() < 0.3:
        for node in world.cluster.state.brokers:
            metadata.append(pick((0.0, 0.01, 0.3, 1.0)))
            world.control.delay_metadata(metadata[-1], node)
    if lot.random() < 0.3:
        coordinators = pick((0.01, 0.3, 1.0))
        world.control.delay_coordinators(coordinators)
    return election + max(metadata) + coordinators


def readable_end(world: World, tp: TopicPartition, *, committed: bool) -> int:
    """Where a log ends for those who read from its leader.

    Args:
        world: Brokers and time.
        tp: Which log.
        committed: Whether it ends at the last stable offset.
    """
    partition = world.cluster.state.topics[tp.topic].partitions[tp.partition]
    known = partition.copy_of(partition.leader).watermark
    return partition.log.stable_end(known) if committed else known


def least_end(world: World, tp: TopicPartition, *, committed: bool) -> int:
    """Where a log ends for the broker that knows least of it.

    Args:
        world: Brokers and time.
        tp: Which log.
        committed: Whether it ends at the last stable offset.
    """
    partition = world.cluster.state.topics[tp.topic].partitions[tp.partition]
    known = min(partition.copy_of(node).watermark for node in partition.replicas)
    return partition.log.stable_end(known) if committed else known
