"""A listener that is no broker: it answers each connection's first bytes with its own."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

Reply = Callable[[bytes], bytes | None]
"""Given a client's first bytes: what to send; None to hang up on it."""

PATIENCE = 20.0
"""Longer than any test takes; a thread that is stuck ends with it."""


class Hostile:
    """The listener, on a thread of its own.

    Attributes:
        port: Where it listens.
        met: How many connections have said something.
    """

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        self.met: int = 0
        self._thread = threading.Thread(target=self._serve, name="a hostile peer")

    @property
    def bootstrap(self) -> str:
        """Its address, as a configuration takes it."""
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # On some systems it is not connected, and says so.
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(PATIENCE)
        for each in self._open:
            each.close()

    def _serve(self) -> None:
        with suppress(OSError):  # The listener was closed.
            while True:
                client, _ = self._listener.accept()
                self._open.append(client)
                client.settimeout(PATIENCE)
                with suppress(OSError):
                    self._answer(client)

    def _answer(self, client: socket.socket) -> None:
        if said := client.recv(4096):
            self.met += 1
            reply = self._reply(said)
            if reply is None:
                client.shutdown(socket.SHUT_RDWR)
            else:
                client.sendall(reply)
