"""Look-ups under way: each runs on a helper thread, and any number of callers wait for it.

Thread: any, except `_work`, a helper's whole life.
Invariants: one look-up for one key at a time; a caller waits no longer than its own deadline;
at most `HELPERS` threads, which end when there is nothing to look up. A helper that hangs, as
in the system's resolver, is a daemon and is not joined.
"""

import threading
from collections import deque
from collections.abc import Callable, Hashable
from copy import copy
from typing import Any, Final

from prokurist.errors import KafkaException, SchemaRegistryUnavailableException
from prokurist.errors.local_variables import clear_locals
from prokurist.events.clock import Deadline
from prokurist.events.waiter import Waiter
from prokurist.registry.asking import safe_error
from prokurist.registry.forks import renew_in_children

HELPERS: Final = 4


class LookUp:
    """A question under way, and its outcome.

    Args:
        what: The subject of the question.
        until: When its time is over.

    Attributes:
        until: When its time is over.
        what: The subject of the question.
    """

    def __init__(self, what: str, until: Deadline) -> None:
        self.until: Final = until
        self.what: Final = what
        self._lock = threading.Lock()
        self._waiter = Waiter()
        self._listeners: list[Callable[[], object]] = []
        self._value: Any = None
        self._error: KafkaException | None = None

    def finish(self, value: Any, error: KafkaException | None) -> None:
        """Set the outcome, once; later ones are dropped."""
        with self._lock:
            if self._waiter.is_open:
                return
            self._value, self._error = value, error
            listeners, self._listeners = self._listeners, []
            self._waiter.open()
        for each in listeners:
            each()

    def is_over(self, now: float) -> bool:
        """True if there is an outcome, or its time is over."""
        if self.until.expired(now):
            self.finish(None, late(self.what))
        return self._waiter.is_open

    def is_settled(self, now: float) -> bool:
        """True if there is an outcome that its time can no longer change.

        That the registry is away is none until its time is over: a consumer that leaves out
        each record of an error would leave out thousands in a short outage.
        """
        if not self.is_over(now):
            return False
        is_away = isinstance(self._error, SchemaRegistryUnavailableException)
        return not is_away or self.until.expired(now)

    def when_over(self, tell: Callable[[], object]) -> None:
        """Have a function called at its end, from the helper; at once if it has ended."""
        with self._lock:
            if not self._waiter.is_open:
                self._listeners.append(tell)
                return
        tell()

    def wait(self, deadline: Deadline, now: float) -> None:
        """Wait for its end, which comes by its own deadline, or for another deadline."""
        first = deadline.earlier(self.until)
        if not self._waiter.wait(first.remaining(now)) and first is self.until:
            self.finish(None, late(self.what))

    def outcome(self) -> Any:
        """Return the answer.

        Raises:
            KafkaException: There is none.
        """
        if not self._waiter.is_open:
            raise late(self.what)
        if self._error is not None:
            # A copy: callers of several threads may raise it.
            raise copy(self._error)
        return self._value

    def __str__(self) -> str:
        return f"{self.what} of the schema registry"

    def __repr__(self) -> str:
        return f"LookUp({self.what}, {'over' if self._waiter.is_open else 'under way'})"


class Resting:
    """The rest of a look-up's time, where the registry is away.

    Args:
        look_up: The look-up, which has failed.

    Attributes:
        until: When its time is over.
        look_up: The look-up.
    """

    def __init__(self, look_up: LookUp) -> None:
        self.look_up: Final = look_up
        self.until: Final = look_up.until

    def when_over(self, tell: Callable[[], object]) -> None:
        """Nothing ends it but its time."""

    def __str__(self) -> str:
        return f"{self.look_up.what} of the schema registry, which is away"

    def __repr__(self) -> str:
        return f"Resting({self.look_up.what})"


def late(what: str) -> SchemaRegistryUnavailableException:
    """Make the error of a look-up whose helper did not come back in time."""
    return SchemaRegistryUnavailableException(
        f"the schema registry gave no answer about {what} in time (a look-up of its name, or "
        "of earlier schemas, has not ended)"
    )


class LookUps:
    """The look-ups of a registry.

    Args:
        now: Reads the clock.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.renew()
        renew_in_children(self)

    def renew(self) -> None:
        """Begin without look-ups and helpers; see `forks.Forked`."""
        self._lock = threading.Lock()
        self._under_way: dict[Hashable, LookUp] = {}
        self._queue: deque[tuple[Hashable, LookUp, Callable[[Deadline], Any]]] = deque()
        self._helpers = 0

    def begin(
        self, key: Hashable, what: str, until: Deadline, work: Callable[[Deadline], Any]
    ) -> LookUp:
        """Join the look-up of a key that is under way, or begin one.

        Args:
            key: Identity of the question.
            what: Its subject, for errors.
            until: When the time of a new one is over.
            work: Answers it on a helper; handed its deadline.
        """
        with self._lock:
            there = self._under_way.get(key)
        if there is not None and not there.is_over(self._now()):
            return there
        with self._lock:
            newer = self._under_way.get(key)
            if newer is not None and newer is not there:
                return newer  # Another thread has just begun it.
            begun = self._under_way[key] = LookUp(what, until)
            self._queue.append((key, begun, work))
            starts = self._helpers < HELPERS
            self._helpers += starts
        if starts:
            try:
                threading.Thread(
                    target=self._work, name="prokurist-schema-registry", daemon=True
                ).start()
            except RuntimeError:  # No more threads for this process.
                with self._lock:
                    self._helpers -= 1
                    alone = self._helpers == 0
                if alone:
                    self._work_alone()
        return begun

    def _work_alone(self) -> None:
        """End look-ups that no helper can take."""
        while True:
            with self._lock:
                if not self._queue:
                    return
                key, look_up, _ = self._queue.popleft()
            self._ended(key, look_up, None, late(str(key)))

    def _work(self) -> None:
        """Answer one question after the other until there is none."""
        while True:
            with self._lock:
                if not self._queue:
                    self._helpers -= 1
                    return
                key, look_up, work = self._queue.popleft()
            value: Any = None
            error: KafkaException | None = None
            if not look_up.is_over(self._now()):
                try:
                    value = work(look_up.until)
                except BaseException as raised:  # noqa: BLE001 - told to those that wait
                    clear_locals(raised)
                    error = safe_error(raised)
            self._ended(key, look_up, value, error)
            # This frame waits for nothing, and must keep nothing.
            del key, look_up, work, value, error

    def _ended(
        self, key: Hashable, look_up: LookUp, value: Any, error: KafkaException | None
    ) -> None:
        with self._lock:
            if self._under_way.get(key) is look_up:
                del self._under_way[key]
        look_up.finish(value, error)

    def __repr__(self) -> str:
        return f"LookUps({len(self._under_way)} under way, {self._helpers} helpers)"
