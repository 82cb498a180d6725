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

import contextlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from prokurist.events.clock import Clock, Deadline, MonotonicClock
from prokurist.testing.kafka import ladder
from prokurist.testing.kafka.admin import Admin
from prokurist.testing.kafka.errors import (
    AdminFailed,
    ControlRefused,
    HarnessError,
    KafkaFailed,
    KafkaUnavailable,
    NotReady,
    PortTaken,
)
from prokurist.testing.kafka.given import VARIABLE
from prokurist.testing.kafka.groups import GroupDescription
from prokurist.testing.kafka.ladder import DEFAULT_VERSION, Wish
from prokurist.testing.kafka.nodes import Nodes
from prokurist.testing.kafka.ports import Address
from prokurist.testing.kafka.properties import user_properties
from prokurist.testing.proxy import Fault, FaultProxy

_PORT_ATTEMPTS: Final = 3
_PAUSE: Final = 0.05
_LOOK_WITHIN: Final = 2.0
_CALL_TIMEOUT: Final = 20.0


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
        clock: Clock | None = None,
        **broker_properties: object,
    ) -> None:
        """Say what is wanted; nothing happens before `start`.

        Args:
            nodes: How many nodes; each is broker and controller.
            version: The version of Apache Kafka.
            properties: Broker properties by their real names.
            port: The direct port of the first node; free ports if None.
            controls: Whether a Kafka that somebody else runs will not do, since the
                test freezes, kills or cuts it.
            java_options: Options of the virtual machine, instead of those that make a
                broker start quickly. Only where the harness starts it itself.
            clock: What deadlines are read against.
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
        )
        self._clock = MonotonicClock() if clock is None else clock
        self._admin = Admin(self._addresses_up, self._clock)
        self._rung = ""
        self._nodes: Nodes | None = None
        self._given: tuple[Address, ...] = ()
        self._proxies: tuple[FaultProxy, ...] = ()
        self._frozen: set[int] = set()
        self._dead: dict[int, Fault] = {}

    def __repr__(self) -> str:
        return (
            f"RealKafka(rung={self._rung or None}, version={self.version}, "
            f"nodes={self._wish.nodes}, frozen={sorted(self._frozen)}, "
            f"dead={sorted(self._dead)})"
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
            self._rung = "given"
            self._wait_for_given(deadline)
            return
        for rung, climb in (("docker", self._start_docker), ("jars", self._start_jars)):
            try:
                climb(deadline)
            except KafkaUnavailable as error:
                said.append((rung, error))
            else:
                self._rung = rung
                return
        raise KafkaUnavailable.from_rungs(said)

    def close(self, timeout: float = 2.0) -> None:
        """End every node and proxy, in order at first; may be called twice.

        Args:
            timeout: Seconds for the nodes to end by themselves before they are killed.
        """
        nodes, self._nodes = self._nodes, None
        proxies, self._proxies = self._proxies, ()
        self._frozen.clear()
        self._dead.clear()
        self._rung = ""
        with contextlib.ExitStack() as ending:
            # Called from the last to the first, and each of them whatever the others do.
            if nodes is not None:
                deadline = Deadline.after(self._clock.now(), timeout)
                ending.callback(nodes.close, deadline)
            for proxy in proxies:
                ending.callback(proxy.close)

    # ------------------------------------------------------------------ addresses

    @property
    def rung(self) -> str:
        """Who serves: `given`, `docker` or `jars`; empty unless started."""
        return self._rung

    @property
    def nodes(self) -> int:
        """How many nodes there are; each has its index for Kafka's node id."""
        return self._wish.nodes

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers` through the fault proxies."""
        if self._given:
            return ",".join(map(str, self._given))
        self._started()
        return ",".join(f"{proxy.address[0]}:{proxy.address[1]}" for proxy in self._proxies)

    @property
    def direct_bootstrap(self) -> str:
        """`bootstrap.servers` past the proxies: what a benchmark wants."""
        if self._given:
            return ",".join(map(str, self._given))
        return ",".join(map(str, self._started().direct))

    def proxy(self, node: int = 0) -> FaultProxy:
        """The fault proxy before a node.

        Raises:
            ControlRefused: This Kafka was given, and has no proxy.
        """
        self._controlled(node, "put a fault on its wire")
        return self._proxies[node]

    # ------------------------------------------------------------------- controls

    def freeze(self, node: int = 0) -> None:
        """Stop a node in the middle of whatever it does; its sockets stay open.

        Raises:
            ControlRefused: This Kafka was given.
        """
        self._controlled(node, "freeze it").freeze(node)
        self._frozen.add(node)

    def thaw(self, node: int = 0) -> None:
        """Let a frozen node go on; does nothing to one that is not frozen."""
        nodes = self._controlled(node, "thaw it")
        if node in self._frozen:
            nodes.thaw(node)
            self._frozen.discard(node)

    def kill(self, node: int = 0) -> None:
        """End a node at once, as a power cut does; its data and its ports stay.

        Raises:
            ControlRefused: This Kafka was given.
        """
        nodes = self._controlled(node, "kill it")
        if node not in self._dead:
            # Refused before it is dead: a client that comes between the two would be
            # accepted by the proxy and reset, which no dead broker does.
            self._dead[node] = self._proxies[node].refuse_while_down()
        nodes.kill(node)
        self._frozen.discard(node)

    def restart(self, node: int = 0, timeout: float = 60.0) -> None:
        """Start a node again with its data and its ports; ends it first if need be.

        Args:
            node: The node, dead, frozen or well.
            timeout: Seconds until it must be ready, and the cluster see it.

        Raises:
            ControlRefused: This Kafka was given.
            KafkaFailed: It did not come back.
        """
        nodes = self._controlled(node, "restart it")
        deadline = Deadline.after(self._clock.now(), timeout)
        if node not in self._dead:
            self._dead[node] = self._proxies[node].refuse_while_down()
            nodes.end(node, Deadline.after(self._clock.now(), 5.0).earlier(deadline))
        self._frozen.discard(node)
        nodes.relaunch(node, deadline)
        self._wait_until_ready(
            [number for number in self._up(self._dead) if number not in self._frozen] + [node],
            deadline,
        )
        self._dead.pop(node).heal()

    def heal(self) -> None:
        """Undo every fault: wires healed, frozen nodes thawed, dead ones restarted.

        Cheap if there is nothing to undo.
        """
        if self._nodes is None:
            return
        for proxy in self._proxies:
            proxy.heal()
        for node in sorted(self._frozen):
            self.thaw(node)
        for node in sorted(self._dead):
            self.restart(node)

    def log_tail(self, node: int = 0, lines: int = 25) -> str:
        """The last lines of a node's log; empty for a Kafka that was given."""
        return "" if self._nodes is None else self._nodes.log_tail(node, lines)

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
        """Create a topic under a name that nobody else has, and return the name.

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

    def _started(self) -> Nodes:
        if self._nodes is None:
            raise RuntimeError("this Kafka is not started: use it in a `with` statement")
        return self._nodes

    def _controlled(self, node: int, what: str) -> Nodes:
        if self._given:
            raise ControlRefused(
                f"cannot {what}: this Kafka was given by {VARIABLE}",
                way_out="ask for your own: prokurist_own_kafka, RealKafka(controls=True)",
            )
        nodes = self._started()
        if not 0 <= node < self._wish.nodes:
            raise ValueError(f"node {node}: there are nodes 0 to {self._wish.nodes - 1}")
        return nodes

    def _up(self, down: Mapping[int, Fault]) -> list[int]:
        return [node for node in range(self._wish.nodes) if node not in down]

    def _addresses_up(self) -> tuple[Address, ...]:
        """Where a question can be answered now."""
        if self._given:
            return self._given
        direct = self._started().direct
        return tuple(direct[node] for node in self._up(self._dead) if node not in self._frozen)

    def _start_docker(self, deadline: Deadline) -> None:
        self._start_nodes(lambda: ladder.docker_rung(self._wish, self._clock), deadline)

    def _start_jars(self, deadline: Deadline) -> None:
        self._start_nodes(lambda: ladder.jars_rung(self._wish, deadline, self._clock), deadline)

    def _start_nodes(self, choose: Callable[[], Nodes], deadline: Deadline) -> None:
        """Choose ports and start; choose again if somebody was quicker to take one.

        Between our look at a port and the broker's bind another process can bind it:
        the broker then dies with a line that says so. With a port that the user chose
        `choose` itself raises on the next round.
        """
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            nodes = choose()
            try:
                self._nodes = nodes
                self._proxies = tuple(
                    FaultProxy(address, clock=self._clock, name=f"proxy-{number}")
                    for number, address in enumerate(nodes.upstream)
                )
                nodes.launch(
                    tuple(Address(*proxy.address) for proxy in self._proxies), deadline
                )
                self._wait_until_ready(range(self._wish.nodes), deadline)
            except BaseException as error:
                self.close(timeout=0.0)
                if isinstance(error, PortTaken) and attempt < _PORT_ATTEMPTS:
                    continue
                raise
            return

    def _wait_until_ready(self, which: Sequence[int], deadline: Deadline) -> None:
        """Until each node answers on both listeners and sees all that are waited for.

        Raises:
            BrokerDied, PortTaken: A node's process ended.
            NotReady: The deadline came first.
        """
        nodes = self._started()
        missing = dict.fromkeys(which, "not asked")
        while missing:
            for node in list(missing):
                nodes.check(node)
                look = Deadline.after(self._clock.now(), _LOOK_WITHIN).earlier(deadline)
                try:
                    with self._admin.connect(nodes.upstream[node], look):
                        seen = self._admin.brokers(nodes.direct[node], look)
                except AdminFailed as error:
                    missing[node] = error.reason
                    continue
                if unseen := sorted(set(which) - seen.keys()):
                    missing[node] = f"answers, but does not see node {unseen} yet"
                else:
                    del missing[node]
            if not missing:
                return
            if deadline.expired(self._clock.now()):
                first = min(missing)
                raise NotReady(
                    f"Kafka {self.version} was not ready by the deadline: "
                    + "; ".join(f"node {node}: {why}" for node, why in missing.items()),
                    way_out="a busy machine needs a longer timeout; else the log says more",
                    detail=nodes.log_tail(first),
                )
            self._clock.sleep(_PAUSE)

    def _wait_for_given(self, deadline: Deadline) -> None:
        """Until the Kafka that was given answers; briefly, for it should be there."""
        soon = Deadline.after(self._clock.now(), 10.0).earlier(deadline)
        while True:
            try:
                self._admin.brokers(self._given[0], soon)
            except AdminFailed as error:
                if soon.expired(self._clock.now() + _PAUSE):
                    self._given, self._rung = (), ""
                    raise KafkaFailed(
                        f"{VARIABLE} is set, but {error.reason}",
                        way_out="start that Kafka, or unset the variable",
                    ) from error
                self._clock.sleep(_PAUSE)
            else:
                return
