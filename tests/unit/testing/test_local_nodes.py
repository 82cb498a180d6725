"""Nodes out of jars: what the folders of a cluster have alike, and what each has for itself."""

from pathlib import Path

import pytest

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka.errors import told
from prokurist.testing.kafka.local_nodes import LocalNode, _format_like

META = (
    "#\n#Wed Nov 25\nnode.id=0\ndirectory.id=woH7eRqnz46TgrDpX-YiSA\nversion=1\ncluster.id=k\n"
)


def properties(folder: Path) -> dict[str, str]:
    """What a folder says of its node."""
    lines = (folder / "data" / "meta.properties").read_text().splitlines()
    pairs = [each.partition("=") for each in lines if not each.startswith("#")]
    return {name: value for name, _, value in pairs}


@pytest.mark.parametrize("number", [1, 2])
def test_a_node_is_formatted_like_the_first(tmp_path: Path, number: int) -> None:
    """It is of the same cluster, and begins with the same records; its ids are its own."""
    folders = [tmp_path / "base" / f"node-{each}" for each in (0, number)]
    for each in folders:
        each.mkdir(parents=True)
    (folders[0] / "data").mkdir()
    (folders[0] / "data" / "meta.properties").write_text(META)
    (folders[0] / "data" / "bootstrap.checkpoint").write_bytes(b"\0records")
    clock = MonotonicClock()
    nodes = [
        LocalNode(each, folder, clock)
        for each, folder in zip((0, number), folders, strict=True)
    ]
    try:
        _format_like(*nodes)
        first, other = map(properties, folders)
        assert (folders[1] / "data" / "bootstrap.checkpoint").read_bytes() == b"\0records"
        assert other.pop("node.id") == str(number)
        assert len(other.pop("directory.id")) == len(first["directory.id"])
        assert other == {"version": "1", "cluster.id": "k"}
        assert first["node.id"] == "0"
    finally:
        for node in nodes:
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
