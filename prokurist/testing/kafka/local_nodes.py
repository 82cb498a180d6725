"""Nodes as processes of this machine, out of Kafka's jars.

Thread: the one that calls.
Invariants: every process of Kafka, the formatting one included, runs under a
guard, so that none outlives the test process; the guard also owns the node's
folder. A node comes back to the ports and the folder it had.
"""

import contextlib
import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from prokurist.events.clock import Clock, Deadline
from prokurist.testing.kafka.broker_process import (
    BROKER,
    LOG,
    STORAGE,
    java_command,
    write_files,
)
from prokurist.testing.kafka.class_archive import archive_options, find_archive
from prokurist.testing.kafka.errors import BrokerDied, NotReady, PortTaken, tail, told
from prokurist.testing.kafka.guarded_process import GuardedProcess
from prokurist.testing.kafka.jars import fetch_jars
from prokurist.testing.kafka.java import Java, find_java
from prokurist.testing.kafka.ports import LOOPBACK, Address, check_free, free_ports
from prokurist.testing.kafka.properties import (
    QUICK_JAVA,
    heap_option,
    listener_properties,
    new_cluster_id,
    quick_properties,
    rack_property,
)
from prokurist.testing.kafka.security import CLIENTS, SecuredListener

OUTPUT: Final = "output.log"
FORMAT_OUTPUT: Final = "format.log"
DATA: Final = "data"


class LocalNode:
    """One broker and controller in one process.

    Attributes:
        java: The Java to run it; None for the others' own.
        jars: The folder of its jars; None likewise.
        archive: That of its classes; None likewise.
    """

    def __init__(self, number: int, folder: Path, clock: Clock) -> None:
        self.number = number
        self.folder = folder
        self.log: Path = folder / LOG
        self.process: GuardedProcess = GuardedProcess(folder, clock)
        self.java: Java | None = None
        self.jars: Path | None = None
        self.archive: Path | None = None
        self._logged_before: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"LocalNode({self.number}, {self.process!r})"

    def run(self, argv: Sequence[str]) -> None:
        """Start its broker; the log goes on where it ended."""
        self._logged_before = {
            name: len(self._logged(name)) for name in (self.log.name, OUTPUT)
        }
        self.process.run(argv, self.folder / OUTPUT)

    def log_lines(self, *names: str) -> list[str]:
        """Return the lines of the log, then those of the process's output, as the JVM's."""
        lines: list[str] = []
        for name in names or (self.log.name, OUTPUT):
            lines += _lines(self._logged(name))
        return lines

    def lines_since_it_began(self) -> list[str]:
        """The same of the process that was started last."""
        lines: list[str] = []
        for name, before in self._logged_before.items():
            lines += _lines(self._logged(name)[before:])
        return lines

    def _logged(self, name: str) -> bytes:
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / name).read_bytes()
        return b""


def _lines(logged: bytes) -> list[str]:
    return logged.decode(errors="replace").splitlines()


_formatted_before: dict[tuple[str, ...], dict[str, bytes]] = {}
"""The files of a formatted folder, by all that they depend on: formatted once in a process."""


def _lay_out(node: LocalNode, formatted: Mapping[str, bytes], cluster: str) -> None:
    """Give a node the folder that its own formatting would.

    All of a version and with the same properties have the same in it, but for the ids of the
    cluster, of the node and of its folder.
    """
    data = node.folder / DATA
    data.mkdir(exist_ok=True)
    for name, content in formatted.items():
        (data / name).write_bytes(content)
    own = {
        "cluster.id": cluster,
        "node.id": str(node.number),
        "directory.id": new_cluster_id(),
    }
    meta = data / "meta.properties"
    lines = meta.read_text(encoding="utf-8").splitlines()
    kept = [each for each in lines if each.partition("=")[0] not in own]
    kept += [f"{name}={value}" for name, value in own.items()]
    meta.write_text("\n".join(kept) + "\n", encoding="utf-8")


class LocalNodes:
    """A cluster out of jars; see `Nodes` for the methods."""

    def __init__(
        self,
        nodes: int,
        version: str,
        properties: Mapping[str, str],
        *,
        java: Java,
        jars: Path,
        clock: Clock,
        archive: Path | None = None,
        port: int | None = None,
        java_options: Sequence[str] | None = None,
        security: SecuredListener | None = None,
    ) -> None:
        """Choose ports; nothing runs yet.

        Args:
            nodes: How many.
            version: The version of Kafka that the jars are.
            properties: The user's own broker properties.
            java: The Java to run them.
            jars: The folder of the jars.
            clock: Clock of the deadlines.
            archive: That of the brokers' classes; None for none.
            port: The direct port of the first node; a free one if None.
            java_options: The options of the virtual machine, instead of `QUICK_JAVA`.
            security: How clients come in; None for plain text.

        Raises:
            PortTaken: The user's port is in use.
        """
        check_free(port)
        self._count = nodes
        self._version = version
        self._properties = dict(properties)
        self._java = java
        self._jars = jars
        self._archive = archive
        self._clock = clock
        self._port = port
        self._security = security
        self._java_options = (
            [heap_option(nodes), *QUICK_JAVA] if java_options is None else list(java_options)
        )
        self._held = contextlib.ExitStack()
        ports = free_ports(3 * nodes, but=port, held=self._held)
        direct, proxied, control = (ports[i * nodes : (i + 1) * nodes] for i in range(3))
        if port is not None:
            direct[0] = port
        self.direct: tuple[Address, ...] = tuple(Address(LOOPBACK, number) for number in direct)
        self.upstream: tuple[Address, ...] = tuple(
            Address(LOOPBACK, number) for number in proxied
        )
        self._control = tuple(Address(LOOPBACK, number) for number in control)
        self._nodes: list[LocalNode] = []

    def __repr__(self) -> str:
        return f"LocalNodes(version={self._version}, nodes={self._nodes!r})"

    @property
    def processes(self) -> list[GuardedProcess]:
        """Each node's process, for those who need its id."""
        return [node.process for node in self._nodes]

    @property
    def secured(self) -> bool:
        """See `Nodes.secured`."""
        return self._security is not None

    def launch(self, advertised: tuple[Address, ...], deadline: Deadline) -> None:
        """Format the nodes' folders, and start the brokers."""
        base = Path(tempfile.mkdtemp(prefix="prokurist-kafka-"))
        for number in range(self._count):
            folder = base / f"node-{number}"
            folder.mkdir()
            node = LocalNode(number, folder, self._clock)
            self._nodes.append(node)
            self._write_files(node, advertised[number])
        formatted, cluster = self._formatted(deadline), new_cluster_id()
        for node in self._nodes:
            _lay_out(node, formatted, cluster)
        for node in self._nodes:
            self._run_broker(node)

    def _formatted(self, deadline: Deadline) -> Mapping[str, bytes]:
        """Return the files of a formatted folder; the first node is formatted for them."""
        security = self._security.format_arguments() if self._security else ()
        told = (f"{name}={value}" for name, value in sorted(self._told().items()))
        key = (str(self._jars), *security, *told)
        if (formatted := _formatted_before.get(key)) is None:
            first = self._nodes[0]
            self._format(first, deadline)
            formatted = {
                each.name: each.read_bytes() for each in (first.folder / DATA).iterdir()
            }
            _formatted_before[key] = formatted
        return formatted

    def _format(self, node: LocalNode, deadline: Deadline) -> None:
        node.process.run(
            self._java_command(
                node,
                STORAGE,
                "format",
                *(self._security.format_arguments() if self._security else ()),
                "-t",
                new_cluster_id(),
                "-c",
            ),
            node.folder / FORMAT_OUTPUT,
        )
        if (code := node.process.wait(deadline)) is None:
            raise NotReady(
                f"node {node.number}: its folder was not formatted by the deadline",
                way_out="a busy machine needs a longer timeout",
            )
        if code != 0:
            raise BrokerDied(
                f"node {node.number} of Kafka {self._version}: formatting its folder "
                f"failed, exit code {code}",
                way_out="a broker property that this Kafka refuses is the usual cause",
                detail=tail(node.log_lines(FORMAT_OUTPUT)),
            )

    def relaunch(self, node: int, deadline: Deadline) -> None:
        """Start a node's broker again; its log goes on in the same file."""
        del deadline
        self._run_broker(self._nodes[node])

    def use_version(self, node: int, version: str, deadline: Deadline) -> None:
        """Have the next `relaunch` run other jars on the node's folder."""
        one = self._nodes[node]
        one.java = find_java(version)
        one.jars = fetch_jars(version, deadline, self._clock)
        one.archive = find_archive(one.java, one.jars)

    def check(self, node: int) -> None:
        """Check that the process still runs; else find the reason in its log."""
        one = self._nodes[node]
        if one.process.running():
            return
        lines = one.lines_since_it_began()
        if any("Address already in use" in line for line in lines):
            raise PortTaken(
                f"node {node}: another program listens on one of its ports",
                way_out="end the program that listens there, or choose another port",
                detail=told(lines, 8),
            )
        raise BrokerDied(
            f"node {node} of Kafka {self._version} died, exit code {one.process.exit_code()}",
            way_out="its log says why; a broker property is the usual cause",
            detail=told(lines),
        )

    def log_tail(self, node: int, lines: int = 25) -> str:
        """The end of the node's log."""
        return tail(self._nodes[node].log_lines(), lines)

    def freeze(self, node: int) -> None:
        """SIGSTOP, and every thread has stopped on return."""
        self._nodes[node].process.signal(signal.SIGSTOP)

    def thaw(self, node: int) -> None:
        """SIGCONT."""
        self._nodes[node].process.signal(signal.SIGCONT)

    def kill(self, node: int) -> None:
        """SIGKILL, and the process is gone on return."""
        self._nodes[node].process.signal(signal.SIGKILL)

    def end(self, node: int, deadline: Deadline) -> None:
        """SIGCONT and SIGTERM; SIGKILL at the deadline."""
        self._end([self._nodes[node]], deadline)

    def close(self, deadline: Deadline) -> None:
        """End all nodes side by side, then their guards, which remove their folders."""
        nodes, self._nodes = self._nodes, []
        try:
            self._end(nodes, deadline)
        finally:
            for node in nodes:
                node.process.close()
            self._held.close()

    def _end(self, nodes: Sequence[LocalNode], deadline: Deadline) -> None:
        for node in nodes:
            # Kept first: a stopped process takes its SIGTERM only once it goes on.
            node.process.signal(signal.SIGTERM)
            node.process.signal(signal.SIGCONT)
        for node in nodes:
            if node.process.wait(deadline) is None:
                node.process.signal(signal.SIGKILL)

    def _run_broker(self, node: LocalNode) -> None:
        node.run(self._java_command(node, BROKER))

    def _java_command(self, node: LocalNode, main_class: str, *arguments: str) -> list[str]:
        java = node.java or self._java
        archive = self._archive if node.java is None else node.archive
        # The user's own options come last, and win.
        options = [*archive_options(archive), *self._java_options]
        jars = node.jars or self._jars
        return java_command(java.path, options, jars, node.folder, main_class, *arguments)

    def _told(self) -> dict[str, str]:
        """The properties that all nodes have alike."""
        return (
            quick_properties(self._count, self._version)
            | (dict(self._security.properties()) if self._security else {})
            | self._properties
        )

    def _write_files(self, node: LocalNode, advertised: Address) -> None:
        number, folder = node.number, node.folder
        if self._security is not None and self._security.is_direct:
            advertised = self.upstream[number]
        direct = self.direct[number]
        properties = (
            rack_property(node.number)
            | {"log.dirs": str(folder / DATA)}
            | self._told()
            | listener_properties(
                number,
                listeners={
                    "DIRECT": str(direct),
                    "PROXIED": str(self.upstream[number]),
                    "CONTROLLER": str(self._control[number]),
                },
                advertised={"DIRECT": str(direct), "PROXIED": str(advertised)},
                voters=[str(address) for address in self._control],
                between_brokers="DIRECT",
                protocols={CLIENTS: self._security.protocol} if self._security else {},
            )
        )
        write_files(folder, properties)
