"""The exception that says where the time went.

A call that could not end in time raises one `TimeoutException`. It carries the
call's ledger (each request that was sent and each stretch of waiting between
them) and reads as one paragraph: what was asked, what was tried, what may have
happened all the same, and which key to turn.

Thread: any; a ledger is made once, when the call is over.
"""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from prokurist.errors.topics import NetworkException
from prokurist.errors.tree import DisconnectException, RetriableException
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition, counted, named

MOST_RUNS_TOLD = 6
"""Runs of attempts that the text tells one by one; the middle is summed up."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request that was written for a call.

    Attributes:
        request: Its name in Kafka's protocol, such as `OffsetCommit`.
        node: Whom it was sent to, as `str(Node)` names it.
        started: Seconds into the call when it was sent.
        ended: Seconds into the call when it ended; None if it had not when
            the call was over.
        outcome: How it ended: `answered`, an error's name, `disconnected`.
    """

    request: str
    node: str
    started: float
    ended: float | None = None
    outcome: str = "unanswered"


@dataclass(frozen=True, slots=True)
class Wait:
    """A stretch of a call in which nothing of its own was on the wire.

    Attributes:
        reason: What it waited for, to be read after "for": `the group's
            coordinator`, `retry backoff`.
        started: Seconds into the call when it began.
        ended: Seconds into the call when it was over.
    """

    reason: str
    started: float
    ended: float


class TimeoutException(RetriableException, TimeoutError):
    """The time is over; the text and the fields say where it went.

    It is retriable, and also Python's own `TimeoutError`, hence an `OSError`
    (with neither errno nor filename): `except TimeoutError` and the retry
    helpers that look for it work as they do for sockets. Mind the order where
    both are caught: `except OSError` takes it too.

    Attributes:
        operation: The call, by its name.
        timeout: The seconds it was given.
        elapsed: The seconds it took.
        partitions: The partitions it was about.
        topic: The topic it was about, where it was about one.
        item: The item it was about, of a call about several.
        attempts: Each request that was sent for it, in order.
        waits: Each stretch of waiting without a request, in order.
        last_error: The last error that an attempt met; also `__cause__`.
        config_key: The configuration key that bounds such calls.
        may_have_happened: A request with an effect, such as a commit, was on
            the wire and unanswered: it may have been carried out.
    """

    error_code: int | None = 7

    def __init__(
        self,
        message: str = "",
        *,
        operation: str = "",
        timeout: float | None = None,
        elapsed: float | None = None,
        partitions: Sequence[TopicPartition] = (),
        topic: str | None = None,
        attempts: Sequence[Attempt] = (),
        waits: Sequence[Wait] = (),
        last_error: BaseException | None = None,
        config_key: str | None = None,
        may_have_happened: bool = False,
        item: str | None = None,
    ) -> None:
        self.item = item
        self.operation = operation
        self.timeout = timeout
        self.elapsed = elapsed
        self.partitions: tuple[TopicPartition, ...] = tuple(partitions)
        self.topic = topic
        self.attempts: tuple[Attempt, ...] = tuple(attempts)
        self.waits: tuple[Wait, ...] = tuple(waits)
        self.config_key = config_key
        self.may_have_happened = may_have_happened
        self.__cause__ = last_error
        # One argument: OSError would read two as errno and text.
        super().__init__(message or _account(self))

    @property
    def last_error(self) -> BaseException | None:
        """The last error that an attempt met."""
        return self.__cause__


DOCTOR: Final = "`prokurist doctor`"
"""Command that looks for the cause; a text names it once."""


class BufferExhaustedException(TimeoutException):
    """`buffer.memory` was full for the whole of `max.block.ms`."""

    error_code: int | None = None


def _account(error: TimeoutException) -> str:
    """The ledger as one paragraph; empty for an exception without a call."""
    if not error.operation:
        return ""
    sentences = [
        _verdict(error),
        *_requests(error.attempts, error.elapsed),
        *_waiting(error.waits, alone=not error.attempts),
        *_last_error(error.last_error),
    ]
    if error.may_have_happened:
        sentences.append(
            "It may have happened all the same: a request was on the wire and its answer is "
            "not known."
        )
    if (
        not error.attempts
        and isinstance(error.last_error, NetworkException | DisconnectException)
        and DOCTOR not in str(error.last_error)
    ):
        sentences.append(f"{DOCTOR} takes each step of a connection by itself.")
    sentences.append(_way_out(error))
    return " ".join(sentences)


def _verdict(error: TimeoutException) -> str:
    subject = error.operation
    if error.item is not None:
        subject += f" for {error.item}"
    elif error.partitions:
        subject += f" for {named(error.partitions)}"
    elif error.topic is not None:
        subject += f" {'to' if error.operation == 'send' else 'of'} topic {error.topic}"
    if error.timeout == 0:
        return f"{subject} was given no time to wait (timeout 0) and had no answer at hand."
    given = "" if error.timeout is None else f" was given {seconds(error.timeout)} and"
    taken = "" if error.elapsed is None else f" after {seconds(error.elapsed)}"
    return f"{subject}{given} has no result{taken}."


def _requests(attempts: tuple[Attempt, ...], elapsed: float | None) -> list[str]:
    if not attempts:
        return []
    runs = [
        list(run)
        for _, run in groupby(attempts, lambda each: (each.request, each.node, each.outcome))
    ]
    told = [_run(run, elapsed) for run in runs]
    if len(told) > MOST_RUNS_TOLD:
        head, tail = MOST_RUNS_TOLD // 2, MOST_RUNS_TOLD - MOST_RUNS_TOLD // 2
        between = sum(map(len, runs[head:-tail]))
        told = [*told[:head], f"{between} more like these", *told[-tail:]]
    verb = "was" if len(attempts) == 1 else "were"
    return [f"{counted(len(attempts), 'request')} {verb} sent: {'; '.join(told)}."]


def _run(run: list[Attempt], elapsed: float | None) -> str:
    """Attempts of the same request to a node, with the same end."""
    first, last = run[0], run[-1]
    told = f"{first.request} to {first.node}"
    if len(run) > 1:
        times = f"{seconds(first.started)} to {seconds(last.started)}"
        return f"{told}, {len(run)} times from {times}, each {first.outcome}"
    end = first.ended if first.ended is not None else elapsed
    told += f" at {seconds(first.started)}, {first.outcome}"
    if end is not None:
        lapse = seconds(max(0.0, end - first.started))
        told += f" for {lapse}" if first.ended is None else f" after {lapse}"
    return told


def _waiting(waits: tuple[Wait, ...], *, alone: bool) -> list[str]:
    spans: dict[str, float] = {}
    for wait in waits:
        spans[wait.reason] = spans.get(wait.reason, 0.0) + wait.ended - wait.started
    told = " and ".join(f"{seconds(span)} for {reason}" for reason, span in spans.items())
    if alone:
        return [f"Nothing was sent: it waited {told}." if told else "Nothing was sent."]
    return [f"It also waited {told}."] if told else []


def _last_error(error: BaseException | None) -> list[str]:
    if error is None:
        return []
    text = str(error)
    name = type(error).__name__
    return [
        f"The last error was {name}: {text.rstrip('.')}."
        if text
        else f"The last error was {name}."
    ]


def _way_out(error: TimeoutException) -> str:
    if error.operation == "send":
        if error.config_key is None:
            return (
                "A send inside a delivery callback waits for nothing: leave the record to the "
                "thread that sends, which waits for max.block.ms."
            )
        # It takes no timeout: a key of the configuration bounds each of its waits.
        return f"To wait longer, raise {error.config_key}."
    if error.timeout == 0:
        return "To wait for one, pass a timeout above 0."
    if error.config_key is None:
        return "To wait longer, pass a larger timeout."
    return (
        f"To wait longer, pass a larger timeout, or raise {error.config_key} for calls "
        f"without one."
    )


def seconds(span: float) -> str:
    """A span as a person reads it: `2 s`, `0.013 s`, `for ever`."""
    if math.isinf(span):
        return "for ever"
    shown = round(span, 3) + 0.0  # No sign for a moment that is just over.
    return f"{f'{shown:.3f}'.rstrip('0').rstrip('.')} s"
