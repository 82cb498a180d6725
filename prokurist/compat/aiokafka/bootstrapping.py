"""The first question to a cluster: whether a broker answers, or none can be reached.

Thread: the event loop's.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, Protocol, TypeVar

from prokurist.compat.aiokafka.errors import KafkaConnectionError
from prokurist.errors import KafkaException

T = TypeVar("T")

LOOK: Final = 0.1
"""Seconds between two looks whether all brokers are out of reach."""


class Reachability(Protocol):
    """Interface of what the client knows of its brokers."""

    @property
    def answered_at(self) -> float | None:
        """When one answered last; None before the first answer."""
        ...

    @property
    def outage(self) -> KafkaException | None:
        """The error of the last one that was asked, once each has failed."""
        ...


async def answered(asked: Coroutine[Any, Any, T], reachability: Reachability) -> T:
    """Wait for an answer; not for long where no broker can be reached.

    Args:
        asked: The question.
        reachability: The client's.

    Raises:
        KafkaConnectionError: No broker can be reached.
    """
    task, former = asyncio.ensure_future(asked), reachability.outage
    try:
        while not (await asyncio.wait((task,), timeout=LOOK))[0]:
            # That of an earlier `start` says nothing of now.
            if reachability.outage is not former:
                require_reachable(reachability)
    except BaseException:
        task.cancel()
        await asyncio.wait((task,))
        raise
    return await task


def require_reachable(found: Reachability) -> None:
    """Refuse to go on where no broker has answered and each has failed.

    Raises:
        KafkaConnectionError: It is so.
    """
    if found.answered_at is None and found.outage is not None:
        raise KafkaConnectionError(f"no broker can be reached: {found.outage}")
