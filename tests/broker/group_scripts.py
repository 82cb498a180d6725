"""What members of groups say, one after another, to a real Kafka and to the model."""

from datetime import timedelta
from typing import Any

from tests.unit.testing.cluster.scene import Scene

PARTITIONS = 4
"""Partitions of the topic."""


def strangers(scene: Scene) -> None:
    """Unknown ones."""
    scene.join("a", "x")
    scene.join("a", "x", version=0)
    scene.sync("a", "x", 1, protocol_name=None)
    scene.sync("a", "x", 1)
    scene.beat("x", 1)
    scene.leave(("x", None), ("y", "z"))
    scene.leave(("x", None), version=2)
    scene.state()
    scene.commit("x", 3, version=8)
    scene.commit("x", 3)
    scene.commit("", -1)
    scene.commit("x", 3)
    scene.fetch("x", 3)
    scene.join("a", session_timeout=timedelta(milliseconds=1))
    scene.join("a", protocols=[])
    scene.join("a", protocol_type="")


def two_generations(scene: Scene) -> None:
    """A second member comes, the first one goes."""
    one = scene.join("a")
    scene.beat(one, 1)
    scene.commit(one, 1)
    scene.sync("a", one, 7)
    scene.sync("a", one, 1, protocol_name="two")
    scene.sync("a", one, 1, parts={one: b"all"})
    scene.commit(one, 1)
    scene.commit(one, 0)
    scene.commit("x", 1)
    scene.commit("", -1)
    scene.join("b", protocols=[{"name": "three", "metadata": b""}])
    scene.send_join("b", version=3)
    scene.facts.append(scene.talker.parked("b"))
    scene.taken_up(2)
    scene.beat(one, 1)
    scene.sync("a", one, 1)
    scene.commit(one, 1)
    scene.state()
    scene.join("a", one)
    two = scene.joined("b").member_id
    scene.join("a", one)
    scene.send_sync("b", two, 2)
    scene.facts.append(scene.talker.parked("b"))
    scene.sync("a", one, 2, parts={one: b"half", two: b"other half"})
    scene.synced("b")
    scene.join("b", two)
    scene.leave((one, None), ("x", None))
    scene.beat(two, 2)
    scene.join("b", two)
    scene.leave((two, None))
    scene.state()
    scene.beat(two, 3)
    scene.join("b", two)
    scene.fetch(None, -1)


def static_names(scene: Scene) -> None:
    """A member comes back under its name, twice."""
    name: dict[str, Any] = {"group_instance_id": "A"}
    one = scene.join("a", **name)
    scene.sync("a", one, 1, parts={one: b"all"}, **name)
    two = scene.join("b", **name)
    scene.beat(one, 1, "A")
    scene.beat(one, 1)
    scene.beat(two, 1, "A")
    scene.sync("b", two, 1, **name)
    three = scene.join("c", version=8, **name)
    scene.sync("c", three, 1, **name)
    scene.leave((one, "A"))
    scene.leave(("", "A"))
    scene.leave(("", "A"))
    scene.state()


CLASSIC = [strangers, two_generations, static_names]


def refusals(scene: Scene) -> None:
    """Invalid requests."""
    for member, epoch in (("m", 3), ("m", -1), ("m", -2), ("m", -3), ("", 0)):
        scene.hb(member, epoch)
    scene.hb("m", 0, "?")
    scene.hb("m", 0, [1])
    scene.hb("m", 0, rebalance_timeout=timedelta(milliseconds=-1))
    scene.hb("m", 0, subscribed_topic_names=None)
    scene.hb("m", 0, server_assignor="mine")
    scene.hb("m", 0, instance_id="")
    scene.hb("m", 0, rack_id="")
    scene.hb("m", 0, group_id="")
    scene.hb("m", 0, subscribed_topic_names=None, subscribed_topic_regex="[")


def hand_over(scene: Scene) -> None:
    """A second member gets what the first gives up, and no sooner; then a third."""
    scene.hb("m1", 0)
    scene.hb("m1", 2)
    scene.hb("m1", 0)
    scene.hb("m1", 1)
    scene.hb("x", 1)
    scene.hb("m2", 0)
    scene.hb("m1", 2)
    scene.commit("m1", 2, 0)
    scene.commit("m1", 2, 3)
    for owned in ([0, 1, 2, 3], None, [0, 1, 2]):
        scene.hb("m1", 2, owned)
        scene.hb("m2", 3, [])
    scene.hb("m1", 2, [0, 1])
    scene.hb("m1", 2, [0, 1])
    for partitions in ((0,), (3,), (0, 3)):
        scene.commit("m1", 2, *partitions)
    for member, epoch in (("m1", 2), ("m1", 3), ("x", 3), (None, -1), ("", -1)):
        scene.fetch(member, epoch)
    scene.hb("m1", 2, [0, 1, 2])
    scene.hb("m1", 2)
    scene.hb("m2", 3)
    for member, epoch, version in (("m2", 2, 9), ("x", 3, 9), ("", -1, 9), ("m1", 3, 8)):
        scene.commit(member, epoch, version=version)
    scene.hb("m3", 0)
    scene.hb("m4", 0)
    scene.hb("m2", 3, [2])
    scene.hb("m3", 4)
    scene.hb("m3", 4, [], subscribed_topic_names=[])
    scene.hb("m1", 4)
    scene.hb("m2", 4)
    scene.hb("m1", -1)
    scene.hb("m1", -1)
    scene.hb("m2", 5)


def static_seats(scene: Scene) -> None:
    """A name is held until its holder leaves, for now or for good."""
    seat: dict[str, Any] = {"instance_id": "i"}
    scene.hb("s1", 0, **seat)
    scene.hb("s1", 0, **seat)
    scene.hb("s2", 0, **seat)
    scene.hb("s2", 2, **seat)
    scene.hb("s1", 2)
    scene.hb("s1", 2, instance_id="other")
    scene.hb("s1", -2, **seat)
    scene.hb("s1", 2, **seat)
    scene.hb("d", 0)
    scene.hb("s2", 0, **seat)
    scene.hb("s1", 2, **seat)
    scene.hb("s2", 2, [0, 1], **seat)
    scene.hb("s2", -1, **seat)
    scene.hb("d", 3)
    scene.hb("s1", -1, **seat)


def two_protocols(scene: Scene) -> None:
    """A group that is empty may change its protocol; its offsets stay."""
    scene.hb("m", 0)
    scene.beat("m", 2)
    scene.commit("m", 2)
    scene.hb("m", -1)
    scene.commit("m", 2)
    scene.commit("m", -1)
    one = scene.join("a")
    scene.fetch(None, -1)
    scene.hb("m", 2)
    scene.leave((one, None))
    scene.hb("m", 2)
    scene.hb("m", 0)


CONSUMER = [refusals, hand_over, static_seats, two_protocols]
