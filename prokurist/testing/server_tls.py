"""The broker's half of TLS, in memory, for the embedded broker.

Thread: the server's alone.
"""

import ssl
from pathlib import Path
from typing import Final

READ_SIZE: Final = 64 * 1024


def server_context(certificate: Path, authority: Path | None) -> ssl.SSLContext:
    """Return the TLS context of an embedded broker's listeners.

    Args:
        certificate: PEM file with its key, its certificate and its chain.
        authority: Who vouches for the certificates of clients, where they need one.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.load_cert_chain(certificate)
    if authority is not None:
        made.verify_mode = ssl.CERT_REQUIRED
        made.load_verify_locations(authority)
    return made


class ServerTls:
    """The TLS of one accepted connection."""

    __slots__ = ("_incoming", "_is_established", "_object", "_outgoing")

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._is_established = False
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    def received(self, ciphertext: bytes) -> bytes:
        """Decrypt received bytes, as far as they form whole records.

        Raises:
            ssl.SSLError: There is no agreement; `outgoing` has the alert.
        """
        self._incoming.write(ciphertext)
        said = bytearray()
        try:
            if not self._is_established:
                self._object.do_handshake()
                self._is_established = True
            while data := self._object.read(READ_SIZE):
                said += data
        except ssl.SSLWantReadError:
            pass
        return bytes(said)

    def encrypted(self, data: bytes) -> bytes:
        """Encrypt data for the wire."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._object.write(rest) :]
        return self._outgoing.read()

    def outgoing(self) -> bytes:
        """Return the handshake and alert bytes that TLS itself has to send."""
        return self._outgoing.read()

    def __repr__(self) -> str:
        return f"ServerTls({'established' if self._is_established else 'in its handshake'})"
