"""One accepted connection: bytes to frames and back.

Thread: the server's alone.
"""

import socket
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from prokurist.testing.cluster.session import Delivery, End, Session

if TYPE_CHECKING:
    from prokurist.testing.server_tls import ServerTls

LARGEST_FRAME: Final = 100 * 1024 * 1024
"""As brokers have it by default (`socket.request.max.bytes`)."""

READ_SIZE: Final = 256 * 1024
RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


class ClientConnection:
    """The connection.

    Attributes:
        session: Its other side, in the model.
        open: False once its socket is closed.
        ending: It closes as soon as everything is written.
    """

    __slots__ = ("_incoming", "_outgoing", "_socket", "_tls", "ending", "open", "session")

    def __init__(
        self, accepted: socket.socket, session: Session, tls: "ServerTls | None" = None
    ) -> None:
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = accepted
        self._tls = tls
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self.session: Session = session
        self.open: bool = True
        self.ending: bool = False

    def __repr__(self) -> str:
        life = "ending" if self.ending else "open" if self.open else "closed"
        waiting = f"{len(self._incoming)} bytes in, {len(self._outgoing)} out"
        return f"ClientConnection({life}, {waiting}, {self.session!r})"

    def fileno(self) -> int:
        """Return the socket's file descriptor, for a selector."""
        return self._socket.fileno()

    @property
    def wants_to_write(self) -> bool:
        """True while bytes wait for the socket."""
        return self.open and bool(self._outgoing)

    def read(self) -> Iterator[bytes]:
        """Read what has come, and give out whole frames without their length.

        The connection is closed if the client has closed it, or lies about a length.
        """
        try:
            data = self._socket.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        if self._tls is None:
            self._incoming += data
        else:
            try:
                self._incoming += self._tls.received(data)
            except OSError:
                self.ending = True  # once the alert that says why is on its way
            self._outgoing += self._tls.outgoing()
            self.write()
        while len(self._incoming) >= 4:
            length = int.from_bytes(self._incoming[:4], signed=True)
            if not 0 <= length <= LARGEST_FRAME:
                self.close()
                return
            if len(self._incoming) < 4 + length:
                return
            frame = bytes(self._incoming[4 : 4 + length])
            del self._incoming[: 4 + length]
            yield frame

    def deliver(self, delivery: Delivery) -> None:
        """Send an answer, or end the connection."""
        if delivery.end is End.RESET:
            reset(self._socket)
            self.close()
        elif delivery.end is End.CLOSED:
            self.ending = True
            self.write()
        else:
            wire = delivery.wire
            self._outgoing += wire if self._tls is None else self._tls.encrypted(wire)
            self.write()

    def write(self) -> None:
        """Send what waits, as far as the socket takes it."""
        while self.open and self._outgoing:
            try:
                sent = self._socket.send(self._outgoing)
            except BlockingIOError:
                return
            except OSError:
                self.close()
                return
            del self._outgoing[:sent]
        if self.ending:
            self.close()

    def close(self) -> None:
        """Close the socket; twice is once."""
        self.open = False
        self._socket.close()


def reset(connected: socket.socket) -> None:
    """Close a socket with a TCP reset."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    connected.close()
