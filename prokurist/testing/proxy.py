"""A TCP proxy before a real broker, with the faults of a network.

It delays, swallows, throttles, changes, cuts, resets and refuses, for one direction or
both, for every connection or only for those that are made from now on.

Thread: one background thread owns every socket; the controls are called from
any other thread, hand it their work, and return once that is in effect.
Invariants: bytes keep their order. No direction of a connection holds more than
`BUFFER_BYTES`: then its sender is no longer read, and feels it. A stream that
lost bytes is never continued: healing cuts it.
"""

import contextlib
import os
import queue
import selectors
import socket
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from types import TracebackType
from typing import Final, Self, TypeVar

from prokurist.events.clock import Clock, MonotonicClock
from prokurist.testing.proxy_faults import Fault, FaultKind, directions_of, with_fault
from prokurist.testing.proxy_links import (
    BUFFER_BYTES,
    LOOPBACK,
    NO_EFFECT,
    Direction,
    Link,
    bound,
    listening,
    unchanged,
)

__all__ = ["BUFFER_BYTES", "Direction", "Fault", "FaultProxy"]

_ANSWER_WITHIN: Final = 10.0

T = TypeVar("T")


class FaultProxy:
    """A listening socket on loopback, and the way from there to one broker.

    Attributes:
        turns: How often its loop went round: an idle proxy sleeps.
        accepted: How many connections there have been, from the first on.
    """

    def __init__(
        self, upstream: tuple[str, int], *, clock: Clock | None = None, name: str = "proxy"
    ) -> None:
        """Listen on a free port of loopback, and begin to serve.

        Args:
            upstream: Host and port of the broker; it need not listen there yet.
            clock: Clock of delays and throttles.
            name: The name of the thread.
        """
        self._upstream = upstream
        self._clock = MonotonicClock() if clock is None else clock
        self._listener: socket.socket | None = listening(0)
        self._port: int = self._listener.getsockname()[1]
        self._bound: socket.socket | None = None
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._wake_reader, self._wake_writer = os.pipe()
        os.set_blocking(self._wake_reader, False)
        self._selector.register(self._wake_reader, selectors.EVENT_READ, None)
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._faults: list[Fault] = []
        self._links: set[Link] = set()
        self.accepted: int = 0
        self.turns: int = 0
        self._running = True
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(
            target=self._serve, name=f"prokurist-{name}", daemon=True
        )
        self._thread.start()

    def __repr__(self) -> str:
        return (
            f"FaultProxy({self.address[0]}:{self._port} -> "
            f"{self._upstream[0]}:{self._upstream[1]}, links={len(self._links)}, "
            f"faults={self._faults!r})"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ------------------------------------------------- called from other threads

    @property
    def address(self) -> tuple[str, int]:
        """Host and port for clients; the same for the proxy's whole life."""
        return (LOOPBACK, self._port)

    def connections(self) -> int:
        """Count the connections at present."""
        return self._do(lambda: len(self._links))

    def is_healthy(self) -> bool:
        """True if no fault is in effect but those of the harness itself."""
        return not any(not fault.kept for fault in list(self._faults))

    def delay(
        self, seconds: float, direction: str | None = None, *, new_only: bool = False
    ) -> Fault:
        """Pass every byte on this much later.

        Args:
            seconds: How much later; delays of several faults add up.
            direction: `to_broker` or `to_client`; both if None.
            new_only: Spare the connections that are there already.

        Returns:
            The fault; heal it, or use it in a `with` statement.

        Raises:
            ValueError: The direction is none, or the seconds are negative.
        """
        if not seconds >= 0:
            raise ValueError(f"a delay is not negative: {seconds!r}")
        return self._add(FaultKind.DELAY, direction, amount=seconds, new_only=new_only)

    def swallow(self, direction: str | None = None, *, new_only: bool = False) -> Fault:
        """Take every byte and pass none on, nor the end of the stream.

        Healing cuts the connections that lost bytes by it, and spares the others.

        Args:
            direction: `to_broker` or `to_client`; both if None.
            new_only: Spare the connections that are there already.
        """
        return self._add(FaultKind.SWALLOW, direction, new_only=new_only)

    def throttle(
        self,
        bytes_per_second: float,
        direction: str | None = None,
        *,
        new_only: bool = False,
    ) -> Fault:
        """Pass no more than this many bytes a second on, on each connection.

        Args:
            bytes_per_second: Above zero; the lowest of several counts.
            direction: `to_broker` or `to_client`; both if None.
            new_only: Spare the connections that are there already.

        Raises:
            ValueError: The direction is none, or the rate is not above zero.
        """
        if not bytes_per_second > 0:
            raise ValueError(f"a rate is above zero: {bytes_per_second!r}; see swallow()")
        return self._add(
            FaultKind.THROTTLE, direction, amount=bytes_per_second, new_only=new_only
        )

    def change(
        self,
        change: Callable[[bytes], bytes],
        direction: str | None = "to_client",
        *,
        new_only: bool = False,
    ) -> Fault:
        """Replace the bytes of a stream, as no real broker does on command.

        Args:
            change: Changes each piece read, which may be several messages or a part of one; it
                runs on the proxy's thread.
            direction: `to_broker` or `to_client`; both if None.
            new_only: Spare the connections that are there already.
        """
        return self._add(FaultKind.CHANGE, direction, change=change, new_only=new_only)

    def cut(self, direction: str | None = None, *, new_only: bool = False) -> Fault:
        """Close connections in order (FIN), and throw their unsent bytes away.

        Args:
            direction: Close only towards this side: it reads an end, and can still
                write. Both sides if None.
            new_only: Spare the connections that are there, and cut each new one as
                soon as it is made, until this is healed. Otherwise cut those that
                are there, once.
        """
        return self._end_links(FaultKind.CUT, direction, new_only=new_only)

    def reset(self, direction: str | None = None, *, new_only: bool = False) -> Fault:
        """Close connections with a reset (RST).

        Args:
            direction: Reset only this side of them, and close the other in order;
                both if None.
            new_only: As for `cut`.
        """
        return self._end_links(FaultKind.RESET, direction, new_only=new_only)

    def refuse(self) -> Fault:
        """Refuse new connections, as a port without a listener does."""
        return self._refuse(kept=False)

    def heal(self) -> None:
        """End every fault; no effect if there is none."""
        if not self.is_healthy():
            self._do(lambda: self._remove([f for f in self._faults if not f.kept]))

    def end(self, fault: Fault) -> None:
        """End one fault, as its own `heal` does."""
        if fault in self._faults and not self._closed:
            self._do(lambda: self._remove([fault]))

    def close(self) -> None:
        """Close every socket and end the thread; may be called twice."""
        with self._lock:
            if self._closed:
                return
            self._work.put(self._stop)
            # The thread may be awake for another reason, find the work above and end
            # before the next line: the pipe must still have its other end then.
            os.write(self._wake_writer, b"x")
            self._closed = True
        self._thread.join(_ANSWER_WITHIN)
        if self._thread.is_alive():
            raise RuntimeError(f"{self!r} did not end in {_ANSWER_WITHIN} seconds")
        os.close(self._wake_writer)
        os.close(self._wake_reader)

    def refuse_while_down(self) -> Fault:
        """Refuse as `refuse` does, and do not let `heal` end it: the broker is dead."""
        return self._refuse(kept=True)

    def _refuse(self, *, kept: bool) -> Fault:
        fault = Fault(self.end, FaultKind.REFUSE, (), kept=kept)
        self._do(lambda: self._put(fault))
        return fault

    def _add(
        self,
        kind: FaultKind,
        direction: str | None,
        *,
        amount: float = 0.0,
        change: Callable[[bytes], bytes] = unchanged,
        new_only: bool,
    ) -> Fault:
        fault = Fault(self.end, kind, directions_of(direction), amount=amount, change=change)
        self._do(lambda: self._put(fault, new_only=new_only))
        return fault

    def _end_links(self, kind: FaultKind, direction: str | None, *, new_only: bool) -> Fault:
        fault = Fault(self.end, kind, directions_of(direction))
        if new_only:
            self._do(lambda: self._put(fault, new_only=True))
        else:
            self._do(lambda: self._end_now(fault, list(self._links)))
        return fault

    def _do(self, work: Callable[[], T]) -> T:
        """Let the proxy's thread do something, and wait until it has.

        The thread looks at the queue after every wake-up, and a byte in the pipe
        outlasts the sleep that it comes before: the work cannot be overlooked.
        """
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001 - it belongs to the caller
                done.set_exception(error)

        with self._lock:
            if self._closed:
                raise RuntimeError("the proxy is closed")
            self._work.put(run)
            os.write(self._wake_writer, b"x")
        return done.result(_ANSWER_WITHIN)

    # --------------------------------------------------- the proxy's own thread

    def _serve(self) -> None:
        try:
            while self._running:
                self.turns += 1
                now = self._clock.now()
                dues = [due for link in self._links if (due := link.due) is not None]
                # An epoll refuses a time far away; waking once an hour costs nothing.
                timeout = min(max(0.0, min(dues) - now), 3600.0) if dues else None
                events = self._selector.select(timeout)
                now = self._clock.now()
                for key, mask in events:
                    if isinstance(key.data, Link):
                        # A link that another event of this turn closed ignores the rest.
                        key.data.on_event(key.fileobj, mask, now)
                    elif key.fileobj is self._listener:
                        self._accept(now)
                    else:
                        with contextlib.suppress(BlockingIOError):
                            os.read(self._wake_reader, 4096)
                with contextlib.suppress(queue.Empty):
                    while True:
                        self._work.get_nowait()()
                for link in list(self._links):
                    link.advance(now)
                    if link.closed:
                        self._links.discard(link)
        finally:
            self._close_all()

    def _stop(self) -> None:
        self._running = False

    def _close_all(self) -> None:
        for link in self._links:
            link.close()
        self._links.clear()
        for listener in (self._listener, self._bound):
            if listener is not None:
                listener.close()
        self._selector.close()

    def _accept(self, now: float) -> None:
        while self._listener is not None:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            link = Link(client, self._upstream, self._selector, number=self.accepted, now=now)
            self._links.add(link)
            self._apply(link)
            for fault in self._faults:
                if fault.kind in (FaultKind.CUT, FaultKind.RESET) and not link.closed:
                    self._end_now(fault, [link])

    def _put(self, fault: Fault, *, new_only: bool = False) -> None:
        # What was accepted so far is there already; connections in the backlog are new.
        fault.since = self.accepted if new_only else 0
        self._faults.append(fault)
        if fault.kind is FaultKind.REFUSE and self._listener is not None:
            self._selector.unregister(self._listener)
            self._listener.close()
            # Bound without listening: the kernel refuses, and no other socket gets the port.
            self._listener, self._bound = None, bound(self._port)
        for link in self._links:
            self._apply(link)

    def _remove(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            with contextlib.suppress(ValueError):
                self._faults.remove(fault)
        refused = any(fault.kind is FaultKind.REFUSE for fault in self._faults)
        if self._bound is not None and not refused:
            self._bound.listen(128)
            self._listener, self._bound = self._bound, None
            self._selector.register(self._listener, selectors.EVENT_READ, None)
        for link in self._links:
            self._apply(link)

    def _apply(self, link: Link) -> None:
        """Apply the present faults to a link, in each direction."""
        for direction in Direction:
            effect = NO_EFFECT
            for fault in self._faults:
                if direction in fault.directions and link.number > fault.since:
                    effect = with_fault(effect, fault)
            link.set_effect(direction, effect)

    def _end_now(self, fault: Fault, links: Iterable[Link]) -> None:
        for link in links:
            if link.number <= fault.since:
                continue
            if fault.kind is FaultKind.RESET:
                link.reset(fault.directions)
            else:
                link.cut(fault.directions)
