"""Base of an AdminClient: its calls, and their futures.

Thread: any.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from prokurist.admin import KafkaAdmin, Results
from prokurist.compat.absent import Face
from prokurist.compat.confluent_kafka.admin.calls import AdminCalls, raised
from prokurist.compat.confluent_kafka.settings import Settings, admin_settings
from prokurist.compat.confluent_kafka.values import ours
from prokurist.compat.waiting import seconds
from prokurist.errors import KafkaException as OurException
from prokurist.errors.local_variables import without_locals
from prokurist.events.clock import CallersClock, Deadline, MonotonicClock
from prokurist.types import TopicPartition as OurPartition

T = TypeVar("T")
_MOST: Final = 3600
"""Seconds that a timeout has at most."""


class AdminBase(Face):
    """The part of an AdminClient that all its calls stand on."""

    @without_locals
    def __init__(
        self, conf: Mapping[str, Any], *, logger: object = None, **kwargs: Any
    ) -> None:
        if not isinstance(conf, Mapping):
            raise TypeError(f"a configuration is a dict, not {conf!r}")
        settings = admin_settings(conf, kwargs, logger)
        self._wire(KafkaAdmin(settings.rest), settings, MonotonicClock())

    @classmethod
    def over(cls, client: KafkaAdmin, settings: Settings, clock: CallersClock) -> Self:
        """The face of a client that is there already."""
        self = cls.__new__(cls)
        self._wire(client, settings, clock)
        return self

    def _wire(self, client: KafkaAdmin, settings: Settings, clock: CallersClock) -> None:
        self._clock = clock
        self._wait = settings.wait
        # Virtual time is turned by the thread that calls.
        self._calls: AdminCalls | None = AdminCalls(
            client, has_threads=isinstance(clock, MonotonicClock)
        )

    # --- the end ------------------------------------------------------------------------------

    def poll(self, timeout: float | None = None) -> int:
        """Wait until the calls that are out have ended, or the time is over; returns 0."""
        if self._calls is not None:
            self._calls.wait(seconds(timeout, self._wait))
        return 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        calls, self._calls = self._calls, None
        if calls is not None:
            calls.admin.close()

    def __len__(self) -> int:
        return 0 if self._calls is None else len(self._calls)

    def __bool__(self) -> bool:
        return True

    # --- within ----------------------------------------------------------------------------

    def _open(self) -> KafkaAdmin:
        return self._started().admin

    def _started(self) -> AdminCalls:
        if self._calls is None:
            raise RuntimeError("AdminClient has been closed")
        return self._calls

    def _timeout(self, request: float | None, operation: float | None = None) -> float:
        for name, given in (("request_timeout", request), ("operation_timeout", operation)):
            if given is None:
                continue
            if isinstance(given, bool) or not isinstance(given, int | float):
                raise TypeError(f"{name} is a number of seconds, not {given!r}")
            if not 0 <= given <= _MOST:
                raise ValueError(f"{name} is from 0 to {_MOST} seconds: {given}")
        return self._wait if request is None else request

    def _until(self, timeout: float | None) -> Deadline:
        return Deadline.after(self._clock.now(), seconds(timeout, self._wait))

    def _left(self, until: Deadline) -> float:
        return until.remaining(self._clock.now())

    def _start(
        self,
        keys: Any,
        work: Callable[[KafkaAdmin], Mapping[Any, Any]],
        value: Callable[[Any], Any] | None = None,
        *,
        key: Callable[[Any], Any] = lambda key: key,
    ) -> dict[Any, Future[Any]]:
        """Start a call, with a future for each key.

        Args:
            keys: The keys.
            work: The call; its results, or a mapping to values and errors.
            value: Converts a value; None where the future's is None.
            key: Converts a key to that of the results.
        """
        calls = self._started()
        admin = calls.admin

        def done() -> dict[Any, Any]:
            found = outcomes_of(work(admin)) if keys else {}
            return {each: _value(found[key(each)], value) for each in keys}

        return calls.start_all(list(keys), done)

    def _start_one(self, work: Callable[[KafkaAdmin], T]) -> Future[T]:
        calls = self._started()
        admin = calls.admin
        return calls.start(lambda: work(admin))


# --- within ----------------------------------------------------------------------------------


def some(what: str, given: Any, kind: type, wrong: type[Exception] = TypeError) -> list[Any]:
    """Return a list that is not empty.

    Args:
        what: The noun, in the plural.
        given: The argument.
        kind: The type of its elements.
        wrong: The error for another element.

    Raises:
        TypeError: It is no list, or an element is of another type.
        ValueError: It is empty.
    """
    listed(what, given)
    if not given:
        raise ValueError(f"a list of {what} is not empty")
    for each in given:
        if not isinstance(each, kind):
            raise wrong(f"expected a list of {kind.__name__}, not of {each!r}")
    return list(given)


def listed(what: str, given: Any) -> list[Any]:
    """Return a list.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(given, list):
        raise TypeError(f"{what} are a list, not {given!r}")
    return given


def place_of(partition: Any) -> OurPartition:
    """A partition with a topic and a number.

    Raises:
        TypeError: It is no partition.
        ValueError: It has no topic, or a negative number.
    """
    found = ours(partition)
    if not found.topic or found.partition < 0:
        raise ValueError(f"a partition has a topic and a number from 0 on: {partition}")
    return found


def outcomes_of(results: Mapping[Any, Any]) -> dict[Any, Any]:
    """The value, or the error, of each item."""
    if not isinstance(results, Results):
        return dict(results)
    return {**results.succeeded, **results.errors}


@contextmanager
def converted() -> Iterator[None]:
    """Raise errors as confluent-kafka's.

    Raises:
        KafkaException: What the client below has raised.
    """
    try:
        yield
    except OurException as error:
        raise raised(error) from error


def _value(found: Any, value: Callable[[Any], Any] | None) -> Any:
    if isinstance(found, BaseException):
        return found
    return None if value is None else value(found)
