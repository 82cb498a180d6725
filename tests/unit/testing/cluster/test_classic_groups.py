"""Groups of the classic protocol in virtual time.

What their members are told is held against a real Kafka in `tests/broker`; here it is
what time does, and what that test cannot make happen.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.testing.cluster import GroupSettings
from tests.unit.testing.cluster.scene import Scene, Voices

if TYPE_CHECKING:
    from tests.unit.testing.cluster.conftest import Lab


@pytest.fixture
def voices(lab: "Lab") -> Voices:
    """Connections to the group's coordinator."""
    lab.control.move_coordinator("billing", 1)
    lab.control.configure_groups(GroupSettings(min_session_timeout=1))
    return Voices(lab)


@pytest.fixture
def scene(voices: Voices) -> Scene:
    """A group without members."""
    return Scene(voices, "billing", "orders")


def members(lab: "Lab") -> list[str]:
    """The ids of those who are in the group."""
    return [each.member_id for each in lab.control.describe_group("billing").members]


def state(lab: "Lab") -> str:
    """Where the group stands."""
    return lab.control.describe_group("billing").state


def stable_pair(scene: Scene) -> tuple[str, str]:
    """A leader and a follower in generation 2, synchronised."""
    one = scene.join("a")
    scene.send_join("b", version=3)
    scene.join("a", one)
    two: str = scene.joined("b").member_id
    scene.sync("a", one, 2, parts={one: b"1", two: b"2"})
    scene.sync("b", two, 2)
    scene.facts.clear()
    return one, two


# --- joining -----------------------------------------------------------------------


def test_the_first_rebalance_waits_for_more_members(
    lab: "Lab", voices: Voices, scene: Scene
) -> None:
    """A delay, started again by each newcomer, up to the rebalance timeout."""
    lab.control.configure_groups(GroupSettings(initial_rebalance_delay=3))
    scene.send_join("a", version=3)
    voices.pass_by(2)
    scene.send_join("b", version=3)
    voices.pass_by(3.9)
    assert voices.parked("a")
    voices.pass_by(0.1)
    assert scene.joined("a").generation_id == scene.joined("b").generation_id == 1


def test_who_does_not_join_again_is_left_behind(
    lab: "Lab", voices: Voices, scene: Scene
) -> None:
    """At the rebalance timeout the others go on without it, however alive it is."""
    one, two = stable_pair(scene)
    scene.send_join("c", version=3)
    scene.send_join("b", two)
    for _ in range(7):
        voices.pass_by(1)
        scene.beat(one, 2)
    assert scene.facts == [27] * 7
    assert (voices.parked("c"), state(lab)) == (True, "PreparingRebalance")
    voices.pass_by(1)
    assert scene.joined("b").leader == two
    assert members(lab) == sorted([two, scene.joined("c").member_id])
    scene.beat(one, 2)
    assert scene.facts[-1] == 25


def test_a_generation_waits_for_an_id_that_was_given_out(
    lab: "Lab", voices: Voices, scene: Scene
) -> None:
    """Until it is used, or its session would be over."""
    one = scene.join("a")
    scene.sync("a", one, 1)
    scene.send_join("b", session_timeout=timedelta(seconds=3))
    given = scene.joined("b").member_id
    scene.send_join("a", one)
    assert voices.parked("a")
    voices.pass_by(3)
    assert scene.joined("a").generation_id == 2
    scene.join("b", given)
    assert scene.facts[-1][0] == 25
    assert members(lab) == [one]


@pytest.mark.parametrize(("size", "codes"), [(1, [0, 81]), (2, [0, 0])])
def test_a_full_group_takes_no_member(
    lab: "Lab", scene: Scene, size: int, codes: list[int]
) -> None:
    """Above its size; who is in it stays."""
    lab.control.configure_groups(GroupSettings(max_size=size))
    one = scene.join("a", version=3)
    scene.send_join("b", version=3)
    scene.send_join("a", one)
    if size == 1:
        # No member joins the rebalance that the leader begins, so it is complete.
        scene.joined("b")
    else:
        scene.joined("a")
        scene.joined("b")
    assert [fact[0] for fact in scene.facts[:1] + scene.facts[-1:]] == codes


def test_members_vote_for_a_protocol(scene: Scene) -> None:
    """Among those that all know, the one that most like best."""

    def knowing(*names: str) -> dict[str, Any]:
        return {"protocols": [{"name": each, "metadata": b""} for each in names]}

    one = scene.join("a", version=3, **knowing("x", "y", "z"))
    scene.send_join("b", version=3, **knowing("w", "y", "z"))
    scene.send_join("c", version=3, **knowing("z", "y"))
    scene.send_join("a", one, **knowing("x", "y", "z"))
    assert {scene.joined(each).protocol_name for each in "abc"} == {"y"}


@pytest.mark.parametrize(("seconds", "code"), [(0.5, 26), (1, 0), (1800, 0), (1801, 26)])
def test_sessions_have_bounds(voices: Voices, scene: Scene, seconds: float, code: int) -> None:
    """Those that the broker is configured with."""
    scene.join("a", version=3, session_timeout=timedelta(seconds=seconds))
    assert scene.facts[-1][0] == code
    assert not voices.lab.cluster.failures


# --- staying -----------------------------------------------------------------------


def test_who_is_not_heard_of_is_out(lab: "Lab", voices: Voices, scene: Scene) -> None:
    """Heartbeats and commits are signs of life; the others hear of a rebalance."""
    one, two = stable_pair(scene)
    for _ in range(3):
        voices.pass_by(3)
        scene.beat(one, 2)
    assert (members(lab), scene.facts) == ([one], [0, 0, 27])
    scene.beat(two, 2)
    scene.join("a", one)
    scene.commit(one, 3)
    scene.sync("a", one, 3)
    for _ in range(3):
        voices.pass_by(3)
        scene.commit(one, 3)
    assert scene.facts[3] == 25
    assert scene.facts[5:] == [[27], (0, "range", b""), [0], [0], [0]]
    assert members(lab) == [one]


def test_a_parked_member_needs_no_heartbeats(lab: "Lab", voices: Voices, scene: Scene) -> None:
    """The broker itself keeps it waiting, for longer than its session."""
    one, two = stable_pair(scene)
    other = [{"name": "range", "metadata": b"other"}]
    minute = timedelta(seconds=60)
    scene.send_join("b", two, rebalance_timeout=minute, protocols=other)
    scene.send_join("c", version=3, rebalance_timeout=minute)
    for _ in range(7):
        voices.pass_by(3)
        scene.beat(one, 2)
    assert voices.parked("b")
    assert (len(members(lab)), scene.facts) == (3, [27] * 7)
    scene.send_join("a", one)
    assert {scene.joined(each).error_code for each in "abc"} == {0}


def test_a_new_member_is_not_parked_for_ever(voices: Voices, scene: Scene) -> None:
    """It knows no id yet: no member would expire."""
    settings = GroupSettings(new_member_timeout=20)
    voices.lab.control.configure_groups(settings)
    one = scene.join("a", rebalance_timeout=timedelta(seconds=60))
    scene.send_join("b", version=3)
    for _ in range(19):
        voices.pass_by(1)
        scene.beat(one, 1)
    assert voices.parked("b")
    voices.pass_by(1)
    assert scene.joined("b").error_code == 25


def test_who_does_not_ask_for_its_part_is_out(lab: "Lab", voices: Voices, scene: Scene) -> None:
    """By the rebalance timeout; the leader's silence costs a generation."""
    one = scene.join("a")
    scene.send_join("b", version=3)
    scene.join("a", one)
    two = scene.joined("b").member_id
    scene.send_sync("b", two, 2)
    for _ in range(7):
        voices.pass_by(1)
        scene.beat(one, 2)
    assert (voices.parked("b"), state(lab)) == (True, "CompletingRebalance")
    voices.pass_by(1)
    scene.synced("b")
    assert scene.facts[-1] == (27, None, b"")
    assert members(lab) == [two]


def test_an_expired_member_is_gone_at_once(lab: "Lab", scene: Scene) -> None:
    """By its id; the control says who there is if there is no such member."""
    one, two = stable_pair(scene)
    lab.control.expire_member("billing", two)
    scene.beat(two, 2)
    scene.beat(one, 2)
    assert scene.facts == [25, 27]
    with pytest.raises(ValueError, match=f"no member '{two}': there are \\['{one}'\\]"):
        lab.control.expire_member("billing", two)


# --- static members -----------------------------------------------------------------


def test_a_static_member_fences_who_is_parked_under_its_name(scene: Scene) -> None:
    """In a join or in a sync: the older one hears that it is no more."""
    name: dict[str, Any] = {"group_instance_id": "A"}
    one = scene.join("a")
    scene.send_join("s", **name)
    scene.send_join("t", **name)
    assert scene.joined("s").error_code == 82
    scene.join("a", one)
    held = scene.joined("t").member_id
    scene.send_sync("t", held, 2, **name)
    scene.send_join("u", **name)
    scene.synced("t")
    assert scene.facts[-1] == (82, None, b"")


@pytest.mark.parametrize("timeout", [8, 0])
def test_static_members_are_waited_for_as_long_as_their_sessions_last(
    lab: "Lab", voices: Voices, scene: Scene, timeout: int
) -> None:
    """A rebalance that none of them joins is not over before."""
    name: dict[str, Any] = {"group_instance_id": "A", "session_timeout": timedelta(seconds=30)}
    static = scene.join("s", **name)
    scene.send_join("d", version=3)
    scene.join("s", static, **name)
    other = scene.joined("d").member_id
    scene.sync("s", static, 2, group_instance_id="A")
    scene.sync("d", other, 2)
    back = scene.join("t", rebalance_timeout=timedelta(seconds=timeout), **name)
    scene.leave((other, None))
    voices.pass_by(29)
    assert (members(lab), state(lab)) == ([back], "PreparingRebalance")
    voices.pass_by(1)
    assert (members(lab), state(lab)) == ([], "Empty")


# --- where the coordinator is -------------------------------------------------------


def test_what_is_parked_moves_on_with_the_coordinator(
    lab: "Lab", voices: Voices, scene: Scene
) -> None:
    """It is told to look elsewhere; there the last complete generation stands."""
    one, two = stable_pair(scene)
    scene.send_join("a", one)
    assert voices.parked("a")
    lab.control.move_coordinator("billing", 2)
    assert scene.joined("a").error_code == 16
    voices.hang_up()
    voices.node = 2
    scene.beat(one, 2)
    scene.sync("b", two, 2)
    assert scene.facts[-2:] == [0, (0, "range", b"2")]
    assert state(lab) == "Stable"


@pytest.mark.parametrize("missed", [True, False])
def test_sessions_restart_at_a_new_coordinator(
    lab: "Lab", voices: Voices, scene: Scene, *, missed: bool
) -> None:
    """Also at the old one, when it was away."""
    one, two = stable_pair(scene)
    voices.pass_by(7)
    lab.control.kill(1, missed=missed)
    lab.control.restart(1)
    voices.hang_up()
    scene.beat(one, 2)
    voices.pass_by(7)
    assert members(lab) == sorted([one, two])
    voices.pass_by(1)
    assert members(lab) == []
    assert scene.facts == [0]


def test_no_member_expires_at_a_frozen_coordinator(
    lab: "Lab", voices: Voices, scene: Scene
) -> None:
    """Until it thaws."""
    one, two = stable_pair(scene)
    with lab.control.freeze(1):
        voices.pass_by(20)
        assert members(lab) == sorted([one, two])
    assert members(lab) == []


def test_a_refusal_reaches_who_is_parked(lab: "Lab", scene: Scene) -> None:
    """As with a fetch."""
    one = scene.join("a")
    scene.send_join("b", version=3)
    lab.control.fail("JoinGroup", 15)
    assert scene.joined("b").error_code == 15
    scene.join("a", one)
    assert scene.facts[-1][0] == 0


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (lambda lab: lab.control.deny(group="billing"), 30),
        (lambda lab: lab.control.coordinator_loading("billing"), 14),
        (lambda lab: lab.control.move_coordinator("billing", 3), 16),
    ],
)
def test_a_broker_that_does_not_work_on_a_group_says_so(
    lab: "Lab", scene: Scene, fault: Callable[["Lab"], object], code: int
) -> None:
    """To every member, for every request."""
    one, _ = stable_pair(scene)
    fault(lab)
    scene.join("a", one)
    scene.sync("a", one, 2)
    scene.beat(one, 2)
    scene.leave((one, None))
    scene.hb("m", 0)
    told = scene.facts
    assert [told[0][0], told[1][0], told[2], told[3][0], told[4][0]] == [code] * 5


def test_a_group_needs_a_name(scene: Scene) -> None:
    """In the classic protocol, an invalid group id."""
    scene.group = ""
    scene.join("a", "m")
    scene.beat("m", 1)
    assert (scene.facts[0][0], scene.facts[1]) == (24, 24)
