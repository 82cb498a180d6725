"""The public admin client of coroutines.

Thread: that of any event loop; several loops may use one admin client. Its calls are those of
`prokurist.admin.KafkaAdmin`, and follow them without a line for each (`admin_calls.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from prokurist.admin.admin import CLOSE
from prokurist.admin.topics import pages_of
from prokurist.aio.admin_calls import AdminCalls
from prokurist.aio.driving import drive
from prokurist.aio.ending import Ending
from prokurist.aio.task_admin import TaskAdmin
from prokurist.application.health import ClientHealth
from prokurist.assembly.admin import AdminSide
from prokurist.config import AdminConfig
from prokurist.errors.local_variables import without_locals
from prokurist.events.clock import CallersClock, as_seconds
from prokurist.types import PartitionInfo

if TYPE_CHECKING:
    from typing import Unpack
    from uuid import UUID

    from prokurist.config.typed import AdminKeywords


class KafkaAdmin(AdminCalls):
    """An admin client for coroutines, in which every call answers by its deadline.

    Any number of tasks may use one, of several loops. A task that is cancelled in a call ends
    it: what is not written is withdrawn, and the CancelledError has a `report`.

    Args:
        config: Configuration keys and their values; see docs/config.md.
        keywords: More keys, with underscores.

    Raises:
        ConfigException: A key is unknown, a value breaks its rule, or two contradict each
            other.
    """

    @without_locals
    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        **keywords: "Unpack[AdminKeywords]",
    ) -> None:
        self._over(TaskAdmin(config, **keywords))

    @classmethod
    def wired(cls, config: AdminConfig, clock: CallersClock, side: AdminSide) -> Self:
        """An admin client on a side that something else runs: a simulation."""
        self = cls.__new__(cls)
        self._over(TaskAdmin.wired(config, clock, side))
        return self

    def _over(self, inner: TaskAdmin) -> None:
        self._inner = inner
        self._ending: Ending[None] = Ending()

    def iter_topic_partitions(
        self,
        topics: Iterable[str] | None = None,
        *,
        page: int = 2000,
        timeout: float | timedelta | None = None,
    ) -> AsyncIterator[PartitionInfo]:
        """As `prokurist.admin.KafkaAdmin.iter_topic_partitions`, for `async for`."""
        pages = pages_of(topics, page)

        async def each() -> AsyncIterator[PartitionInfo]:
            while not pages.are_over:
                for topic in await self._inner.page_of(pages, timeout):
                    for partition in topic.partitions:
                        yield partition

        return each()

    def metrics(self) -> dict[str, float]:
        """As `prokurist.admin.KafkaAdmin.metrics`."""
        return self._inner.metrics()

    async def client_instance_id(self, timeout: float | timedelta) -> "UUID":
        """As `prokurist.admin.KafkaAdmin.client_instance_id`."""
        asked: Any = self._inner.client_instance_id(timeout)
        found: UUID = await asked
        return found

    def health(self) -> ClientHealth:
        """As `prokurist.admin.KafkaAdmin.health`."""
        return self._inner.health()

    async def close(self, timeout: float | timedelta | None = None) -> None:
        """As `prokurist.admin.KafkaAdmin.close`, in a task of its own.

        A task that is cancelled in it leaves, and the client is closed all the same.
        """
        seconds = CLOSE if timeout is None else as_seconds(timeout)
        if self._inner.is_closed:
            return

        async def close() -> None:
            await drive(self._inner.end_steps(seconds), self._inner.now)

        await self._ending.run(close, f"close of {self!r}")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        hurries = isinstance(error, asyncio.CancelledError)
        try:
            await self.close(1.0 if hurries else None)
        except Exception as own:
            if error is None:
                raise
            error.add_note(f"and closing the admin client failed: {own}")

    def __repr__(self) -> str:
        inner: TaskAdmin | None = self.__dict__.get("_inner")
        return f"aio.{inner!r}" if inner is not None else "aio.KafkaAdmin(not built)"
