"""The producer of coroutines in a chaos run, with sends that are cancelled on their way.

Thread: any that sends, which waits for the loop's. Ends of deliveries are told on that.
"""

import asyncio
from collections.abc import Mapping
from functools import cache
from itertools import count
from typing import Any, Final

from prokurist.aio import KafkaProducer
from prokurist.errors import KafkaException, TimeoutException
from prokurist.events.accumulator.implementation import Delivery
from prokurist.events.accumulator.record_metadata import RecordMetadata
from tests.chaos.loop_thread import LoopThread
from tests.chaos.senders import Ended, Sender, ending_of

CUT: Final = 7
"""One in so many sends is made by a task that is cancelled, and made again where it was."""

loop_of_process: Final = cache(LoopThread)
"""The one loop of all producers of the process, which runs until that ends."""


class TaskSender(Sender):
    """Our producer of coroutines."""

    def __init__(self, keys: Mapping[str, Any]) -> None:
        self._loop = loop_of_process()
        self._producer = KafkaProducer(dict(keys))
        self._sends = count(1)

    def send(self, topic: str, value: bytes, key: bytes | None, ended: Ended) -> Delivery:
        """See `Sender`."""

        def told(metadata: RecordMetadata, error: KafkaException | None) -> None:
            ended(ending_of(metadata, error))

        async def send() -> Delivery:
            if next(self._sends) % CUT == 0:
                sending = asyncio.ensure_future(
                    self._producer.send(topic, value, key, on_delivery=told)
                )
                await asyncio.sleep(0)
                sending.cancel()
                try:
                    return await sending
                except asyncio.CancelledError:
                    pass  # It has appended nothing: the next one is the first.
            return await self._producer.send(topic, value, key, on_delivery=told)

        return self._loop.run(send())

    def result(self, delivery: Delivery, timeout: float) -> int | None:
        """See `Sender`."""

        async def result() -> int:
            async with asyncio.timeout(timeout):
                return (await delivery).offset

        try:
            return self._loop.run(result())
        except TimeoutError as error:
            raise TimeoutException(f"a delivery is not done after {timeout} s") from error

    def flush(self, timeout: float) -> None:
        """See `Sender`."""
        self._loop.run(self._producer.flush(timeout))

    def purge(self) -> None:
        """See `Sender`."""
        self._loop.run(self._producer.purge())

    def partitions_for(self, topic: str, timeout: float) -> object:
        """See `Sender`."""
        return self._loop.run(self._producer.partitions_for(topic, timeout))

    def close(self, timeout: float) -> None:
        """See `Sender`."""
        self._loop.run(self._producer.close(timeout))
