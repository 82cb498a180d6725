"""The network over `selectors`: the pure implementation, and the specification.

Thread: the network thread, except `wake`.
Invariants: a connection is in `_connections` exactly as long as its socket is
open and registered; one with an unwritten rest, or still connecting, waits for
writing, any other for reading alone; each turn does a bounded amount of work
for each connection (two reads, one write), so that none delays the others;
what is to be told without asking the selector is in `_unsaid` or `_broken`, and
while either holds anything `poll` does not sleep.
"""

import selectors
import socket
from typing import Final, TypeAlias

from prokurist.errors import DisconnectException, IllegalStateException, NetworkException
from prokurist.network_thread.io import transport
from prokurist.network_thread.io.framing import SCRATCH_BYTES, FrameReader
from prokurist.network_thread.io.network import (
    Arrived,
    Connected,
    Happening,
    Lost,
    SocketAddress,
    Written,
)
from prokurist.network_thread.io.wakeup import Wakeup

LARGEST_FRAME_BYTES: Final = 100 << 20
"""As much as a broker accepts of us by default (`socket.request.max.bytes`), and
twice what a fetch asks for (`fetch.max.bytes`)."""

LONGEST_WAIT: Final = 86_400.0
"""Beyond it the system's integers overflow; to return early is allowed."""

READING, WRITING = selectors.EVENT_READ, selectors.EVENT_WRITE


TcpSocket: TypeAlias = socket.socket
"""By this name within `Connection`, where `socket` is its own."""


class Connection:
    """One connection, from the beginning of its connect to its end."""

    __slots__ = (
        "address",
        "connected",
        "failure",
        "number",
        "reader",
        "received",
        "rest",
        "sent",
        "socket",
        "watched",
    )

    def __init__(
        self, number: int, address: SocketAddress, made: TcpSocket, reader: FrameReader
    ) -> None:
        self.number: int = number
        self.address: SocketAddress = address
        self.socket: TcpSocket = made
        self.reader: FrameReader = reader
        self.connected: bool = False
        self.rest: memoryview | None = None
        self.failure: OSError | None = None  # of a write, not told yet
        self.sent: int = 0
        self.received: int = 0
        self.watched: int = 0

    def writable(self) -> bool:
        """Whether a frame can be written."""
        return self.connected and self.rest is None and self.failure is None

    def interest(self) -> int:
        """What its socket is to be watched for."""
        if not self.connected:
            return WRITING
        return READING if self.rest is None else READING | WRITING

    def __repr__(self) -> str:
        state = "connecting"
        if self.connected:
            state = f"broken by {self.failure!r}" if self.failure else "connected"
        rest = 0 if self.rest is None else len(self.rest)
        return (
            f"<Connection {self.number} to {self.address} {state}, sent {self.sent}, "
            f"unwritten {rest}, received {self.received}, {self.reader.place()}>"
        )


class SelectorNetwork:
    """A `Network` of TCP sockets, waited for with the system's best selector.

    Args:
        receive_buffer_bytes: `receive.buffer.bytes`; -1 leaves it to the system.
        send_buffer_bytes: `send.buffer.bytes`; -1 leaves it to the system.
        largest_frame_bytes: A longer frame ends its connection.
    """

    def __init__(
        self,
        *,
        receive_buffer_bytes: int,
        send_buffer_bytes: int,
        largest_frame_bytes: int = LARGEST_FRAME_BYTES,
    ) -> None:
        self.turns: int = 0
        self.wakes: int = 0
        self.bytes_received: int = 0
        self.bytes_sent: int = 0
        self._receive_buffer_bytes = receive_buffer_bytes
        self._send_buffer_bytes = send_buffer_bytes
        self._largest_frame_bytes = largest_frame_bytes
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._connections: dict[int, Connection] = {}
        self._unsaid: dict[int, Connected | Lost] = {}
        self._broken: dict[int, Connection] = {}
        self._wakeup = Wakeup()
        self._down = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wakeup.fileno(), READING)

    def connect(self, connection: int, address: SocketAddress) -> None:
        """Begin to connect; see `Network.connect`."""
        self._check_up()
        if connection in self._connections or connection in self._unsaid:
            raise IllegalStateException(f"connection {connection} exists already")
        try:
            self._begin(connection, address)
        except OSError as error:
            self._unsaid[connection] = Lost(connection, _unconnected(address, error))

    def _begin(self, number: int, address: SocketAddress) -> None:
        made = transport.opened(
            address,
            receive_buffer_bytes=self._receive_buffer_bytes,
            send_buffer_bytes=self._send_buffer_bytes,
        )
        reader = FrameReader(self._scratch, self._largest_frame_bytes)
        begun = Connection(number, address, made, reader)
        try:
            begun.connected = transport.begun(made, address)
            begun.watched = begun.interest()
            self._selector.register(made, begun.watched, begun)
        except BaseException:
            made.close()
            raise
        self._connections[number] = begun
        if begun.connected:
            self._unsaid[number] = Connected(number)

    def writable(self, connection: int) -> bool:
        """Whether a frame can be written; see `Network.writable`."""
        found = self._connections.get(connection)
        return found is not None and found.writable()

    def write(self, connection: int, frame: bytes) -> None:
        """Write one request; see `Network.write`."""
        found = self._connections.get(connection)
        if found is None or not found.writable():
            raise IllegalStateException(
                f"connection {connection} is not writable: {found or 'there is none'!r}"
            )
        found.rest = memoryview(frame)
        self._send(found)

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
        elif seconds is not None:
            seconds = min(seconds, LONGEST_WAIT)
        ready = self._selector.select(seconds)
        happenings: list[Happening] = list(self._unsaid.values())
        self._unsaid.clear()
        for each in list(self._broken.values()):
            self._bury(each, happenings)
        for key, events in ready:
            found = key.data
            if not isinstance(found, Connection):
                self.wakes += 1
                self._wakeup.taken()
            elif self._lives(found):
                self._serve(found, events, happenings)
        return happenings

    def wake(self) -> None:
        """End the present or the next `poll`; see `Network.wake`."""
        self._wakeup.ask()

    def shutdown(self) -> None:
        """Close everything; see `Network.shutdown`."""
        self._down = True
        # The selector first and nothing unregistered: in a forked child, which
        # shares it, unregistering would take the parent's sockets out.
        self._selector.close()
        for each in self._connections.values():
            each.socket.close()
        self._connections.clear()
        self._unsaid.clear()
        self._broken.clear()

    def _serve(self, found: Connection, events: int, happenings: list[Happening]) -> None:
        if not found.connected:
            self._finish_connecting(found, happenings)
            return
        if events & READING:
            self._receive(found, happenings)
        if events & WRITING and found.rest is not None and self._lives(found):
            self._send(found)
            if found.writable():
                happenings.append(Written(found.number))

    def _finish_connecting(self, found: Connection, happenings: list[Happening]) -> None:
        try:
            transport.outcome(found.socket)
        except OSError as error:
            self._lose(found, _unconnected(found.address, error), happenings)
            return
        found.connected = True
        self._watch(found)
        happenings.append(Connected(found.number))

    def _send(self, found: Connection) -> None:
        """Write what the kernel takes of the rest, in one call."""
        if found.rest is None:
            return
        try:
            count = found.socket.send(found.rest, transport.SEND_FLAGS)
        except BlockingIOError:
            count = 0
        except OSError as error:
            # Not lost yet: the next turn reads what the peer said before it left.
            found.failure, found.rest = error, None
            self._broken[found.number] = found
            return
        found.sent += count
        self.bytes_sent += count
        found.rest = found.rest[count:] if count < len(found.rest) else None
        self._watch(found)

    def _receive(self, found: Connection, happenings: list[Happening]) -> None:
        """Read once, and once more if the first read filled the scratch buffer."""
        for _ in range(2):
            room, more = found.reader.room()
            try:
                count = found.socket.recv_into(room)
            except BlockingIOError:
                return
            except OSError as error:
                self._lose(found, _ended(found, transport.told(error), error), happenings)
                return
            if count == 0:
                self._lose(found, _ended(found, "the peer closed it"), happenings)
                return
            self.bytes_received += count
            found.received += count
            frames = found.reader.took(count)
            happenings.extend(Arrived(found.number, frame) for frame in frames)
            if found.reader.refused:
                what = f"the peer sent {found.reader.refused}"
                self._lose(found, _ended(found, what), happenings)
                return
            if not more or count < len(room):
                return

    def _bury(self, found: Connection, happenings: list[Happening]) -> None:
        """Tell of a failed write, after what the peer had still sent.

        Its last words are often the explanation: a TLS alert, or the EOF that
        tells a refusal from a reset.
        """
        self._receive(found, happenings)
        if self._lives(found) and found.failure is not None:
            error = _ended(found, transport.told(found.failure), found.failure)
            self._lose(found, error, happenings)

    def _watch(self, found: Connection) -> None:
        wanted = found.interest()
        if wanted != found.watched:
            self._selector.modify(found.socket, wanted, found)
            found.watched = wanted

    def _lives(self, found: Connection) -> bool:
        return self._connections.get(found.number) is found

    def _lose(
        self,
        found: Connection,
        error: DisconnectException | NetworkException,
        happenings: list[Happening],
    ) -> None:
        self._forget(found)
        happenings.append(Lost(found.number, error))

    def _forget(self, found: Connection) -> None:
        self._selector.unregister(found.socket)
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


def _ended(found: Connection, what: str, error: OSError | None = None) -> DisconnectException:
    text = f"the connection to {found.address} ended {found.reader.place()}: {what}"
    if found.sent and not found.received:
        text += (
            f"; {found.sent} bytes had been sent and nothing ever came back, as from a "
            "listener that expects TLS or SASL (see security.protocol)"
        )
    made = DisconnectException(text)
    cause = error or found.failure
    if cause is not None:
        made.__cause__ = cause.with_traceback(None)
    return made
