"""The consumer of coroutines, in virtual time."""

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

import pytest

from prokurist import KafkaConsumer as ConsumerOfThreads
from prokurist import OffsetAndMetadata, TopicPartition, errors
from prokurist.aio import KafkaConsumer
from prokurist.aio.driving import drive
from tests.simulation.virtual_loop import consumer, producer, run
from tests.simulation.world import World

A = TopicPartition("orders", 0)
AT_7 = {A: OffsetAndMetadata(7)}


def filled(count: int) -> World:
    """A world with records in a partition."""
    world = World()

    async def fill() -> None:
        async with producer(world) as sender:
            await sender.send_many("orders", [b"%d" % n for n in range(count)], partition=0)

    run(world, fill())
    return world


def reader(world: World, **keys: Any) -> KafkaConsumer:
    """A consumer that reads from the beginning."""
    return consumer(world, **{"group_id": "g", "auto_offset_reset": "earliest", **keys})


def test_every_call_is_awaited_and_answers() -> None:
    """B700: polls, commits and look-ups."""
    world = filled(10)

    async def main() -> None:
        async with reader(world) as client:
            client.subscribe("orders")
            records = await client.poll(10.0)
            assert [each.value for each in records] == [b"%d" % n for n in range(10)]
            await client.commit(timeout=2.0)
            found = (await client.committed(A))[A]
            assert found is not None
            assert found.offset == 10
            assert await client.position(A) == 10
            assert await client.end_offsets(A) == {A: 10}
            assert await client.beginning_offsets(A) == {A: 0}
            assert (await client.offsets_for_times({A: 0}))[A] is not None
            assert len(await client.partitions_for("orders")) == 3
            assert set(await client.list_topics(topics=["orders"])) == {"orders"}
            assert len(await client.wait_until_ready(5.0)) == 3
            assert not await client.poll_more(0.1)
            await client.unsubscribe()
            assert not client.assignment()

    run(world, main())


def test_a_commit_ends_by_its_deadline_and_the_loop_is_free() -> None:
    """B700: the TimeoutException has the ledger."""
    world = filled(1)

    async def main() -> None:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.1)
                ticks += 1

        async with reader(world) as client:
            client.assign(A)
            await client.poll(1.0)
            world.control.freeze()
            ticking = asyncio.create_task(tick())
            began = world.clock.time
            with pytest.raises(errors.TimeoutException, match="commit for") as raised:
                await client.commit(AT_7, timeout=2.0)
            assert world.clock.time - began == pytest.approx(2.0)
            assert raised.value.may_have_happened
            assert raised.value.attempts
            ticking.cancel()
            world.control.thaw()
        assert ticks >= 19

    run(world, main())


def test_a_cancelled_commit_leaves_its_ledger() -> None:
    """B701: within `asyncio.timeout`, before and after its request is written."""
    world = filled(1)

    async def cancelled(work: Coroutine[Any, Any, None], seconds: float) -> Any:
        with pytest.raises(TimeoutError) as raised:
            async with asyncio.timeout(seconds):
                await work
        assert isinstance(raised.value.__cause__, asyncio.CancelledError)
        return raised.value.__cause__.report  # type: ignore[attr-defined]

    async def main() -> None:
        async with reader(world, enable_auto_commit=False) as client:
            client.assign(A)
            world.control.freeze()
            report = await cancelled(client.commit(AT_7, timeout=5.0), 0.5)
            assert not report.may_have_happened
            assert not report.answered
            assert "has not happened" in str(report)
            world.control.thaw()
            await client.poll(1.0)
            assert (await client.committed(A))[A] is None
            await client.commit({A: OffsetAndMetadata(1)})
            world.control.freeze()
            report = await cancelled(client.commit(AT_7, timeout=5.0), 0.5)
            assert report.may_have_happened
            assert [each.request for each in report.attempts] == ["OffsetCommit"]
            world.control.thaw()

    run(world, main())


def test_polls_that_are_cancelled_lose_no_record() -> None:
    """B702: whenever that is."""
    world = filled(3000)
    chance = random.Random(1)  # noqa: S311 - replayable

    async def main() -> None:
        got: list[int] = []
        ended = 0
        bounds = {"fetch_max_bytes": 2000, "max_partition_fetch_bytes": 2000}
        async with reader(world, max_poll_records=7, **bounds) as client:
            client.assign(A)
            while len(got) < 2000:
                task = asyncio.create_task(client.poll(1.0))
                for _ in range(chance.randrange(6)):
                    await asyncio.sleep(chance.choice([0, 0, 0.001, 0.002]))
                task.cancel()
                try:
                    got += [each.offset for each in await task]
                except asyncio.CancelledError:
                    ended += 1
        assert got == list(range(len(got)))
        assert ended > 20

    run(world, main())


def test_one_task_reads_at_a_time() -> None:
    """B703: the second hears who the first is, which goes on."""
    world = filled(0)

    async def main() -> None:
        async with reader(world) as client:
            client.assign(A)
            first = asyncio.create_task(client.poll(5.0), name="first")
            await asyncio.sleep(0.1)
            with pytest.raises(errors.ConcurrentModificationException, match="'first'"):
                await client.next(1.0)
            assert not await first

            async def reads(_offsets: object, _error: object) -> None:
                with pytest.raises(errors.IllegalStateException, match="of the same task"):
                    await client.poll(1.0)
                called.append(True)

            called: list[bool] = []
            client.commit_async(AT_7, reads)
            await asyncio.sleep(1.0)
            await client.poll(0.1)
            assert called == [True]

    run(world, main())


def test_others_commit_and_seek_beside_a_poll() -> None:
    """B704: and `wakeup` ends the poll alone."""
    world = filled(5)

    async def main() -> None:
        async with reader(world, enable_auto_commit=False) as client:
            client.assign(A)
            assert len(await client.poll(5.0)) == 5
            polls = asyncio.create_task(client.poll(60.0))
            await asyncio.sleep(0.1)
            commits = [client.commit({A: OffsetAndMetadata(n)}) for n in range(10)]
            await asyncio.gather(*commits)
            found = (await client.committed(A))[A]
            assert found is not None
            assert found.offset == 9
            assert not polls.done()
            client.seek(A, 2)
            assert [each.offset for each in await polls] == [2, 3, 4]
            polls = asyncio.create_task(client.poll(60.0))
            looks = asyncio.create_task(client.commit(AT_7))
            await asyncio.sleep(0)
            client.wakeup()
            await looks
            with pytest.raises(errors.WakeupException):
                await polls

    run(world, main())


def test_callbacks_may_be_coroutine_functions() -> None:
    """B705: each is awaited before the call that reads goes on."""
    world = filled(1)
    said: list[object] = []

    async def main() -> None:
        client = reader(world, enable_auto_commit=False)

        async def assigned(_partitions: object) -> None:
            await asyncio.sleep(0.5)
            said.append("assigned")

        async def revoked(_partitions: object) -> None:
            await asyncio.sleep(1.0)
            await client.commit(AT_7)
            said.append((await client.committed(A))[A])

        async def committed(offsets: Any, error: object) -> None:
            await asyncio.sleep(0.1)
            said.append((offsets[A].offset, error))

        async with client:
            client.subscribe("orders", on_assigned=assigned, on_revoked=revoked)
            await client.poll(8.0)
            for number in range(3):
                client.commit_async({A: OffsetAndMetadata(number)}, committed)
            await asyncio.sleep(1.0)
            await client.poll(1.0)
        assert said == [
            "assigned",
            (0, None),
            (1, None),
            (2, None),
            OffsetAndMetadata(7),
        ]

    run(world, main())


def test_what_a_listener_raises_is_raised_by_the_poll() -> None:
    """B705: or it is cancelled; the member goes on."""
    world = filled(1)

    async def main() -> None:
        wrong: list[BaseException] = [KeyError("mine"), asyncio.CancelledError()]

        async def assigned(_partitions: object) -> None:
            if wrong:
                raise wrong.pop(0)

        async with reader(world) as client:
            client.subscribe("orders", on_assigned=assigned)
            with pytest.raises(errors.KafkaException, match="on_partitions_assigned") as raised:
                await client.poll(9.0)
            assert isinstance(raised.value.__cause__, KeyError)
            records = []
            try:
                records = list(await client.poll(9.0))
            except asyncio.CancelledError:
                records = list(await client.poll(9.0))
            assert len(records) == 1

    run(world, main())


def test_built_without_a_loop_and_bound_to_the_first() -> None:
    """B707: another loop is refused."""
    world = filled(1)
    client = reader(world)
    client.assign(A)

    async def poll() -> int:
        return len(await client.poll(5.0))

    assert run(world, poll()) == 1
    with pytest.raises(errors.IllegalStateException, match="another event loop"):
        run(world, poll())
    run(world, drive(client._close_steps(1.0, last_commit=True, counts=True), world.clock.now))
    assert client._caller.closed


def test_a_consumer_whose_loop_has_ended_is_closed_in_another() -> None:
    """B708: also where it left a call that reads under way; no other call moves there."""
    world = filled(1)
    client = reader(world)
    client.assign(A)
    reading: list[Any] = []

    async def leave() -> None:
        await client.poll(5.0)
        reading.append(client.poll(60.0))
        reading[0].send(None)

    async def end() -> None:
        with pytest.raises(errors.IllegalStateException, match="another event loop"):
            await client.position(A)
        began = world.clock.time
        await client.close()
        assert world.clock.time - began < 1.0

    run(world, leave())
    run(world, end())
    assert client._caller.closed
    reading[0].close()


def test_close_that_is_cancelled_goes_on() -> None:
    """B709: by its deadline; at once when it is cancelled again."""
    world = filled(1)

    async def main() -> None:
        for times, took in ((1, 4.0), (2, 0.3)):
            client = reader(world, group_id=f"g{times}")
            client.subscribe("orders")
            await client.poll(5.0)
            world.control.freeze()
            began = world.clock.time
            for _ in range(times):
                closing = asyncio.create_task(client.close(4.0))
                await asyncio.sleep(0.1)
                closing.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await closing
            while not client._caller.closed:  # noqa: ASYNC110 - it is looked at in turn
                await asyncio.sleep(0.01)
            assert world.clock.time - began <= took + 0.3
            assert times == 2 or world.clock.time - began > 1.0
            world.control.thaw()

    run(world, main())


def test_close_ends_a_poll_of_another_task() -> None:
    """B709: with an error that says so."""
    world = filled(0)

    async def main() -> None:
        client = reader(world)
        client.assign(A)
        polls = asyncio.create_task(client.poll(60.0))
        await asyncio.sleep(0.1)
        await client.close(5.0)
        with pytest.raises(errors.IllegalStateException, match="ended poll"):
            await polls
        with pytest.raises(errors.IllegalStateException, match="closed"):
            await client.poll(1.0)
        await client.close()

    run(world, main())


def test_a_cancelled_block_is_left_soon() -> None:
    """B710: with brokers that are silent."""
    world = filled(1)

    async def main() -> None:
        async with reader(world) as client:
            client.subscribe("orders")
            await client.poll(5.0)
            world.control.freeze()
            task = asyncio.current_task()
            assert task is not None
            asyncio.get_running_loop().call_later(1.0, task.cancel)
            await client.poll(100.0)

    began = world.clock.time
    with pytest.raises(asyncio.CancelledError):
        run(world, main())
    assert world.clock.time - began < 5.0 + 1.0 + 2.0
    world.control.thaw()


def test_an_iteration_goes_on_where_another_was_cancelled() -> None:
    """B702: `async for`, `next` and `read_range`."""
    world = filled(1200)

    async def main() -> None:
        async with reader(world) as client:
            client.assign(A)
            offsets: list[int] = []

            async def read(count: int) -> None:
                async for record in client.records(idle_timeout=3.0):
                    offsets.append(record.offset)
                    if len(offsets) == count:
                        await asyncio.sleep(100.0)

            task = asyncio.create_task(read(700))
            await asyncio.sleep(5.0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            record = await client.next(1.0)
            assert record is not None
            offsets.append(record.offset)
            await read(-1)
            assert offsets == list(range(1200))
        async with consumer(world) as client:
            sizes = [len(records) async for records in client.read_range(A, 5, 500)]
            assert sum(sizes) == 495

    run(world, main())


def test_a_member_stays_while_the_loop_is_blocked() -> None:
    """B713: heartbeats are the network thread's."""
    world = filled(1)
    heard: list[str] = []

    async def main() -> None:
        async with reader(world, session_timeout_ms=10_000) as client:
            client.subscribe("orders", on_revoked=lambda _: heard.append("revoked"))
            await client.poll(5.0)
            world.clock.sleep(30.0)
            await client.poll(1.0)
            assert not heard
            await client.commit()

    run(world, main())


def test_a_busy_consumer_gives_way() -> None:
    """B712: by the client's clock, also where no poll waits."""
    world = filled(100)

    async def main() -> None:
        async with reader(world, max_poll_records=1) as client:
            client.assign(A)
            assert len(await client.poll(5.0)) == 1
            turns = 0

            async def other() -> None:
                nonlocal turns
                while True:
                    await asyncio.sleep(0)
                    turns += 1

            task = asyncio.create_task(other())
            for number in range(1, 41):
                assert len(await client.poll(5.0)) == 1
                world.clock.time += 0.001  # The work on it.
                assert turns <= number / 5 + 1
            assert turns >= 6
            task.cancel()

    run(world, main())


def test_an_iteration_lets_other_tasks_run_amid_its_records() -> None:
    """B712: also where the work on each takes a moment, and none of them is waited for."""
    world = filled(200)

    async def main() -> None:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        async with reader(world) as client:
            client.assign(A)
            first = await client.next(5.0)
            assert first is not None
            # No wait from here on: virtual time stands while a task is always ready.
            task = asyncio.create_task(other())
            async for record in client:
                world.clock.time += 0.001  # The work on it.
                if record.offset == 190:
                    break
            task.cancel()
            assert turns >= 190 / 8 - 3

    run(world, main())


def test_tracked_records_are_awaited() -> None:
    """B704: workers tell what is done, and a task waits for them."""
    world = filled(10)

    async def main() -> None:
        async with reader(world, enable_auto_offset_store=False) as client:
            tracker = client.track_offsets()
            client.assign(A)
            records = await client.poll(5.0)
            assert not await tracker.wait(0.5)

            async def work() -> None:
                for record in records:
                    await asyncio.sleep(0.1)
                    tracker.done(record)

            task = asyncio.create_task(work())
            assert await tracker.wait(5.0)
            await task

    run(world, main())


def test_nothing_is_refused_with_the_way_out() -> None:
    """B715: what would wait."""
    world = World()

    async def main() -> None:
        async with reader(world) as client:
            with pytest.raises(ValueError, match="await unsubscribe"):
                client.subscribe([])
            with pytest.raises(ValueError, match="await unsubscribe"):
                client.assign([])

    run(world, main())


def test_both_consumers_have_the_same_calls() -> None:
    """B700: those of threads, but for `commit_sync`, which is `commit`."""

    def calls(of: type) -> set[str]:
        return {name for name in dir(of) if not name.startswith("_")}

    there, here = calls(ConsumerOfThreads), calls(KafkaConsumer)
    assert there - here == {"commit_sync"}
    assert here - there == {"commit"}
