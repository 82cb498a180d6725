"""Messages for topics that no broker has described yet: `produce` does not wait for them.

Thread: any. A thread that runs while there are such messages sends them, in their order; calls
wait for its end. In virtual time, and in a copy of the process, which has no such thread, calls
send them.

Invariants: while a topic has parked messages, a further one goes behind them. One thread sends,
outside of the lock, since a send may wait for room: the message stays first in its queue until
it is sent, so that no other message of the topic comes between. No interrupt reaches that
thread, so none loses a message or sends it twice.
"""

import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Final, NamedTuple, TypeAlias

from prokurist.compat.confluent_kafka.error import KafkaError
from prokurist.compat.confluent_kafka.errors_of import error_of
from prokurist.compat.confluent_kafka.sent import Sent
from prokurist.compat.confluent_kafka.values import Headers
from prokurist.errors import BufferExhaustedException, TimeoutException
from prokurist.errors import KafkaException as OurException
from prokurist.events.accumulator.record_metadata import RecordMetadata
from prokurist.events.clock import Deadline

PATIENCE: Final = 0.25
"""Seconds for which the first message of a topic waits: a broker that is there answers."""
LOOK: Final = 0.1
"""Seconds of a look at one topic: one that does not exist does not hold up the others."""
SHORTEST: Final = 0.001


class Parcel(NamedTuple):
    """A message as it is sent.

    Attributes:
        sent: Hears how it ends.
        since: When it was produced.
        context: The context variables of the code that has produced it.
    """

    topic: str
    value: bytes | None
    key: bytes | None
    headers: Headers | None
    partition: int
    timestamp: int
    sent: Sent
    since: float
    context: Context

    @property
    def place(self) -> RecordMetadata:
        """Where it would have gone."""
        return RecordMetadata(self.topic, self.partition, -1, self.timestamp)


Send: TypeAlias = Callable[[Parcel], OurException | None]
"""Sends a message of a topic that is known; returns why there is no room for it, or None."""


class ParkedMessages:
    """Messages that wait for the metadata of their topics.

    Args:
        look_up: Waits for a topic's metadata, for so many seconds.
        now: The clock.
        unknown: Seconds after which a message of a topic that does not exist fails.
        longest: Seconds after which any message fails.
        has_thread: Whether a thread sends what is parked; without one calls do.
    """

    def __init__(
        self,
        look_up: Callable[[str, float], object],
        now: Callable[[], float],
        *,
        unknown: float,
        longest: float,
        has_thread: bool,
    ) -> None:
        self._look_up = look_up
        self._now = now
        self._unknown = unknown
        self._longest = longest
        self._has_thread = has_thread
        self._lock = threading.RLock()
        self._known: set[str] = set()
        self._queues: dict[str, deque[Parcel]] = {}
        self._sending: Parcel | None = None
        self._thread: threading.Thread | None = None

    def park(self, parcel: Parcel, send: Send) -> bool:
        """Park a message whose topic is not known; False where it can be sent.

        Args:
            parcel: The message.
            send: Sends it once the topic is known. It is kept no longer than the message is,
                so that a producer that has nothing on its way is in no reference cycle.
        """
        topic = parcel.topic
        if topic in self._known:
            return False
        with self._lock:
            is_first = topic not in self._queues
        if is_first and self._find(topic, PATIENCE) is None:
            return False
        with self._lock:
            if topic in self._known:
                return False  # Another thread has found it meanwhile.
            self._queues.setdefault(topic, deque()).append(parcel)
            if self._has_thread and self._thread is None:
                self._thread = threading.Thread(
                    target=self._run,
                    args=(send,),
                    name="prokurist-parked-messages",
                    daemon=True,
                )
                self._thread.start()
        return True

    def advance(self, send: Send, wait: float) -> None:
        """Wait until nothing is parked, or send what can be sent where there is no thread.

        Args:
            send: Sends a message.
            wait: Seconds, for all topics together.
        """
        with self._lock:  # Between a message that is parked and the start of its thread.
            thread = self._thread
        if thread is not None and thread.is_alive():
            if wait > 0:
                thread.join(wait)
            return
        deadline = Deadline.after(self._now(), wait)
        for topic in tuple(self._queues):
            self._send_of(topic, send, deadline.remaining(self._now()))

    def join(self, wait: float) -> None:
        """Wait for the end of the thread: what it was sending has been told then."""
        thread = self._thread
        if thread is not None:
            thread.join(wait)

    def _send_of(self, topic: str, send: Send, wait: float) -> None:
        """Send what can be sent of a topic, and fail what has waited for too long."""
        error = self._find(topic, min(wait, LOOK, self._until_due()))
        while (parcel := self._take(topic, error)) is not None:
            try:
                refusal = send(parcel) if error is None else error
            except BaseException:
                self._sending = None
                raise
            with self._lock:
                self._sending = None
                if refusal is not None and not self._is_over(parcel, refusal):
                    return  # There is no room: it is tried again at the next look.
                self._queues[topic].popleft()
            if refusal is not None:
                parcel.sent.end(parcel.place, self._failure(topic, refusal))

    def _take(self, topic: str, error: OurException | None) -> Parcel | None:
        """The first message of a topic, if it waits no longer; it stays in its queue."""
        with self._lock:
            queue = self._queues.get(topic)
            if queue is None:
                return None
            if queue:
                if error is not None and not self._is_over(queue[0], error):
                    return None
                self._sending = queue[0]
                return queue[0]
            del self._queues[topic]
            # Behind the last of them: until now further ones have to be parked.
            if error is None:
                self._known.add(topic)
            return None

    def _find(self, topic: str, wait: float) -> OurException | None:
        """Look up a topic; why it is not known."""
        try:
            self._look_up(topic, wait)
        except OurException as error:
            return error
        with self._lock:
            if topic not in self._queues:
                self._known.add(topic)
        return None

    def _is_over(self, parcel: Parcel, error: OurException) -> bool:
        """Return True if an error of a look-up or a send ends the wait of a message."""
        if not isinstance(error, TimeoutException):
            return True
        is_missing = error_of(error, delivery=True) == KafkaError._UNKNOWN_TOPIC
        most = self._unknown if is_missing else self._longest
        return self._now() - parcel.since >= min(most, self._longest)

    def _failure(self, topic: str, error: OurException) -> KafkaError:
        found = error_of(error, delivery=True)
        if isinstance(error, BufferExhaustedException):
            return KafkaError(KafkaError._MSG_TIMED_OUT, str(error))
        if not isinstance(error, TimeoutException):
            return found
        return KafkaError(found.code(), f"{topic} was not known in time: {error}")

    def _until_due(self) -> float:
        """Seconds until the first message may have waited for too long."""
        first = min((queue[0].since for queue in tuple(self._queues.values())), default=0.0)
        ends = (first + self._unknown, first + self._longest)
        now = self._now()
        # No shorter than a clock can tell apart.
        return max(SHORTEST, min((each - now for each in ends if each > now), default=LOOK))

    def fail(self, error: KafkaError) -> None:
        """Fail all of them but for one that is being sent."""
        with self._lock:
            for topic, queue in tuple(self._queues.items()):
                for parcel in queue:
                    if parcel is not self._sending:
                        parcel.sent.end(parcel.place, error)
                if self._sending is not None and self._sending.topic == topic:
                    self._queues[topic] = deque([self._sending])
                else:
                    del self._queues[topic]

    def _run(self, send: Send) -> None:
        while True:
            for topic in tuple(self._queues):
                self._send_of(topic, send, LOOK)
            with self._lock:
                if not self._queues:
                    self._thread = None
                    return

    def __bool__(self) -> bool:
        return bool(self._queues)

    def __repr__(self) -> str:
        return f"ParkedMessages({sum(map(len, self._queues.values()))} messages)"
