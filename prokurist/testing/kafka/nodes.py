"""Interface of all rungs of the ladder: nodes to start, freeze and kill.

Thread: the one that calls. `local_nodes` and `container_nodes` are the two rungs
that have nodes of their own.
"""

from typing import Protocol

from prokurist.events.clock import Deadline
from prokurist.testing.kafka.ports import Address


class Nodes(Protocol):
    """The nodes of one cluster; they are numbered from 0, and so are Kafka's ids."""

    @property
    def direct(self) -> tuple[Address, ...]:
        """Addresses of the direct listeners, by node."""
        ...

    @property
    def upstream(self) -> tuple[Address, ...]:
        """Addresses of the proxied listeners for the fault proxies, which they advertise."""
        ...

    @property
    def secured(self) -> bool:
        """True if the proxied listener uses TLS or SASL."""
        ...

    def launch(self, advertised: tuple[Address, ...], deadline: Deadline) -> None:
        """Begin to start every node; `advertised` are the addresses of the proxies.

        Raises:
            KafkaUnavailable: This rung turns out not to be there.
            KafkaFailed: A node could not be started.
        """
        ...

    def relaunch(self, node: int, deadline: Deadline) -> None:
        """Begin to start a node again, where it was and with the data it had."""
        ...

    def use_version(self, node: int, version: str, deadline: Deadline) -> None:
        """Have the next `relaunch` of a node start another version of Kafka.

        Raises:
            ControlRefused: These nodes have one version for good.
            KafkaUnavailable: That version is not to be had.
        """
        ...

    def check(self, node: int) -> None:
        """Check that a node's process still runs.

        Raises:
            BrokerDied: It has ended.
            PortTaken: It has ended since another program listens on its port.
        """
        ...

    def log_tail(self, node: int, lines: int = 25) -> str:
        """The last lines that a node wrote."""
        ...

    def freeze(self, node: int) -> None:
        """Stop a node with SIGSTOP, at any point of its work; its sockets stay."""
        ...

    def thaw(self, node: int) -> None:
        """Let a frozen node go on."""
        ...

    def kill(self, node: int) -> None:
        """End a node without a word, frozen or not; its data stays."""
        ...

    def end(self, node: int, deadline: Deadline) -> None:
        """End a node in order, and kill it if it has not ended by the deadline."""
        ...

    def close(self, deadline: Deadline) -> None:
        """End every node and remove its remains; may be called twice."""
        ...
