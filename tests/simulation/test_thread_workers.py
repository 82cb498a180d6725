"""Workers of threads, in virtual time: a pool of the test's own takes the threads' place."""

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from prokurist import ConsumerRecord, KafkaConsumer
from prokurist.errors import IllegalStateException, WakeupException
from prokurist.parallel import Order, Retries, Workers
from prokurist.parallel.schedule import Work
from tests.simulation.joining import Notes
from tests.simulation.reading import A, B
from tests.simulation.returning import committed
from tests.simulation.working import Ledger, Letters, keyed
from tests.simulation.world import World

BOTH = pytest.mark.parametrize("protocol", ["consumer", "classic"])


class VirtualPool:
    """Workers whose work takes virtual time.

    Args:
        world: The world.
        workers: Their workers.
        threads: How many work at once.
        seconds: How long the work on a record takes; the handler is called at its end.
        begins: Hears of each beginning.
    """

    def __init__(
        self,
        world: World,
        workers: Workers,
        threads: int,
        seconds: Callable[[ConsumerRecord], float],
        begins: Callable[[ConsumerRecord], None] = lambda _: None,
    ) -> None:
        self._world = world
        self._workers = workers
        self._threads = threads
        self._seconds = seconds
        self._begins = begins
        self._running = 0
        self._wakes_at = 0.0
        self._is_on = False

    def start(self) -> None:
        """See `Pool`."""
        self._is_on = True

    def stop(self) -> None:
        """See `Pool`."""
        self._is_on = False

    def wake(self, most: int = 1) -> None:
        """See `Pool`."""
        del most
        while self._is_on and self._running < self._threads:
            work = self._workers.take()
            if work is None:
                break
            self._running += 1
            self._begins(work.record)
            at = self._world.clock.time + self._seconds(work.record)
            self._world.at(at, self._ending(work))
        seconds = self._workers.until_due()
        if seconds is not None and self._running < self._threads:
            due = self._world.clock.time + seconds
            if not self._world.clock.time < self._wakes_at <= due:
                self._wakes_at = due
                self._world.at(due, self.wake)

    def _ending(self, work: Work) -> Callable[[], None]:
        def end() -> None:
            self._running -= 1
            self._workers.work_on(work)
            self.wake()

        return end


def reading(world: World, protocol: str = "consumer", **keys: Any) -> KafkaConsumer:
    """A consumer for workers."""
    keys.setdefault("auto_commit_interval_ms", 1000)
    if protocol == "classic":
        keys.setdefault("partition_assignment_strategy", "cooperative-sticky")
    return world.consumer(
        group_protocol=protocol,
        auto_offset_reset="earliest",
        enable_auto_offset_store=False,
        **keys,
    )


def working(
    world: World,
    consumer: KafkaConsumer,
    handler: Callable[[ConsumerRecord], object],
    seconds: float = 1.0,
    **keys: Any,
) -> Workers:
    """Workers whose work takes so long."""
    workers = Workers(consumer, "orders", handler, **keys)
    workers._pool = VirtualPool(world, workers, keys.get("threads", 8), lambda _: seconds)
    return workers


@pytest.mark.parametrize(
    ("order", "seconds"), [(Order.KEY, 4.0), (Order.PARTITION, 10.0), (Order.NONE, 2.0)]
)
def test_what_runs_at_once(order: Order, seconds: float) -> None:
    """B868: of ten records of a second each, with three keys, by eight threads."""
    world = keyed(records=10)
    ends: list[float] = []
    with reading(world) as client:
        workers = working(world, client, lambda _: ends.append(world.clock.time), order=order)
        workers.run(idle_timeout=5.0)
    assert ends[-1] - ends[0] + 1.0 == pytest.approx(seconds, abs=0.1)
    assert committed(world) == 10


def test_attempts_and_dead_letters() -> None:
    """B869, B871: pauses do not hold up other keys."""
    world = keyed(records=4, keys=2)
    log: list[tuple[float, int]] = []

    def handle(record: ConsumerRecord) -> None:
        log.append((world.clock.time, record.offset))
        if record.offset == 0:
            raise OSError("away")

    letters = Letters()
    with reading(world) as client:
        retries = Retries(3, 2.0, random=lambda: 0.5)
        workers = working(world, client, handle, retries=retries, dead_letters=letters)
        workers.run(idle_timeout=5.0)
    began = log[0][0]
    assert [(round(at - began, 1), offset) for at, offset in log] == [
        *((0.0, 0), (0.0, 1), (1.0, 3), (3.0, 0), (8.0, 0), (9.0, 2)),
    ]
    assert letters.sent == [(0, 3)]
    assert committed(world) == 4


def test_the_last_failure_ends_the_run() -> None:
    """B870: what ran meanwhile is done; the failed one comes again."""
    world = keyed(records=4, keys=4)
    seen: list[int] = []

    def handle(record: ConsumerRecord) -> None:
        seen.append(record.offset)
        if record.offset == 1:
            raise KeyError("customer")

    for _ in range(2):
        with reading(world) as client, pytest.raises(KeyError):
            working(world, client, handle).run()
        assert committed(world) == 1
    assert sorted(seen) == [0, 1, 1, 2, 2, 3, 3]


@BOTH
@pytest.mark.parametrize(("drain", "first"), [(30.0, 1), (2.0, 0)])
def test_a_revocation_waits_for_what_runs(protocol: str, drain: float, first: int) -> None:
    """B872: by its time, and commits it; what has not ended comes again."""
    world = keyed(partitions=2, records=4, keys=1)
    notes = Notes()
    with reading(world, protocol) as client, reading(world, protocol) as other:
        workers = working(
            world, client, lambda _: None, 20.0, drain_timeout=drain, listener=notes
        )
        got: list[ConsumerRecord] = []
        tracker = other.track_offsets()
        other.subscribe("orders")

        def poll_other() -> None:
            # In the turns of the other's wait: a second thread of the application.
            with suppress(IllegalStateException):
                got.extend(other.poll(0.0))
            if got:
                workers.stop()
            else:
                world.at(world.clock.time + 0.5, poll_other)

        world.at(world.clock.time + 3.0, poll_other)
        workers.run()
        (gone,) = other.assignment()
        assert min(each.offset for each in got) == first
        assert [kind for kind, _ in notes.heard][:2] == ["assigned", "revoked"]
        assert notes.heard[1][1] == [gone.partition]
        for record in got:
            tracker.done(record)


@BOTH
def test_a_lost_partition(protocol: str) -> None:
    """B873, B876: given up, not committed, and begun again when its old work has ended."""
    world = keyed(records=2, keys=1)
    ends: list[int] = []
    with reading(world, protocol) as client:
        workers = working(world, client, lambda each: ends.append(each.offset), 10.0)

        def expire() -> None:
            assert workers.counts()["running"] == 1
            world.control.expire_member("g", client._member_identity.identity.member_id)

        world.at(world.clock.time + 8.0, expire)
        workers.run(idle_timeout=5.0)
        assert ends == [0, 0, 1]
        assert workers.counts()["given_up"] == 1
    assert committed(world) == 2


def test_the_end_waits_for_what_runs() -> None:
    """B874: by `drain_timeout`, after `stop`, and after a wake-up."""
    for seconds, after in ((4.0, 6), (20.0, None)):
        world = keyed(records=9, keys=3)
        with reading(world) as client:
            workers = working(world, client, lambda _: None, seconds, drain_timeout=8.0)
            began = world.clock.time
            world.at(began + 6.0, workers.stop)
            workers.run()
            assert world.clock.time - began < 15.0
            assert workers.counts()["queued"] == 0
        assert (committed(world) or None) == after
    world = keyed(records=2, keys=2)
    with reading(world) as client:
        workers = working(world, client, lambda _: None, 4.0)
        world.at(world.clock.time + 4.0, client.wakeup)
        with pytest.raises(WakeupException):
            workers.run()
    assert committed(world) == 2


def test_it_may_run_again() -> None:
    """B874: what had not begun comes from the brokers once more, to the next run's consumer."""
    world = keyed(records=6, keys=1)
    seen: list[int] = []
    for _ in range(2):
        with reading(world) as client:
            workers = working(world, client, lambda each: seen.append(each.offset), 2.0)
            world.at(world.clock.time + 5.0, workers.stop)
            workers.run()
    assert sorted(set(seen)) == seen


def test_bounds_of_bytes() -> None:
    """B875: partitions are paused at the bound; those that the user has paused stay so."""
    world = keyed(partitions=2, records=20, keys=20)
    most = 0

    def handle(_: ConsumerRecord) -> None:
        nonlocal most
        most = max(most, workers.counts()["bytes"])

    with reading(world, max_poll_records=5) as client:
        workers = working(world, client, handle, max_bytes=20, order=Order.PARTITION)
        workers.run(idle_timeout=5.0)
        assert not client.paused()
    assert 20 <= most < 20 + 5 * 4
    assert committed(world, A) == committed(world, B) == 20


class Killed(BaseException):
    """The process is gone."""


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_random_lives(protocol: str, seed: int) -> None:
    """B877, B878: members are expired, end, or die; in order, and nothing is missed."""
    random = Random(seed)  # noqa: S311 - no secret
    world = keyed(partitions=3, records=30, keys=4, random=random)
    ledger = Ledger(world)
    while len(ledger.done) < 90:
        with (
            suppress(Killed),
            reading(world, protocol, max_poll_records=random.randrange(1, 20)) as client,
        ):

            def handle(record: ConsumerRecord, its: object = client) -> None:
                well = random.random() > 0.15
                ledger.ends(its, record, well=well)
                if not well:
                    raise OSError("away")

            workers = Workers(
                client,
                "orders",
                handle,
                retries=Retries(3, 0.2, 2.0, random=random.random),
                dead_letters=Letters(ledger),
                max_outstanding=random.randrange(1, 40),
                drain_timeout=random.choice((0.0, 0.5, 5.0)),
            )
            workers._pool = VirtualPool(
                world,
                workers,
                random.randrange(1, 9),
                lambda _: random.choice((0.0, 0.01, 0.5, 3.0)),
                begins=lambda record, its=client: ledger.begins(its, record),  # type: ignore[misc]
            )

            def expire(its: KafkaConsumer = client) -> None:
                ledger.check_commits()
                with suppress(Exception):
                    world.control.expire_member("g", its._member_identity.identity.member_id)

            def kill(network_side: Any = world.members[-1]) -> None:
                # Whatever it does from now on, no broker hears of it.
                world.members.remove(network_side)
                raise Killed

            if random.random() < 0.3:
                world.at(world.clock.time + random.random() * 30.0, kill)
            world.at(world.clock.time + random.random() * 30.0, expire)
            world.at(world.clock.time + random.random() * 60.0, workers.stop)
            workers.run(idle_timeout=20.0)
        ledger.check_commits()
    assert not ledger.faults
