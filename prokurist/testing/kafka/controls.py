"""Freezes, kills and restarts of a Kafka started here.

Thread: one at a time; the fault proxies have a thread each.
Invariants: a node is up, frozen or dead, and only this class knows its state. While one is dead
its proxy refuses, and `up` leaves it out.
"""

from collections.abc import Sequence
from typing import Final

from prokurist.events.clock import Clock, Deadline
from prokurist.testing.kafka.admin import Admin
from prokurist.testing.kafka.nodes import Nodes
from prokurist.testing.kafka.starting import wait_until_ready
from prokurist.testing.proxy import Fault, FaultProxy

RESTARTED_WITHIN: Final = 180.0
"""Default seconds within which nodes that are started again must be ready."""
_END_WITHIN: Final = 5.0


class Controls:
    """Freezes, kills and restarts nodes; see the methods of `RealKafka`.

    Attributes:
        nodes: The nodes, all of them ready when this is made.
        proxies: The fault proxy before each.
    """

    def __init__(
        self, nodes: Nodes, proxies: Sequence[FaultProxy], admin: Admin, clock: Clock
    ) -> None:
        self.nodes: Final = nodes
        self.proxies: Final = tuple(proxies)
        self._admin = admin
        self._clock = clock
        self._frozen: set[int] = set()
        self._dead: dict[int, Fault] = {}

    @property
    def down(self) -> tuple[list[int], list[int]]:
        """The nodes that are frozen, and those that are dead."""
        return sorted(self._frozen), sorted(self._dead)

    @property
    def up(self) -> list[int]:
        """The nodes that should run."""
        down = self._frozen | self._dead.keys()
        return [node for node in range(len(self.proxies)) if node not in down]

    def freeze(self, node: int) -> None:
        """Stop a node with SIGSTOP, at any point of its work."""
        self.nodes.freeze(node)
        self._frozen.add(node)

    def thaw(self, node: int) -> None:
        """Let a frozen node go on."""
        if node in self._frozen:
            self.nodes.thaw(node)
            self._frozen.discard(node)

    def kill(self, node: int) -> None:
        """End a node at once."""
        if node not in self._dead:
            # Refused before it is dead: a client that comes between the two would be
            # accepted by the proxy and reset, which no dead broker does.
            self._dead[node] = self.proxies[node].refuse_while_down()
        self.nodes.kill(node)
        self._frozen.discard(node)

    def restart(
        self, which: Sequence[int], deadline: Deadline, version: str | None = None
    ) -> None:
        """Start nodes again, after those of them that still run have ended.

        Args:
            which: The nodes.
            deadline: When they must be ready.
            version: The version of Kafka to start them with; None for the one they had.
        """
        if version is not None:
            for node in which:
                self.nodes.use_version(node, version, deadline)
        for node in which:
            if node not in self._dead:
                self._dead[node] = self.proxies[node].refuse_while_down()
                self.nodes.end(node, self._deadline(_END_WITHIN).earlier(deadline))
            self._frozen.discard(node)
        for node in which:
            self.nodes.relaunch(node, deadline)
        others = [node for node in self.up if node not in which]
        wait_until_ready(self.nodes, self._admin, [*others, *which], deadline, self._clock)
        for node in which:
            self._dead.pop(node).heal()

    def heal(self) -> None:
        """Undo everything."""
        for proxy in self.proxies:
            proxy.heal()
        for node in sorted(self._frozen):
            self.thaw(node)
        if self._dead:
            self.restart(sorted(self._dead), self._deadline(RESTARTED_WITHIN))

    def check(self) -> None:
        """Check that every expected node runs."""
        for node in self.up:
            self.nodes.check(node)

    def _deadline(self, timeout: float) -> Deadline:
        return Deadline.after(self._clock.now(), timeout)
