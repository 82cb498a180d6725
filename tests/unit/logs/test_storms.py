"""Troubles that last: a line after a while, one a minute, and one when it is over."""

from prokurist.events.group_log_events import COORDINATOR_REACHABLE, COORDINATOR_UNREACHABLE
from prokurist.events.log_events import BROKER_THROTTLED, LEADERS_CHANGED
from prokurist.events.outage_log_events import CLUSTER_REACHABLE, CLUSTER_UNREACHABLE
from prokurist.logs.storms import MOST, Storms

MINE, OTHERS = {"group": "mine"}, {"group": "others"}


def test_a_line_a_minute_after_the_first_one() -> None:
    """B219: met ten times a second for five minutes, it is four or five lines."""
    storms = Storms()
    met = [storms.lasted(COORDINATOR_UNREACHABLE, MINE, n / 10) for n in range(3001)]
    assert [each for each in met if each is not None] == [60.0, 120.0, 180.0, 240.0, 300.0]


def test_its_end_is_told_if_it_was() -> None:
    """B219: once, with how long it was; and what comes then is another story."""
    storms = Storms()
    for now in (0.0, 50.0, 100.0):
        storms.lasted(COORDINATOR_UNREACHABLE, MINE, now)
    assert storms.lasted(COORDINATOR_REACHABLE, MINE, 130.0) == 130.0
    assert storms.lasted(COORDINATOR_REACHABLE, MINE, 131.0) is None
    assert storms.lasted(COORDINATOR_UNREACHABLE, MINE, 140.0) is None


def test_the_end_of_what_was_not_told_is_none_either() -> None:
    """B219: half a minute passes in silence, and so does its end."""
    storms = Storms()
    for now in (0.0, 30.0):
        assert storms.lasted(COORDINATOR_UNREACHABLE, MINE, now) is None
    assert storms.lasted(COORDINATOR_REACHABLE, MINE, 31.0) is None


def test_minutes_without_a_failure_begin_another_storm() -> None:
    """B219: two single failures with minutes between them are no outage."""
    storms = Storms()
    assert storms.lasted(COORDINATOR_UNREACHABLE, MINE, 0.0) is None
    assert storms.lasted(COORDINATOR_UNREACHABLE, MINE, 61.0) is None


def test_each_has_a_story_of_its_own() -> None:
    """What is said of one broker or group holds back nothing that is said of another."""
    storms = Storms()
    mine = None
    for now in (0.0, 50.0, 60.0):
        mine = storms.lasted(COORDINATOR_UNREACHABLE, MINE, now)
    assert mine == 60.0
    assert storms.lasted(COORDINATOR_UNREACHABLE, OTHERS, 60.0) is None
    assert storms.lasted(BROKER_THROTTLED, {"node": "1"}, 60.0) == 0.0
    assert storms.lasted(BROKER_THROTTLED, {"node": "1"}, 61.0) is None
    assert storms.lasted(BROKER_THROTTLED, {"node": "2"}, 61.0) == 0.0


def test_stories_that_have_ceased_are_forgotten() -> None:
    """B357: partitions in ever other combinations are told of at once, and cost no memory."""
    storms = Storms()
    for nth in range(10 * MOST):
        assert storms.lasted(LEADERS_CHANGED, {"partitions": (nth,)}, nth / 5) == 0.0
        assert storms.lasted(LEADERS_CHANGED, {"partitions": (nth,)}, nth / 5) is None
    assert len(storms._stories) <= MOST


def test_an_event_that_knows_it_says_how_long_it_lasts() -> None:
    """B392: silence is noticed when a request times out, and has lasted for longer."""
    storms = Storms()
    told = {"cluster": "c", "seconds": 36.0}
    assert storms.lasted(CLUSTER_UNREACHABLE, told, 100.0) == 36.0
    assert storms.lasted(CLUSTER_UNREACHABLE, told | {"seconds": 126.0}, 190.0) == 126.0
    assert storms.lasted(CLUSTER_REACHABLE, told, 200.0) == 136.0


def test_what_has_ended_untold_in_between_is_not_counted() -> None:
    """B392: what begins later is as long as it says, and no second line within the minute."""
    storms = Storms()
    for now, seconds, line in ((10.0, 10.0, 10.0), (30.0, 8.0, None), (75.0, 53.0, 53.0)):
        told = {"cluster": "c", "seconds": seconds}
        assert storms.lasted(CLUSTER_UNREACHABLE, told, now) == line
    assert storms.lasted(CLUSTER_REACHABLE, {"cluster": "c"}, 80.0) == 58.0
