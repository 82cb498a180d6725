"""Requests by hand to the server at an address: a real Kafka, or the model.

Nothing of the client's and nothing of the model's stands in between: frames are
filled and read with kio, and what is compared is what came over the wire.
"""

import socket
import struct
from typing import Any, Final

from prokurist.testing.cluster.apis import ApiName
from tests.unit.testing.cluster.conftest import read_frame, request_frame

PATIENCE: Final = 60.0
PARKED: Final = 0.3
"""Seconds without an answer after which a request counts as parked."""


class ClosedByBroker(ConnectionError):
    """The broker ended a connection in place of an answer."""


class Talker:
    """Connections to one broker, each by the name of who talks on it."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._address = (host, int(port))
        self._sockets: dict[str, socket.socket] = {}
        self._asked: dict[str, list[tuple[ApiName, int]]] = {}
        self._numbers = 0

    def close(self) -> None:
        """Close all connections."""
        for each in self._sockets.values():
            each.close()

    def send(self, who: str, api: ApiName, version: int, **values: Any) -> None:
        """Send a request."""
        self.tell(who, api, version, **values)
        self._asked[who].append((api, version))

    def tell(self, who: str, api: ApiName, version: int, **values: Any) -> None:
        """Send a request that is not answered."""
        if who not in self._sockets:
            self._sockets[who] = socket.create_connection(self._address, PATIENCE)
            self._asked[who] = []
        self._numbers += 1
        frame = request_frame(api, version, self._numbers, values)
        self._sockets[who].sendall(struct.pack(">i", len(frame)) + frame)

    def ended(self, who: str) -> bool:
        """Whether a connection ends without another byte; the next request opens another."""
        try:
            self._bytes(who, 1)
        except ClosedByBroker:
            return True
        return False

    def parked(self, who: str, within: float = PARKED) -> bool:
        """Whether the request of one of them is still unanswered after a while."""
        self._sockets[who].settimeout(within)
        try:
            return not self._sockets[who].recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True

    def read(self, who: str) -> Any:
        """The answer to the oldest request of one of them.

        Raises:
            ClosedByBroker: The connection ended; the next request opens another.
        """
        (size,) = struct.unpack(">i", self._bytes(who, 4))
        return read_frame(*self._asked[who].pop(0), self._bytes(who, size)).body

    def ask(self, who: str, api: ApiName, version: int, **values: Any) -> Any:
        """Send a request and read its answer."""
        self.send(who, api, version, **values)
        return self.read(who)

    quietly = ask

    def _bytes(self, who: str, count: int) -> bytes:
        self._sockets[who].settimeout(PATIENCE)
        out = b""
        while len(out) < count:
            try:
                piece = self._sockets[who].recv(count - len(out))
            except ConnectionResetError:
                piece = b""
            if not piece:
                self._sockets.pop(who).close()
                del self._asked[who]
                raise ClosedByBroker(f"the broker closed on {who}")
            out += piece
        return out
