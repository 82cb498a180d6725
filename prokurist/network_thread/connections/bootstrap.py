"""The bootstrap addresses: the brokers that a client asks before it knows the cluster.

Thread: the network thread alone.

- They are nodes with negative ids. Numbers are not used twice, because a connection belongs to
  a number: a new bootstrap gets new connections.
- With `client.dns.lookup=resolve_canonical_bootstrap_servers_only` each host stands for the
  canonical names of its addresses. They are looked up when a broker is needed for the first
  time, and again when none was left or after a new bootstrap. A host whose look-up fails stands
  for itself: its own connection will show the error.
- Why each of them could not be asked is kept until one has answered, so that
  the error of a call names all of them and not the last one alone.
"""

from collections.abc import Callable, Iterable

from prokurist.errors import KafkaException, NetworkException
from prokurist.network_thread.operations.operation import Promise, Withdrawn
from prokurist.types import Node

Names = Callable[[str, int], Promise[tuple[str, ...]]]
"""Looks the canonical names of a host up; its port is for the record."""


class Bootstrap:
    """The bootstrap addresses as brokers to ask, and why each of them failed.

    Args:
        addresses: The configured ones, host and port.
        canonical: How canonical names are looked up; None where hosts are taken as
            they are written.

    Attributes:
        nodes: Whom to ask.
    """

    def __init__(
        self, addresses: Iterable[tuple[str, int]], canonical: Names | None = None
    ) -> None:
        self._configured = tuple(addresses)
        self._canonical = canonical
        self._looked_up = canonical is None
        self._failures: dict[int, KafkaException] = {}
        self.nodes: tuple[Node, ...] = numbered(self._configured, -1)

    async def expand(self) -> None:
        """Look up canonical names, if configured, so that `nodes` are up to date."""
        if self._looked_up or self._canonical is None:
            return
        # All at once, then one after the other: they wait for the same name server.
        asked = [(*address, self._canonical(*address)) for address in self._configured]
        found: dict[tuple[str, int], None] = {}
        for host, port, names in asked:
            try:
                found.update({(name, port): None for name in await names})
            except Withdrawn:
                raise
            except KafkaException:
                found[host, port] = None
        # Another operation may have waited for the same and come first.
        if not self._looked_up:
            self._looked_up = True
            if tuple(found) != tuple((node.host, node.port) for node in self.nodes):
                self._renumber(found)

    def begin_again(self) -> None:
        """Number the addresses again, so that they get new connections.

        Those there are may lead to the very brokers that sent us away, while the
        names stand for others by now.
        """
        self._renumber((node.host, node.port) for node in self.nodes)
        self._looked_up = self._canonical is None

    def _renumber(self, addresses: Iterable[tuple[str, int]]) -> None:
        self.nodes = numbered(addresses, min(node.id for node in self.nodes) - 1)
        self._failures.clear()

    @property
    def servers(self) -> str:
        """The configured addresses, as `bootstrap.servers` has them."""
        return ",".join(f"{host}:{port}" for host, port in self._configured)

    def answered(self) -> None:
        """Forget the failures: one of the addresses has answered."""
        self._failures.clear()

    def failed(self, node: Node, error: KafkaException) -> KafkaException:
        """The error for a node that failed; of all nodes, once all have."""
        mine = {each.id: each for each in self.nodes}
        if node.id not in mine:
            return error
        self._failures[node.id] = error
        if len(self._failures) < len(mine):
            return error
        self._looked_up = self._canonical is None
        if len(mine) == 1:
            return error
        told = "; ".join(
            f"{each.host}:{each.port}: {self._failures[number]}"
            for number, each in mine.items()
        )
        whole = NetworkException(
            f"none of the {len(mine)} addresses in bootstrap.servers can be used ({told})"
        )
        whole.__cause__ = error
        return whole

    def __repr__(self) -> str:
        return f"Bootstrap({len(self.nodes)} nodes, {len(self._failures)} failed)"


def numbered(addresses: Iterable[tuple[str, int]], first: int) -> tuple[Node, ...]:
    """Nodes with descending ids, from the first on."""
    return tuple(Node(first - nth, *address) for nth, address in enumerate(addresses))
