"""Network of TCP sockets: connects, writes, and happenings.

Waiting, reading, and writing the rest of a frame are the watch's; there are two twins of it
(`watch`).

Thread: the network thread, except `wake`.
Invariants: a connection is in `_connections` exactly as long as its socket is open and watched;
one with an unwritten rest, or still connecting, waits for writing, any other for reading alone;
each turn does a bounded amount of work for each connection, so that none delays the others;
happenings independent of the watch are in `_unsaid` or `_broken`, and while either holds
anything `poll` does not sleep.
"""

import errno
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from prokurist.errors import (
    DisconnectException,
    IllegalStateException,
    NetworkException,
    SslAuthenticationException,
)
from prokurist.network_thread.io import transport
from prokurist.network_thread.io.framing import ALERT_SEEN
from prokurist.network_thread.io.network import (
    Arrived,
    Connected,
    Happening,
    Lost,
    Securing,
    SocketAddress,
    Written,
)
from prokurist.network_thread.io.socket_connection import SocketConnection
from prokurist.network_thread.io.wakeup import Wakeup
from prokurist.network_thread.io.watch import (
    CLOSED,
    WAKE,
    MakeWatch,
    Seen,
    Watch,
    best_watch,
)

if TYPE_CHECKING:
    from prokurist.network_thread.io.tls import Tls, TlsFilter, TlsWatch

LARGEST_FRAME_BYTES: Final = 100 << 20
"""As much as a broker accepts of us by default (`socket.request.max.bytes`), and
twice what a fetch asks for (`fetch.max.bytes`)."""

GREETING_BYTES: Final = 1 << 20
"""Longest frame of a connection before it is trusted: all frames until then are short."""

MOST_UNREAD: Final = 64 << 10
"""Bytes of TLS itself, such as answers to new keys, for a peer that does not read."""


class SelectorNetwork:
    """A `Network` of TCP sockets.

    Args:
        receive_buffer_bytes: `receive.buffer.bytes`; -1 leaves it to the system.
        send_buffer_bytes: `send.buffer.bytes`; -1 leaves it to the system.
        largest_frame_bytes: A longer frame ends its connection; of one that is not
            trusted yet, one longer than GREETING_BYTES.
        watch: The twin that waits and reads; None for the best available.
        tls: TLS settings of every connection; None for plain text. They need a watch of their
            own.
        keepalive: Seconds without traffic until the system probes a connection; None for
            never.
    """

    def __init__(
        self,
        *,
        receive_buffer_bytes: int,
        send_buffer_bytes: int,
        largest_frame_bytes: int = LARGEST_FRAME_BYTES,
        watch: MakeWatch | None = None,
        tls: "Tls | None" = None,
        keepalive: int | None = None,
    ) -> None:
        self.turns: int = 0
        self.wakes: int = 0
        self.bytes_sent: int = 0
        self._receive_buffer_bytes = receive_buffer_bytes
        self._send_buffer_bytes = send_buffer_bytes
        self._keepalive = keepalive
        self._connections: dict[int, SocketConnection] = {}
        self._unsaid: dict[int, Connected | Lost] = {}
        self._broken: dict[int, SocketConnection] = {}
        wakeup = Wakeup()
        self._wakeup: Wakeup | None = wakeup
        self._down = False
        self._largest = largest_frame_bytes
        self._tls = tls
        wake, shortest = wakeup.fileno(), min(GREETING_BYTES, largest_frame_bytes)
        self._tls_watch: TlsWatch | None = None if tls is None else tls.watch(wake, shortest)
        self._watch: Watch = self._tls_watch or (watch or best_watch())(wake, shortest)

    @property
    def bytes_received(self) -> int:
        """See `Network.bytes_received`."""
        return self._watch.received

    def connect(self, connection: int, address: SocketAddress, server_name: str = "") -> None:
        """Begin to connect; see `Network.connect`."""
        self._check_up()
        if connection in self._connections or connection in self._unsaid:
            raise IllegalStateException(f"connection {connection} exists already")
        try:
            self._begin(connection, address, server_name)
        except OSError as error:
            self._unsaid[connection] = Lost(connection, _unconnected(address, error))

    def _begin(self, number: int, address: SocketAddress, server_name: str) -> None:
        made = transport.opened(
            address,
            receive_buffer_bytes=self._receive_buffer_bytes,
            send_buffer_bytes=self._send_buffer_bytes,
            keepalive=self._keepalive,
        )
        begun = SocketConnection(number, address, made, server_name)
        try:
            at_once = transport.begun(made, address)
            if self._tls is None:
                begun.connected = begun.secured = at_once
            else:
                # Were it connected at once, the first wait finds it writable.
                self._tls.look()
            begun.watched = begun.interest()
            self._watch.add(number, made, begun.watched)
        except BaseException:
            made.close()
            raise
        self._connections[number] = begun
        if begun.connected:
            self._unsaid[number] = Connected(number)

    def writable(self, connection: int) -> bool:
        """Return True if a frame can be written; see `Network.writable`."""
        found = self._connections.get(connection)
        return found is not None and found.writable()

    def arriving(self, connection: int) -> tuple[int, int] | None:
        """Return the progress of the present frame; see `Network.arriving`."""
        if connection not in self._connections:
            return None
        progress = self._watch.progress(connection)
        return None if progress.length is None else (progress.filled, progress.length)

    def write(self, connection: int, frame: bytes | bytearray) -> None:
        """Write one request; see `Network.write`."""
        found = self._connections.get(connection)
        if found is None or not found.writable():
            raise IllegalStateException(
                f"connection {connection} is not writable: {found or 'there is none'!r}"
            )
        self._send(found, frame if found.tls is None else found.tls.encrypted(frame))

    def tls_of(self, connection: int) -> "TlsFilter | None":
        """The TLS version and cipher suite of a connection."""
        found = self._connections.get(connection)
        return None if found is None else found.tls

    def trust(self, connection: int) -> None:
        """Accept long frames; see `Network.trust`."""
        if connection in self._connections:
            self._watch.accept(connection, self._largest)

    def close(self, connection: int) -> None:
        """End a connection, silently; see `Network.close`."""
        self._unsaid.pop(connection, None)
        if found := self._connections.get(connection):
            self._forget(found)

    def poll(self, seconds: float | None) -> list[Happening]:
        """Wait, read, write, and tell; see `Network.poll`."""
        self._check_up()
        self.turns += 1
        if self._unsaid or self._broken:
            seconds = 0
        seen = self._watch.wait(seconds)
        happenings: list[Happening] = list(self._unsaid.values())
        self._unsaid.clear()
        for each in seen:
            if each.number == WAKE and self._wakeup is not None:
                self.wakes += 1
                self._wakeup.taken()
            else:
                self._tell(self._connections[each.number], each, happenings)
        for broken in list(self._broken.values()):
            self._bury(broken, happenings)
        return happenings

    def wake(self) -> None:
        """End the present or the next wait; see `Network.wake`."""
        # In hand, it outlives a shutdown that comes now: its descriptors close with it.
        wakeup = self._wakeup
        if wakeup is not None:
            wakeup.ask()

    def shutdown(self) -> None:
        """Close everything; see `Network.shutdown`."""
        self._down = True
        self._watch.close()  # first: see there
        for each in self._connections.values():
            each.socket.close()
        self._connections.clear()
        self._unsaid.clear()
        self._broken.clear()
        # Not with this network, which is in cycles that only the garbage collector ends.
        self._wakeup = None

    def _tell(self, found: SocketConnection, seen: Seen, happenings: list[Happening]) -> None:
        if not found.connected:
            self._finish_connecting(found, happenings)
            return
        if found.tls is not None:
            self._go_on_securing(found, found.tls, happenings)
        happenings.extend(Arrived(found.number, frame) for frame in seen.frames)
        if isinstance(seen.end, OSError):
            self._lose(
                found, self._ended(found, transport.told(seen.end), seen.end), happenings
            )
        elif seen.end is not None:
            ended = self._ended(found, seen.end)
            self._lose(found, ended, happenings, strange=seen.is_strange)
        elif seen.writable and found.rest is not None:
            self._settle(found)
            if found.writable():
                self._look_for(found)
                happenings.append(Written(found.number))

    def _finish_connecting(self, found: SocketConnection, happenings: list[Happening]) -> None:
        try:
            transport.outcome(found.socket)
        except OSError as error:
            self._lose(found, _unconnected(found.address, error), happenings)
            return
        found.connected = True
        if self._tls is None or self._tls_watch is None:
            found.secured = True
            self._look_for(found)
            happenings.append(Connected(found.number))
            return
        try:
            found.tls = self._tls.filter(found.server_name)
        except ValueError as error:
            text = f"TLS cannot be begun with {found.server_name!r}: {error}"
            self._lose(found, SslAuthenticationException(text), happenings)
            return
        self._tls_watch.secure(found.number, found.tls)
        found.tls.advance()
        happenings.append(Securing(found.number))
        self._say(found, found.tls)
        self._look_for(found)

    def _go_on_securing(
        self, found: SocketConnection, tls: "TlsFilter", happenings: list[Happening]
    ) -> None:
        """Send TLS's own bytes, and report the end of its handshake."""
        self._say(found, tls)
        if tls.established and not found.secured:
            found.secured = True
            happenings.append(Connected(found.number))

    def _say(self, found: SocketConnection, tls: "TlsFilter") -> None:
        if not tls.speaks:
            return
        self._settle(found)
        if found.failure is not None:
            return
        told = tls.outgoing()
        found.unread = len(told) if found.rest is None else found.unread + len(told)
        if found.unread > MOST_UNREAD:
            error = OSError(errno.ENOBUFS, "it does not read what TLS answers")
            self._break(found, error)
            return
        self._send(found, bytes(found.rest or b"") + told)

    def _break(self, found: SocketConnection, error: OSError) -> None:
        """Stop writing; the next turn reads the peer's last bytes."""
        found.failure, found.rest = error, None
        self._broken[found.number] = found

    def _send(self, found: SocketConnection, frame: bytes | bytearray) -> None:
        """Write as much as the kernel takes, in one call; the watch writes the rest."""
        try:
            count = found.socket.send(frame, transport.SEND_FLAGS)
        except BlockingIOError:
            count = 0
        except OSError as error:
            self._break(found, error)
            return
        self._took(found, memoryview(frame), count)
        if found.rest is not None:
            self._watch.write(found.number, found.rest)
        self._look_for(found)

    def _took(self, found: SocketConnection, rest: memoryview, count: int) -> None:
        """The kernel has taken so much."""
        found.sent += count
        self.bytes_sent += count
        found.rest = rest[count:] if count < len(rest) else None

    def _settle(self, found: SocketConnection) -> None:
        """Take back the unwritten bytes from the watch, if any."""
        if found.rest is None:
            return
        count, failure = self._watch.take_back(found.number)
        self._took(found, found.rest, count)
        if failure is not None:
            self._break(found, failure)

    def _bury(self, found: SocketConnection, happenings: list[Happening]) -> None:
        """Report a failed write, after the peer's last bytes.

        Its last words are often the explanation: a TLS alert, or the EOF that
        tells a refusal from a reset.
        """
        self._tell(found, self._watch.last_words(found.number), happenings)
        if found.number in self._broken and found.failure is not None:
            error = self._ended(found, transport.told(found.failure), found.failure)
            self._lose(found, error, happenings)

    def _look_for(self, found: SocketConnection) -> None:
        wanted = found.interest()
        if wanted != found.watched:
            self._watch.change(found.number, wanted)
            found.watched = wanted

    def _lose(
        self,
        found: SocketConnection,
        error: DisconnectException | NetworkException | SslAuthenticationException,
        happenings: list[Happening],
        *,
        strange: bool = False,
    ) -> None:
        self._forget(found)
        happenings.append(Lost(found.number, error, strange))

    def _ended(
        self, found: SocketConnection, what: str, error: OSError | None = None
    ) -> DisconnectException | SslAuthenticationException:
        """The error of a connection's end; call it while the socket is still watched."""
        self._settle(found)
        progress = self._watch.progress(found.number)
        if found.tls is not None and not progress.frames:
            # With TLS 1.3 a missing client certificate is told only after our side of the
            # handshake is over: until the first answer, an alert is a refusal.
            refusal = found.tls.refusal_of(error, found.address)
            if refusal is not None:
                return refusal
        place = progress.place() if found.secured else "in the TLS handshake"
        text = f"the connection to {found.address} ended {place}: {what}"
        if not found.secured:
            text += ", as a listener without TLS does (see security.protocol)"
        elif found.sent and not progress.received:
            text += (
                f"; {found.sent} bytes had been sent and nothing ever came back, as from a "
                "listener that expects TLS or SASL (see security.protocol)"
            )
        elif what == CLOSED and progress.at_first_answer:
            text += (
                ", as a listener that wants SASL does where none comes (see security.protocol)"
            )
        # In the place of the first answer, only a listener with TLS sends one: no try without
        # TLS will fare better.
        refuses = found.tls is None and not progress.frames and ALERT_SEEN in what
        made = (SslAuthenticationException if refuses else DisconnectException)(text)
        cause = error or found.failure
        if cause is not None:
            made.__cause__ = cause.with_traceback(None)
        return made

    def _forget(self, found: SocketConnection) -> None:
        self._watch.remove(found.number)
        if found.tls is not None and found.tls.speaks and found.rest is None:
            # An alert that says why: the broker's log has the reason then.
            with suppress(OSError):
                found.socket.send(found.tls.outgoing(), transport.SEND_FLAGS)
        found.socket.close()
        del self._connections[found.number]
        self._broken.pop(found.number, None)

    def _check_up(self) -> None:
        if self._down:
            raise IllegalStateException("the network is shut down")

    def __repr__(self) -> str:
        connecting = sum(not each.connected for each in self._connections.values())
        unwritten = sum(each.rest is not None for each in self._connections.values())
        return (
            f"<SelectorNetwork {'down' if self._down else 'up'}: "
            f"{len(self._connections)} connections ({connecting} connecting, "
            f"{unwritten} with an unwritten rest), "
            f"{len(self._unsaid) + len(self._broken)} unsaid, turns {self.turns}, "
            f"wakes {self.wakes}, received {self.bytes_received}, sent {self.bytes_sent}>"
        )


def _unconnected(address: SocketAddress, error: OSError) -> NetworkException:
    made = NetworkException(f"no connection to {address}: {transport.told(error)}")
    # Its traceback says nothing, and holds the connection's frames in memory.
    made.__cause__ = error.with_traceback(None)
    return made
