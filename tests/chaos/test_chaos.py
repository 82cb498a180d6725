"""Three quarters of a minute of `make chaos-groups`, and that its checks are able to fail."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from prokurist.testing.kafka import RealKafka
from tests.chaos.chaos import PROPERTIES, ChaosResult, run
from tests.chaos.clients import CLIENTS, FACES
from tests.chaos.journal import KINDS, Event, Journal, Reading
from tests.chaos.judge import GRACE, Judge
from tests.chaos.kinds import READERS
from tests.chaos.member import Duty
from tests.chaos.process_group import ProcessGroup
from tests.chaos.schedule import LENGTHS, SLOTS, WEIGHTS, blows
from tests.chaos.verdict import Life, Span, Verdict, shared


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.timeout(400)
@pytest.mark.prokurist_broker(properties=PROPERTIES)
def test_groups_in_trouble(prokurist_own_cluster: RealKafka) -> None:
    """Issue 6: nothing is skipped, nothing comes again that was committed, no call is late."""
    outcome = run(prokurist_own_cluster, 7, 40.0, ["cooperative", "consumer"])
    assert not outcome.wrongs, outcome.summary()
    assert outcome.written > 1000
    for group, verdict in outcome.verdicts.items():
        assert verdict.counts["processed"] >= outcome.written
        assert verdict.counts["assigned"] > 5
        assert sum(outcome.struck[group].values()) > 3
    assert "nothing was wrong" in outcome.summary()


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.timeout(400)
@pytest.mark.prokurist_broker(properties=PROPERTIES)
def test_groups_of_faces_in_trouble(prokurist_own_cluster: RealKafka) -> None:
    """Issue 6 and B451, by other clients' names: their own programs skip and repeat no more."""
    flavours = ["cooperative", "consumer"]
    outcome = run(prokurist_own_cluster, 8, 30.0, flavours, clients=FACES)
    assert not outcome.wrongs, outcome.summary()
    assert outcome.written > 1000
    for verdict in outcome.verdicts.values():
        assert verdict.counts["processed"] >= outcome.written
        assert verdict.endings["poll: Hiccup"]
        assert sum(verdict.styles.values()) >= SLOTS


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.timeout(400)
@pytest.mark.prokurist_broker(properties=PROPERTIES)
def test_groups_of_coroutines_in_trouble(prokurist_own_cluster: RealKafka) -> None:
    """Issue 6 and B702: members whose reads are cancelled skip and repeat no more."""
    flavours = ["cooperative", "consumer"]
    outcome = run(prokurist_own_cluster, 9, 30.0, flavours, clients=CLIENTS["aio"])
    assert not outcome.wrongs, outcome.summary()
    assert outcome.written > 1000
    for verdict in outcome.verdicts.values():
        assert verdict.counts["processed"] >= outcome.written
        assert sum(verdict.styles.values()) >= SLOTS


def test_members_take_clients_and_styles_by_turns(tmp_path: Path) -> None:
    """Each place begins with a style of its own, and sees each style of each client."""
    group = ProcessGroup(Mock(), "localhost:1", "t", "eager", 1, tmp_path, CLIENTS["all"])
    duties = [
        [group.duty(slot, turn, f"{slot}.{turn}") for turn in range(1, 21)]
        for slot in range(SLOTS)
    ]
    assert all(isinstance(each, Duty) for those in duties for each in those)
    every = {(client, style) for client, kind in READERS.items() for style in kind.styles}
    for those in duties:
        assert {(each.client, each.style) for each in those if isinstance(each, Duty)} == every
    alone = ProcessGroup(Mock(), "localhost:1", "t", "eager", 1, tmp_path)
    firsts = [alone.duty(slot, 1, "first") for slot in range(SLOTS)]
    assert [each.style for each in firsts if isinstance(each, Duty)] == list(
        READERS["core"].styles
    )


def test_a_seed_replays_its_blows() -> None:
    """The same seed and group, the same list; every kind comes, and hits every place."""
    first = list(islice(blows(1, "g"), 300))
    assert first == list(islice(blows(1, "g"), 300))
    assert first != list(islice(blows(2, "g"), 300))
    assert first != list(islice(blows(1, "h"), 300))
    assert {each.kind for each in first} == set(WEIGHTS) == set(LENGTHS)
    assert {each.slot for each in first} == set(range(SLOTS))


def test_a_journal_is_read_while_it_is_written(tmp_path: Path) -> None:
    """Line by line, in order; a line that is not whole yet is left for later."""
    path = tmp_path / "a.journal"
    reading = Reading(path)
    assert reading.more() == []
    journal = Journal(path)
    journal.write("born", "sync")
    (born,) = reading.more()
    assert (born.kind, born.what) == ("born", "sync")
    with path.open("ab") as file:
        file.write(b'[9e9,"re')
        file.flush()
        assert reading.more() == []
        file.write(b'ad",[[0,1,2]]]\n')
    assert reading.more() == [Event(9e9, "read", [[0, 1, 2]])]
    assert [each.kind for each in reading.events] == ["born", "read"]


def test_every_kind_of_event_is_judged() -> None:
    """And no other."""
    judged = {name[3:] for name in dir(Judge) if name.startswith("on_")}
    assert judged == set(KINDS)


def test_time_in_spans() -> None:
    """Spans may overlap, begin before and end after."""
    spans = [(5.0, 7.0), (1.0, 3.0), (2.0, 4.0), (6.0, 6.5), (9.0, 20.0)]
    assert shared(spans, 2.5, 10.0) == 1.5 + 2.0 + 1.0
    assert shared([], 0.0, 1.0) == 0.0


class Run:
    """Two members: the second is given a partition that the first one gives back.

    Attributes:
        one: The first one's journal.
        two: The second one's.
        ends: How far each partition was written.
    """

    def __init__(self) -> None:
        self.one: list[tuple[float, str, Any]] = [
            (0.0, "born", "sync"),
            (1.0, "assigned", [1, [0, 1]]),
            (2.0, "read", [[0, 0, 5], [1, 0, 3]]),
            (3.0, "committed", [[0, 5], [1, 3]]),
            (4.0, "read", [[0, 5, 8]]),
            (5.0, "revoking", [0]),
            (6.0, "revoked", [0]),
            (9.0, "call", ["poll", 0.2, 0.21, 0.0, "done"]),
        ]
        self.two: list[tuple[float, str, Any]] = [
            (5.0, "born", "auto"),
            (7.0, "assigned", [2, [0]]),
            (8.0, "read", [[0, 5, 10]]),
            (8.5, "looking", None),
            (9.0, "looked", [[0, 5]]),
            (9.5, "committed", [[0, 10]]),
        ]
        self.ends = {0: 10, 1: 3}

    def judged(
        self, frozen: Span | None = None, troubled: Span | None = None, asleep: float = 0.0
    ) -> Verdict:
        """What the check says of it."""
        lives = [
            Life("one", [Event(*each) for each in sorted(self.one)]),
            Life("two", [Event(*each) for each in sorted(self.two)]),
        ]
        if frozen is not None:
            lives[0].frozen.append(frozen)
        judge = Judge(lives, [] if troubled is None else [troubled], asleep)
        return judge.judge(self.ends, settled=10.0)


def test_a_run_in_which_all_is_well() -> None:
    """What lies past the last commit comes again, and that is no fault."""
    verdict = Run().judged()
    assert not verdict.wrongs
    assert verdict.counts == {
        "assigned": 2,
        "revoked": 1,
        "commits": 2,
        "processed": 16,
        "processed again": 3,
    }
    assert (verdict.generation, verdict.longest_pause) == (2, 4.0)


def skipped(run: Run) -> None:
    """The second begins behind all that was processed."""
    run.two[2] = (8.0, "read", [[0, 9, 10]])


def again(run: Run) -> None:
    """The second begins before what was committed."""
    run.two[2] = (8.0, "read", [[0, 4, 10]])


def not_read(run: Run) -> None:
    """The last one was not processed."""
    run.ends[0] = 11


def jumped(run: Run) -> None:
    """A position jumps over a record that another had processed; that is allowed."""
    run.two[2] = (8.0, "read", [[0, 5, 6], [0, 7, 10]])


def gone_back(run: Run) -> None:
    """A position goes back by itself."""
    run.one[4] = (4.0, "read", [[0, 4, 8]])


def after_revocation(run: Run) -> None:
    """The first goes on."""
    run.one.append((6.5, "read", [[0, 8, 9]]))


def inside_revocation(run: Run) -> None:
    """The first goes on, while its listener is told."""
    run.one.append((5.5, "read", [[0, 8, 9]]))


def after_a_loss(run: Run) -> None:
    """The first goes on, though it has lost what it had."""
    run.one += [(9.2, "lost", [1]), (9.3, "read", [[1, 3, 4]])]


def two_owners(run: Run) -> None:
    """The second is given what the listener of the first has not let go."""
    run.one[6] = (7.5, "revoked", [0])


def two_for_ever(run: Run) -> None:
    """The first never gives it back."""
    del run.one[5:7]


def given_twice(run: Run) -> None:
    """A listener hears twice of the same."""
    run.one.append((1.5, "assigned", [1, [1]]))


def given_back_twice(run: Run) -> None:
    """A listener hears of the end of what it has not."""
    run.one.append((6.5, "revoking", [0]))


def lost_twice(run: Run) -> None:
    """Likewise."""
    run.one.append((6.5, "lost", [0]))


def committed_too_far(run: Run) -> None:
    """More than was processed."""
    run.one[3] = (3.0, "committed", [[0, 6], [1, 3]])


def committed_too_little(run: Run) -> None:
    """Less than what was committed when it was given the partition."""
    run.two[5] = (9.5, "committed", [[0, 4]])


def commits_go_back(run: Run) -> None:
    """What was committed is not found any more."""
    run.two[4] = (9.0, "looked", [[0, 4]])


def found_too_far(run: Run) -> None:
    """An unprocessed record is found to be committed."""
    run.two[4] = (9.0, "looked", [[0, 11]])


def late(run: Run) -> None:
    """A poll does not return."""
    run.one.append((9.9, "call", ["poll", 0.2, 2.0, 0.05, "done"]))


def too_early(run: Run) -> None:
    """A call gives up, and had time."""
    run.one.append((9.9, "call", ["commit_sync", 2.0, 1.0, 0.0, "TimeoutException"]))


def silent(run: Run) -> None:
    """A member hangs."""
    run.one.append((40.0, "call", ["poll", 0.2, 0.2, 0.0, "done"]))


def stuck(run: Run) -> None:
    """A member lives, and nothing comes."""
    poll = ["poll", 0.2, 0.2, 0.0, "done"]
    run.two += [(at, "call", poll) for at in range(30, 130, 20)]
    run.two.append((130.0, "read", [[0, 10, 11]]))
    run.ends[0] = 11


def complaining(run: Run) -> None:
    """A member has found something itself."""
    run.one.append((9.9, "wrong", "poll: ValueError: no"))


FAULTS: list[tuple[Callable[[Run], None], str]] = [
    (skipped, "two, partition 0: 9 came, but no member has processed 8"),
    (again, "two, partition 0: 4 again, and 5 was committed"),
    (not_read, "lost: of partition 0 10 records were processed, and 11 were written"),
    (jumped, "two, partition 0: 7 came where 6 was due"),
    (gone_back, "one, partition 0: 4 came where 5 was due"),
    (after_revocation, "one, partition 0: 8 was processed without owning it"),
    (inside_revocation, "one, partition 0: 8 was processed without owning it"),
    (after_a_loss, "one, partition 1: 3 was processed without owning it"),
    (two_owners, "one and two both owned partition 0 for 0.50 s"),
    (two_for_ever, "at the end partition 0 is owned by ['one', 'two']"),
    (given_twice, "one was given partition 1 twice"),
    (given_back_twice, "one gives back 0, which it has not"),
    (lost_twice, "one loses 0, which it has not"),
    (committed_too_far, "one has committed 6 of partition 0, and 5 were processed"),
    (
        committed_too_little,
        "two has committed 4 of partition 0, and 5 was committed when it was given it",
    ),
    (commits_go_back, "two found 4 of partition 0 committed: 5 had been, and 10 processed"),
    (found_too_far, "two found 11 of partition 0 committed: 5 had been, and 10 processed"),
    (late, "poll was 1750 ms late"),
    (too_early, "commit_sync(2.0) gave up after 1.0000 s"),
    (silent, "one said nothing for 31.0 s"),
    (stuck, "two, partition 0: 10 came after a pause of 122.0 s"),
    (complaining, "one: poll: ValueError: no"),
]


@pytest.mark.parametrize(
    ("fault", "words"), FAULTS, ids=lambda each: getattr(each, "__name__", "")
)
def test_the_check_can_fail(fault: Callable[[Run], None], words: str) -> None:
    """For each reason, in words that name who, where and what."""
    run = Run()
    fault(run)
    assert words in run.judged().wrongs


def test_what_a_frozen_member_may_believe() -> None:
    """Two own the same for as long as one may not have heard; and no longer."""
    run = Run()
    run.one[6] = (7.5, "revoked", [0])
    for verdict in (run.judged(frozen=(1.0, 2.0)), run.judged(troubled=(1.0, 2.0))):
        assert not verdict.wrongs
        assert (verdict.counts["owned twice, excused"], verdict.longest_overlap) == (1, 0.5)
    assert run.judged(frozen=(7.2, 7.3)).wrongs
    assert run.judged(frozen=(-1.0, 7.4 - GRACE)).wrongs


def test_what_the_machine_takes_away_does_not_count_as_lateness() -> None:
    """Neither the time of a stopped process nor that of one that was ready."""
    run = Run()
    run.one.append((9.9, "call", ["poll", 0.2, 3.2, 0.0, "done"]))
    assert run.judged().wrongs == ["poll was 3000 ms late"]
    assert not run.judged(frozen=(6.5, 9.5)).wrongs
    run.one[-1] = (9.9, "call", ["poll", 0.2, 3.2, 2.8, "done"])
    assert not run.judged().wrongs
    run.one[6] = (7.5, "revoked", [0])
    assert not run.judged().wrongs


def test_no_call_is_later_than_a_plain_sleep() -> None:
    """Half a second; where the machine made even a sleep later than that, up to a second."""
    run = Run()
    run.one.append((9.9, "call", ["poll", 0.2, 0.8, 0.0, "done"]))
    assert run.judged(asleep=599.0).wrongs == ["poll was 600 ms late"]
    assert not run.judged(asleep=600.0).wrongs
    run.one[-1] = (9.9, "call", ["poll", 0.2, 1.3, 0.0, "done"])
    assert run.judged(asleep=2000.0).wrongs == ["poll was 1100 ms late"]


def test_a_summary_names_what_was_wrong() -> None:
    """And the seed, and where to look."""
    outcome = ChaosResult(3, verdicts={"eager": Run().judged()}, wrongs=["this"], folder="here")
    lines = outcome.summary().splitlines()
    assert lines[-2:] == ["WRONG: this", "seed 3; the journals are in here"]
    assert (
        "    poll          calls 1  to the deadline 1  p50 10  p99 10  p99.9 10  max 10"
        in lines
    )
