"""The first question to a cluster: whether a broker answers, or none can be reached.

Thread: the event loop's.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol, TypeVar

from prokurist.compat.aiokafka.errors import KafkaConnectionError

T = TypeVar("T")

LOOK: Final = 0.1
"""Seconds between two looks whether all brokers are out of reach."""


class Reached(Protocol):
    """The part of a client's health that says whether brokers can be reached."""

    @property
    def answer_age(self) -> float | None:
        """Seconds since a broker answered last; None before the first answer."""
        ...

    @property
    def unreachable_for(self) -> float | None:
        """Seconds without a reachable broker."""
        ...

    @property
    def last_error(self) -> str | None:
        """The last error of a connection."""
        ...


async def answered(asked: Coroutine[Any, Any, T], health: Callable[[], Reached]) -> T:
    """Wait for an answer; not for long where no broker can be reached.

    Args:
        asked: The question.
        health: The client's.

    Raises:
        KafkaConnectionError: No broker can be reached.
    """
    task = asyncio.ensure_future(asked)
    try:
        while not (await asyncio.wait((task,), timeout=LOOK))[0]:
            require_reachable(health())
    except BaseException:
        task.cancel()
        await asyncio.wait((task,))
        raise
    return await task


def require_reachable(found: Reached) -> None:
    """Refuse to go on where no broker has answered and none can be reached.

    Raises:
        KafkaConnectionError: It is so.
    """
    if found.answer_age is None and found.unreachable_for is not None:
        raise KafkaConnectionError(f"no broker can be reached: {found.last_error}")
