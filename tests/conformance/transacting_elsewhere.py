"""Scenarios of transactions on three nodes: coordinators and leaders that are elsewhere."""

from typing import Final

from tests.conformance.committing import position
from tests.conformance.stage import Stage
from tests.conformance.transacting import (
    STRANGER,
    Numbers,
    Transactor,
    describe_producers,
    protocols,
    read_both,
)

NODES: Final = (1, 2, 3)
TRANSACTION: Final = 1


def coordinator_of(stage: Stage, key: str, kind: int = TRANSACTION) -> int:
    """The node, counted from 1, that coordinates a transactional id or a group."""
    told = stage.quietly(
        "me@1", "FindCoordinator", 4, coordinator_keys=[key], key_type=kind
    ).coordinators[0]
    return int(told.node_id) - stage.side.first_node + 1


def transactor(stage: Stage, name: str, *, grows: bool) -> tuple[Transactor, int]:
    """A producer with a connection to its coordinator, and the node of that."""
    made = Transactor(stage, name, grows=grows)
    here = coordinator_of(stage, made.id)
    return made.another(f"t@{here}"), here


def transactions_elsewhere(stage: Stage) -> None:
    """Requests to nodes that coordinate nothing of it; a transaction on three leaders."""
    topic, group = stage.placed([1], [2], [3]), stage.name
    for grows in protocols(stage):
        producer, here = transactor(stage, "a", grows=grows)
        lost = producer.another(f"e@{next(node for node in NODES if node != here)}")
        lost.init()
        producer.init()
        lost.numbers = producer.numbers
        lost.init(lost.numbers)
        lost.add(topic, 0)
        lost.add_offsets(group)
        lost.end()
        lost.describe()
        seat = coordinator_of(stage, group, kind=0)
        away = next(node for node in NODES if node != seat)
        producer.send_offsets(group, position(topic, (0, 1)), who=f"w@{away}")
        producer.describe()
        producer.send_offsets(group, position(topic, (0, 2)), who=f"w@{seat}")
        for partition in range(3):
            if not grows:
                producer.add(topic, partition)
            producer.write(topic, partition, who=f"w@{(partition + 1) % 3 + 1}")
            producer.write(topic, partition, who=f"w@{partition + 1}")
        producer.describe()
        producer.end()
        for partition in range(3):
            who = f"a@{partition + 1}"
            read_both(stage, topic, partition=partition, who=who)
            describe_producers(stage, topic, partition, who=who)
    names = [f"{stage.name}-{each}" for each in range(3)]
    found = [coordinator_of(stage, each) for each in names]
    told = stage.quietly(
        "me@2", "FindCoordinator", 4, coordinator_keys=names, key_type=TRANSACTION
    )
    seen = [each.node_id - stage.side.first_node + 1 for each in told.coordinators]
    stage.look("found alike by each node", seen == found)


def leaders_that_move_in_transactions(stage: Stage) -> None:
    """A new leader knows the open transaction, its sequences, and takes the marker."""
    for grows in protocols(stage):
        topic = stage.placed([1, 2])
        producer, _ = transactor(stage, "a", grows=grows)
        producer.init()
        if not grows:
            producer.add(topic, 0)
        producer.write(topic, 0, 0, 2, who="w@1")
        stage.side.move_leader(topic.name, 0, 2)
        for sequence in (0, 1, 2, 3):
            producer.write(topic, 0, sequence, 2 if sequence == 0 else 1, who="w@2")
        describe_producers(stage, topic, 0, who="w@2")
        read_both(stage, topic, who="a@2")
        producer.end()
        describe_producers(stage, topic, 0, who="w@2")
        read_both(stage, topic, who="a@2")


def older_end_that_waits(stage: Stage) -> None:
    """EndTxn 4 where brokers add partitions: the epoch stays, and a batch comes too early."""
    producer, here = transactor(stage, "older", grows=True)
    victim = 2 if here == 3 else 3
    away, near = stage.placed([victim]), stage.placed([1])
    producer.init()
    for topic, node in ((away, victim), (near, 1)):
        producer.write(topic, who=f"w@{node}")
    with stage.side.frozen(victim):
        producer.ask_end(version=4)
        producer.wait_for_partitions(1)
        producer.write(near, 0, 1, who="w@1")
        producer.ask_end(version=5)
    producer.settle()
    producer.write(near, 0, 1, who="w@1")
    producer.end()
    producer.describe()


def markers_that_wait(stage: Stage) -> None:
    """A frozen leader holds the end up: what is asked meanwhile, with all sorts of numbers."""
    if stage.speaks("EndTxn", 5):
        older_end_that_waits(stage)
    for grows in protocols(stage):
        producer, here = transactor(stage, "a", grows=grows)
        victim = 2 if here == 3 else 3
        away, near = stage.placed([victim]), stage.placed([1])
        producer.init()
        for topic, node in ((away, victim), (near, 1)):
            if not grows:
                producer.add(topic, 0)
            producer.write(topic, who=f"w@{node}")
        before = producer.numbers
        with stage.side.frozen(victim):
            producer.ask_end()
            producer.wait_for_partitions(1)
            producer.describe()
            for off in (-1, 0, 1, 2):
                for commit in (True, False):
                    producer.ask_end(commit=commit, numbers=before.ahead(off))
                producer.another(f"t@{here}").init(before.ahead(off))
                producer.add(near, 0, numbers=before.ahead(off))
                producer.add_offsets("g", before.ahead(off))
            stranger = Numbers(STRANGER, 0)
            producer.ask_end(numbers=stranger)
            producer.init(stranger)
            producer.add(near, 0, numbers=stranger)
            producer.another(f"t@{here}").init()
            producer.write(near, 0, 0 if grows else 1, who="w@1")
        producer.settle()
        producer.ask_end(numbers=before)
        producer.describe()
        for topic, node in ((away, victim), (near, 1)):
            read_both(stage, topic, who=f"a@{node}")
            describe_producers(stage, topic, 0, who=f"w@{node}")
