"""aiokafka, its calls bare: only `getmany` takes a timeout.

Around the others a user can put `asyncio.wait_for`, which ends the wait and not
what it waited for.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from clients.frame import TOPIC, UNHEARD_OF, run

TP = TopicPartition(TOPIC, 0)


class AioKafka:
    """See `frame.Client`."""

    def __init__(self, bootstrap: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.consumer: AIOKafkaConsumer = self._do(self._made(bootstrap))

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    async def _made(self, bootstrap: str) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id="aiokafka")
        await consumer.start()
        consumer.assign([TP])
        return consumer

    def prepare(self) -> None:
        """See `frame.Client`."""
        self.commit_sync(10.0)
        self.committed(10.0)
        self._do(self.consumer.position(TP))
        self.poll(0.2)

    def commit_sync(self, _seconds: float) -> None:
        """One offset."""
        self._do(self.consumer.commit({TP: 1}))

    def committed(self, _seconds: float) -> object:
        """One partition."""
        return self._do(self.consumer.committed(TP))

    def position(self, _seconds: float) -> object:
        """At the end, so that it has to be looked up."""

        async def at_the_end() -> object:
            await self.consumer.seek_to_end(TP)
            return await self.consumer.position(TP)

        return self._do(at_the_end())

    def beginning_offsets(self, _seconds: float) -> object:
        """One partition."""
        return self._do(self.consumer.beginning_offsets([TP]))

    def end_offsets(self, _seconds: float) -> object:
        """One partition."""
        return self._do(self.consumer.end_offsets([TP]))

    def offsets_for_times(self, _seconds: float) -> object:
        """One partition."""
        return self._do(self.consumer.offsets_for_times({TP: 1}))

    def list_topics(self, _seconds: float) -> object:
        """All of them."""
        return self._do(self.consumer.topics())

    def partitions_for(self, _seconds: float) -> object:
        """Of a missing topic: what is known of it, without a request."""
        return self.consumer.partitions_for_topic(UNHEARD_OF)

    def poll(self, seconds: float) -> object:
        """See `frame.Client`."""
        return self._do(self.consumer.getmany(timeout_ms=round(seconds * 1000)))

    def close(self, _seconds: float) -> None:
        """With nothing under way."""
        self._do(self.consumer.stop())

    def figures(self) -> dict[str, Any]:
        """Nothing that one could ask."""
        return {}


if __name__ == "__main__":
    run(AioKafka)
