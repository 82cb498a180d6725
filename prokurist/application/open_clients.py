"""The open clients of this process, for readers of the counters of all of them.

Thread: any; `_lock` is held for a few assignments.
Invariants: a client is held weakly, so one that was not closed is gone when it is
collected; no two that are open have one name; a child of a fork begins with none.
"""

import os
import threading
from typing import Final, Generic, Protocol, TypeVar
from weakref import ref


class Named(Protocol):
    """Interface of a client, for readers of its counters."""

    @property
    def client_id(self) -> str:
        """The `client.id`."""
        ...


Client = TypeVar("Client", bound=Named)


class OpenClients(Generic[Client]):
    """The open clients, by name."""

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Hold none: in a fork's child the parent's are copies, whose locks may be held."""
        self._lock = threading.RLock()
        self._clients: dict[str, ref[Client]] = {}

    def add(self, client: Client) -> str:
        """Another one is open.

        Returns:
            Its name: its client id, with a number behind it if an older one has that.
        """
        client_id = client.client_id
        with self._lock:
            self._clients = {name: each for name, each in self._clients.items() if each()}
            name, number = client_id, 1
            while name in self._clients:
                number += 1
                name = f"{client_id} ({number})"
            self._clients[name] = ref(client)
        return name

    def remove(self, client: Client) -> None:
        """It is open no longer."""
        with self._lock:
            self._clients = {
                name: each for name, each in self._clients.items() if each() is not client
            }

    def all(self) -> list[tuple[str, Client]]:
        """Those that are open, by name."""
        with self._lock:
            held = tuple(self._clients.items())
        return [(name, client) for name, each in held if (client := each()) is not None]

    def __repr__(self) -> str:
        return f"OpenClients({len(self.all())})"


OPEN: Final = OpenClients[Named]()
"""The open clients of this process, of all kinds."""
