"""Workers of tasks, in virtual time: order, attempts, dead letters, bounds, rebalances."""

import asyncio
from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from prokurist import ConsumerRecord, TopicPartition
from prokurist.errors import IllegalStateException
from prokurist.parallel import DeadLetters, Order, Retries, TaskWorkers
from tests.simulation.producing import log_of
from tests.simulation.reading import A, B
from tests.simulation.returning import committed
from tests.simulation.virtual_loop import consumer, producer, run
from tests.simulation.working import Ledger, Letters, keyed, reading, stopped, until
from tests.simulation.world import World

BOTH = pytest.mark.parametrize("protocol", ["consumer", "classic"])


async def worked(world: World, handler: Any, **keys: Any) -> TaskWorkers:
    """Work on all that there is, and close."""
    async with reading(world) as client:
        workers = TaskWorkers(client, "orders", handler, **keys)
        await workers.run(idle_timeout=5.0)
    return workers


@pytest.mark.parametrize(
    ("order", "seconds"), [(Order.KEY, 4.0), (Order.PARTITION, 10.0), (Order.NONE, 1.0)]
)
def test_what_runs_at_once(order: Order, seconds: float) -> None:
    """B868: of ten records of a second each, with three keys."""
    world = keyed(records=10)
    moments: list[float] = []

    async def handle(_: ConsumerRecord) -> None:
        moments.append(world.clock.time)
        await asyncio.sleep(1.0)

    run(world, worked(world, handle, order=order))
    assert moments[-1] + 1.0 - moments[0] == pytest.approx(seconds, abs=0.1)
    assert committed(world) == 10


def test_no_more_tasks_than_asked_for() -> None:
    """B868: further records wait for one to end."""
    world = keyed(records=10)
    running = 0

    async def handle(_: ConsumerRecord) -> None:
        nonlocal running
        running += 1
        assert running <= 2
        await asyncio.sleep(1.0)
        running -= 1

    run(world, worked(world, handle, order=Order.NONE, tasks=2))
    assert committed(world) == 10


def test_further_attempts() -> None:
    """B869: with pauses, in which other keys go on and its own waits; then it is done."""
    world = keyed(records=6, keys=2)
    log: list[tuple[float, int]] = []

    async def handle(record: ConsumerRecord) -> None:
        log.append((world.clock.time, record.offset))
        if record.offset == 0 and len([each for each in log if each[1] == 0]) < 3:
            raise OSError("away")

    retries = Retries(attempts=3, first=2.0, most=60.0, random=lambda: 0.5)
    workers = run(world, worked(world, handle, retries=retries))
    began = log[0][0]
    assert [(round(at - began, 1), offset) for at, offset in log] == [
        *((0.0, offset) for offset in (0, 1, 3, 5)),
        (2.0, 0),
        *((6.0, offset) for offset in (0, 2, 4)),
    ]
    assert workers.counts()["retried"] == 2
    assert workers.counts()["done"] == 6
    assert committed(world) == 6


@pytest.mark.parametrize("retries", [None, Retries(2, 1.0), Retries(5, hopeless=(KeyError,))])
def test_without_dead_letters_the_last_failure_ends_the_run(retries: Retries | None) -> None:
    """B870: with its error; nothing behind it is committed, and it comes again."""
    world = keyed(records=6, keys=2)
    seen: list[int] = []

    async def handle(record: ConsumerRecord) -> None:
        seen.append(record.offset)
        if record.offset == 2:
            raise KeyError("customer")

    with pytest.raises(KeyError):
        run(world, worked(world, handle, retries=retries))
    assert committed(world) == 2
    seen.clear()
    with pytest.raises(KeyError):
        run(world, worked(world, handle, retries=retries))
    assert seen[0] == 2


def test_dead_letters() -> None:
    """B871: the record with what it says of its failure; then it is done."""
    world = keyed(records=4, keys=2, dead=1)

    async def handle(record: ConsumerRecord) -> None:
        if record.offset == 1:
            raise ValueError("one is no number of ours")

    async def main() -> TaskWorkers:
        async with producer(world) as sender:
            letters = DeadLetters(sender, lambda record: record.topic + ".dead")
            return await worked(world, handle, retries=Retries(2, 1.0), dead_letters=letters)

    workers = run(world, main())
    assert committed(world) == 4
    assert workers.counts()["dead"] == 1
    (letter,) = log_of(world, TopicPartition("orders.dead", 0))
    assert (letter.key, letter.value) == (b"1", b"1")
    assert dict(letter.headers) == {
        "failed.topic": b"orders",
        "failed.partition": b"0",
        "failed.offset": b"1",
        "failed.error.class": b"builtins.ValueError",
        "failed.error.text": b"one is no number of ours",
        "failed.attempts": b"2",
    }


def test_a_dead_letter_that_cannot_be_written() -> None:
    """B871: the run ends with that error, and the record is not done."""
    world = keyed(records=4, keys=2)

    class Full(Letters):
        def send(self, *_: object) -> None:
            raise OSError("no room")

    async def handle(record: ConsumerRecord) -> None:
        if record.offset == 1:
            raise ValueError("one")

    with pytest.raises(OSError, match="no room"):
        run(world, worked(world, handle, dead_letters=Full()))
    assert committed(world) == 1


@BOTH
@pytest.mark.parametrize(("drain", "again"), [(10.0, []), (1.0, [0])])
def test_a_revocation_waits_for_what_runs(
    protocol: str, drain: float, again: list[int]
) -> None:
    """B872: by its time; what has not begun comes again, and so does what takes longer."""
    world = keyed(partitions=2, records=4, keys=1)
    seen: list[tuple[str, int, int]] = []
    cancelled: list[int] = []

    def handler(name: str) -> Any:
        async def handle(record: ConsumerRecord) -> None:
            seen.append((name, record.partition, record.offset))
            try:
                await asyncio.sleep(30.0 if name == "one" else 0.0)
            except asyncio.CancelledError:
                cancelled.append(record.partition)
                raise

        return handle

    async def main() -> None:
        async with reading(world, protocol) as one, reading(world, protocol) as other:
            first = TaskWorkers(one, "orders", handler("one"), drain_timeout=drain * 4)
            running = asyncio.create_task(first.run())
            await until(lambda: len(seen) == 2)
            second = TaskWorkers(other, "orders", handler("other"))
            also = asyncio.create_task(second.run())
            await until(lambda: [each for each in seen if each[0] == "other"])
            (gone,) = other.assignment()
            first_offset = next(each[2] for each in seen if each[0] == "other")
            assert first_offset == (0 if again else 1)
            assert cancelled == ([gone.partition] if again else [])
            await stopped(second, also)
            await stopped(first, running)

    run(world, main())


@BOTH
def test_a_lost_partition(protocol: str) -> None:
    """B873, B876: its work is given up and not committed; it comes again."""
    world = keyed(records=3, keys=1)
    seen: list[int] = []
    cancelled: list[int] = []

    async def handle(record: ConsumerRecord) -> None:
        seen.append(record.offset)
        try:
            await asyncio.sleep(20.0 if len(seen) == 1 else 0.1)
        except asyncio.CancelledError:
            cancelled.append(record.offset)
            raise

    async def main() -> None:
        async with reading(world, protocol) as client:
            workers = TaskWorkers(client, "orders", handle)
            running = asyncio.create_task(workers.run())
            await until(lambda: seen)
            world.control.expire_member("g", client.group_metadata().member_id)
            await until(lambda: len(seen) == 4)
            assert cancelled == [0]
            assert seen == [0, 0, 1, 2]
            assert workers.counts()["given_up"] == 1
            await stopped(workers, running)

    run(world, main())
    assert committed(world) == 3


def test_the_end_waits_for_what_runs() -> None:
    """B874: by `drain_timeout`; close commits it, and what has not begun comes again."""
    world = keyed(records=6, keys=3)
    ended: list[int] = []

    async def handle(record: ConsumerRecord) -> None:
        await asyncio.sleep(5.0 * (record.offset + 1))
        ended.append(record.offset)

    async def main() -> None:
        async with reading(world) as client:
            workers = TaskWorkers(client, "orders", handle, drain_timeout=8.0)
            stop = asyncio.Event()
            running = asyncio.create_task(workers.run(stop))
            await until(lambda: workers.counts()["running"] == 3)
            began = world.clock.time
            stop.set()
            await running
            assert world.clock.time - began < 9.0

    run(world, main())
    assert ended == [0]
    assert committed(world) == 1


def test_a_run_that_is_cancelled() -> None:
    """B874: it drains, too."""
    world = keyed(records=2, keys=2)
    ended: list[int] = []

    async def handle(record: ConsumerRecord) -> None:
        await asyncio.sleep(3.0)
        ended.append(record.offset)

    async def main() -> None:
        async with reading(world) as client:
            workers = TaskWorkers(client, "orders", handle)
            running = asyncio.create_task(workers.run())
            await until(lambda: workers.counts()["running"] == 2)
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    run(world, main())
    assert ended == [0, 1]
    assert committed(world) == 2


def test_bounds_of_records() -> None:
    """B875: at most so many are in hand, and the member stays in its group."""
    world = keyed(records=30, keys=30)
    most = 0

    async def handle(_: ConsumerRecord) -> None:
        nonlocal most
        counts = workers.counts()
        most = max(most, counts["running"] + counts["queued"] + counts["waiting"])
        await asyncio.sleep(10.0)

    workers: Any = None

    async def main() -> None:
        nonlocal workers
        async with reading(world, max_poll_interval_ms=6000) as client:
            workers = TaskWorkers(client, "orders", handle, max_outstanding=4)
            await workers.run(idle_timeout=5.0)

    run(world, main())
    assert most == 4
    assert committed(world) == 30
    assert workers.counts()["given_up"] == 0


def test_bounds_of_bytes() -> None:
    """B875: partitions are paused at the bound, and go on below it; others stay paused."""
    world = keyed(partitions=2, records=30, keys=30)
    most = 0

    async def handle(record: ConsumerRecord) -> None:
        nonlocal most
        most = max(most, workers.counts()["bytes"])
        if record.offset == 10:
            assert client.paused()
        await asyncio.sleep(1.0)

    workers: Any = None
    client: Any = None

    async def main() -> None:
        nonlocal workers, client
        async with reading(world, max_poll_records=5) as client:
            workers = TaskWorkers(client, "orders", handle, max_bytes=20, order=Order.PARTITION)
            await workers.run(idle_timeout=5.0)
            assert not client.paused()

    run(world, main())
    assert 20 <= most < 20 + 5 * 4
    assert committed(world, A) == committed(world, B) == 30


def test_metrics() -> None:
    """B879: of records in hand, of results, and of durations."""
    world = keyed(records=6, keys=6)
    metrics: dict[str, float] = {}

    async def handle(record: ConsumerRecord) -> None:
        if record.offset == 0:
            raise OSError("away")
        await asyncio.sleep(2.0)

    async def main() -> None:
        async with reading(world) as client:
            workers = TaskWorkers(
                client,
                "orders",
                handle,
                tasks=3,
                retries=Retries(2, 30.0),
                dead_letters=Letters(),
            )
            running = asyncio.create_task(workers.run())
            await until(lambda: workers.counts()["waiting"])
            metrics.update(client.metrics())
            assert workers.counts()["running"] == 3
            await until(lambda: workers.counts()["dead"])
            end = client.metrics()
            assert end['prokurist_workers_attempts_total{result="done"}'] == 5
            assert end['prokurist_workers_attempts_total{result="dead"}'] == 1
            assert end["prokurist_workers_attempt_seconds_count"] == 7
            assert end["prokurist_workers_bytes"] == 0
            await stopped(workers, running)

    run(world, main())
    assert metrics["prokurist_workers_running"] == 3
    assert metrics["prokurist_workers_queued"] == 2
    assert metrics["prokurist_workers_waiting"] == 1
    assert metrics['prokurist_workers_attempts_total{result="retried"}'] == 1


def test_a_consumer_that_stores_by_itself() -> None:
    """B868: it is refused, with what to set."""
    world = keyed()

    async def handle(_: ConsumerRecord) -> None:
        """Nothing."""

    async def main() -> None:
        for keys in ({"enable_auto_offset_store": True}, {"enable_auto_commit": False}):
            given = {"group_id": "g", "enable_auto_offset_store": False, **keys}
            async with consumer(world, **given) as client:
                with pytest.raises(IllegalStateException, match=r"enable\.auto\.offset\.store"):
                    TaskWorkers(client, "orders", handle)

    run(world, main())


async def lives(world: World, random: Random, ledger: Ledger, protocol: str) -> None:
    """Members come and go, are expired, and work, until all is done."""
    letters = Letters(ledger)
    total = sum(
        len(each.log.batches) for each in world.cluster.state.topics["orders"].partitions
    )
    is_over = False

    async def live() -> None:
        await asyncio.sleep(random.random() * 20.0)
        while not is_over:
            await member(random.random() * 40.0)
            await asyncio.sleep(random.random() * 5.0)

    async def member(seconds: float) -> None:
        async def handle(record: ConsumerRecord) -> None:
            ledger.begins(workers, record)
            well = False
            try:
                await asyncio.sleep(random.choice((0.0, 0.01, 0.3, 3.0)) * random.random())
                if random.random() < 0.15:
                    raise OSError("away")
                well = True
            finally:
                ledger.ends(workers, record, well=well)

        async with reading(world, protocol, max_poll_records=random.randrange(1, 20)) as client:
            workers = TaskWorkers(
                client,
                "orders",
                handle,
                tasks=random.randrange(1, 10),
                retries=Retries(3, 0.2, 2.0, random=random.random),
                dead_letters=letters,
                max_outstanding=random.randrange(1, 40),
                max_bytes=random.choice((10, 1 << 20)),
                drain_timeout=random.choice((0.0, 0.5, 5.0)),
            )
            running = asyncio.create_task(workers.run())
            end = asyncio.get_running_loop().time() + seconds
            while asyncio.get_running_loop().time() < end and not is_over:
                await asyncio.sleep(0.5)
                ledger.check_commits()
                member_id = client.group_metadata().member_id
                if random.random() < 0.01 and member_id:
                    with suppress(Exception):
                        world.control.expire_member("g", member_id)
            await stopped(workers, running)

    members = [asyncio.create_task(live()) for _ in range(3)]
    await until(lambda: ledger.faults or len(ledger.done) == total, 3000.0)
    is_over = True
    for each in members:
        await each
    ledger.check_commits()


@BOTH
@pytest.mark.parametrize("seed", range(5))
def test_random_lives(protocol: str, seed: int) -> None:
    """B877: each record is done, in order of its key; what is committed is done."""
    random = Random(seed)  # noqa: S311 - no secret
    world = keyed(partitions=3, records=60, keys=5, random=random)
    ledger = Ledger(world)
    run(world, lives(world, random, ledger, protocol))
    assert not ledger.faults
    assert len(ledger.done) == 180
    assert max(Counter(ledger.begun).values()) > 1
