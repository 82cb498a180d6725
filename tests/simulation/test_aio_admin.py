"""The admin client of coroutines, in virtual time."""

import asyncio

import pytest

from prokurist import TopicPartition, errors
from prokurist.admin import ALL, NewTopic
from prokurist.aio import CallReport, KafkaAdmin
from tests.simulation.virtual_loop import run
from tests.simulation.world import World


def admin_of(world: World) -> KafkaAdmin:
    """An admin client of coroutines in a world."""
    made = world.administrator()
    return KafkaAdmin.wired(made.config, world.clock, made.side)


def test_each_call_is_awaited() -> None:
    """B725: values, results item by item, lists page by page; and an error by its item."""
    world = World()

    async def main() -> None:
        async with admin_of(world) as admin:
            assert (await admin.describe_cluster()).brokers
            created = await admin.create_topics({"a": NewTopic(2), "b": NewTopic(1, 9)})
            assert created["a"].partitions == 2
            assert isinstance(created.errors["b"], errors.InvalidReplicationFactorException)
            with pytest.raises(errors.TopicExistsException):
                await admin.create_topic("a", 1)
            assert "a" in await admin.list_topics()
            found = [each async for each in admin.iter_topic_partitions(page=1)]
            assert [each.partition for each in found if each.topic == "a"] == [0, 1]
            assert await admin.elect_leaders(None) == {}
            with pytest.raises(TypeError):
                await admin.delete_records({"a": 1})  # type: ignore[dict-item]
            assert admin.health().alive
        with pytest.raises(errors.IllegalStateException, match="is closed"):
            await admin.describe_cluster()

    run(world, main())


def test_calls_of_several_requests_are_awaited() -> None:
    """B725: one deadline for all their requests, whose answers are put together in the task."""
    world = World()

    async def main() -> None:
        async with admin_of(world) as admin:
            await admin.alter_offsets("billing", {TopicPartition("orders", 0): 1})
            assert set((await admin.lag())["billing"]) == {TopicPartition("orders", 0)}
            assert set(await admin.list_groups()) != set()
            offsets = await admin.group_offsets(["billing"])
            assert set(offsets["billing"]) == {TopicPartition("orders", 0)}
            assert await admin.share_offsets([]) == {}
            assert await admin.find_hanging(["orders"]) == ()
            assert await admin.users() == {}
            with pytest.raises(errors.GroupIdNotFoundException):
                await admin.remove_members("nobody", ALL)

    run(world, main())


def test_calls_go_on_beside_each_other_and_end_by_their_deadlines() -> None:
    """B725: the loop is free meanwhile, and an error has its item's ledger."""
    world = World()

    async def main() -> None:
        async with admin_of(world) as admin:
            await admin.describe_cluster()
            # The first change opens the connection of changes.
            await admin.create_topic("early", 1)
            world.control.freeze()
            began = world.clock.time
            late = admin.delete_records({TopicPartition("orders", 0): 0}, timeout=2.0)
            later = admin.describe_cluster(timeout=4.0)
            results, other = await asyncio.gather(late, later, return_exceptions=True)
            assert not isinstance(results, BaseException)
            error = results.errors[TopicPartition("orders", 0)]
            assert isinstance(error, errors.TimeoutException)
            assert isinstance(other, errors.TimeoutException)
            assert world.clock.time - began == pytest.approx(4.0, abs=0.01)
            world.control.thaw()

    run(world, main())


def test_a_call_that_is_cancelled_says_what_it_has_done() -> None:
    """B726: what is not written is withdrawn; the CancelledError has a report."""
    world = World()

    async def main() -> None:
        async with admin_of(world) as admin:
            await admin.describe_cluster()
            # The first change opens the connection of changes.
            await admin.create_topic("early", 1)
            world.control.freeze()
            creating = asyncio.create_task(admin.create_topic("late", 1))
            await asyncio.sleep(1.0)
            creating.cancel()
            with pytest.raises(asyncio.CancelledError) as raised:
                await creating
            report = raised.value.report  # type: ignore[attr-defined]
            assert isinstance(report, CallReport)
            assert report.operation == "create_topic"
            assert report.attempts
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await admin.list_topics()
            world.control.thaw()
            await asyncio.sleep(5.0)

    run(world, main())


def test_close_ends_the_calls_of_other_tasks() -> None:
    """B726: each says that the client is closed; a cancelled close goes on."""
    world = World()

    async def main() -> None:
        admin = admin_of(world)
        await admin.describe_cluster()
        world.control.freeze()
        waiting = asyncio.create_task(admin.describe_cluster())
        await asyncio.sleep(0.5)
        closing = asyncio.create_task(admin.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        with pytest.raises(errors.KafkaException):
            await waiting
        await admin.close()
        world.control.thaw()

    run(world, main())
