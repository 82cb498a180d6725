"""Nodes out of jars: what the folders of a cluster have alike, and what each has for itself."""

from pathlib import Path

import pytest

from prokurist.events.clock import MonotonicClock
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
