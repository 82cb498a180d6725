"""Interface of the network: whole frames, and happenings on connections.

Thread: the network thread calls everything but `wake`, which may come from any.
Invariants: nothing here blocks but `poll` and `rest`; an error on a connection is never raised,
it arrives as `Lost` from the next `poll`; after `Lost`, and after `close`, a connection's
number is forgotten and nothing more happens under it.

No socket and no selector is named here: a simulated network and a native one
answer to the same Protocol.
"""

from typing import Protocol, TypeAlias

from prokurist.errors import DisconnectException, NetworkException, SslAuthenticationException
from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SocketAddress:
    """Target of a connection: a numeric address, never a name.

    Attributes:
        host: An IPv4 or IPv6 address in its textual form, without a scope.
        port: The TCP port.
        scope: The interface's number, for a link-local IPv6 address.
    """

    host: str
    port: int
    scope: int = 0

    def __str__(self) -> str:
        host = f"{self.host}%{self.scope}" if self.scope else self.host
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Securing:
    """TCP is connected, and the TLS handshake has begun; `Connected` or `Lost` follows."""

    connection: int


@dataclass(frozen=True, slots=True)
class Connected:
    """The connection can be used, with TLS where it is configured."""

    connection: int


@dataclass(frozen=True, slots=True)
class Arrived:
    """A whole response frame has arrived.

    Attributes:
        connection: Where.
        frame: A read-only view of exactly the frame, without its length prefix. It owns its
            memory, never written again, and may be handed to any thread.
    """

    connection: int
    frame: memoryview


@dataclass(frozen=True, slots=True)
class Written:
    """The kernel has taken the rest of a `write`; the next frame can come."""

    connection: int


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection has ended, and its number is free.

    Attributes:
        connection: Which.
        error: The error, with the OSError, if there was one, as its cause: `NetworkException`
            where no connection came about, `DisconnectException` where one ended,
            `SslAuthenticationException` where the TLS handshake failed.
        strange: True if the peer's bytes ended it: no frames, too many of them, or another
            protocol.
    """

    connection: int
    error: NetworkException | DisconnectException | SslAuthenticationException
    strange: bool = False


Happening: TypeAlias = Securing | Connected | Arrived | Written | Lost
"""A happening from `poll`; those of one connection stand in order."""


class Network(Protocol):
    """Connections that the caller numbers, and one wait for all of them.

    Attributes:
        turns: How often `poll` was called.
        wakes: How many of those turns a `wake` ended.
        bytes_sent: To all connections since the beginning.
    """

    turns: int
    wakes: int
    bytes_sent: int

    @property
    def bytes_received(self) -> int:
        """The bytes received on all connections so far."""
        ...

    def connect(self, connection: int, address: SocketAddress, server_name: str = "") -> None:
        """Begin to connect; `Connected` or `Lost` follows.

        Args:
            connection: A number that no living connection bears.
            address: Where to.
            server_name: The name that the broker's certificate must bear, where TLS is
                wanted; empty for the address itself.

        Raises:
            IllegalStateException: The number is taken, or the network shut down.
        """
        ...

    def write(self, connection: int, frame: bytes | bytearray) -> None:
        """Write one request; `poll` writes the rest that the kernel does not take now.

        If all of it was taken the connection stays writable, and no `Written`
        follows. An error of the connection arrives as `Lost`.

        Args:
            connection: One that is `writable`.
            frame: The whole request, its length prefix included.

        Raises:
            IllegalStateException: The connection is not writable.
        """
        ...

    def writable(self, connection: int) -> bool:
        """Return True if the connection is open and nothing unwritten is left."""
        ...

    def arriving(self, connection: int) -> tuple[int, int] | None:
        """Return the received bytes of the present frame, and its length.

        Returns:
            None where no frame has begun, or there is no such connection.
        """
        ...

    def trust(self, connection: int) -> None:
        """Accept frames as long as answers may be; before, only short ones.

        Args:
            connection: One with a peer that has proved to be a broker.
        """
        ...

    def close(self, connection: int) -> None:
        """Close a connection. No event follows for it; an unknown one is ignored."""
        ...

    def poll(self, seconds: float | None) -> list[Happening]:
        """Wait until something has happened, `wake` was called, or the time is over.

        It may also return early with nothing, after a part of a frame: the
        caller reads its clock and calls again.

        Args:
            seconds: How long at most; None for ever, 0 not at all.

        Raises:
            IllegalStateException: The network is shut down.
        """
        ...

    def wake(self) -> None:
        """End the present `poll`, or else the next one, at once.

        From any thread, and from a signal handler: it takes no lock and does
        not block. Everything that the caller published under a lock before it is seen
        by the thread that takes that lock after the wait that this ends.
        """
        ...

    def shutdown(self) -> None:
        """Close everything; a second time has no effect."""
        ...
