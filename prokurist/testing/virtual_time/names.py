"""Host name look-ups in virtual time, in place of the Resolver.

It answers as that one does: a number at once, a name by way of `collect` a little
later, and none after `close`. No thread is in it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from prokurist.errors import IllegalStateException, NetworkException
from prokurist.network_thread.io.network import SocketAddress
from prokurist.network_thread.io.resolver import Lookup, Outcome, literal
from prokurist.network_thread.io.resolver import Names as CanonicalNames

if TYPE_CHECKING:
    from prokurist.testing.virtual_time.world import World

LOOKUP: Final = 0.002
"""Seconds for one look-up."""


class Names:
    """One client's resolver.

    Attributes:
        asked: When each name was asked for.
        silent: Nothing is answered, as by a name server that is gone.
        closed: Nothing may be asked any more.
    """

    def __init__(self, world: "World[Any]", wake: Callable[[], None]) -> None:
        self.asked: list[tuple[float, str]] = []
        self.silent = False
        self.closed: bool = False
        self.waiting: list[Lookup] = []
        self._world = world
        self._wake = wake
        self._done: list[Lookup] = []

    def resolve(self, host: str, port: int) -> Lookup:
        """Ask for all addresses of a host."""
        if self.closed:
            raise IllegalStateException("the resolver is closed")
        lookup = Lookup(host, port)
        if found := literal(host):
            lookup.answer(tuple(found))
            return lookup
        return self._asked(lookup, self._find)

    def canonical(self, host: str, port: int) -> Lookup:
        """Ask for the canonical names of a host."""
        if self.closed:
            raise IllegalStateException("the resolver is closed")
        return self._asked(Lookup(host, port), self._name)

    def _asked(self, lookup: Lookup, answer: Callable[[str], Outcome]) -> Lookup:
        now = self._world.clock.time
        self.asked.append((now, lookup.host))
        self.waiting.append(lookup)
        if not self.silent:
            self._world.at(now + LOOKUP, lambda: self._answer(lookup, answer(lookup.host)))
        return lookup

    def _answer(self, lookup: Lookup, outcome: Outcome) -> None:
        if lookup in self.waiting:
            self.waiting.remove(lookup)
            lookup.answer(outcome)
            self._done.append(lookup)
            self._wake()

    def _find(self, host: str) -> Outcome:
        addresses = self._world.hosts.get(host, ())
        return tuple(SocketAddress(each, 0) for each in addresses) or unknown(host)

    def _name(self, host: str) -> Outcome:
        names = {
            address: name for name, (address, *_) in self._world.hosts.items() if name != host
        }
        addresses = self._world.hosts.get(host, ())
        found = tuple(names.get(each, each) for each in addresses)
        return CanonicalNames(found) if found else unknown(host)

    def collect(self) -> list[Lookup]:
        """Those that were answered since."""
        done, self._done = self._done, []
        return done

    def abandon(self, lookup: Lookup) -> None:
        """Forget a look-up."""
        if lookup in self.waiting:
            self.waiting.remove(lookup)

    def close(self) -> None:
        """Abandon everything."""
        self.closed = True
        self.waiting.clear()
        self._done.clear()


def unknown(host: str) -> NetworkException:
    """The error for an unknown name."""
    return NetworkException(f"{host} is not a known name")
