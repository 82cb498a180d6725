"""Names of other clients, awaits of many records, and a close inside another one."""

import asyncio
from importlib.util import find_spec
from typing import Any

import pytest

import prokurist
from prokurist.application.peers_words import PACKAGE_WORDS
from tests.simulation.producing import made
from tests.simulation.world import World


@pytest.mark.parametrize(("name", "word"), [("get", "result"), ("add_errback", "add_done")])
def test_a_delivery_names_our_word_for_a_peers(name: str, word: str) -> None:
    """B447: and its own type as the package exports it."""
    producer, _ = made(World())
    with producer:
        delivery: Any = producer.send("orders", b"v")
        with pytest.raises(AttributeError, match=rf"'Delivery' object .*: write {word}"):
            getattr(delivery, name)
        with pytest.raises(AttributeError, match=r"'Delivery' object has no attribute 'x'$"):
            _ = delivery.x
        with pytest.raises(TypeError, match="a done callback is a callable"):
            delivery.add_done_callback(5)
        if type(delivery).__flags__ & (1 << 9) == 0:
            with pytest.raises(TypeError, match=r"prokurist\.Delivery"):
                iter(delivery)


@pytest.mark.parametrize("name", ["KafkaAdminClient", "AIOKafkaConsumer", "AdminClient"])
def test_the_package_names_what_to_use(name: str) -> None:
    """B447: for the names of other clients' packages."""
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': use "):
        getattr(prokurist, name)


@pytest.mark.parametrize("name", sorted(PACKAGE_WORDS))
def test_an_import_of_a_peers_name_names_ours(name: str) -> None:
    """B485: an ImportError with our word for it; whether it is there can be asked for."""
    with pytest.raises(ImportError) as raised:
        exec(f"from prokurist import {name}")  # noqa: S102 - a name of the table
    assert str(raised.value) == (
        f"cannot import name {name!r} from 'prokurist': use {PACKAGE_WORDS[name]}"
    )
    assert not hasattr(prokurist, name)
    assert getattr(prokurist, name, None) is None
    assert find_spec(f"prokurist.{name}") is None


def test_an_import_of_another_name_has_pythons_error() -> None:
    """B485: a name of no client gets no advice."""
    with pytest.raises(ImportError, match=r"^cannot import name 'Konsumer' from 'prokurist' "):
        exec("from prokurist import Konsumer")  # noqa: S102


def test_a_consumer_is_no_asynchronous_iterator() -> None:
    """B447: `async for` says what to write."""
    consumer: Any = World().consumer()

    async def read() -> None:
        async for _ in consumer:
            pass

    with pytest.raises(TypeError, match=r"no asynchronous iterator.*prokurist.aio"):
        asyncio.run(read())
    consumer.close()


def test_deliveries_that_are_done_are_awaited_without_suspension() -> None:
    """B448: and iterated, a handle for each record."""
    producer, _ = made(World())
    with producer:
        sent = producer.send_many("orders", [b"v"] * 5)
        producer.flush(10.0)
        with pytest.raises(StopIteration) as ended:
            next(sent.__await__())
        assert sum(run.records for run in ended.value.value) == 5
        assert [each.done() for each in sent] == [True] * 5


def test_a_close_inside_another_returns_what_is_left() -> None:
    """B449: it is a signal handler's, on the thread that closes: it waits for nothing."""
    world = World()
    producer, _ = made(world)
    left: list[int] = []
    with world.control.freeze():
        producer.send("orders", b"v")
        world.at(world.clock.time + 0.5, lambda: left.append(producer.close(5.0)))
        assert producer.close(2.0) == 1
    assert left == [1]
