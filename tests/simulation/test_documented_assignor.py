"""The assignor that docs/reference.md shows, taken from that page, at work in a group."""

import re
from pathlib import Path
from typing import Any

from prokurist import Assignor, Member, Node, PartitionInfo, TopicPartition
from tests.simulation.classic_members import consumer_in, orders, settle
from tests.simulation.world import World

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"


def shown() -> Any:
    """The class that the page shows."""
    (code,) = re.findall(
        r"```python\n(.*?class NearTheLeader.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    return names["NearTheLeader"]


def test_what_the_page_shows_is_an_assignor_that_shares_out_everything() -> None:
    """Two members and three partitions; without racks each is as near as the other."""
    world = World()
    consumers = [
        consumer_in(world, f"c{each}", partition_assignment_strategy=[shown()()])
        for each in range(2)
    ]
    for each in consumers:
        each.subscribe("orders")
    settle(world, *consumers)
    parts = [each.assignment() for each in consumers]
    assert sorted(map(len, parts)) == [1, 2]
    assert parts[0] | parts[1] == orders(0, 1, 2)


def test_it_does_what_it_says() -> None:
    """Each partition to the rack of its leader; without a leader, to the one with least."""
    assignor: Assignor = shown()()
    infos = [
        PartitionInfo("t", number, None if rack is None else Node(number, "h", 1, rack))
        for number, rack in enumerate(("a", "b", "b", None))
    ]
    members = [Member("one", ("t",), rack="a"), Member("two", ("t",), rack="b")]
    parts = assignor.assign({"t": infos}, members)
    got = {member: [tp.partition for tp in tps] for member, tps in parts.items()}
    assert got == {"one": [0, 3], "two": [1, 2]}
    assert TopicPartition("t", 0) in parts["one"]
