"""TLS as a filter in memory: ciphertext from and to a socket, plaintext from and to frames.

Thread: the network thread. Nothing here waits: sockets stay plain, and are read and written
where those of plain connections are.
Invariants: no byte of plaintext is handed out, or taken, before the context has verified the
peer; received bytes are decrypted within the wait that received them, so that no readable data
is left out of the system's sight.
"""

import os
import ssl
from collections.abc import Mapping
from typing import Any, Final, Protocol, cast

from prokurist.errors import KafkaException, SslAuthenticationException
from prokurist.events.security_log_events import TLS_NOT_RENEWED, TLS_RENEWED
from prokurist.events.trace import Trace
from prokurist.network_thread.io.network import SocketAddress
from prokurist.network_thread.io.pure_watch import PureWatch, Stream
from prokurist.network_thread.io.watch import CLOSED, Seen
from prokurist.security.context import TlsContexts
from prokurist.security.tls_errors import Certificate, certificate_of, tls_failure
from prokurist.twins import chosen

CIPHERTEXT_BYTES: Final = 1 << 20
"""One read from a socket: each gives up the GIL, and so does each record of 16 KiB in it."""

READS: Final = 4
"""Reads of one connection in one turn, for as long as they fill the buffer."""


CHUNK_BYTES: Final = 32 << 10
"""Decrypted at once: more than a record, so that one that holds data gives some."""

MOST_WITHOUT_DATA: Final = 64 << 10
"""Most bytes of an established connection without data: tickets and new keys are far shorter,
and each record of them costs as much as kilobytes of data do."""

LONGEST_HANDSHAKE: Final = 256 << 10
"""Bytes of a handshake; OpenSSL takes certificates of 100 KiB."""

PATIENCE: Final = 5
"""Milliseconds that the pump waits for the rest of a large frame, while nothing wakes it:
to come back for each part of it costs as much beside a busy application thread.

It waits in vain for one connection in a turn, at most: slow answers of many brokers would add
up to a turn that misses every deadline.
"""

PUMPS: Final[Mapping[str, str]] = {
    "native": "prokurist.network_thread.io._native_tls",
    "python": "prokurist.network_thread.io.pure_tls",
}
"""The twins, the preferred one first."""


class Pump(Protocol):
    """Interface of the native receiver and decrypter; see `_native_tls.Pump`."""

    def read(
        self,
        descriptor: int,
        scratch: memoryview,
        room: memoryview,
        wake: int,
        patience: int,
        receives: bool,  # noqa: FBT001 - by position, as native code takes it
    ) -> tuple[int, int, int]:
        """Receive and decrypt; returns plaintext bytes, received bytes, and how it ended."""
        ...


class TlsFilter:
    """The TLS state of one connection.

    Args:
        context: The TLS context.
        server_name: The name or address that the broker's certificate must bear.

    Attributes:
        established: True once the handshake has ended and the peer is verified.
        closed: True once the peer has closed its side.
        failure: The fault of the received bytes, or the alert; None without one.
        without_data: Bytes that came since the last that held data.
    """

    def __init__(self, context: ssl.SSLContext, server_name: str) -> None:
        self.established: bool = False
        self.closed: bool = False
        self.failure: ssl.SSLError | None = None
        self.without_data: int = 0
        # The dot that ends an absolute name is not in certificates, nor may it be in SNI.
        self._server_name = server_name = server_name.removesuffix(".")
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(
            self._incoming, self._outgoing, server_hostname=server_name
        )

    @property
    def connection(self) -> ssl.SSLObject:
        """The `ssl` object, for the pump."""
        return self._object

    def advance(self) -> None:
        """Take the handshake as far as the received bytes allow.

        Raises:
            ssl.SSLError: There is no agreement, or the peer is not the one it should be.
        """
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return
        self.established = True
        self.without_data = 0

    def received(self, ciphertext: memoryview) -> None:
        """Add ciphertext that came from the socket."""
        self.without_data += len(ciphertext)
        self._incoming.write(ciphertext)

    @property
    def excess(self) -> str | None:
        """The peer's excess of bytes, in words; None within the bounds."""
        most = MOST_WITHOUT_DATA if self.established else LONGEST_HANDSHAKE
        if self.without_data > most:
            return f"the peer sent {self.without_data} bytes of TLS without data"
        if self._outgoing.pending > most:
            return f"the peer asks for {self._outgoing.pending} bytes of new keys at once"
        return None

    def read_into(self, room: memoryview) -> int:
        """Decrypt into a buffer, as much as there is and fits.

        Returns:
            The number of bytes; less than the buffer's length means that no more are here. Then
            look at `closed` and `failure`: data before either come first.
        """
        filled, length = 0, len(room)
        while filled < length:
            try:
                # Given a buffer it returns a count, for which typeshed has no overload.
                count = cast("int", self._object.read(length - filled, room[filled:]))
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                self.closed = True
                break
            except ssl.SSLError as error:
                self.failure = error
                break
            if not count:
                self.closed = True
                break
            filled += count
        if filled:
            self.without_data = 0
        return filled

    def encrypted(self, frame: bytes | bytearray) -> bytes:
        """Encrypt a frame."""
        rest = memoryview(frame)
        while rest:
            rest = rest[self._object.write(rest) :]
        return self._outgoing.read()

    def outgoing(self) -> bytes:
        """Ciphertext that TLS itself has to send: handshake, alert, or new keys."""
        return self._outgoing.read()

    @property
    def speaks(self) -> bool:
        """True if `outgoing` has bytes."""
        return self._outgoing.pending > 0

    def refusal_of(
        self, error: OSError | None, address: SocketAddress
    ) -> SslAuthenticationException | None:
        """The exception for an error of TLS; None for one of the socket."""
        if not isinstance(error, ssl.SSLError):
            return None
        return tls_failure(error, self._server_name, str(address), certificate_of(self._object))

    @property
    def certificate(self) -> Certificate:
        """The broker's certificate; empty if there was none."""
        return certificate_of(self._object) or {}

    @property
    def agreed(self) -> str:
        """The TLS version and the cipher suite, in words."""
        cipher = self._object.cipher()
        return f"{self._object.version()} with {cipher[0] if cipher else 'no cipher'}"

    def __repr__(self) -> str:
        state = "established" if self.established else "in its handshake"
        return f"<TlsFilter of {self._server_name} {state}>"


class TlsWatch(PureWatch):
    """Watch for sockets that may use TLS; see `watch.Watch`."""

    received: int

    def __init__(self, wake: int, largest: int) -> None:
        self._native: Any = chosen(PUMPS).module
        super().__init__(wake, largest, self._native.frame_memory())
        self._wake = wake
        self._pumps: dict[int, Pump] = {}
        self._ciphertext = memoryview(bytearray(CIPHERTEXT_BYTES))
        self._filters: dict[int, TlsFilter] = {}
        self._stirred: set[int] = set()
        self._patience = PATIENCE  # what is left of it in this turn

    def secure(self, number: int, its: TlsFilter) -> None:
        """Treat bytes of a socket as ciphertext from now on."""
        self._filters[number] = its

    def accept(self, number: int, largest: int) -> None:
        """Accept other frames of it; see `Watch.accept`.

        The peer has answered by now, so an alert is no longer a refusal, and the pump need not
        know its reason.
        """
        super().accept(number, largest)
        its = self._filters.get(number)
        pump = None if its is None else self._native.pump_of(its.connection)
        if pump is not None:
            self._pumps[number] = pump

    def remove(self, number: int) -> None:
        """Watch it no more; see `Watch.remove`."""
        super().remove(number)
        self._filters.pop(number, None)
        self._pumps.pop(number, None)
        self._stirred.discard(number)

    def wait(self, seconds: float | None) -> list[Seen]:
        """Wait, read and decrypt; see `Watch.wait`.

        A connection with a handshake in progress, or with TLS's own bytes to send, is reported
        without frames.
        """
        self._patience = PATIENCE
        seen = super().wait(seconds)
        if self._stirred:
            silent = self._stirred - {each.number for each in seen}
            seen += [Seen(number, writable=False, frames=[], end=None) for number in silent]
            self._stirred.clear()
        return seen

    def _read(self, stream: Stream, frames: list[memoryview]) -> OSError | str | None:
        its = self._filters.get(stream.number)
        if its is None:
            return super()._read(stream, frames)
        pump = self._pumps.get(stream.number)
        if pump is not None:
            return self._pumped(stream, its, pump, frames)
        for _ in range(READS):
            try:
                count = stream.made.recv_into(self._ciphertext)
            except BlockingIOError:
                return None
            except OSError as error:
                return error
            if count == 0:
                return CLOSED
            self.received += count
            was_established = its.established
            end = self._taken(stream, its, self._ciphertext[:count], frames)
            if its.speaks or its.established is not was_established:
                self._stirred.add(stream.number)
            if end is not None or count < len(self._ciphertext) or its.without_data:
                return end
        return None

    def _taken(
        self,
        stream: Stream,
        its: TlsFilter,
        ciphertext: memoryview,
        frames: list[memoryview],
    ) -> OSError | str | None:
        """Decrypt all received bytes, in chunks, until the connection ends."""
        for at in range(0, len(ciphertext), CHUNK_BYTES):
            its.received(ciphertext[at : at + CHUNK_BYTES])
            try:
                end = self._decrypted(stream, its, frames)
            except ssl.SSLError as error:
                return error
            if end is not None or its.excess is not None:
                return end or its.excess
        return None

    def _pumped(
        self, stream: Stream, its: TlsFilter, pump: Pump, frames: list[memoryview]
    ) -> OSError | str | None:
        """Read by the pump until its received bytes are used up."""
        native, turns = self._native, 0
        descriptor = stream.made.fileno()
        while True:
            room, _ = stream.reader.room()
            patience = self._patience if stream.reader.progress().length is not None else 0
            count, received, end = pump.read(
                descriptor, self._ciphertext, room, self._wake, patience, turns < READS
            )
            turns += 1
            self.received += received
            if its.speaks:
                self._stirred.add(stream.number)
            if count:
                frames += stream.reader.took(count)
                if stream.reader.refused:
                    return f"the peer sent {stream.reader.refused}"
            if end == native.FULL:
                continue
            if end == native.DRAINED:
                if patience:
                    self._patience = 0
                return None
            if end == native.ENDED:
                return CLOSED
            if end == native.EXCESS:
                return "the peer sends TLS without data"
            if end == native.FAILED:
                return ssl.SSLError("what it sent cannot be decrypted, or is an alert")
            return OSError(-end, os.strerror(-end))

    def _decrypted(
        self, stream: Stream, its: TlsFilter, frames: list[memoryview]
    ) -> OSError | str | None:
        """Decrypt all that has been received; never more than one read brought."""
        if not its.established:
            its.advance()
            if not its.established:
                return None
        while True:
            room, _ = stream.reader.room()
            count = its.read_into(room)
            if count:
                frames += stream.reader.took(count)
                if stream.reader.refused:
                    return f"the peer sent {stream.reader.refused}"
            if count < len(room):
                return its.failure or (CLOSED if its.closed else None)

    def __repr__(self) -> str:
        return f"<TlsWatch of {len(self._streams)} sockets, received {self.received}>"


class Tls:
    """The TLS settings that a network needs: contexts and filters.

    Args:
        contexts: TLS contexts, renewed with their files.
    """

    def __init__(self, contexts: TlsContexts) -> None:
        self._contexts = contexts

    def watch(self, wake: int, largest: int) -> TlsWatch:
        """Make the watch of the network's sockets."""
        return TlsWatch(wake, largest)

    def look(self) -> None:
        """Check on the helper thread whether certificate files have changed."""
        self._contexts.look()

    def filter(self, server_name: str) -> TlsFilter:
        """Make the TLS state of a new connection.

        Raises:
            ValueError: The name cannot be one.
        """
        return TlsFilter(self._contexts.current(), server_name)


def emit_renewal(trace: Trace, error: KafkaException | None) -> None:
    """Emit that TLS's files have changed, with the error if they are unusable."""
    if error is None:
        trace.emit(TLS_RENEWED)
    else:
        trace.emit(TLS_NOT_RENEWED, error=error)
