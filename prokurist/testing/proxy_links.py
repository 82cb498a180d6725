"""One connection through the fault proxy: two sockets, and a pipe each way.

Thread: the proxy's own. The sockets never block; the time is handed in.
Invariants: a pipe passes its chunks on in the order in which it read them, and
reads no more once it holds `BUFFER_BYTES`. A socket is registered for what can
be done with it now, and for nothing else, so that an idle link costs no turn.
"""

import contextlib
import math
import selectors
import socket
import struct
from collections import deque
from collections.abc import Callable, Collection
from enum import StrEnum
from typing import Final, NamedTuple

BUFFER_BYTES: Final = 256 * 1024
"""The most that one direction of one connection holds; then its sender must wait."""

LOOPBACK: Final = "127.0.0.1"
_READ_BYTES: Final = 64 * 1024
_ERRORS: Final = (BlockingIOError, InterruptedError)


class Direction(StrEnum):
    """Direction of bytes."""

    TO_BROKER = "to_broker"
    TO_CLIENT = "to_client"


BOTH: Final = tuple(Direction)


class Effect(NamedTuple):
    """Combined effect of the faults on one direction.

    Attributes:
        delay: Seconds of delay of each.
        rate: The most that pass in a second; infinite for no limit.
        swallow: None pass at all.
        change: Changes each piece of the stream, as read.
    """

    delay: float
    rate: float
    swallow: bool
    change: Callable[[bytes], bytes]


def unchanged(data: bytes) -> bytes:
    """Bytes as they came."""
    return data


NO_EFFECT: Final = Effect(0.0, math.inf, swallow=False, change=unchanged)


class Pipe:
    """One direction: from a source through a bounded buffer to a sink."""

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source = source
        self.sink = sink
        self.effect: Effect = NO_EFFECT
        self.held: int = 0
        self.source_ended: bool = False
        self.sink_ended: bool = False
        self.lost_bytes: bool = False
        self._chunks: deque[tuple[float, memoryview]] = deque()
        self._may_send_at = -math.inf

    def __repr__(self) -> str:
        return f"Pipe(held={self.held}, ended={self.source_ended}/{self.sink_ended})"

    @property
    def wants_to_read(self) -> bool:
        """True if the pipe has room for bytes of its source."""
        return not self.source_ended and self.held < BUFFER_BYTES

    def due(self) -> float | None:
        """When the first byte may go on; None if there is none, or none may ever."""
        if self.sink_ended or self.effect.swallow or not self._chunks:
            return None
        return max(self._chunks[0][0] + self.effect.delay, self._may_send_at)

    def read(self, now: float) -> None:
        """Read from the source, up to a limit."""
        data = self.source.recv(min(_READ_BYTES, BUFFER_BYTES - self.held))
        if not data:
            self.source_ended = True
        elif self.effect.swallow or self.sink_ended:
            self.lost_bytes = True
        else:
            data = self.effect.change(data)
            self._chunks.append((now, memoryview(data)))
            self.held += len(data)

    def write(self, now: float) -> bool:
        """Pass on the bytes that are due.

        Returns:
            True if the sink is full, and due bytes wait for it.
        """
        while (due := self.due()) is not None and due <= now:
            read_at, data = self._chunks[0]
            piece = data
            if self.effect.rate != math.inf:
                # A twentieth of a second's worth at a time: a throttled stream trickles.
                piece = data[: max(1, int(self.effect.rate / 20))]
            try:
                sent = self.sink.send(piece)
            except _ERRORS:
                return True
            self.held -= sent
            if sent == len(data):
                self._chunks.popleft()
            else:
                self._chunks[0] = (read_at, data[sent:])
            if self.effect.rate != math.inf:
                self._may_send_at = max(now, self._may_send_at) + sent / self.effect.rate
        self._pass_end_on()
        return False

    def set_effect(self, effect: Effect) -> None:
        """Set the effect of faults from now on; bytes in the pipe already feel it too."""
        self.effect = effect
        if effect.rate == math.inf:
            self._may_send_at = -math.inf
        if effect.swallow and self._chunks:
            self.throw_away()
            self.lost_bytes = True

    def throw_away(self) -> None:
        """Forget held bytes."""
        self._chunks.clear()
        self.held = 0

    def end_sink(self) -> None:
        """Let the sink read an end, after its pending bytes."""
        if not self.sink_ended:
            self.sink_ended = True
            self.throw_away()
            with contextlib.suppress(OSError):
                self.sink.shutdown(socket.SHUT_WR)

    def _pass_end_on(self) -> None:
        if self.source_ended and not self._chunks and not self.effect.swallow:
            self.end_sink()


class Link:
    """A client's connection and the one to the broker that was made for it."""

    def __init__(
        self,
        client: socket.socket,
        upstream: tuple[str, int],
        selector: selectors.BaseSelector,
        *,
        number: int,
        now: float,
    ) -> None:
        self.number = number
        self.closed: bool = False
        self._selector = selector
        self._client = client
        self._broker = socket.socket(
            socket.AF_INET6 if ":" in upstream[0] else socket.AF_INET, socket.SOCK_STREAM
        )
        self._pipes = {
            Direction.TO_BROKER: Pipe(client, self._broker),
            Direction.TO_CLIENT: Pipe(self._broker, client),
        }
        self._registered: dict[socket.socket, int] = {}
        self._sink_full: set[socket.socket] = set()
        self._connecting = True
        for one in (client, self._broker):
            one.setblocking(False)
            # Small requests go at once: a proxy must add no delay of its own.
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(*_ERRORS):
            try:
                self._broker.connect(upstream)
                self._connecting = False
            except _ERRORS:
                raise
            except OSError:
                self._connecting = False
                self._failed(self._broker)
        self.advance(now)

    def __repr__(self) -> str:
        return f"Link({self.number}, closed={self.closed}, pipes={self._pipes!r})"

    @property
    def due(self) -> float | None:
        """When a byte that is held may go on; None if none waits for the time."""
        if self.closed or self._connecting:
            return None
        # Who waits for a full sink is woken by the selector.
        dues = [
            due
            for pipe in self._pipes.values()
            if pipe.sink not in self._sink_full and (due := pipe.due()) is not None
        ]
        return min(dues) if dues else None

    def on_event(self, fileobj: object, mask: int, now: float) -> None:
        """One of the sockets can be read or written."""
        if self.closed:
            return
        if self._connecting and fileobj is self._broker:
            error = self._broker.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            self._connecting = False
            if error:
                self._failed(self._broker)
            return
        for pipe in self._pipes.values():
            if pipe.sink is fileobj and mask & selectors.EVENT_WRITE:
                self._sink_full.discard(pipe.sink)
            if pipe.source is fileobj and mask & selectors.EVENT_READ:
                self._read(pipe, now)

    def advance(self, now: float) -> None:
        """Pass on due bytes, close ended directions, and register for the next events."""
        if not self.closed and not self._connecting:
            for pipe in self._pipes.values():
                try:
                    if pipe.write(now):
                        self._sink_full.add(pipe.sink)
                except OSError:
                    self._failed(pipe.sink)
        self._settle()

    def set_effect(self, direction: Direction, effect: Effect) -> None:
        """Change the effect on one direction; a stream with a hole in it ends."""
        if self.closed:
            return
        pipe = self._pipes[direction]
        was_swallowed = pipe.effect.swallow
        pipe.set_effect(effect)
        if was_swallowed and not effect.swallow and pipe.lost_bytes:
            self.cut(BOTH)

    def cut(self, directions: Collection[Direction]) -> None:
        """End it in order, towards one side or both."""
        if all(direction in directions for direction in Direction):
            self._end(reset=())
            return
        for direction, pipe in self._pipes.items():
            if direction in directions:
                pipe.end_sink()

    def reset(self, directions: Collection[Direction]) -> None:
        """End it, with a reset towards one side or both."""
        self._end(
            reset=[
                pipe.sink for direction, pipe in self._pipes.items() if direction in directions
            ]
        )

    def close(self) -> None:
        """Close both sockets; may be called twice."""
        self._end(reset=())

    def _end(self, reset: Collection[socket.socket]) -> None:
        if self.closed:
            return
        self.closed = True
        for one in (self._client, self._broker):
            if self._registered.pop(one, 0):
                self._selector.unregister(one)
            if one in reset:
                close_with_reset(one)
            else:
                close_in_order(one)

    def _read(self, pipe: Pipe, now: float) -> None:
        if self.closed or not pipe.wants_to_read:
            return
        try:
            pipe.read(now)
        except _ERRORS:
            return
        except OSError:
            self._failed(pipe.source)

    def _failed(self, one: socket.socket) -> None:
        """One of the sockets broke: the other side sees a reset, as without a proxy.

        Also where the broker could not be reached at all: the client was accepted
        before that was known.
        """
        answers = self._pipes[Direction.TO_CLIENT]
        if one is self._client or not answers.effect.swallow:
            self.reset(BOTH)
            return
        # A black hole passes no reset on either; what the client still sends goes nowhere.
        answers.source_ended = True
        self._pipes[Direction.TO_BROKER].end_sink()

    def _settle(self) -> None:
        """Close the link if nothing can come any more; else wait for its events."""
        if self.closed:
            return
        pipes = self._pipes.values()
        if all(pipe.source_ended for pipe in pipes) and not any(pipe.held for pipe in pipes):
            self.close()
        else:
            self._register()

    def _register(self) -> None:
        for one in (self._client, self._broker):
            mask = 0
            for pipe in self._pipes.values():
                if pipe.source is one and pipe.wants_to_read:
                    mask |= selectors.EVENT_READ
                if pipe.sink is one and one in self._sink_full:
                    mask |= selectors.EVENT_WRITE
            if one is self._broker and self._connecting:
                mask = selectors.EVENT_WRITE
            before = self._registered.get(one, 0)
            if mask == before:
                continue
            if not before:
                self._selector.register(one, mask, self)
            elif not mask:
                self._selector.unregister(one)
            else:
                self._selector.modify(one, mask, self)
            self._registered[one] = mask


def close_in_order(one: socket.socket) -> None:
    """Close a socket so that the other side reads an end, even with unread bytes here."""
    # A close alone would be a reset if there were unread input: the end goes first.
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_WR)
    one.close()


def close_with_reset(one: socket.socket) -> None:
    """Close a socket so that the other side sees a reset."""
    with contextlib.suppress(OSError):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()


def bound(port: int) -> socket.socket:
    """A socket that has a port of loopback and does not listen; 0 for any that is free."""
    one = socket.socket()
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((LOOPBACK, port))
        one.setblocking(False)
    except BaseException:
        one.close()
        raise
    return one


def listening(port: int) -> socket.socket:
    """The same, and it listens."""
    listener = bound(port)
    listener.listen(128)
    return listener
