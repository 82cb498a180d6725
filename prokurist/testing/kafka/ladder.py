"""Choice of a Kafka: the rungs of the ladder, from the top.

1. the one at `PROKURIST_TEST_BOOTSTRAP`, if nothing is wanted that only nodes
   of our own can do;
2. containers, if a Docker engine answers;
3. processes out of jars, which Maven fetches.

Thread: any; no state.
"""

import gc
import importlib
import importlib.util
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Final

from prokurist.events.clock import Clock, Deadline
from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.kafka.class_archive import class_archive
from prokurist.testing.kafka.errors import (
    DockerUnavailable,
    HarnessError,
    KafkaFailed,
    KafkaUnavailable,
)
from prokurist.testing.kafka.given import VARIABLE, given_bootstrap
from prokurist.testing.kafka.jars import cached_jars, fetch_jars, find_maven
from prokurist.testing.kafka.java import find_java
from prokurist.testing.kafka.local_nodes import LocalNodes
from prokurist.testing.kafka.nodes import Nodes
from prokurist.testing.kafka.ports import Address
from prokurist.testing.kafka.security import SecuredListener

DEFAULT_VERSION: Final = "4.3.1"

_ENGINE_ANSWERS_WITHIN: Final = 3


@dataclass(frozen=True, slots=True)
class Wish:
    """A test's requirements of its Kafka.

    Attributes:
        nodes: How many nodes.
        version: The version of Kafka.
        properties: The user's own broker properties.
        port: The direct port of the first node, if it matters.
        controls: True if it must be possible to freeze, kill and cut it.
        java_options: Options of the virtual machine instead of the harness's own.
        security: How clients come in; None for plain text.
    """

    nodes: int
    version: str
    properties: Mapping[str, str]
    port: int | None
    controls: bool
    java_options: Sequence[str] | None
    security: SecuredListener | None = None

    def needs_own_nodes(self) -> str:
        """Return the reason for nodes of our own; empty if a running Kafka will do."""
        if self.security is not None:
            return "it is wanted with certificates of its own"
        if self.controls:
            return "the test freezes, kills or reconfigures it"
        if self.nodes != 1:
            return f"{self.nodes} nodes are wanted"
        if self.properties or self.port is not None or self.java_options is not None:
            return "it is wanted with properties of its own"
        if self.version != DEFAULT_VERSION:
            return f"version {self.version} is wanted"
        return ""


def given_rung(wish: Wish, environ: Mapping[str, str] | None = None) -> tuple[Address, ...]:
    """The first rung's addresses.

    Raises:
        KafkaUnavailable: None are given, or they will not do.
        KafkaFailed: The value is no address: another Kafka in its place would hide the mistake.
    """
    addresses = given_bootstrap(environ)
    if not addresses:
        raise KafkaUnavailable(f"{VARIABLE} is not set")
    if why := wish.needs_own_nodes():
        raise KafkaUnavailable(f"{VARIABLE} will not do: {why}")
    return addresses


def ask_docker(timeout: int = _ENGINE_ANSWERS_WITHIN) -> str:
    """The version of the Docker engine that answers.

    Raises:
        DockerUnavailable: No engine answers, or a library is missing.
    """
    if importlib.util.find_spec("testcontainers") is None:
        raise DockerUnavailable(
            "testcontainers is not installed", way_out="pip install 'prokurist[testing]'"
        )
    version, why = _ping(timeout)
    if version:
        return version
    raise DockerUnavailable(
        f"no Docker engine answers ({why.partition(':')[0]})",
        way_out="start one, or point DOCKER_HOST at one",
        detail=f"    {why}",
    )


def docker_rung(wish: Wish, clock: Clock) -> Nodes:
    """Nodes as containers; nothing is pulled or started yet.

    Raises:
        DockerUnavailable: No engine answers.
    """
    if wish.security is not None:
        raise DockerUnavailable(
            "a secured Kafka runs out of jars only", way_out="install Java and Maven"
        )
    ask_docker()
    from prokurist.testing.kafka.container_nodes import ContainerNodes  # noqa: PLC0415

    return ContainerNodes(
        wish.nodes,
        wish.version,
        wish.properties,
        clock=clock,
        port=wish.port,
        java_options=wish.java_options,
    )


def jars_rung(wish: Wish, deadline: Deadline, clock: Clock) -> Nodes:
    """Nodes as processes; the jars are fetched now if need be.

    Raises:
        KafkaUnavailable: Java or Maven is missing, too old, or failed.
        PortTaken: The user's port is in use.
    """
    java = find_java(wish.version)
    jars = fetch_jars(wish.version, deadline, clock)
    return LocalNodes(
        wish.nodes,
        wish.version,
        wish.properties,
        java=java,
        jars=jars,
        clock=clock,
        archive=class_archive(wish.version, java, jars, deadline, clock),
        port=wish.port,
        java_options=wish.java_options,
        security=wish.security,
    )


def _ping(timeout: int) -> tuple[str, str]:
    """The engine's version, or nothing and why."""
    tc = importlib.import_module("testcontainers.core.docker_client")
    docker = importlib.import_module("docker")
    host = tc.get_docker_host()
    environment = {**os.environ, "DOCKER_HOST": host} if host else dict(os.environ)
    with warnings.catch_warnings():
        # docker-py leaves the socket of a failed connect to the garbage collector; in a
        # run whose warnings are errors that would fail a test, so it is
        # collected here, with the traceback that holds it.
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            client = docker.from_env(timeout=timeout, environment=environment)
            try:
                client.ping()
                return str(client.version()["Version"]), ""
            finally:
                client.close()
        except Exception as error:  # noqa: BLE001 - requests' and urllib3's come through
            why = f"{type(error).__name__}: {error}"
        gc.collect()
    return "", why


def survey(version: str = DEFAULT_VERSION) -> str:
    """Describe in one line the rung that would serve, without starting anything."""
    said: list[tuple[str, HarnessError]] = []
    try:
        if addresses := given_bootstrap():
            return f"given, {','.join(map(str, addresses))} ({VARIABLE})"
    except KafkaFailed as error:
        return error.reason
    try:
        return f"docker, engine {ask_docker()}, apache/kafka:{version}"
    except DockerUnavailable as error:
        said.append(("docker", error))
    try:
        java = find_java(version)
        fetched = "in the cache"
        if cached_jars(version) is None:
            find_maven()
            fetched = "to be fetched by Maven"
    except KafkaUnavailable as error:
        said.append(("jars", error))
        return KafkaUnavailable.from_rungs(said).reason
    return f"jars of {version} ({fetched}), Java {java.major}; " + "; ".join(
        f"{name}: {error.reason}" for name, error in said
    )


def is_required() -> bool:
    """True if a missing Kafka fails tests rather than skips them."""
    return os.environ.get("PROKURIST_REQUIRE_KAFKA", "") not in {"", "0"}
