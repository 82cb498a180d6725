"""Clients for coroutines on other loops, in other scopes, and in copies of the process."""

import asyncio
import gc
import os
import threading
import traceback
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest
import uvloop

from prokurist import errors
from prokurist.aio import KafkaAdmin, KafkaConsumer, KafkaProducer
from prokurist.testing.broker import EmbeddedBroker


def reader(broker: EmbeddedBroker, **keys: Any) -> KafkaConsumer:
    """A consumer that reads from the beginning."""
    return KafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        group_id="billing",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **keys,
    )


async def round_trip(broker: EmbeddedBroker, count: int = 300) -> None:
    """Write, read, look up and commit, in many tasks."""
    async with (
        KafkaProducer(bootstrap_servers=broker.bootstrap) as producer,
        reader(broker) as consumer,
        KafkaAdmin(bootstrap_servers=broker.bootstrap) as admin,
    ):

        async def send(number: int) -> int:
            return (await (await producer.send("orders", b"%d" % number))).offset

        async with asyncio.TaskGroup() as tasks:
            sent = [tasks.create_task(send(number)) for number in range(count)]
        assert {each.result() for each in sent} == set(range(count))
        consumer.subscribe("orders")
        found = []
        async for record in consumer.records(idle_timeout=20.0):
            found.append(record.offset)
            if len(found) == count:
                break
        assert found == list(range(count))
        await asyncio.gather(consumer.commit(timeout=10.0), admin.describe_cluster())


def with_broker(main: Callable[[EmbeddedBroker], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine beside a broker, in a loop of asyncio's in debug mode."""
    with EmbeddedBroker(1, {"orders": 1}) as broker:
        asyncio.run(main(broker), debug=True)


def test_on_uvloop() -> None:
    """B740: as on asyncio's own loop."""

    async def main(broker: EmbeddedBroker) -> None:
        assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
        await round_trip(broker)
        async with reader(broker, client_id="late") as consumer:
            consumer.subscribe("payments")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await consumer.poll(60.0)
            assert not await consumer.poll(0.2)

    with (
        EmbeddedBroker(1, {"orders": 1, "payments": 1}) as broker,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(main(broker))


def test_in_debug_mode_nothing_is_complained_of(caplog: pytest.LogCaptureFixture) -> None:
    """B741: no coroutine that is never awaited, no exception never retrieved, nothing open."""

    async def main(broker: EmbeddedBroker) -> None:
        await round_trip(broker)
        gc.collect()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with_broker(main)
        gc.collect()
    told = [each.getMessage() for each in caplog.records if each.name == "asyncio"]
    assert [each for each in told if "never" in each or "exception" in each] == []


def test_in_cancel_scopes_of_anyio() -> None:
    """B742: a scope ends a call, and a block in it is left; a shielded one waits."""

    async def main(broker: EmbeddedBroker) -> None:
        consumer = reader(broker)
        with anyio.move_on_after(0.5) as scope:
            async with consumer:
                consumer.subscribe("orders")
                await consumer.poll(60.0)
        assert scope.cancelled_caught
        # anyio cancels each await in the scope again: `close` goes on in its own task.
        with anyio.CancelScope(shield=True):
            await consumer.close()
        with pytest.raises(errors.IllegalStateException):
            await consumer.poll(0.1)
        async with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:

            async def read() -> None:
                async with reader(broker) as other:
                    other.subscribe("orders")
                    while True:
                        await other.poll(5.0)

            with pytest.raises(TimeoutError), anyio.fail_after(0.3):
                await read()
            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(producer.send, "orders", b"%d" % number)
            await producer.flush(10.0)

    with_broker(main)


def test_a_failing_task_cancels_the_one_that_reads() -> None:
    """B743: in a task group; its records come again, to a poll after it."""

    async def main(broker: EmbeddedBroker) -> None:
        async with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            await (await producer.send_many("orders", [b"v"] * 10))
            await work_beside(broker, producer)

    with_broker(main)


async def work_beside(broker: EmbeddedBroker, producer: KafkaProducer) -> None:
    """Read in a group of tasks, of which one fails; and read on."""
    async with reader(broker) as consumer:
        consumer.subscribe("orders")
        reading = asyncio.Event()

        async def read() -> None:
            async for _ in consumer:
                reading.set()

        async def fail() -> None:
            await reading.wait()
            raise ZeroDivisionError

        async def both() -> None:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(read())
                tasks.create_task(fail())

        with pytest.raises(ExceptionGroup) as raised:
            await both()
        assert raised.group_contains(ZeroDivisionError)
        await (await producer.send("orders", b"later"))
        values = [each.value for each in await consumer.poll(20.0)]
        assert values[-1] == b"later"


def test_several_loops_use_one_producer() -> None:
    """B744: each in a thread; all wait in their own loop."""
    with EmbeddedBroker(1, {"orders": 1}) as broker:
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
        offsets: list[int] = []

        async def send() -> None:
            deliveries = [await producer.send("orders", b"v") for _ in range(100)]
            offsets.extend([(await each).offset for each in deliveries])

        threads = [threading.Thread(target=lambda: asyncio.run(send())) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
        assert sorted(offsets) == list(range(400))
        asyncio.run(producer.close(10.0), debug=True)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_copy_of_the_process_is_refused() -> None:
    """B745: with a loop running; the parent is unharmed."""

    async def main(broker: EmbeddedBroker) -> None:
        async with (
            KafkaProducer(bootstrap_servers=broker.bootstrap) as producer,
            reader(broker) as consumer,
            KafkaAdmin(bootstrap_servers=broker.bootstrap) as admin,
        ):
            consumer.subscribe("orders")
            await (await producer.send("orders", b"first"))
            await consumer.poll(20.0)
            child = os.fork()
            if child == 0:
                await refused(producer, consumer, admin)
            _, status = await asyncio.to_thread(os.waitpid, child, 0)
            assert os.waitstatus_to_exitcode(status) == 0
            assert (await (await producer.send("orders", b"second"))).offset == 1
            assert len(await consumer.poll(20.0)) == 1
            await admin.describe_cluster()

    with_broker(main)


async def refused(producer: KafkaProducer, consumer: KafkaConsumer, admin: KafkaAdmin) -> None:
    """In the copy: each call says so; end the process with how many have not."""
    left = 3
    try:
        for call in (
            lambda: producer.send("orders", b"late"),
            lambda: consumer.poll(0.1),
            admin.describe_cluster,
        ):
            try:
                await call()
            except errors.ForkedClientError:
                left -= 1
    except BaseException:  # noqa: BLE001 - whatever it is, the copy ends here
        traceback.print_exc()
    finally:
        os._exit(left)
