"""Groups of the consumer protocol (KIP-848) in virtual time.

What their members are told is held against a real Kafka in `tests/broker`; here it is
what time does, and what that test cannot make happen.
"""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.testing.cluster import GroupSettings
from prokurist.types import TopicPartition
from tests.unit.testing.cluster.scene import Scene, Voices

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.testing.cluster.conftest import Lab


@pytest.fixture
def lab(make_lab: "Callable[..., Lab]") -> "Lab":
    """Two brokers, and a topic of four partitions."""
    made = make_lab(2, {"orders": 4})
    made.control.move_coordinator("billing", 1)
    return made


@pytest.fixture
def voices(lab: "Lab") -> Voices:
    """Connections to the group's coordinator."""
    return Voices(lab)


@pytest.fixture
def scene(voices: Voices) -> Scene:
    """A group without members."""
    return Scene(voices, "billing", "orders")


def owned(lab: "Lab") -> dict[str, list[int]]:
    """Which partitions each member has."""
    group = lab.control.describe_group("billing")
    return {each.member_id: [tp.partition for tp in each.assignment] for each in group.members}


def state(lab: "Lab") -> str:
    """Where the group stands."""
    return lab.control.describe_group("billing").state


def settled_pair(scene: Scene) -> None:
    """Two members in epoch 3, with two partitions each."""
    scene.hb("m1", 0)
    scene.hb("m2", 0)
    scene.hb("m1", 2, [0, 1])
    scene.hb("m1", 2, [0, 1])
    scene.hb("m2", 3)
    assert scene.facts[-1] == (0, "m2", 3, [2, 3])
    scene.facts.clear()


def test_the_broker_says_how_often_to_speak(lab: "Lab", voices: Voices) -> None:
    """As it is configured."""
    lab.control.configure_groups(GroupSettings(consumer_heartbeat_interval=2.5))
    body = voices.ask(
        "me",
        "ConsumerGroupHeartbeat",
        0,
        group_id="billing",
        member_epoch=0,
        rebalance_timeout=timedelta(seconds=5),
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    assert body.heartbeat_interval == timedelta(seconds=2.5)
    assert (body.member_id, body.member_epoch) == ("member-1", 2)


def test_who_is_not_heard_of_is_out(lab: "Lab", voices: Voices, scene: Scene) -> None:
    """After a session, and what it had is the others' with their next heartbeat."""
    settled_pair(scene)
    voices.pass_by(44)
    scene.hb("m1", 3)
    assert state(lab) == "Stable"
    voices.pass_by(1)
    assert owned(lab) == {"m1": [0, 1]}
    scene.hb("m1", 3)
    scene.hb("m2", 3)
    assert scene.facts[1:] == [(0, "m1", 4, [0, 1, 2, 3]), (25, None, 0, None)]


def test_who_does_not_give_up_in_time_is_out(lab: "Lab", voices: Voices, scene: Scene) -> None:
    """In its own rebalance timeout, however alive it is."""
    scene.hb("m1", 0, rebalance_timeout=timedelta(seconds=3))
    scene.hb("m2", 0)
    scene.hb("m1", 2)
    for _ in range(2):
        voices.pass_by(1)
        scene.hb("m1", 2, [0, 1, 2, 3])
        scene.hb("m2", 3)
    assert owned(lab) == {"m1": [0, 1, 2, 3], "m2": []}
    voices.pass_by(1)
    scene.hb("m1", 2, [0, 1, 2, 3])
    scene.hb("m2", 3)
    assert scene.facts[-2:] == [(25, None, 0, None), (0, "m2", 4, [0, 1, 2, 3])]


def test_who_gave_up_in_time_stays(lab: "Lab", voices: Voices, scene: Scene) -> None:
    """The wait is over with the report, and starts again with the next thing to give up."""
    scene.hb("m1", 0, rebalance_timeout=timedelta(seconds=3))
    scene.hb("m2", 0)
    scene.hb("m1", 2)
    voices.pass_by(2)
    scene.hb("m1", 2, [0, 1])
    voices.pass_by(2)
    assert owned(lab) == {"m1": [0, 1], "m2": []}
    scene.hb("m2", 3)
    assert owned(lab) == {"m1": [0, 1], "m2": [2, 3]}


def test_assignments_can_be_put_off(lab: "Lab", voices: Voices, scene: Scene) -> None:
    """As Kafka 4.3 does: until then who joins has nothing to do."""
    lab.control.configure_groups(GroupSettings(assignment_interval=1))
    scene.hb("m1", 0)
    scene.hb("m2", 0)
    scene.hb("m1", 2)
    assert state(lab) == "Assigning"
    voices.pass_by(1)
    scene.hb("m1", 2)
    assert scene.facts[1:] == [(0, "m2", 2, []), (0, "m1", 2, None), (0, "m1", 2, [0, 1])]


@pytest.mark.parametrize(("older", "codes"), [(True, [0]), (False, [113])])
def test_an_older_epoch_commits_where_the_broker_lets_it(
    lab: "Lab", scene: Scene, *, older: bool, codes: list[int]
) -> None:
    """Kafka before 4.3 knows the present epoch alone."""
    lab.control.configure_groups(GroupSettings(older_epochs_commit=older))
    settled_pair(scene)
    scene.commit("m1", 2, 0)
    assert scene.facts == [codes]


def test_an_older_epoch_commits_only_what_was_held_in_it(scene: Scene) -> None:
    """Not what came with the present one, nor what was given up, nor one of many."""
    settled_pair(scene)
    scene.hb("m2", -1)
    scene.hb("m1", 3)
    scene.facts.clear()
    for partitions in ((0,), (2,), (0, 2)):
        scene.commit("m1", 3, *partitions)
    scene.commit("m1", 4, 2)
    assert scene.facts == [[0], [113], [113, 113], [0]]


def test_a_static_name_is_held_until_it_is_released(scene: Scene) -> None:
    """For now: then who comes under it has all that its holder had."""
    scene.hb("s1", 0, instance_id="i")
    scene.hb("s2", 0, instance_id="i")
    scene.hb("s1", -2, instance_id="i")
    scene.hb("s2", 0, instance_id="i")
    scene.hb("s1", 2, instance_id="i")
    assert [fact[0] for fact in scene.facts] == [0, 111, 0, 0, 82]
    assert scene.facts[3] == (0, "s2", 2, [0, 1, 2, 3])


def test_a_topic_that_grows_is_spread(lab: "Lab", scene: Scene) -> None:
    """With the next heartbeat of any member."""
    scene.hb("m1", 0)
    lab.control.add_partitions("orders", 6)
    scene.hb("m1", 2)
    assert scene.facts[-1] == (0, "m1", 3, [0, 1, 2, 3, 4, 5])


def test_a_pattern_is_looked_at_a_heartbeat_later(lab: "Lab", scene: Scene) -> None:
    """And follows topics that come; an empty one is none any more."""
    pattern: dict[str, Any] = {"subscribed_topic_names": None}
    scene.hb("m1", 0, subscribed_topic_regex="ord.*", **pattern)
    scene.hb("m1", 1)
    lab.control.create_topic("ordinary", 1)
    scene.hb("m1", 2, [0, 1, 2, 3])
    scene.hb("m1", 3, subscribed_topic_regex="")
    lab.control.create_topic("disorder", 1)
    scene.hb("m1", 3, [])
    assert scene.facts == [
        (0, "m1", 1, []),
        (0, "m1", 2, [0, 1, 2, 3]),
        (0, "m1", 3, [0, 0, 1, 2, 3]),
        (0, "m1", 3, []),
        (0, "m1", 4, None),
    ]


def test_topics_that_are_denied(lab: "Lab", scene: Scene) -> None:
    """By name, the heartbeat is refused, and works again afterwards; a pattern passes by."""
    with lab.control.deny(topic="orders"):
        scene.hb("m1", 0)
        scene.hb("m2", 0, subscribed_topic_names=None, subscribed_topic_regex=".*")
        scene.hb("m2", 1)
    scene.hb("m2", 1)
    scene.hb("m1", 0)
    codes = [fact[0] for fact in scene.facts]
    assert (codes, scene.facts[2][3]) == ([29, 0, 0, 0, 0], None)
    assert owned(lab)["m2"] == [0, 1, 2, 3]


@pytest.mark.parametrize(("assignor", "first"), [("range", [0, 1]), ("uniform", [0, 1])])
def test_members_may_choose_among_the_brokers_assignors(
    lab: "Lab", scene: Scene, assignor: str, first: list[int]
) -> None:
    """The group takes what most of them like."""
    scene.hb("m1", 0, server_assignor=assignor)
    scene.hb("m2", 0, server_assignor=assignor)
    scene.hb("m1", 2)
    assert lab.control.describe_group("billing").assignor == assignor
    assert scene.facts[-1] == (0, "m1", 2, first)


def test_a_group_has_a_size(lab: "Lab", scene: Scene) -> None:
    """Who is in it may join again."""
    lab.control.configure_groups(GroupSettings(max_size=1))
    scene.hb("m1", 0)
    scene.hb("m2", 0)
    scene.hb("m2", 0, instance_id="i")
    scene.hb("m1", 0)
    assert [fact[0] for fact in scene.facts] == [0, 81, 81, 0]


def test_a_new_coordinator_knows_all_and_restarts_the_waits(
    lab: "Lab", voices: Voices, scene: Scene
) -> None:
    """Sessions and rebalance timeouts begin again."""
    scene.hb("m1", 0, rebalance_timeout=timedelta(seconds=60))
    scene.hb("m2", 0)
    scene.hb("m1", 2)
    before = lab.control.describe_group("billing")
    voices.pass_by(44)
    lab.control.move_coordinator("billing", 2)
    assert lab.control.describe_group("billing") == before
    scene.hb("m1", 2)
    voices.hang_up()
    voices.node = 2
    voices.pass_by(44)
    scene.hb("m1", 2, [0, 1])
    assert [fact[0] for fact in scene.facts[-2:]] == [16, 0]
    voices.pass_by(1)
    assert owned(lab) == {"m1": [0, 1]}


def test_a_static_member_that_stays_away_is_out(
    lab: "Lab", voices: Voices, scene: Scene
) -> None:
    """When its session is over; until then no other member has its partitions."""
    scene.hb("s", 0, instance_id="i")
    scene.hb("s", -2, instance_id="i")
    scene.hb("m", 0)
    assert owned(lab) == {"m": [], "s": [0, 1, 2, 3]}
    voices.pass_by(44)
    scene.hb("m", 3)
    voices.pass_by(1)
    scene.hb("m", 3)
    assert scene.facts[-2:] == [(0, "m", 3, None), (0, "m", 4, [0, 1, 2, 3])]


def test_an_expired_member_is_gone_at_once(lab: "Lab", scene: Scene) -> None:
    """By its id or its instance id."""
    scene.hb("s", 0, instance_id="i")
    lab.control.expire_member("billing", "i")
    scene.hb("s", 2, instance_id="i")
    assert scene.facts[-1][0] == 25
    with pytest.raises(ValueError, match=r"no member 'i': there are \[\]"):
        lab.control.expire_member("billing", "i")


def test_offsets_of_a_transaction_under_way_are_not_told(lab: "Lab", scene: Scene) -> None:
    """To who wants stable ones; the others get what was committed before."""
    scene.commit("", -1, 0)

    def codes(*, stable: bool) -> list[int]:
        topics = [{"name": "orders", "partition_indexes": [0, 1]}]
        group = {"group_id": "billing", "member_epoch": -1, "topics": topics}
        body = scene.talker.ask("me", "OffsetFetch", 9, groups=[group], require_stable=stable)
        return [int(each.error_code) for each in body.groups[0].topics[0].partitions]

    with lab.control.unstable_offsets("billing", TopicPartition("orders", 0)):
        assert (codes(stable=True), codes(stable=False)) == ([88, 0], [0, 0])
    assert codes(stable=True) == [0, 0]
