"""The last epochs of a producer id: each transaction of version 2 takes one."""

import pytest

from prokurist import KafkaProducer, errors
from prokurist.network_thread.produce.producer_ids import ProducerId
from prokurist.network_thread.produce.transactions.manager import TransactionManager
from prokurist.testing.cluster.transactions import LAST_EPOCH
from tests.simulation.transacting import A, committed, transactional, world_of, write
from tests.simulation.world import World


def at_epoch(world: World, producer: KafkaProducer, epoch: int) -> ProducerId:
    """Have coordinator and producer go on with an epoch of the same id."""
    with world.control._change() as (cluster, now):
        known = cluster.state.transactions.find("t", now)
        assert known is not None
        known.epoch = epoch
    ids = manager_of(producer)._ids
    assert ids.own is not None
    ids.give(ProducerId(ids.own.id, epoch))
    assert ids.own is not None
    return ids.own


def manager_of(producer: KafkaProducer) -> TransactionManager:
    """The part that ends its transactions."""
    assert producer._side is not None
    managers = producer._side.thread._managers
    return next(each for each in managers if isinstance(each, TransactionManager))


@pytest.mark.parametrize("applied", [None, True, False], ids=["heard", "answer lost", "lost"])
@pytest.mark.parametrize("before", [1, 2, 3])
@pytest.mark.parametrize("end", ["commit_transaction", "abort_transaction"])
def test_another_producer_id_follows(before: int, end: str, *, applied: bool | None) -> None:
    """B575: between two transactions, also where the end of one has to be repeated."""
    world = world_of(2)
    with transactional(world) as producer:
        first = at_epoch(world, producer, LAST_EPOCH - before)
        for number in range(before + 2):
            producer.begin_transaction()
            write(producer, b"%d" % number)
            producer.flush(5.0)
            if applied is not None:
                with (
                    world.control.drop("EndTxn", applied=applied),
                    pytest.raises(errors.TimeoutException),
                ):
                    getattr(producer, end)(3.0)
            getattr(producer, end)(60.0)
        own = manager_of(producer)._ids.own
        assert own is not None
        assert own.id != first.id
        with producer.transaction(60.0):
            write(producer, b"last")
    written = range(before + 2) if end == "commit_transaction" else ()
    assert committed(world, A) == [*(b"%d" % each for each in written), b"last"]
