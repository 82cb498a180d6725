"""The admin client beneath that of coroutines: what its calls return is awaited.

Thread: the event loop's; several loops may use one.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

from prokurist.admin.admin import CLOSE, KafkaAdmin, Thread
from prokurist.admin.topics import TopicPages
from prokurist.aio.call_report import ReportingRunner
from prokurist.aio.driving import JoinedInLoop, drive, new_waiter, running_loop
from prokurist.application.call_runner import CallRunner
from prokurist.application.driving import Steps, T
from prokurist.events.reachability import Reachability


class TaskAdmin(KafkaAdmin):
    """An admin client whose calls return coroutines, whatever their annotations say.

    Each call ends with `_run`, so that one text serves threads and tasks.
    """

    def _run(self, steps: Steps[T]) -> T:
        return cast("T", drive(steps, self._clock.now))

    def _runner(self) -> CallRunner:
        made = super()._runner()
        side = self._built()
        runner = ReportingRunner(self._clock, side.thread.mailbox, self._default, side.trace)
        runner.counters = made.counters
        runner.new_waiter = new_waiter
        return runner

    def _thread(self) -> Thread:
        return JoinedInLoop(super()._built().thread, self._clock.now)

    def end_steps(self, seconds: float) -> Steps[None]:
        """Take the steps of `close`."""
        return self._end(seconds)

    async def page_of(self, pages: TopicPages, timeout: Any) -> Any:
        """Read the next page of topics."""
        return await drive(self._next_page(pages, timeout), self._clock.now)

    def now(self) -> float:
        """The client's clock."""
        return self._clock.now()

    @property
    def reachability(self) -> Reachability:
        """The reachability of brokers."""
        return self._built().client.reachability

    @property
    def is_closed(self) -> bool:
        """True once `close` has begun."""
        return self._closed

    def _close_at_exit(self, seconds: float, *, last_commit: bool) -> None:
        """Close at the interpreter's exit, in a loop of its own."""
        del last_commit
        if self._closed:
            return
        closing: Coroutine[Any, Any, None] = drive(
            self._end(min(seconds, CLOSE)), self._clock.now
        )
        if running_loop() is None:
            asyncio.run(closing)
        else:
            closing.close()
            self._built().thread.abandon()
