"""The clients that are measured side by side, each call of each in a process of its own.

A call that never ends takes its process with it: that is killed at the limit, and
nothing else has noticed. Clients that are not there are left out, with a line that
says why.

Thread: the main one.
"""

import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from conditions import show

from prokurist.testing.kafka import KafkaUnavailable
from prokurist.testing.kafka.jars import cache_folder, find_maven

HERE = Path(__file__).parent
PREPARED_WITHIN = 30.0

JAVA = "4.4.0"
"""The version of kafka-clients."""

COLLECTOR = "-XX:+UseSerialGC"
"""Of Java's collectors that with which its clients were the fastest on two cores."""

GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

CALLS = (
    "commit_sync",
    "committed",
    "position",
    "beginning_offsets",
    "end_offsets",
    "offsets_for_times",
    "list_topics",
    "partitions_for",
    "poll",
    "close",
)
"""The calls of every client, by prokurist's names; poll is asked for 0.2 s, others for 2."""

NO_TIMEOUT = {
    "confluent-kafka": {"commit_sync", "position", "close"},
    "kafka-python": {"list_topics", "partitions_for"},
    "aiokafka": {*CALLS} - {"poll"},
}
"""The calls that take no timeout, so that none can be asked for."""


class Missing(Exception):
    """A client is not there; the text says what is missing."""


class Silent(Exception):
    """A process did not say in time what it was to say."""


@dataclass(frozen=True)
class Peer:
    """One client, and how its program is started.

    Attributes:
        name: What tables call it.
        command: Its program, up to the bootstrap servers.
        release: Its version.
        at_once: How many of its processes may wait for a broker at the same time
            without disturbing each other: few, of one that spins meanwhile.
    """

    name: str
    command: tuple[str, ...]
    release: str
    at_once: int

    def has_timeout(self, call: str) -> bool:
        """Whether a call can be told when to end."""
        return call not in NO_TIMEOUT.get(self.name, ())

    def start(self, bootstrap: str, *arguments: object) -> "Measured":
        """Start its program."""
        return Measured((*self.command, bootstrap, *map(str, arguments)))


class Measured:
    """The process of a client, spoken to by lines; killed at the end of a `with`.

    Args:
        command: What is run.
        checkout: Whose modules go before those that are installed.
    """

    def __init__(self, command: Sequence[str], checkout: Path | None = None) -> None:
        path = [str(each) for each in (checkout, HERE) if each is not None]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        )
        self._said = b""

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def hear(self, seconds: float) -> Any:
        """The next line it says, read as JSON where it is.

        Raises:
            Silent: It has said nothing in that time, or has ended.
        """
        assert self.process.stdout is not None  # noqa: S101 - see the constructor
        until = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._said:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise Silent(f"nothing within {seconds:g} s")
                more = os.read(self.process.stdout.fileno(), 65536)
                if not more:
                    raise Silent("it has ended")
                self._said += more
        line, self._said = self._said.split(b"\n", 1)
        return line.decode() if line == b"ready" else json.loads(line)

    def wait_until_ready(self) -> None:
        """Wait until it has prepared.

        Raises:
            Silent: It could not.
        """
        if self.hear(PREPARED_WITHIN) != "ready":
            raise Silent("it said something else than that it is ready")

    def go(self) -> None:
        """Let it do what it has prepared."""
        assert self.process.stdin is not None  # noqa: S101 - see the constructor
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()


@dataclass
class Peers:
    """Those of the clients that are there; a context manager, for Java's classes."""

    only: Iterable[str] = ()
    classes: tempfile.TemporaryDirectory[str] = field(
        default_factory=tempfile.TemporaryDirectory
    )

    def __enter__(self) -> list[Peer]:
        found = []
        for name, module, at_once in (
            ("prokurist", "of_prokurist", 10),
            ("confluent-kafka", "of_confluent_kafka", 10),
            ("kafka-python", "of_kafka_python", 4),
            ("aiokafka", "of_aiokafka", 10),
        ):
            try:
                program = str(HERE / "clients" / f"{module}.py")
                found.append(Peer(name, (sys.executable, program), version(name), at_once))
            except PackageNotFoundError:
                show(f"left out: {name} is not installed (benchmarks/requirements.txt)")
        try:
            command = java_program(Path(self.classes.name))
        except (Missing, KafkaUnavailable) as why:
            show(f"left out: Java's consumers, {why}")
        else:
            found += [
                Peer(f"Java {each}", (*command, each), JAVA, 4)
                for each in ("classic", "consumer")
            ]
        wanted = set(self.only)
        return [peer for peer in found if not wanted or peer.name in wanted]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.classes.cleanup()


def java_program(classes: Path, name: str = "Peer") -> tuple[str, ...]:
    """Compile a program of java/: how to run it.

    Raises:
        Missing: There is no JDK, or it would not compile.
        KafkaUnavailable: kafka-clients is not there, and there is no Maven to fetch it.
    """
    java, compiler = shutil.which("java"), shutil.which("javac")
    if java is None or compiler is None:
        raise Missing("there is no JDK on the path")
    jars = kafka_clients()
    source = HERE / "java" / f"{name}.java"
    compiled = subprocess.run(
        [compiler, "-cp", f"{jars}/*", "-d", str(classes), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    if compiled.returncode:
        raise Missing(f"javac refuses java/{name}.java: {compiled.stderr[:500]}")
    return (java, COLLECTOR, "-cp", f"{classes}:{jars}/*", name)


def kafka_clients() -> Path:
    """The folder of kafka-clients and what it needs, fetched once.

    Raises:
        Missing: Maven could not fetch it.
        KafkaUnavailable: It has to be fetched, and there is no Maven.
    """
    folder = cache_folder() / f"kafka-clients-{JAVA}"
    if folder.is_dir():
        return folder
    maven = find_maven()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as part:
        pom, jars = Path(part) / "pom.xml", Path(part) / "jars"
        pom.write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0'
            "</modelVersion><groupId>prokurist</groupId><artifactId>kafka-for-benchmarks"
            "</artifactId><version>1</version><packaging>pom</packaging><dependencies>"
            "<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-clients"
            f"</artifactId><version>{JAVA}</version></dependency></dependencies></project>\n",
            "utf-8",
        )
        fetched = subprocess.run(
            [str(maven), "-q", "-B", "-f", str(pom), GOAL, f"-DoutputDirectory={jars}"],
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        if fetched.returncode:
            raise Missing(f"Maven could not fetch kafka-clients {JAVA}: {fetched.stdout[:500]}")
        jars.rename(folder)
    return folder
