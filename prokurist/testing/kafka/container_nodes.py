"""Nodes as containers of `apache/kafka`, through testcontainers.

Imported only once an engine answered: it needs the extra `prokurist[testing]`.

Thread: the one that calls.
Invariants: a container keeps its host ports for its whole life, since they are
advertised before it starts; a node that was killed is the same container again,
with the data that it had. Should the test process be killed, testcontainers'
reaper removes the containers.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from docker.errors import DockerException
from testcontainers.core.container import DockerContainer
from testcontainers.core.docker_client import DockerClient
from testcontainers.core.network import Network
from testcontainers.core.waiting_utils import WaitStrategy, WaitStrategyTarget

from prokurist.events.clock import Clock, Deadline
from prokurist.testing.kafka.errors import (
    AdminFailed,
    BrokerDied,
    ControlRefused,
    DockerUnavailable,
    PortTaken,
    tail,
)
from prokurist.testing.kafka.ports import Address, check_free, free_ports
from prokurist.testing.kafka.properties import (
    QUICK_JAVA,
    Properties,
    environment_of,
    heap_option,
    listener_properties,
    new_cluster_id,
    quick_properties,
    rack_property,
)
from prokurist.testing.kafka.wire import BrokerConnection

if TYPE_CHECKING:
    from docker.models.containers import Container

IMAGE: Final = "apache/kafka"

# Inside the container. The brokers speak among themselves over the network's aliases,
# which a listener that advertises ports of the host could not serve.
DIRECT_PORT: Final = 19092
PROXIED_PORT: Final = 19093
_CONTROLLER_PORT: Final = 19094
_INTERNAL_PORT: Final = 19095

_ALIVE: Final = frozenset({"created", "restarting", "running", "paused"})
_PORT_TAKEN: Final = ("port is already allocated", "address already in use")


class AnswersApiVersions(WaitStrategy):
    """Ready once ApiVersions is answered; the log is not read."""

    def __init__(self, clock: Clock, deadline: Deadline) -> None:
        super().__init__()
        self._clock = clock
        self._deadline = deadline

    def wait_until_ready(self, container: WaitStrategyTarget) -> None:
        """Ask until the broker answers, its container has ended, or the deadline comes.

        Raises:
            TimeoutError: The deadline came.
            RuntimeError: The container has ended.
        """
        while True:
            container.reload()
            if container.status not in _ALIVE:
                raise RuntimeError(f"the container is {container.status}")
            look = Deadline.after(self._clock.now(), 2.0).earlier(self._deadline)
            address = Address(
                container.get_container_host_ip(), container.get_exposed_port(DIRECT_PORT)
            )
            try:
                BrokerConnection(address, look, self._clock).close()
            except AdminFailed as error:
                if self._deadline.expired(self._clock.now()):
                    raise TimeoutError(error.reason) from error
                self._clock.sleep(0.1)
            else:
                return


class ApacheKafkaContainer(DockerContainer):
    """One KRaft node of `apache/kafka`, broker and controller."""

    def __init__(
        self,
        number: int,
        version: str,
        properties: Properties,
        *,
        cluster_id: str,
        direct_port: int,
        proxied_port: int,
        network: Network,
        java_options: Sequence[str],
    ) -> None:
        """Describe the container; nothing is pulled or made.

        Args:
            number: The node's id.
            version: The tag of the image.
            properties: All of the node's broker properties.
            cluster_id: The same for each node of the cluster.
            direct_port: The host's port for the direct listener.
            proxied_port: The host's port for the listener behind the fault proxy.
            network: The network in which the nodes find each other.
            java_options: The options of the virtual machine; the heap's among them.
        """
        super().__init__(f"{IMAGE}:{version}")
        heap = [option for option in java_options if option.startswith(("-Xmx", "-Xms"))]
        rest = [option for option in java_options if option not in heap]
        self.with_envs(
            **environment_of(properties),
            CLUSTER_ID=cluster_id,
            KAFKA_HEAP_OPTS=" ".join(heap),
            KAFKA_JVM_PERFORMANCE_OPTS=" ".join(rest),
        )
        self.with_bind_ports(DIRECT_PORT, direct_port)
        self.with_bind_ports(PROXIED_PORT, proxied_port)
        self.with_network(network)
        self.with_network_aliases(alias(number))


class ContainerNodes:
    """A cluster of containers; see `Nodes` for the methods."""

    def __init__(
        self,
        nodes: int,
        version: str,
        properties: Mapping[str, str],
        *,
        clock: Clock,
        port: int | None = None,
        java_options: Sequence[str] | None = None,
    ) -> None:
        """Choose host ports; nothing is pulled or started.

        Raises:
            PortTaken: The user's port is in use.
            DockerUnavailable: The engine's ports cannot be reached from here.
        """
        check_free(port)
        self._count = nodes
        self._version = version
        self._properties = dict(properties)
        self._clock = clock
        self._java_options = (
            [heap_option(nodes), *QUICK_JAVA] if java_options is None else list(java_options)
        )
        host = _engine_host()
        ports = free_ports(2 * nodes, but=port)
        if port is not None:
            ports[0] = port
        self.direct: tuple[Address, ...] = tuple(
            Address(host, number) for number in ports[:nodes]
        )
        self.upstream: tuple[Address, ...] = tuple(
            Address(host, number) for number in ports[nodes:]
        )
        self._network: Network | None = None
        self._containers: list[ApacheKafkaContainer] = []

    def __repr__(self) -> str:
        return f"ContainerNodes(version={self._version}, nodes={len(self._containers)})"

    @property
    def secured(self) -> bool:
        """Never; see `Nodes.secured`."""
        return False

    def launch(self, advertised: tuple[Address, ...], deadline: Deadline) -> None:
        """Make and start every container, then wait: none is ready before most run."""
        try:
            self._network = Network().create()
            cluster_id = new_cluster_id()
            for number in range(self._count):
                container = ApacheKafkaContainer(
                    number,
                    self._version,
                    self.properties(number, advertised[number]),
                    cluster_id=cluster_id,
                    direct_port=self.direct[number].port,
                    proxied_port=self.upstream[number].port,
                    network=self._network,
                    java_options=self._java_options,
                )
                self._containers.append(container)
                container.start()
        except (DockerException, OSError) as error:
            raise _start_error(error) from error
        for number, container in enumerate(self._containers):
            try:
                AnswersApiVersions(self._clock, deadline).wait_until_ready(container)
            except RuntimeError:
                self.check(number)
            except TimeoutError:
                # The harness looks at every node after this, and says which are not ready.
                return

    def properties(self, number: int, advertised: Address) -> Properties:
        """All broker properties of one node."""
        return (
            quick_properties(self._count, self._version)
            | rack_property(number)
            | {"log.dirs": "/tmp/kraft-combined-logs"}  # noqa: S108 - in the container
            | self._properties
            | listener_properties(
                number,
                listeners={
                    "DIRECT": f"0.0.0.0:{DIRECT_PORT}",
                    "PROXIED": f"0.0.0.0:{PROXIED_PORT}",
                    "INTERNAL": f"0.0.0.0:{_INTERNAL_PORT}",
                    "CONTROLLER": f"0.0.0.0:{_CONTROLLER_PORT}",
                },
                advertised={
                    "DIRECT": str(self.direct[number]),
                    "PROXIED": str(advertised),
                    "INTERNAL": f"{alias(number)}:{_INTERNAL_PORT}",
                },
                voters=[f"{alias(voter)}:{_CONTROLLER_PORT}" for voter in range(self._count)],
                between_brokers="INTERNAL",
            )
        )

    def relaunch(self, node: int, deadline: Deadline) -> None:
        """Start the same container again; its script sees that its folder is formatted."""
        del deadline
        self._container(node).start()

    def use_version(self, node: int, version: str, deadline: Deadline) -> None:
        """Refuse: a container is of one image."""
        del deadline
        if version != self._version:
            raise ControlRefused(
                f"cannot start node {node} with Kafka {version}: its container is of "
                f"{self._version}",
                way_out="run Kafka out of jars: stop the Docker engine for this run",
            )

    def check(self, node: int) -> None:
        """Check that the container still runs."""
        container = self._container(node)
        container.reload()
        if container.status not in _ALIVE:
            code = container.attrs.get("State", {}).get("ExitCode")
            raise BrokerDied(
                f"node {node} of Kafka {self._version} died, exit code {code}",
                way_out="its log says why; a broker property is the usual cause",
                detail=self.log_tail(node),
            )

    def log_tail(self, node: int, lines: int = 25) -> str:
        """Return the last output of the container."""
        text: bytes = self._container(node).logs(tail=lines)
        return tail(text.decode(errors="replace").splitlines(), lines)

    def freeze(self, node: int) -> None:
        """Pause the container."""
        self._container(node).pause()

    def thaw(self, node: int) -> None:
        """Let the container go on."""
        self._container(node).unpause()

    def kill(self, node: int) -> None:
        """SIGKILL; an engine refuses that to a container which is paused."""
        container = self._container(node)
        self._go_on(container)
        if container.status != "exited":
            container.kill()
            container.wait()

    def end(self, node: int, deadline: Deadline) -> None:
        """SIGTERM, and SIGKILL at the deadline: the engine counts whole seconds."""
        container = self._container(node)
        self._go_on(container)
        container.stop(timeout=int(deadline.remaining(self._clock.now())))

    def close(self, deadline: Deadline) -> None:
        """Remove the containers with their data, and the network."""
        del deadline
        containers, self._containers = self._containers, []
        network, self._network = self._network, None
        with contextlib.ExitStack() as ending:
            if network is not None:
                # Its client is not shared, and testcontainers does not close it.
                ending.callback(network._docker.client.close)  # noqa: SLF001
                ending.callback(network.remove)
            for container in containers:
                ending.callback(container.stop)

    def _container(self, node: int) -> "Container":
        return self._containers[node].get_wrapped_container()

    def _go_on(self, container: "Container") -> None:
        container.reload()
        if container.status == "paused":
            container.unpause()


def alias(node: int) -> str:
    """A node's name in the cluster's network."""
    return f"node-{node}"


def _engine_host() -> str:
    """Return the host at which the engine's ports can be reached."""
    engine: Any = DockerClient()
    try:
        if not engine.get_connection_mode().use_mapped_port:
            raise DockerUnavailable(
                "the tests run in a container that does not see the engine's host ports",
                way_out="set TESTCONTAINERS_HOST_OVERRIDE to a host where they are seen",
            )
        return str(engine.host())
    finally:
        engine.client.close()


def _start_error(error: Exception) -> PortTaken | DockerUnavailable:
    text = str(error)
    if any(sign in text.lower() for sign in _PORT_TAKEN):
        return PortTaken(
            "the engine could not bind a host port: it is taken",
            way_out="end the program that listens there, or choose another port",
            detail=tail([text]),
        )
    return DockerUnavailable(
        f"the Docker engine could not start {IMAGE} ({type(error).__name__})",
        way_out="is there a network to pull the image from, or is it there already?",
        detail=tail([text]),
    )
