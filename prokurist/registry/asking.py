"""One question to a registry: its URLs in turn, again after a pause, until the deadline.

Thread: a look-up's. Several may ask at once; what they share is the URL that answered last and
the pause after failures, each one assignment.
Invariants: a question ends by its deadline, if each try does; while the registry is away, it is
asked once for each pause by all questions together.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from prokurist.errors import (
    KafkaException,
    SchemaNotFoundException,
    SchemaRefusedException,
    SchemaRegistryException,
    SchemaRegistryUnavailableException,
)
from prokurist.events.backoff import Backoff
from prokurist.events.clock import Clock, Deadline
from prokurist.lazy_dataclasses import dataclass
from prokurist.registry.forks import renew_in_children

LONGEST_WORDS: Final = 300
"""Characters of a registry's text that an error quotes."""
LEAST: Final = 0.001
"""Seconds below which no request is begun."""
NOT_ASKED: Final = "its turn did not come"


@dataclass(frozen=True, slots=True)
class Question:
    """A request of the registry's API.

    Attributes:
        method: The method.
        path: The path and the query, behind the registry's URL.
        what: Subject of the question, for errors.
        body: JSON to send.
    """

    method: str
    path: str
    what: str
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer of one server.

    Attributes:
        status: The HTTP status.
        body: The body.
    """

    status: int
    body: bytes


class Unanswered(Exception):
    """A try had no whole answer; the text says why, without the request."""


class Send(Protocol):
    """Sends a question to one server, once."""

    def __call__(self, url: str, question: Question, seconds: float) -> Answer:
        """Send it.

        Raises:
            Unanswered: There was no whole answer within the seconds.
            KafkaException: There are no credentials to send.
        """
        ...


class Asking:
    """Asks the servers of a registry.

    Args:
        urls: Their addresses, in the order of preference.
        send: Sends a question to one of them.
        renew: Drops credentials that were refused; True if other ones may serve.
        clock: Measures deadlines, and sleeps.
        backoff: The pauses after failures of all servers.
    """

    def __init__(
        self,
        urls: Sequence[str],
        send: Send,
        renew: Callable[[], bool],
        *,
        clock: Clock,
        backoff: Backoff,
    ) -> None:
        self._urls = tuple(urls)
        self._send = send
        self._renew = renew
        self._clock = clock
        self._backoff = backoff
        self.renew()
        renew_in_children(self)
        self._first = 0
        self._failures = 0
        self._rests_until = 0.0
        self._last = ""

    def renew(self) -> None:
        """Make the lock; see `forks.Forked`."""
        self._lock = threading.Lock()

    def ask(self, question: Question, deadline: Deadline) -> Any:
        """Ask until there is an answer or the time is over, and return its JSON.

        Raises:
            SchemaRegistryException: The registry refuses, or gave no answer in time.
        """
        renewed = False
        while True:
            self._await_turn(question, deadline)
            failures: list[str] = []
            refused = False
            first = self._first
            for number in range(len(self._urls)):
                at = (first + number) % len(self._urls)
                url = self._urls[at]
                left = deadline.remaining(self._clock.now())
                if left <= LEAST:
                    failures.append(f"{url}: {NOT_ASKED}")
                    continue
                try:
                    answer = self._send(url, question, left / (len(self._urls) - number))
                except Unanswered as error:
                    failures.append(f"{url}: {error}")
                    continue
                if answer.status in (401, 403) and not renewed and self._renew():
                    renewed = refused = True
                    break
                if answer.status >= 500 or answer.status in (408, 425, 429):
                    failures.append(f"{url}: answered {answer.status}{words_of(answer)}")
                    continue
                self._answered(at)
                return read(url, question, answer)
            if all(each.endswith(NOT_ASKED) for each in failures) and not refused:
                raise SchemaRegistryUnavailableException(
                    f"the time was over before the schema registry was asked about "
                    f"{question.what}{self._last and f' ({self._last})'}"
                )
            if not refused:
                self._failed("; ".join(failures), question, deadline)

    def _await_turn(self, question: Question, deadline: Deadline) -> None:
        """Wait for the end of the pause that earlier failures have begun.

        Raises:
            SchemaRegistryUnavailableException: It ends after the deadline.
        """
        while (left := self._rests_until - self._clock.now()) > 0:
            if self._rests_until + LEAST >= deadline.at:
                raise SchemaRegistryUnavailableException(
                    f"the schema registry was not asked about {question.what}: it has failed "
                    f"{self._failures} times in a row, and is asked again in {left:.1f} s "
                    f"({self._last})"
                )
            self._clock.sleep(left)

    def _answered(self, at: int) -> None:
        with self._lock:
            self._first = at
            self._failures, self._rests_until, self._last = 0, 0.0, ""

    def _failed(self, why: str, question: Question, deadline: Deadline) -> None:
        """Begin a pause.

        Raises:
            SchemaRegistryUnavailableException: The deadline comes before its end.
        """
        now = self._clock.now()
        with self._lock:
            self._failures += 1
            self._last = why
            self._rests_until = now + self._backoff.pause(self._failures)
            ends = self._rests_until >= deadline.at
        if ends:
            raise SchemaRegistryUnavailableException(
                f"the schema registry gave no answer about {question.what} in time ({why})"
            )

    def __repr__(self) -> str:
        return f"Asking({', '.join(self._urls)}, {self._failures} failures)"


def read(url: str, question: Question, answer: Answer) -> Any:
    """Return the JSON of an answer that is one.

    Raises:
        SchemaRegistryException: It is an error, or no JSON.
    """
    status = answer.status
    if status == 200:
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            pass
        raise SchemaRegistryException(
            f"{url} answered about {question.what} with 200 and no JSON; check that the URL is "
            "a schema registry's",
            status=status,
        )
    kind: type[SchemaRegistryException] = SchemaRegistryException
    way_out = ""
    if status == 404:
        kind = SchemaNotFoundException
    elif status in (401, 403):
        kind = SchemaRefusedException
        way_out = "; check the credentials, and what they are allowed"
    elif status in (409, 422):
        kind = SchemaRefusedException
    elif 300 <= status < 400:
        way_out = ", a redirect, which is not followed: give the final URL"
    raise kind(
        f"{url} answered about {question.what} with {status}{words_of(answer)}{way_out}",
        status=status,
        registry_code=code_of(answer),
    )


def error_of(answer: Answer) -> Mapping[str, Any]:
    """Read the JSON of an error; empty where there is none."""
    try:
        told = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def words_of(answer: Answer) -> str:
    """Quote a server's own words, short and on one line."""
    said = error_of(answer).get("message")
    if not isinstance(said, str):
        return ""
    shown = "".join(each if each.isprintable() else " " for each in said[:LONGEST_WORDS])
    return f" ({shown.strip()}{'…' if len(said) > LONGEST_WORDS else ''})"


def code_of(answer: Answer) -> int | None:
    """Read the registry's number of an error."""
    code = error_of(answer).get("error_code")
    return code if isinstance(code, int) else None


def safe_error(error: BaseException) -> KafkaException:
    """Make the error of a look-up from its thread's exception, without frames."""
    if isinstance(error, KafkaException):
        return error.with_traceback(None)
    return SchemaRegistryException(
        f"{type(error).__name__} was raised while the schema registry was asked"
    )
