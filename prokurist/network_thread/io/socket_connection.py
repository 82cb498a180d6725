"""State of one socket of the network.

Thread: the network thread.
"""

import socket
from typing import TYPE_CHECKING, TypeAlias

from prokurist.network_thread.io.network import SocketAddress
from prokurist.network_thread.io.watch import READING, WRITING

if TYPE_CHECKING:
    from prokurist.network_thread.io.tls import TlsFilter

TcpSocket: TypeAlias = socket.socket
"""By this name within `SocketConnection`, where `socket` is its own."""


class SocketConnection:
    """One socket, from the beginning of its connect to its end."""

    __slots__ = (
        "address",
        "connected",
        "failure",
        "number",
        "rest",
        "secured",
        "sent",
        "server_name",
        "socket",
        "tls",
        "unread",
        "watched",
    )

    def __init__(
        self, number: int, address: SocketAddress, made: TcpSocket, server_name: str
    ) -> None:
        self.number: int = number
        self.address: SocketAddress = address
        self.socket: TcpSocket = made
        self.server_name: str = server_name or address.host
        self.connected: bool = False
        self.tls: TlsFilter | None = None
        self.secured: bool = False  # by TLS, or because none is wanted
        self.rest: memoryview | None = None
        self.failure: OSError | None = None  # of a write, not told yet
        self.sent: int = 0
        self.unread: int = 0  # bytes of TLS's own in the rest
        self.watched: int = 0

    def writable(self) -> bool:
        """Return True if a frame can be written."""
        return self.secured and self.rest is None and self.failure is None

    def interest(self) -> int:
        """The events that its socket is watched for."""
        if not self.connected:
            return WRITING
        return READING if self.rest is None else READING | WRITING

    def __repr__(self) -> str:
        state = "connecting"
        if self.connected:
            state = "connected" if self.secured else "in its TLS handshake"
            state = f"broken by {self.failure!r}" if self.failure else state
        rest = 0 if self.rest is None else len(self.rest)
        return (
            f"<SocketConnection {self.number} to {self.address} {state}, sent {self.sent}, "
            f"unwritten {rest}>"
        )
