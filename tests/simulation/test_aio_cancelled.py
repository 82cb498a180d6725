"""Clients of coroutines whose tasks are cancelled, in virtual time."""

import asyncio

from tests.simulation.producing import values_of
from tests.simulation.virtual_loop import producer, run
from tests.simulation.world import World


def test_a_busy_send_that_is_cancelled_has_sent_nothing() -> None:
    """B850: also where it gives way to other tasks."""
    world = World()
    sent: list[bytes] = []

    async def main() -> None:
        async with producer(world) as client:
            await (await client.send("orders", b"first", partition=0))
            sent.append(b"first")

            async def send() -> None:
                while True:
                    value = b"%d" % len(sent)
                    await client.send("orders", value, partition=0)
                    sent.append(value)
                    world.clock.time += 0.001

            for _ in range(3):
                sending = asyncio.create_task(send())
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                sending.cancel()
                await asyncio.wait((sending,))
                assert sending.cancelled()
            await client.flush(10.0)

    run(world, main())
    assert len(sent) > 100
    assert values_of(world) == sent
