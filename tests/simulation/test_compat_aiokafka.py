"""aiokafka's face in virtual time: what it converts, and how long it waits."""

import asyncio
from typing import Any

import pytest

from prokurist import TopicPartition
from prokurist.compat.aiokafka import (
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    ConsumerStoppedError,
    errors,
)
from prokurist.compat.aiokafka.settings import consumer_settings, producer_settings
from tests.simulation.virtual_loop import consumer, producer, run
from tests.simulation.world import World

A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)


def reader(world: World, *topics: str, **given: Any) -> AIOKafkaConsumer:
    """A face of a consumer in virtual time."""
    keys, found = consumer_settings({"auto_offset_reset": "earliest", **given})
    del keys["bootstrap_servers"]
    face = AIOKafkaConsumer.over(consumer(world, **keys), found, world.clock)
    if topics:
        face.subscribe(topics)
    return face


def sender(world: World, **given: Any) -> AIOKafkaProducer:
    """A face of a producer in virtual time."""
    keys, found = producer_settings(given)
    del keys["bootstrap_servers"]
    return AIOKafkaProducer.over(producer(world, **keys), found, given)


async def write(world: World, *partitions: TopicPartition) -> None:
    """Write a record into each partition."""
    async with sender(world) as writer:
        for number, tp in enumerate(partitions):
            await writer.send_and_wait(tp.topic, b"%d" % number, partition=tp.partition)


def test_records_come_by_turns_to_tasks_that_read() -> None:
    """B718: one that waits for a partition keeps no record of another one from its task."""
    world = World()

    async def main() -> None:
        async with reader(world, "orders", group_id="g") as client:
            first = asyncio.create_task(client.getone(A))
            second = asyncio.create_task(client.getone(B))
            any_of_them = asyncio.create_task(client.getmany(B, timeout_ms=500))
            await asyncio.sleep(1.0)
            assert not first.done()
            assert not second.done()
            assert await any_of_them == {}
            await write(world, B)
            found = await asyncio.wait_for(second, 5)
            assert (found.partition, found.value) == (1, b"0")
            assert not first.done()
            await write(world, A)
            assert (await asyncio.wait_for(first, 5)).partition == 0
            # A reader without others waits undisturbed, and one that comes later has a turn.
            alone = asyncio.create_task(client.getone())
            await asyncio.sleep(1.0)
            assert await client.getmany() == {}
            await write(world, A, B)
            assert (await asyncio.wait_for(alone, 5)).topic == "orders"

    run(world, main())


def test_positions_and_commits_cover_the_record_in_hand() -> None:
    """B716: as in aiokafka, what `getone` and `async for` have returned is consumed."""
    world = World()

    async def main() -> None:
        await write(world, A, A, A)
        async with reader(world, group_id="g", enable_auto_commit=False) as client:
            client.assign([A])
            assert (await client.getone()).offset == 0
            assert await client.position(A) == 1
            await client.commit()
            assert await client.committed(A) == 1
            async for record in client:
                assert record.offset == 1
                break
            await client.commit()
            assert await client.committed(A) == 2
            assert client.highwater(A) == 3
            found = await client.getmany(timeout_ms=1000, max_records=5)
            assert [each.offset for each in found[A]] == [2]

    run(world, main())


def test_start_ends_where_nothing_can_be_read() -> None:
    """B719: without a broker at once; without a topic by `request_timeout_ms`."""
    world = World()

    async def main() -> None:
        client = reader(world, "missing", group_id="g", request_timeout_ms=5000)
        began = world.clock.time
        with pytest.raises(errors.for_code(3), match="missing"):
            await client.start()
        assert world.clock.time - began == pytest.approx(5.0, abs=0.2)
        await client.stop()
        client = reader(world, "missing", request_timeout_ms=5000)
        began = world.clock.time
        with pytest.raises(errors.for_code(3), match="missing"):
            await client.start()
        assert world.clock.time - began == pytest.approx(5.0, abs=0.2)
        await client.stop()
        world.control.kill(1)
        for made in (reader(world, "orders", group_id="g"), sender(world)):
            began = world.clock.time
            with pytest.raises(errors.KafkaConnectionError, match="no broker can be reached"):
                await made.start()
            assert world.clock.time - began < 2.0
            await made.stop()

    run(world, main())


def test_start_does_not_wait_for_ever_for_a_group() -> None:
    """B719: a member that does not poll holds the round up; `start` returns by its time."""
    world = World()

    async def main() -> None:
        await write(world, A, B)
        keys: dict[str, Any] = {"group_id": "g", "request_timeout_ms": 4000}
        async with reader(world, "orders", **keys) as first:
            second = reader(world, "orders", **keys)
            began = world.clock.time
            await second.start()
            assert world.clock.time - began == pytest.approx(4.0, abs=0.5)
            assert not second.assignment()
            reading = asyncio.create_task(second.getone())
            await first.getmany(timeout_ms=1000)
            assert (await reading).topic == "orders"
            assert second.assignment()
            await second.stop()

    run(world, main())


def test_stop_ends_the_call_that_reads() -> None:
    """B720: with ConsumerStoppedError; an iteration ends."""
    world = World()

    async def main() -> None:
        client = reader(world, "orders", group_id="g")
        await client.start()

        async def iterate() -> int:
            return len([record async for record in client])

        tasks = [asyncio.create_task(client.getone()), asyncio.create_task(iterate())]
        many = asyncio.create_task(client.getmany(timeout_ms=60_000))
        await asyncio.sleep(0.5)
        await client.stop()
        with pytest.raises(ConsumerStoppedError):
            await tasks[0]
        assert await tasks[1] == 0
        assert await many == {}
        with pytest.raises(ConsumerStoppedError):
            await client.getmany()

    run(world, main())


def test_what_is_written_after_the_start_is_read() -> None:
    """B729: by default from the end on, which is looked up in `start`, or after `assign`."""
    world = World()

    async def main() -> None:
        await write(world, A)
        latest = {"auto_offset_reset": "latest"}
        grouped = reader(world, "orders", group_id="g", **latest)
        lone = reader(world, "orders", **latest)
        by_hand, later = reader(world, **latest), reader(world, **latest)
        by_hand.assign([A])
        clients = [grouped, lone, by_hand, later]
        for each in clients:
            await each.start()
        later.assign([A])
        await asyncio.sleep(1.0)
        await write(world, A)
        for each in clients:
            assert (await asyncio.wait_for(each.getone(), 5)).offset == 1
            await each.stop()

    run(world, main())


class Notes(ConsumerRebalanceListener):
    """Notes what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, set[TopicPartition]]] = []

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Note it."""
        self.heard.append(("revoked", revoked))

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """Note it."""
        self.heard.append(("assigned", assigned))


def test_unsubscribe_does_not_wait_and_another_subscription_follows() -> None:
    """B721: the listener hears nothing of the consumer's own leave, as in aiokafka."""
    world = World()

    async def main() -> None:
        await write(world, A)
        notes = Notes()
        async with reader(world, group_id="g") as client:
            client.subscribe(["orders"], listener=notes)
            assert (await client.getone()).partition == 0
            client.unsubscribe()
            assert client.assignment() == set()
            assert client.subscription() == frozenset()
            client.subscribe(["orders"], listener=notes)
            await client.getmany(timeout_ms=2000)
            assert len(client.assignment()) == 3
        assert [kind for kind, _ in notes.heard] == ["assigned", "assigned"]

    run(world, main())


def test_a_block_that_an_error_leaves_commits_nothing() -> None:
    """B720: what the error has stopped was not worked on."""
    world = World()

    async def main() -> None:
        await write(world, A, A)

        async def work() -> None:
            async with reader(world, "orders", group_id="g") as client:
                await client.getone()
                _ = 1 / 0

        with pytest.raises(ZeroDivisionError):
            await work()
        async with reader(world, "orders", group_id="g") as again:
            assert await again.committed(A) is None
            assert (await again.getone()).offset == 0
        async with reader(world, "orders", group_id="g") as again:
            assert await again.committed(A) == 1

    run(world, main())


def test_a_batch_takes_what_aiokafkas_takes() -> None:
    """B722: the bytes of Kafka's format, and its records side by side."""
    world = World()

    async def main() -> None:
        async with sender(world, max_batch_size=200) as writer:
            batch = writer.create_batch()
            found = batch.append(timestamp=5, key=None, value=b"x" * 300)
            assert found is not None
            assert (found.offset, found.timestamp) == (0, 5)
            assert batch.append(timestamp=5, key=b"k", value=b"v") is None
            assert batch.closed()
            sent = await writer.send_batch(batch, "orders", partition=0)
            assert (await sent).offset == 0
            with pytest.raises(ValueError, match="the batch is empty"):
                await writer.send_batch(writer.create_batch(), "orders", partition=0)

    run(world, main())


def test_a_send_that_fails_tells_it_once() -> None:
    """B723: in `send` where it is known there; in the future if it comes later."""
    world = World()

    async def main() -> None:
        writer = sender(world, request_timeout_ms=1000, value_serializer=str.encode)
        await writer.start()
        with pytest.raises(errors.for_code(10), match="max"):
            await writer.send("orders", "x" * 2_000_000)
        with pytest.raises(errors.for_code(3), match="missing"):
            await writer.send("missing", "v")
        with pytest.raises(ValueError, match="a value, or a key"):
            await writer.send("orders")
        with pytest.raises(TypeError, match="a key is bytes"):
            await writer.send("orders", "v", "text")
        world.control.freeze()
        sent = await writer.send("orders", "v", partition=0)
        with pytest.raises(errors.KafkaTimeoutError) as raised:
            await sent
        assert raised.value.__cause__ is not None
        world.control.thaw()
        await writer.stop()
        with pytest.raises(errors.ProducerClosed):
            await writer.send("orders", "v")

    run(world, main())


def test_start_is_tried_again_until_there_is_what_it_needs() -> None:
    """B851: as aiokafka's, in a loop around it."""
    world = World()

    async def main() -> None:
        await write(world, A)
        world.control.kill(1)
        client = reader(world, "orders", group_id="g")
        for _ in range(2):
            with pytest.raises(errors.KafkaConnectionError):
                await client.start()
        with pytest.raises(errors.IllegalStateError, match="await start"):
            await client.getone()
        world.control.restart(1)
        await asyncio.sleep(5.0)
        await client.start()
        assert (await client.getone()).partition == 0
        with pytest.raises(errors.IllegalStateError, match="called before"):
            await client.start()
        await client.stop()

    run(world, main())


def test_stop_that_is_cancelled_closes() -> None:
    """B852: where it waits for the group to be left, too."""
    world = World()

    async def main() -> None:
        client = reader(world, "orders", group_id="g")
        await client.start()
        world.control.freeze()
        client.unsubscribe()
        stopping = asyncio.create_task(client.stop())
        await asyncio.sleep(0.1)
        stopping.cancel()
        await asyncio.wait((stopping,))
        assert stopping.cancelled()
        assert client._consumer._caller.closed

    run(world, main())


def test_a_listener_that_reads_or_stops_is_refused() -> None:
    """B853: each would wait for the call that runs the listener."""
    world = World()

    class Reads(ConsumerRebalanceListener):
        """Reads and stops, where it may not."""

        def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
            """See the face."""

        async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
            """See the face."""
            for call in (client.getone, client.getmany, client.stop):
                with pytest.raises(errors.IllegalStateError, match="inside a listener"):
                    await call()
            refused.append(len(assigned))

    refused: list[int] = []
    client = reader(world, group_id="g")

    async def main() -> None:
        await write(world, A)
        client.subscribe(["orders"], listener=Reads())
        async with client:
            assert (await client.getone()).partition == 0
        assert refused == [3]

    run(world, main())


@pytest.mark.parametrize("dead", [1, 2, 3])
def test_start_asks_each_broker_before_it_gives_up(dead: int) -> None:
    """B854: one that refuses connections leaves the others."""

    async def main(world: World) -> None:
        world.control.kill(dead)
        for made in (reader(world), sender(world)):
            await made.start()
            await made.stop()
        for node in {1, 2, 3} - {dead}:
            world.control.kill(node)
        for made in (reader(world), sender(world)):
            with pytest.raises(errors.KafkaConnectionError, match="no broker can be reached"):
                await made.start()
            await made.stop()

    for seed in range(10):
        world = World(nodes=3, seed=seed)
        run(world, main(world))


def test_start_raises_what_a_listener_and_the_group_raise() -> None:
    """B723: as the calls that read do; the listener's own error comes out itself."""
    world = World()

    class Raises(Notes):
        """Raises when partitions come."""

        def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
            """See the face."""
            raise LookupError(len(assigned))

    async def main() -> None:
        client = reader(world, group_id="g")
        client.subscribe(["orders"], listener=Raises())
        with pytest.raises(LookupError, match="3"):
            await client.start()
        await client.stop()
        world.control.deny(group="g")
        client = reader(world, "orders", group_id="g")
        with pytest.raises(errors.GroupAuthorizationFailedError):
            await client.start()
        await client.stop()

    run(world, main())


def test_a_cancelled_block_of_a_producer_is_left_soon() -> None:
    """B856: what is left is not flushed for the whole time of a delivery."""
    world = World()
    delivered: list[int] = []

    async def main() -> None:
        async def send() -> None:
            async with sender(world) as client:
                delivered.append((await client.send_and_wait("orders", b"1")).offset)
                world.control.freeze()
                await client.send_and_wait("orders", b"2")

        sending = asyncio.create_task(send())
        await asyncio.sleep(2.0)
        began = world.clock.time
        sending.cancel()
        await asyncio.wait((sending,))
        assert sending.cancelled()
        assert world.clock.time - began < 3.0
        world.control.thaw()

    run(world, main())
    assert delivered == [0]
