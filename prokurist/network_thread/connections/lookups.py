"""Host names looked up for connections, and canonical names for the bootstrap list.

Thread: the network thread alone; the resolver looks up on threads of its own.
"""

from collections.abc import Callable

from prokurist.errors import NetworkException
from prokurist.network_thread.connections.connection import Connection
from prokurist.network_thread.connections.requests import Limits
from prokurist.network_thread.io.resolver import HostLookups, Lookup
from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.operations.timer import Timer


class Lookups:
    """The look-ups of hosts that are under way, and their connections.

    Args:
        resolver: Looks hosts up, off this thread.
        timer: The Timer.
        limits: Bounds of a connection, which include its look-up.
    """

    def __init__(self, resolver: HostLookups, timer: Timer, limits: Limits) -> None:
        self._resolver = resolver
        self._timer = timer
        self._limits = limits
        self._settle: dict[Lookup, Callable[[], None]] = {}
        self._of: dict[Connection, Lookup] = {}

    def resolve(self, connection: Connection) -> None:
        """Look up a connection's host; a known address is passed on at once."""
        lookup = self._resolver.resolve(connection.node.host, connection.node.port)
        if lookup.done:
            answer(lookup, connection)
            return

        def settle() -> None:
            del self._of[connection]
            answer(lookup, connection)

        self._settle[lookup] = settle
        self._of[connection] = lookup

    def canonical_names(self, host: str, port: int) -> Promise[tuple[str, ...]]:
        """The names that the addresses of a host bear.

        It may take as long as the setup of a connection.
        """
        found: Promise[tuple[str, ...]] = Promise()
        lookup = self._resolver.canonical(host, port)

        def settle() -> None:
            self._timer.cancel(due)
            if lookup.error is not None:
                found.break_(lookup.error)
            else:
                found.keep(lookup.names)

        def expire() -> None:
            self._give_up(lookup)
            found.break_(
                NetworkException(f"the canonical names of {host} were not resolved in time")
            )

        def forsake() -> None:
            self._timer.cancel(due)
            self._give_up(lookup)

        due = self._timer.after(
            self._limits.setup.pause(1), f"the canonical names of {host}", expire
        )
        found.on_forsaken = forsake
        if lookup.done:
            settle()
        else:
            self._settle[lookup] = settle
        return found

    def collect(self) -> None:
        """Pass on the answers that have come."""
        for lookup in self._resolver.collect():
            settle = self._settle.pop(lookup, None)
            if settle is not None:
                settle()

    def forget(self, connection: Connection) -> None:
        """Drop a connection's look-up."""
        lookup = self._of.pop(connection, None)
        if lookup is not None:
            self._give_up(lookup)

    def close(self) -> None:
        """Abandon every look-up."""
        self._resolver.close()

    def _give_up(self, lookup: Lookup) -> None:
        self._settle.pop(lookup, None)
        self._resolver.abandon(lookup)


def answer(lookup: Lookup, connection: Connection) -> None:
    """Pass a look-up's result on to a connection."""
    if lookup.error is not None:
        connection.unresolved(lookup.error)
    else:
        connection.resolved(lookup.addresses)
