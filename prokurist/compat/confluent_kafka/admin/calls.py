"""Calls of an AdminClient, each on a thread of its own: futures, by item.

Thread: any calls; each call has a thread, which ends by the call's deadline. In virtual time a
call is done when it returns.
"""

import atexit
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from typing import Any, Final
from weakref import WeakSet

from prokurist.admin import KafkaAdmin
from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.compat.confluent_kafka.errors_of import exception_of
from prokurist.errors import KafkaException as OurException
from prokurist.errors import OffsetOutOfRangeException

AT_EXIT: Final = 5.0
"""Seconds for calls whose futures are not looked at, when the interpreter ends."""

OPEN: Final = WeakSet["AdminCalls"]()


class AdminCalls:
    """Starts calls, and closes the client below when nothing refers to it any more.

    Args:
        admin: The client below.
        has_threads: False in virtual time.
    """

    def __init__(self, admin: KafkaAdmin, *, has_threads: bool) -> None:
        self.admin = admin
        self._has_threads = has_threads
        self._out = set[Future[Any]]()
        OPEN.add(self)

    def start(self, work: Callable[[], Any]) -> Future[Any]:
        """Start a call with one result."""
        future: Future[Any] = Future()

        def run() -> None:
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 - it is the future's
                future.set_exception(raised(error))
            else:
                future.set_result(result)

        self._run(run, [future])
        return future

    def start_all(
        self, keys: Iterable[Any], work: Callable[[], Mapping[Any, Any]]
    ) -> dict[Any, Future[Any]]:
        """Start a call with a result for each key: a value, or an exception."""
        futures: dict[Any, Future[Any]] = {key: Future() for key in keys}

        def run() -> None:
            try:
                results = work()
            except BaseException as error:  # noqa: BLE001 - it is each future's
                for future in futures.values():
                    future.set_exception(raised(error))
                return
            for key, future in futures.items():
                result = results[key]
                if isinstance(result, BaseException):
                    future.set_exception(raised(result))
                else:
                    future.set_result(result)

        self._run(run, futures.values())
        return futures

    def wait(self, seconds: float) -> None:
        """Wait until the calls that are out have ended, or the time is over."""
        wait(list(self._out), max(0.0, seconds))

    def __len__(self) -> int:
        return len(self._out)

    def __bool__(self) -> bool:
        return True

    def _run(self, run: Callable[[], None], futures: Iterable[Future[Any]]) -> None:
        for future in futures:
            future.set_running_or_notify_cancel()
            self._out.add(future)
            future.add_done_callback(self._out.discard)
        if not self._has_threads:
            run()
            return
        threading.Thread(
            target=self._kept, args=(run,), name="prokurist-admin-call", daemon=True
        ).start()

    def _kept(self, run: Callable[[], None]) -> None:
        """Run a call with a reference to this object: the client stays open meanwhile."""
        run()

    def __del__(self) -> None:
        admin = self.__dict__.get("admin")
        if admin is not None:
            admin.close(0)

    def __repr__(self) -> str:
        return f"AdminCalls({self.admin!r}, {len(self)} futures)"


def raised(error: Any) -> Any:
    """An exception as confluent-kafka's, with ours as its cause."""
    if not isinstance(error, OurException):
        return error
    if isinstance(error, OffsetOutOfRangeException):
        # Of a consumer it is the end of what a reset can do; here it is the broker's answer.
        theirs = KafkaException(KafkaError(KafkaError.OFFSET_OUT_OF_RANGE, str(error)))
    else:
        theirs = exception_of(error)
    theirs.__cause__ = error
    return theirs


@atexit.register
def wait_for_all() -> None:
    """Give calls a short time, as the interpreter ends: scripts do not look at each future."""
    for calls in list(OPEN):
        calls.wait(AT_EXIT)
