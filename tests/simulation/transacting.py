"""Parts of the tests of transactions: a producer by each protocol, and what readers see."""

from typing import Final

from prokurist import KafkaProducer, TopicPartition
from prokurist.events.transaction_state import TransactionState
from prokurist.testing.cluster.transactions import TransactionSettings
from tests.simulation.reading import reader
from tests.simulation.world import World

A: Final = TopicPartition("orders", 0)
B: Final = TopicPartition("orders", 1)
VERSIONS: Final = (1, 2)
"""The two protocols: `transaction.version`."""


def world_of(version: int, *, nodes: int = 1) -> World:
    """Brokers that have finalised a version."""
    world = World(nodes=nodes)
    world.control.configure_transactions(TransactionSettings(version=version))
    return world


def transactional(world: World, **keys: object) -> KafkaProducer:
    """A producer that is ready for its first transaction."""
    keys.setdefault("transactional_id", "t")
    producer = world.producer(None, **keys)
    producer.init_transactions(30.0)
    world.control.forget_requests()
    return producer


def committed(world: World, *partitions: TopicPartition) -> list[bytes | None]:
    """The values that readers of committed records see, partition by partition."""
    found: list[bytes | None] = []
    for tp in partitions or (A, B):
        with reader(world, tp, isolation_level="read_committed", group_id="r") as consumer:
            while records := consumer.poll(0.5):
                found += [each.value for each in records]
    return found


def asked(world: World, *apis: str) -> list[str]:
    """The requests of transactions that brokers have read, in order."""
    names = apis or (
        "InitProducerId",
        "AddPartitionsToTxn",
        "AddOffsetsToTxn",
        "TxnOffsetCommit",
        "Produce",
        "EndTxn",
    )
    return [str(each.api) for each in world.control.requests() if str(each.api) in names]


def state_of(world: World, name: str = "t") -> str:
    """Kafka's word for the state of a transactional id."""
    return world.control.transactions()[name].state


def epoch_of(world: World, name: str = "t") -> int:
    """The epoch that the coordinator knows."""
    return world.control.transactions()[name].epoch


def state(producer: KafkaProducer) -> TransactionState:
    """The state of a producer's transaction."""
    transaction = producer._accumulator.transaction
    assert transaction is not None
    return transaction.state


def write(producer: KafkaProducer, *values: bytes, partition: int = 0) -> None:
    """Send some values."""
    for value in values:
        producer.send("orders", value, partition=partition)
