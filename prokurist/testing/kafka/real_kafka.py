"""A real Apache Kafka for tests, wherever it comes from.

    with RealKafka() as kafka:
        topic = kafka.unique_topic()
        ... a client with bootstrap.servers = kafka.bootstrap ...
        with kafka.proxy(0).swallow("to_client"):
            ... the broker takes everything and answers nothing ...

Thread: one at a time; the fault proxies have a thread each.
Invariants: every call has a bound. A Kafka that was started is ended by `close`,
and by the end of the test process, however that comes.
"""

import secrets
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from prokurist.events.clock import Clock, Deadline, MonotonicClock
from prokurist.testing.groups import GroupDescription
from prokurist.testing.kafka import ladder
from prokurist.testing.kafka.admin import Admin
from prokurist.testing.kafka.controls import RESTARTED_WITHIN, Controls
from prokurist.testing.kafka.errors import (
    AdminFailed,
    ControlRefused,
    HarnessError,
    KafkaFailed,
    KafkaUnavailable,
)
from prokurist.testing.kafka.given import VARIABLE
from prokurist.testing.kafka.ladder import DEFAULT_VERSION, Wish
from prokurist.testing.kafka.nodes import Nodes
from prokurist.testing.kafka.ports import Address
from prokurist.testing.kafka.properties import user_properties
from prokurist.testing.kafka.security import SecuredListener
from prokurist.testing.kafka.starting import (
    start_nodes,
    stop_nodes,
    wait_until_answered,
)
from prokurist.testing.proxy import FaultProxy

_GIVEN_ANSWERS_WITHIN: Final = 10.0
_CALL_TIMEOUT: Final = 20.0
_ENDS_WITHIN: Final = 2.0


class RealKafka:
    """One to some nodes of Apache Kafka, of the first rung of the ladder that serves.

    Attributes:
        version: The version asked for. A given Kafka may be another.
    """

    def __init__(
        self,
        nodes: int = 1,
        version: str = DEFAULT_VERSION,
        *,
        properties: Mapping[str, object] | None = None,
        port: int | None = None,
        controls: bool = False,
        java_options: Sequence[str] | None = None,
        security: SecuredListener | None = None,
        clock: Clock | None = None,
        **broker_properties: object,
    ) -> None:
        """Describe the Kafka; nothing happens before `start`.

        Args:
            nodes: How many nodes; each is broker and controller.
            version: The version of Apache Kafka.
            properties: Broker properties by their real names.
            port: The direct port of the first node; free ports if None.
            controls: True if the test freezes, kills or cuts it, so that a running Kafka cannot
                be used.
            java_options: Options of the virtual machine, instead of those that make a
                broker start quickly. Only where the harness starts it itself.
            security: How clients come in, at `bootstrap`; None for plain text. Only where
                Kafka runs out of jars.
            clock: Clock of the deadlines.
            broker_properties: Broker properties with underscores for dots.

        Raises:
            ValueError: The number of nodes or the version cannot be, or a property is
                the harness's own to set.
        """
        if nodes < 1:
            raise ValueError(f"a Kafka has one node or more, not {nodes}")
        if not all(part.isdecimal() for part in version.split(".")) or version.count(".") != 2:
            raise ValueError(
                f"a version is three numbers, such as {DEFAULT_VERSION}: {version!r}"
            )
        self.version = version
        self._wish = Wish(
            nodes=nodes,
            version=version,
            properties=user_properties(properties, broker_properties),
            port=port,
            controls=controls,
            java_options=java_options,
            security=security,
        )
        self._clock = MonotonicClock() if clock is None else clock
        self._admin = Admin(self._addresses_up, self._clock)
        self._rung = ""
        self._given: tuple[Address, ...] = ()
        self._controls: Controls | None = None

    def __repr__(self) -> str:
        frozen, dead = self._controls.down if self._controls else ([], [])
        return (
            f"RealKafka(rung={self._rung or None}, version={self.version}, "
            f"nodes={self._wish.nodes}, frozen={frozen}, dead={dead})"
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -------------------------------------------------------------- start and end

    def start(self, timeout: float = 180.0) -> None:
        """Climb down the ladder to a rung that serves, and wait until it is ready.

        Args:
            timeout: Seconds for all of it, the first fetch of the jars included.

        Raises:
            KafkaUnavailable: No rung can serve; the text has each one's reason.
            KafkaFailed: A rung serves, and its Kafka did not start.
        """
        if self._rung:
            raise RuntimeError("this Kafka is started already")
        deadline = Deadline.after(self._clock.now(), timeout)
        said: list[tuple[str, HarnessError]] = []
        try:
            self._given = ladder.given_rung(self._wish)
        except KafkaUnavailable as error:
            said.append(("given", error))
        else:
            self._wait_for_given(deadline)
            self._rung = "given"
            return
        for rung in ("docker", "jars"):
            try:
                self._climb(rung, deadline)
            except KafkaUnavailable as error:
                said.append((rung, error))
            else:
                self._rung = rung
                return
        raise KafkaUnavailable.from_rungs(said)

    def close(self, timeout: float | None = None) -> None:
        """End every node and proxy, a single node in order at first; may be called twice.

        Args:
            timeout: Seconds for the nodes to end by themselves before they are killed. Two if
                None, and none for several nodes: each waits there for those that are left.
        """
        controls, self._controls = self._controls, None
        self._rung = ""
        if timeout is None:
            timeout = _ENDS_WITHIN if self._wish.nodes == 1 else 0.0
        if controls is not None:
            stop_nodes(controls.nodes, controls.proxies, self._deadline(timeout))

    # ------------------------------------------------------------------ addresses

    @property
    def rung(self) -> str:
        """The rung in use, one of `given`, `docker` or `jars`; empty unless started."""
        return self._rung

    @property
    def nodes(self) -> int:
        """Number of nodes; each one's index is its Kafka node id."""
        return self._wish.nodes

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers` through the fault proxies."""
        if self._given:
            return ",".join(map(str, self._given))
        if self._wish.security is not None and self._wish.security.is_direct:
            return ",".join(map(str, self._started().nodes.upstream))
        proxies = self._started().proxies
        return ",".join(f"{proxy.address[0]}:{proxy.address[1]}" for proxy in proxies)

    @property
    def direct_bootstrap(self) -> str:
        """`bootstrap.servers` past the proxies, for benchmarks."""
        if self._given:
            return ",".join(map(str, self._given))
        return ",".join(map(str, self._started().nodes.direct))

    def proxy(self, node: int = 0) -> FaultProxy:
        """The fault proxy before a node.

        Raises:
            ControlRefused: This Kafka was given, and has no proxy.
        """
        return self._controlled(node, "put a fault on its wire").proxies[node]

    # ------------------------------------------------------------------- controls

    def freeze(self, node: int = 0) -> None:
        """Stop a node with SIGSTOP, at any point of its work; its sockets stay open.

        Raises:
            ControlRefused: This Kafka was given.
        """
        self._controlled(node, "freeze it").freeze(node)

    def thaw(self, node: int = 0) -> None:
        """Let a frozen node go on; does nothing to one that is not frozen."""
        self._controlled(node, "thaw it").thaw(node)

    def kill(self, node: int = 0) -> None:
        """End a node at once, as a power cut does; its data and its ports stay.

        Raises:
            ControlRefused: This Kafka was given.
        """
        self._controlled(node, "kill it").kill(node)

    def restart(
        self, *nodes: int, timeout: float = RESTARTED_WITHIN, version: str | None = None
    ) -> None:
        """Start nodes again with their data and their ports; ends them first if need be.

        Args:
            nodes: The nodes, dead, frozen or well; node 0 if none is named. Name all
                that are dead at once if fewer than half are left: they need each other.
            timeout: Seconds until they must be ready, and the cluster see them.
            version: The version of Kafka to start them with, on the data they have; a rolling
                upgrade restarts one node after another. Only where Kafka runs out of jars.

        Raises:
            ControlRefused: This Kafka was given, or it runs in containers and another
                version is wanted.
            KafkaFailed: They did not come back.
        """
        which = nodes or (0,)
        deadline = self._deadline(timeout)
        for node in which:
            self._controlled(node, "restart it")
        self._started().restart(which, deadline, version)

    def heal(self) -> None:
        """Undo every fault: wires healed, frozen nodes thawed, dead ones restarted.

        Cheap if there is nothing to undo.
        """
        if self._controls is not None:
            self._controls.heal()

    def check(self) -> None:
        """Check that every expected node runs.

        Raises:
            KafkaFailed: One has ended by itself.
        """
        if self._controls is not None:
            self._controls.check()

    def log_tail(self, node: int = 0, lines: int = 25) -> str:
        """The last lines of a node's log; empty for a Kafka that was given."""
        return "" if self._controls is None else self._controls.nodes.log_tail(node, lines)

    # ---------------------------------------------------------- topics and groups

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int = 1,
        configs: Mapping[str, object] | None = None,
        *,
        timeout: float = _CALL_TIMEOUT,
    ) -> None:
        """Create a topic; on return every node that is up knows its leaders.

        Raises:
            AdminFailed: The broker refused, or not by the deadline.
        """
        texts = user_properties(configs, {})
        self._admin.create_topic(
            name, partitions, replication_factor, texts, self._deadline(timeout)
        )

    def unique_topic(
        self,
        prefix: str = "topic",
        partitions: int = 1,
        replication_factor: int = 1,
        configs: Mapping[str, object] | None = None,
        *,
        timeout: float = _CALL_TIMEOUT,
    ) -> str:
        """Create a topic under a unique name, and return the name.

        Raises:
            AdminFailed: The broker refused, or not by the deadline.
        """
        name = f"{prefix}-{secrets.token_hex(5)}"
        self.create_topic(name, partitions, replication_factor, configs, timeout=timeout)
        return name

    def delete_topic(self, name: str, *, timeout: float = _CALL_TIMEOUT) -> None:
        """Delete a topic; on return no node that is up knows it.

        Raises:
            AdminFailed: The broker refused, or not by the deadline.
        """
        self._admin.delete_topic(name, self._deadline(timeout))

    def leaders(self, topic: str, *, timeout: float = _CALL_TIMEOUT) -> list[int]:
        """The node that leads each partition of a topic; -1 where there is none."""
        for address in self._addresses_up():
            return self._admin.leaders(topic, address, self._deadline(timeout))
        raise AdminFailed("no node is up", way_out="thaw or restart one first")

    def coordinator(self, group_id: str, *, timeout: float = _CALL_TIMEOUT) -> int:
        """The node that coordinates a group."""
        return self._admin.coordinator(group_id, self._deadline(timeout))[0]

    def describe_group(
        self, group_id: str, *, timeout: float = _CALL_TIMEOUT
    ) -> GroupDescription:
        """A group, classic or KIP-848; one that does not exist is in state `Dead`.

        Raises:
            AdminFailed: The coordinator refused, or did not answer by the deadline.
        """
        return self._admin.describe_group(group_id, self._deadline(timeout))

    # -------------------------------------------------------------------- inside

    def _deadline(self, timeout: float) -> Deadline:
        return Deadline.after(self._clock.now(), timeout)

    def _started(self) -> Controls:
        if self._controls is None:
            raise RuntimeError("this Kafka is not started: use it in a `with` statement")
        return self._controls

    def _controlled(self, node: int, what: str) -> Controls:
        if self._given:
            raise ControlRefused(
                f"cannot {what}: this Kafka was given by {VARIABLE}",
                way_out="ask for your own: prokurist_own_kafka, RealKafka(controls=True)",
            )
        controls = self._started()
        if not 0 <= node < self._wish.nodes:
            raise ValueError(f"node {node}: there are nodes 0 to {self._wish.nodes - 1}")
        return controls

    def _addresses_up(self) -> tuple[Address, ...]:
        """Return the direct addresses of the nodes that are up."""
        if self._given:
            return self._given
        controls = self._started()
        direct = controls.nodes.direct
        return tuple(direct[node] for node in controls.up)

    def _climb(self, rung: str, deadline: Deadline) -> None:
        """Start on one rung of the ladder that has nodes of its own."""

        def choose() -> Nodes:
            if rung == "docker":
                return ladder.docker_rung(self._wish, self._clock)
            return ladder.jars_rung(self._wish, deadline, self._clock)

        nodes, proxies = start_nodes(
            choose, self._wish.nodes, self._admin, deadline, self._clock
        )
        self._controls = Controls(nodes, proxies, self._admin, self._clock)

    def _wait_for_given(self, deadline: Deadline) -> None:
        """Until the Kafka that was given answers; briefly, for it should be there."""
        soon = self._deadline(_GIVEN_ANSWERS_WITHIN).earlier(deadline)
        try:
            wait_until_answered(self._given, self._admin, soon, self._clock)
        except AdminFailed as error:
            self._given = ()
            raise KafkaFailed(
                f"{VARIABLE} is set, but {error.reason}",
                way_out="start that Kafka, or unset the variable",
            ) from error
