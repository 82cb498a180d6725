"""Nodes out of jars: what the folders of a cluster have alike, and what each has for itself."""

from pathlib import Path

import pytest

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka.errors import told
from prokurist.testing.kafka.local_nodes import LocalNode, _lay_out

META = (
    "#\n#Wed Nov 25\nnode.id=0\ndirectory.id=woH7eRqnz46TgrDpX-YiSA\nversion=1\ncluster.id=k\n"
)


def properties_of(text: str) -> dict[str, str]:
    """What a file of properties says."""
    pairs = [each.partition("=") for each in text.splitlines() if not each.startswith("#")]
    return {name: value for name, _, value in pairs}


def properties(folder: Path) -> dict[str, str]:
    """What a folder says of its node."""
    return properties_of((folder / "data" / "meta.properties").read_text())


@pytest.mark.parametrize("number", [0, 2])
def test_a_node_is_laid_out_as_one_that_was_formatted(tmp_path: Path, number: int) -> None:
    """It begins with the same records; the ids of cluster, node and folder are its own."""
    folder = tmp_path / "base" / f"node-{number}"
    folder.mkdir(parents=True)
    formatted = {"meta.properties": META.encode(), "bootstrap.checkpoint": b"\0records"}
    node = LocalNode(number, folder, MonotonicClock())
    try:
        _lay_out(node, formatted, "another")
        assert (folder / "data" / "bootstrap.checkpoint").read_bytes() == b"\0records"
        told = properties(folder)
        assert len(told["directory.id"]) == len(properties_of(META)["directory.id"])
        assert told.pop("directory.id") != properties_of(META)["directory.id"]
        assert told == {"version": "1", "cluster.id": "another", "node.id": str(number)}
    finally:
        node.process.close()


def test_a_log_is_told_with_what_stands_above_its_end() -> None:
    """A broker that gives up logs its own end in order, and why it gave up before that."""
    stamp = "2026-11-26T01:13:50,141"
    log = [
        f"{stamp} INFO starting (KafkaServer)",
        f"{stamp} ERROR Unable to start acceptor for DIRECT (DataPlaneAcceptor)",
        "org.apache.kafka.common.KafkaException: Socket server failed to bind",
        "\tat kafka.network.Acceptor.openServerSocket(SocketServer.scala:705)",
        "Caused by: java.net.BindException: Address already in use",
        "\t... 13 more",
        *(f"{stamp} INFO Stopped {number} (Reaper)" for number in range(300)),
    ]
    lines = [line.removeprefix("  | ") for line in told(log, 2).splitlines()]
    assert lines == [log[1], log[2], log[4], "...", *log[-2:]]
    assert told(log[6:], 3) == told(log[-3:], 3)
    assert told(log[:1], 2) == f"  | {log[0]}"
    assert told(log[:6], 6).count("ERROR") == 1


def test_a_node_that_began_again_has_a_log_of_its_own(tmp_path: Path) -> None:
    """What an earlier process of its logged is no reason why this one ended."""
    clock = MonotonicClock()
    folder = tmp_path / "base" / "node-0"
    folder.mkdir(parents=True)
    node = LocalNode(0, folder, clock)
    try:
        node.run(["/bin/sh", "-c", "echo first; echo logged > broker.log"])
        node.process.wait(Deadline.after(clock.now(), 10))
        assert node.lines_since_it_began() == ["logged", "first"]
        node.run(["/bin/sh", "-c", "echo second"])
        node.process.wait(Deadline.after(clock.now(), 10))
        assert node.lines_since_it_began() == ["second"]
        assert node.log_lines() == ["logged", "first", "second"]
    finally:
        node.process.close()
