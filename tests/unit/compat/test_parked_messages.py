"""Messages that wait for their topics: one thread sends them, and no call waits for it."""

import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from queue import SimpleQueue

import pytest

from prokurist.compat.confluent_kafka import KafkaError
from prokurist.compat.confluent_kafka.parked import Parcel, ParkedMessages
from prokurist.compat.confluent_kafka.sent import Sent
from prokurist.errors import BufferExhaustedException, TimeoutException

SOON = 30.0
"""Seconds by which a thread has done what a test waits for."""


class Broker:
    """Topics, and room for messages: both come when a test lets them."""

    def __init__(self) -> None:
        self.time = 0.0
        self.answers = threading.Event()
        self.has_room = threading.Event()
        self.waits = threading.Event()
        self.tries_left = 0
        self.sent: list[bytes | None] = []
        self.ended: SimpleQueue[Sent] = SimpleQueue()

    def look_up(self, topic: str, wait: float) -> None:
        """Answer once there is a broker."""
        if not self.answers.wait(min(wait, 0.01)):
            raise TimeoutException(f"{topic} is not known")

    def send(self, parcel: Parcel) -> BufferExhaustedException | None:
        """Wait for room, and take the message."""
        self.waits.set()
        self.has_room.wait(SOON)
        if self.tries_left:
            self.tries_left -= 1
            return BufferExhaustedException("no room")
        self.sent.append(parcel.value)
        return None

    def parcel(self, value: bytes, topic: str = "orders") -> Parcel:
        """A message."""
        sent = Sent(self.ended, lambda: self.time, None, value, None)
        return Parcel(topic, value, None, None, -1, 0, sent, self.time, copy_context())


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker that everything is let go of in the end."""
    found = Broker()
    yield found
    found.answers.set()
    found.has_room.set()


@pytest.fixture
def parked(broker: Broker) -> Iterator[ParkedMessages]:
    """Messages with a thread, which has ended when the test has."""
    found = ParkedMessages(
        broker.look_up, lambda: broker.time, unknown=30.0, longest=60.0, has_thread=True
    )
    yield found
    broker.answers.set()
    broker.has_room.set()
    found.join(SOON)


def within(wait: float, call: Callable[[], object]) -> None:
    """Call on a thread of its own, and see it return."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(wait)
    assert not thread.is_alive()


def test_no_call_waits_for_a_message_that_waits_for_room(
    broker: Broker, parked: ParkedMessages
) -> None:
    """B520: a poll, further messages and a purge return; the order is kept."""
    for value in (b"0", b"1"):
        assert parked.park(broker.parcel(value), broker.send)
    broker.answers.set()
    assert broker.waits.wait(SOON)
    within(SOON / 2, lambda: parked.advance(broker.send, 0))
    within(SOON / 2, lambda: parked.park(broker.parcel(b"2"), broker.send))
    within(SOON / 2, lambda: parked.fail(KafkaError(KafkaError._PURGE_QUEUE)))
    failed = [broker.ended.get_nowait() for _ in range(broker.ended.qsize())]
    assert [each.ended and each.ended[1].value() for each in failed] == [b"1", b"2"]
    # The one that is being sent goes on, and further ones go behind it.
    assert parked.park(broker.parcel(b"3"), broker.send)
    broker.has_room.set()
    parked.join(SOON)
    assert broker.sent == [b"0", b"3"]
    assert not parked
    assert not parked.park(broker.parcel(b"4"), broker.send)


def test_a_parked_message_waits_for_room_until_its_time_is_over(
    broker: Broker, parked: ParkedMessages
) -> None:
    """B521: it is tried again, before those behind it."""
    broker.tries_left = 2
    for value in (b"0", b"1"):
        assert parked.park(broker.parcel(value), broker.send)
    broker.has_room.set()
    broker.answers.set()
    parked.join(SOON)
    assert broker.sent == [b"0", b"1"]
    assert broker.ended.empty()


def test_a_parked_message_that_finds_no_room_is_told(
    broker: Broker, parked: ParkedMessages
) -> None:
    """B521: by `message.timeout.ms`, once."""
    assert parked.park(broker.parcel(b"0"), broker.send)
    broker.tries_left = 1
    broker.time = 61.0
    broker.has_room.set()
    broker.answers.set()
    parked.join(SOON)
    [failed] = [broker.ended.get_nowait() for _ in range(broker.ended.qsize())]
    assert failed.ended is not None
    assert failed.ended[0] == KafkaError._MSG_TIMED_OUT
    assert broker.sent == []
