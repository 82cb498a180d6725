"""Calls of a producer that wait for the network thread, and the base of all its calls.

Thread: any application thread; each call has a wait of its own.
"""

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

from prokurist.application.call_runner import CallRunner
from prokurist.application.caller_counters import CallerCounters
from prokurist.application.driving import Steps, T, drive
from prokurist.application.single_thread_guard import PROCESS
from prokurist.application.telemetry import client_instance_id, require_push
from prokurist.assembly.producer import ProducerSide
from prokurist.errors import (
    ForkedClientError,
    IllegalStateException,
    NetworkThreadDiedException,
)
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.application_events import AwaitTopic, Purge
from prokurist.events.call import Call
from prokurist.events.clock import CallersClock, Deadline, as_seconds
from prokurist.producer.flushing import flush, out_of_time
from prokurist.types import PartitionInfo

if TYPE_CHECKING:
    from uuid import UUID

KEY = "max.block.ms"


class WaitingCalls:
    """The part of `KafkaProducer` that waits: `flush`, `purge`, look-ups, the instance id."""

    _side: ProducerSide | None
    _clock: CallersClock
    _accumulator: RecordAccumulator
    _counters: CallerCounters
    _closing: threading.RLock
    _closed: bool
    _process: int
    _max_block: float
    _delivery_timeout: float

    def flush(self, timeout: float | timedelta | None = None) -> None:
        """Wait until all that was sent before is delivered or has failed, callbacks included.

        Nothing lingers meanwhile. A record that has failed does not make this raise: its
        handle and callback tell it.

        Args:
            timeout: Seconds; None for `delivery.timeout.ms`.

        Raises:
            IllegalStateException: The producer is closed, or this is a delivery callback.
            TimeoutException: Something is still on its way, and stays so: it can be flushed
                again. The text and the fields say what, and what was tried.
        """
        self._drive(self._flush(timeout))

    def _flush(self, timeout: float | timedelta | None) -> Steps[None]:
        self._check_usable("flush")
        self._refuse_in_callback("flush")
        began = self._clock.now()
        deadline = Deadline.after(began, self._delivery_timeout if timeout is None else timeout)
        left = yield from flush(self._accumulator, deadline)
        now = self._clock.now()
        self._counters.calls.of("flush").seconds.observe(now - began)
        if left:
            self._counters.calls.of("flush").timed_out += 1
            raise out_of_time(self._accumulator, left, began, deadline, now)

    def purge(self, timeout: float | timedelta | None = None) -> int:
        """Fail all records that are not on the wire, for which nothing is waited.

        Callbacks that run hold it up, and are waited for.

        Args:
            timeout: Seconds; None for `max.block.ms`.

        Returns:
            How many records have failed.

        Raises:
            IllegalStateException: The producer is closed.
            TimeoutException: The thread that fails them has not come to it; nothing is failed.
        """
        return self._drive(self._purge(timeout))

    def _purge(self, timeout: float | timedelta | None) -> Steps[int]:
        self._check_usable("purge")
        if not self._may_wait():
            return self._built().produce.purge_unsent()
        now = self._clock.now()
        deadline = Deadline.after(now, self._max_block if timeout is None else timeout)
        call = Call("purge", now, deadline, config_key=KEY)
        self._note_callback(call)
        runner = self._runner()
        records: int = yield from runner.ask(call, Purge(call))
        return records

    def partitions_for(
        self, topic: str, timeout: float | timedelta | None = None
    ) -> list[PartitionInfo]:
        """Look up the partitions of a topic.

        Args:
            topic: Its name.
            timeout: Seconds; None for `max.block.ms`.

        Raises:
            IllegalStateException: The producer is closed, or this is a delivery callback.
            InvalidTopicException: No topic can have this name.
            TimeoutException: The time is over; its cause says so if the topic does not exist.
            TopicAuthorizationException: Not allowed on the topic.
        """
        return self._drive(self._partitions_for(topic, timeout))

    def _partitions_for(
        self, topic: str, timeout: float | timedelta | None
    ) -> Steps[list[PartitionInfo]]:
        self._check_usable("partitions_for")
        self._refuse_in_callback("partitions_for")
        if not isinstance(topic, str):
            raise TypeError(f"a topic is a str, not {topic!r}")
        now = self._clock.now()
        deadline = Deadline.after(now, self._max_block if timeout is None else timeout)
        call = Call("partitions_for", now, deadline, topic=topic, config_key=KEY)
        self._note_callback(call)
        runner = self._runner()
        yield from runner.ask(call, AwaitTopic(call, topic))
        return self._built().metadata.cluster.partitions_of(topic)

    def client_instance_id(self, timeout: float | timedelta) -> "UUID":
        """The id under which brokers know the metrics that this client pushes (KIP-714).

        A broker gives it, once.

        Args:
            timeout: Seconds; there is no default.

        Raises:
            IllegalStateException: `enable.metrics.push` is off, the producer is closed, or this
                is a delivery callback.
            TimeoutException: The time is over.
            UnsupportedVersionException: The brokers take no metrics.
        """
        return self._drive(self._instance_id(timeout))

    def _instance_id(self, timeout: float | timedelta) -> "Steps[UUID]":
        as_seconds(timeout)
        self._check_usable("client_instance_id")
        self._refuse_in_callback("client_instance_id")
        require_push(on=self._built().telemetry is not None)
        runner = self._runner()
        return (yield from client_instance_id(runner, timeout))

    def _pushes(self) -> bool:
        """Return True if brokers want metrics of this client."""
        telemetry = self._built().telemetry
        return telemetry is not None and telemetry.pushes

    def _drive(self, steps: Steps[T]) -> T:
        """Take the steps of a call on this thread."""
        return drive(steps, self._accumulator.wait)

    # --- within ----------------------------------------------------------------------------

    def _note_callback(self, call: Call) -> None:
        """Note in the ledger that a delivery callback holds the network thread at the moment.

        What that thread does for the call ends this wait.
        """
        callback = self._accumulator.callback_wait(call.began)
        if callback is not None:
            call.wait_begins(callback, call.began)

    def _built(self) -> ProducerSide:
        if self._side is None:
            raise AssertionError("a producer that was never built")
        return self._side

    def _runner(self) -> CallRunner:
        """For one call: many threads may be inside, each with a wait of its own."""
        side = self._built()
        runner = CallRunner(self._clock, side.thread.mailbox, self._max_block, side.trace)
        runner.counters = self._counters
        runner.wait_at = self._accumulator.wait
        runner.new_waiter = self._accumulator.new_waiter
        return runner

    def _may_wait(self) -> bool:
        """Return True unless this is the network thread."""
        return not self._built().thread.is_current

    def _refuse_in_callback(self, what: str) -> None:
        """Refuse to wait where nothing can come: in the thread that delivers, and in a fork."""
        if PROCESS.id != self._process:
            self._check_usable(what)
        if not self._may_wait():
            raise IllegalStateException(
                f"{what} inside a delivery callback would wait for its own thread: leave it to "
                f"the thread that sends"
            )

    def _check_usable(self, operation: str) -> None:
        """Refuse a call of a producer that is closed, was copied by a fork, or has died."""
        if PROCESS.id != self._process:
            raise ForkedClientError(
                f"{operation} of a producer that process {self._process} built, in process "
                f"{PROCESS.id}: its thread and connections stayed there; build a producer "
                f"after the fork"
            )
        if self._closed:
            raise IllegalStateException(
                f"{operation} of a producer that is closed: build another"
            )

    def _refuse(self) -> None:
        """Raise why nothing can be sent any more."""
        self._check_usable("send")
        died = self._built().thread.died_of
        if died is None:
            raise IllegalStateException("send of a producer that is closed: build another")
        raise NetworkThreadDiedException(
            f"the network thread died of a bug in prokurist ({died!r}): close this producer "
            f"and build another, and please report the cause"
        )
