"""The Docker rung without an engine: what it would ask of one, and in which order."""

import select
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from docker.errors import APIError, ImageNotFound
from testcontainers.core import container as tc_container
from testcontainers.core import network as tc_network
from testcontainers.core.config import ConnectionMode, testcontainers_config

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka import BrokerDied, DockerUnavailable, PortTaken, container_nodes
from prokurist.testing.kafka.container_nodes import (
    DIRECT_PORT,
    PROXIED_PORT,
    AnswersApiVersions,
    ContainerNodes,
)
from prokurist.testing.kafka.ports import Address

CLOCK = MonotonicClock()
PROXIES = tuple(Address("127.0.0.1", 40000 + number) for number in range(3))


class _Container:
    """A container that notes what is done to it, and is what that makes of it."""

    def __init__(self, engine: "_Engine", image: str, asked: dict[str, Any]) -> None:
        self.engine = engine
        self.image = image
        self.asked = asked
        self.name = asked["environment"]["KAFKA_NODE_ID"]
        self.id = self.short_id = f"id-{self.name}"
        self.status = "created"
        self.attrs: dict[str, Any] = {}

    def _do(self, what: str, becomes: str) -> None:
        self.engine.did.append(f"{what} {self.name}")
        self.status = becomes

    def start(self) -> None:
        self._do("start", "running")

    def pause(self) -> None:
        self._do("pause", "paused")

    def unpause(self) -> None:
        assert self.status == "paused", "an engine refuses this"
        self._do("unpause", "running")

    def kill(self) -> None:
        assert self.status == "running", "an engine refuses this"
        self._do("kill", "exited")

    def stop(self, *, timeout: int) -> None:
        assert timeout >= 0
        self._do("stop", "exited")

    def wait(self) -> None:
        assert self.status == "exited"

    def remove(self, *, force: bool, v: bool) -> None:
        assert (force, v) == (True, True)
        self._do("remove", "gone")

    def reload(self) -> None:
        if self.engine.dies:
            self.status = "exited"
            self.attrs = {"State": {"ExitCode": 1}}

    def logs(self, *, tail: int) -> bytes:
        assert tail > 0
        return b"first line\nno such property\n"


class _Engine:
    """What testcontainers' own client is to the harness."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self.containers: list[_Container] = []
        self.error: Exception | None = None
        self.dies = False
        self.mode = ConnectionMode.docker_host
        self.client = self

    def close(self) -> None:
        pass

    def get_connection_mode(self) -> ConnectionMode:
        return self.mode

    def host(self) -> str:
        return "127.0.0.1"

    def port(self, container_id: str, port: int) -> str:
        (container,) = [one for one in self.containers if one.id == container_id]
        return str(container.asked["ports"][str(port)])

    def create(self, image: str, **asked: Any) -> _Container:
        if self.error is not None:
            raise self.error
        container = _Container(self, image, asked)
        self.containers.append(container)
        return container

    def start(self, container: _Container) -> None:
        container.start()

    def client_networks_create(self, name: str, _: object) -> "_Engine":
        self.did.append("network")
        self.name = name
        return self

    def remove(self) -> None:
        self.did.append("remove network")


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> _Engine:
    """An engine in the place of Docker's."""
    fake = _Engine()
    for module in (tc_container, tc_network, container_nodes):
        monkeypatch.setattr(module, "DockerClient", lambda **_: fake)
    monkeypatch.setattr(testcontainers_config, "ryuk_disabled", True)
    return fake


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every container answers at once."""
    monkeypatch.setattr(AnswersApiVersions, "wait_until_ready", lambda *_: None)


def soon(seconds: float = 5.0) -> Deadline:
    """A deadline for something quick."""
    return Deadline.after(CLOCK.now(), seconds)


def launched(nodes: int = 1, **more: Any) -> ContainerNodes:
    """Nodes that were started."""
    made = ContainerNodes(nodes, "4.3.1", {"num.partitions": "7"}, clock=CLOCK, **more)
    made.launch(PROXIES[:nodes], soon())
    return made


@pytest.mark.usefixtures("ready")
def test_three_nodes_are_one_cluster(engine: _Engine) -> None:
    """One network, one cluster id, controllers by alias, and listeners that lead back."""
    nodes = launched(3)
    assert engine.did == ["network", "start 0", "start 1", "start 2"]
    assert {one.image for one in engine.containers} == {"apache/kafka:4.3.1"}
    environments = [one.asked["environment"] for one in engine.containers]
    assert len({one["CLUSTER_ID"] for one in environments}) == 1
    for number, environment in enumerate(environments):
        assert environment["KAFKA_CONTROLLER_QUORUM_VOTERS"] == (
            "0@node-0:19094,1@node-1:19094,2@node-2:19094"
        )
        assert environment["KAFKA_ADVERTISED_LISTENERS"] == (
            f"DIRECT://{nodes.direct[number]},PROXIED://{PROXIES[number]},"
            f"INTERNAL://node-{number}:19095"
        )
        assert environment["KAFKA_INTER_BROKER_LISTENER_NAME"] == "INTERNAL"
        assert environment["KAFKA_NUM_PARTITIONS"] == "7"
        assert environment["KAFKA_HEAP_OPTS"] == "-Xmx384m"
        assert "-Xmx" not in environment["KAFKA_JVM_PERFORMANCE_OPTS"]
    for number, container in enumerate(engine.containers):
        assert container.asked["ports"] == {
            str(DIRECT_PORT): nodes.direct[number].port,
            str(PROXIED_PORT): nodes.upstream[number].port,
        }
        assert container.asked["network"] == engine.name
        (endpoint,) = container.asked["networking_config"].values()
        assert endpoint["Aliases"] == [f"node-{number}"]


@pytest.mark.usefixtures("ready")
def test_the_users_port_is_the_first_nodes(engine: _Engine) -> None:
    """Options of the virtual machine are passed on, the heap where the image wants it."""
    nodes = launched(port=29876, java_options=["-Xms64m", "-XX:+UseG1GC", "-Xmx128m"])
    assert nodes.direct[0].port == 29876
    environment = engine.containers[0].asked["environment"]
    assert environment["KAFKA_HEAP_OPTS"] == "-Xms64m -Xmx128m"
    assert environment["KAFKA_JVM_PERFORMANCE_OPTS"] == "-XX:+UseG1GC"


@pytest.mark.usefixtures("ready")
def test_a_paused_container_is_let_go_before_it_is_ended(engine: _Engine) -> None:
    """An engine refuses to kill what is paused; a restart is of the same container."""
    nodes = launched()
    nodes.freeze(0)
    nodes.kill(0)
    nodes.kill(0)
    nodes.relaunch(0, soon())
    nodes.freeze(0)
    nodes.thaw(0)
    nodes.freeze(0)
    nodes.end(0, soon())
    assert engine.did[2:] == [
        "pause 0",
        "unpause 0",
        "kill 0",
        "start 0",
        "pause 0",
        "unpause 0",
        "pause 0",
        "unpause 0",
        "stop 0",
    ]
    assert len(engine.containers) == 1


@pytest.mark.usefixtures("ready")
def test_closing_removes_all_containers_and_then_the_network(engine: _Engine) -> None:
    """A network with containers in it cannot be removed; a second close does nothing."""
    nodes = launched(3)
    engine.did.clear()
    nodes.close(soon())
    nodes.close(soon())
    assert sorted(engine.did[:3]) == ["remove 0", "remove 1", "remove 2"]
    assert engine.did[3:] == ["remove network"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ImageNotFound("no such image"), DockerUnavailable),
        (ConnectionError("no route"), DockerUnavailable),
        (APIError("Bind for 0.0.0.0:1 failed: port is already allocated"), PortTaken),
    ],
    ids=["image", "network", "port"],
)
def test_what_an_engine_refuses_has_a_name(
    engine: _Engine, error: Exception, kind: type[Exception]
) -> None:
    """No image: the next rung of the ladder. A port that is taken: others are tried."""
    engine.error = error
    with pytest.raises(kind) as refused:
        launched()
    assert str(error) in str(refused.value)


def test_a_container_that_ends_is_a_broker_that_died(engine: _Engine) -> None:
    """With the last lines that it wrote."""
    engine.dies = True
    with pytest.raises(BrokerDied, match=r"(?s)exit code 1.*\| no such property"):
        launched()


def test_an_engine_whose_ports_cannot_be_seen_is_no_rung(engine: _Engine) -> None:
    """Inside of a container of a bridge network there are no host ports."""
    engine.mode = ConnectionMode.bridge_ip
    with pytest.raises(DockerUnavailable, match="TESTCONTAINERS_HOST_OVERRIDE"):
        launched()


class _FromConnection:
    """A clock that stands still until a listener has a connection, however late that comes."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._began: float | None = None

    def now(self) -> float:
        if self._began is None and select.select([self._listener], [], [], 0)[0]:
            self._began = CLOCK.now()
        return 0.0 if self._began is None else CLOCK.now() - self._began

    def sleep(self, seconds: float) -> None:
        CLOCK.sleep(seconds)


class _Target:
    """What a wait strategy waits for: a container with a port."""

    def __init__(self, port: int, status: str = "running") -> None:
        self.port = port
        self.status = status

    def get_container_host_ip(self) -> str:
        return "127.0.0.1"

    def get_exposed_port(self, port: int) -> int:
        assert port == DIRECT_PORT
        return self.port

    def get_wrapped_container(self) -> object:
        return None

    def get_logs(self) -> tuple[bytes, bytes]:
        return b"", b""

    def reload(self) -> None:
        pass


@pytest.fixture
def broker() -> Iterator[socket.socket]:
    """Something that listens, and says what a test tells it to."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def test_ready_is_who_answers_api_versions(broker: socket.socket) -> None:
    """An open port is not enough; an answer is."""
    target = _Target(broker.getsockname()[1])
    strategy = AnswersApiVersions(_FromConnection(broker), Deadline.after(0.0, 0.3))
    with pytest.raises(TimeoutError, match="did not answer ApiVersionsRequest"):
        strategy.wait_until_ready(target)

    broker.accept()[0].close()
    answering = threading.Thread(target=_answer_api_versions, args=(broker,))
    answering.start()
    AnswersApiVersions(CLOCK, soon()).wait_until_ready(target)
    answering.join(5)


def test_a_container_that_ended_is_not_waited_for() -> None:
    """It will not come back by itself."""
    with pytest.raises(RuntimeError, match="exited"):
        AnswersApiVersions(CLOCK, soon()).wait_until_ready(_Target(1, "exited"))


def _answer_api_versions(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        request = connection.recv(4096)
        # Correlation id, no error, one API: Metadata 0 to 13; version 0 of the answer.
        body = request[8:12] + bytes.fromhex("0000 00000001 0003 0000 000d")
        connection.sendall(len(body).to_bytes(4, "big") + body)
