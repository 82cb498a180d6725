"""That each check of a chaos run of writers is able to fail: for each rule, twins that lie."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.chaos.chaos_of_writers import WritersResult
from tests.chaos.journal import Event, Reading
from tests.chaos.judge_of_logs import Entry, JudgeOfLogs
from tests.chaos.logs import entry_of
from tests.chaos.nursery import ROOT
from tests.chaos.verdict import Life, Span, Verdict, shared
from tests.chaos.witness import held_spans
from tests.chaos.writing import STYLES, WRITER_KINDS, key_of, value_of

WITNESSED: Final = """
import sys, time
from pathlib import Path
from tests.chaos.journal import Journal
from tests.chaos.witness import Witness

journal = Journal(Path(sys.argv[1]))
Witness(journal)
journal.write("born")
time.sleep(2.0)
# A call that computes, and lets no other thread run meanwhile.
began, computed = time.monotonic(), time.process_time()
pow(3, 3_000_000) % 7
journal.write("left", [began, time.process_time() - computed])
time.sleep(0.1)
"""

DELIVERY = STYLES["flushing"].delivery_timeout


class Run:
    """A writer with idempotence, one without, and what two partitions have of them.

    Attributes:
        safe: The journal of the first.
        plain: That of the second.
        logs: What the partitions have: offset, writer, stream, sequence number.
        ended: When the first was dead; never, by default.
    """

    def __init__(self) -> None:
        self.safe: list[tuple[float, str, Any]] = [
            (0.0, "born", "flushing"),
            (1.0, "intends", [0, 0, 7]),
            (2.0, "sent", [0, 0, [0, 1, 0, 0, 0, 0, 0]]),
            (3.0, "acked", [0, 0, 0, 0, 1.5]),
            (3.0, "acked", [0, 1, 1, 0, 1.5]),
            (4.0, "acked", [0, 2, 0, 1, 2.5]),
            (5.0, "failed", [0, 3, "RecordTooLargeException", False, 3.0, 0.0]),
            (6.0, "failed", [0, 4, "TimeoutException", True, 4.0, 0.0]),
            (6.5, "failed", [0, 5, "TimeoutException", True, 4.0, 0.0]),
            (7.0, "acked", [0, 6, 0, -1, 5.0]),
            (8.0, "call", ["flush", 1.0, 1.01, 0.0, "TimeoutException"]),
            (9.0, "call", ["close", 5.0, 1.0, 0.0, "done"]),
            (9.0, "left", None),
        ]
        self.plain: list[tuple[float, str, Any]] = [
            (0.0, "born", "plain"),
            (1.0, "intends", [0, 0, 3]),
            (2.0, "sent", [0, 0, [1, 1, 1]]),
            (3.0, "acked", [0, 0, 1, 1, 1.0]),
            (3.5, "acked", [0, 1, 1, 2, 1.0]),
            (4.0, "failed", [0, 2, "KafkaException", False, 1.0, 0.0]),
            (9.0, "left", None),
        ]
        self.logs: dict[int, list[tuple[int, tuple[str, int, int] | None, str]]] = {
            0: [
                (0, ("safe", 0, 0), ""),
                (1, ("safe", 0, 2), ""),
                (2, ("safe", 0, 4), ""),
                (3, ("safe", 0, 6), ""),
            ],
            1: [
                (0, ("safe", 0, 1), ""),
                (1, ("plain", 0, 1), ""),
                (2, ("plain", 0, 1), ""),
            ],
        }
        self.ended = float("inf")

    def killed(self) -> None:
        """The first writer is killed: nothing was told of what it sent last."""
        self.ended = 5.5
        self.safe = [each for each in self.safe if each[0] <= 5.0]

    def judged(
        self, frozen: Span | None = None, asleep: float = 0.0, client: str = "core"
    ) -> Verdict:
        """What the judge says of it."""
        lives = [
            Life(name, [Event(*each) for each in sorted(journal, key=lambda each: each[0])])
            for name, journal in (("safe", self.safe), ("plain", self.plain))
        ]
        lives[0].ended, lives[0].client = self.ended, client
        if frozen is not None:
            lives[0].frozen.append(frozen)
        logs = {
            partition: [Entry(*each) for each in log] for partition, log in self.logs.items()
        }
        return JudgeOfLogs(lives, logs, asleep).judge()


def test_a_run_in_which_all_is_well() -> None:
    """Failures that may be there are or are not; without idempotence less is asked."""
    verdict = Run().judged()
    assert not verdict.wrongs
    assert verdict.counts["acknowledged"] == 6
    assert verdict.counts["acknowledged without an offset"] == 1
    assert verdict.counts["failed, may be there"] == 2
    assert verdict.late.table()["flush"]["max"] == 10.0


def test_a_writer_that_was_killed() -> None:
    """What nothing was told of may be there, as far as what comes after it is not."""
    run = Run()
    run.killed()
    assert run.judged().wrongs == [
        "safe, stream 0, record 5 is missing in 0, which has 6, and no failure was told"
    ]
    run.logs[0].pop()
    assert not run.judged().wrongs


def test_every_kind_of_event_is_judged() -> None:
    """And no other."""
    judged = {name[3:] for name in dir(JudgeOfLogs) if name.startswith("on_")}
    assert judged == set(WRITER_KINDS)


# --- rule 1 ---------------------------------------------------------------------------------


def lost(run: Run) -> None:
    """What was acknowledged is not there."""
    del run.logs[0][1]


def lost_at_the_end(run: Run) -> None:
    """The same, where nothing follows it; no broker told where it was."""
    del run.logs[0][-1]


def elsewhere(run: Run) -> None:
    """It is there, at another offset than was told."""
    run.safe[5] = (4.0, "acked", [0, 2, 0, 7, 2.5])


def in_another_partition(run: Run) -> None:
    """It is in another partition than was told."""
    run.logs[1].append((3, run.logs[0].pop()[1], ""))


# --- rule 2 ---------------------------------------------------------------------------------


def twice(run: Run) -> None:
    """A retry was appended once more."""
    run.logs[0].append((4, ("safe", 0, 6), ""))


def twice_though_it_failed(run: Run) -> None:
    """The same of one that has failed in the end."""
    run.logs[0].insert(3, (3, ("safe", 0, 4), ""))


# --- rule 3 ---------------------------------------------------------------------------------


def there_all_the_same(run: Run) -> None:
    """A failure without any effect has had one."""
    run.logs[0].insert(2, (2, ("safe", 0, 3), ""))


def there_without_idempotence(run: Run) -> None:
    """That is asked of every writer."""
    run.logs[1].append((3, ("plain", 0, 2), ""))


# --- rule 4 ---------------------------------------------------------------------------------


def overtaken(run: Run) -> None:
    """A batch has overtaken the one before it."""
    run.logs[0][2], run.logs[0][3] = (2, ("safe", 0, 6), ""), (3, ("safe", 0, 4), "")


def gap(run: Run) -> None:
    """One was left out, and the writer, which was killed then, was told of no failure."""
    run.killed()
    run.safe[6] = (5.0, "acked", [0, 6, 0, 3, 2.5])
    run.logs[0] = [each for each in run.logs[0] if each[1] != ("safe", 0, 4)]


# --- time and ends --------------------------------------------------------------------------


def late_call(run: Run) -> None:
    """A flush does not return."""
    run.safe[-3] = (8.0, "call", ["flush", 1.0, 1.7, 0.05, "TimeoutException"])


def late_delivery(run: Run) -> None:
    """A record fails after its time."""
    run.safe[7] = (6.0, "failed", [0, 4, "TimeoutException", True, DELIVERY + 0.2, 0.0])


def late_success(run: Run) -> None:
    """Or it is delivered, and should have failed long ago."""
    run.safe[5] = (4.0, "acked", [0, 2, 0, 1, DELIVERY + 0.2])


def too_early(run: Run) -> None:
    """A flush gives up, and had time."""
    run.safe[-3] = (8.0, "call", ["flush", 1.0, 0.7, 0.0, "TimeoutException"])


def never_told(run: Run) -> None:
    """A delivery has not ended when its producer was closed."""
    del run.safe[8]


def hangs(run: Run) -> None:
    """A delivery does not end, long after its time, and the writer is killed."""
    run.killed()
    run.logs[0] = run.logs[0][:2]
    run.safe += [(30.0, "logged", "WARNING nothing")]
    run.ended = 30.5


def hangs_though_held(run: Run) -> None:
    """The same, where the machine took less of its time than it is late by."""
    hangs(run)
    run.safe += [(20.0, "held", 7.8)]


def late_though_held(run: Run) -> None:
    """A record fails after its time, and the machine took away another one."""
    late_delivery(run)
    run.safe += [(20.0, "held", 7.8)]


def told_twice(run: Run) -> None:
    """A callback comes a second time."""
    run.safe.insert(5, run.safe[5])


# --- what is in a log -----------------------------------------------------------------------


def from_nowhere(run: Run) -> None:
    """What no writer has meant to send."""
    run.logs[1].append((3, ("safe", 1, 0), ""))


def no_record_of_ours(run: Run) -> None:
    """What names no writer."""
    run.logs[1].append((3, None, ""))


def changed(run: Run) -> None:
    """The bytes are others than were sent."""
    run.logs[1][0] = (0, ("safe", 0, 1), "has another value")


def complaining(run: Run) -> None:
    """A writer has found something itself."""
    run.safe.append((8.5, "wrong", "flushed, and 2 are pending"))


LIES: list[tuple[Callable[[Run], None], str]] = [
    (lost, "safe, stream 0, record 2 was acknowledged at 0:1, and is lost"),
    (lost_at_the_end, "safe, stream 0, record 6 was acknowledged at 0:-1, and is lost"),
    (elsewhere, "safe, stream 0, record 2 was acknowledged at 0:7, and is at 0:1"),
    (in_another_partition, "safe, stream 0, record 6 at 1:3 was sent to 0"),
    (twice, "safe, stream 0, record 6 is at 0:3 and 0:4"),
    (twice_though_it_failed, "safe, stream 0, record 4 is at 0:2 and 0:3"),
    (
        there_all_the_same,
        "safe, stream 0, record 3 has failed without any effect, and is at 0:2",
    ),
    (
        there_without_idempotence,
        "plain, stream 0, record 2 has failed without any effect, and is at 1:3",
    ),
    (overtaken, "safe, stream 0, record 4 at 0:3 comes after 6"),
    (gap, "safe, stream 0, record 4 is missing in 0, which has 6, and no failure was told"),
    (late_call, "flush was 650 ms late"),
    (late_delivery, "delivery was 200 ms late"),
    (late_success, "delivery was 200 ms late"),
    (too_early, "flush(1.0) gave up after 0.7000 s"),
    (never_told, "safe, stream 0, record 5 has never ended, and its writer has"),
    (hangs, "safe, stream 0, record 5 has not ended within 28.0 s"),
    (hangs_though_held, "safe, stream 0, record 5 has not ended within 20.2 s"),
    (late_though_held, "delivery was 200 ms late"),
    (told_twice, "safe, stream 0, record 2 has ended twice"),
    (from_nowhere, "1:3 has what no writer has sent"),
    (no_record_of_ours, "1:3 has what no writer has sent"),
    (changed, "safe, stream 0, record 1 at 1:0 has another value"),
    (complaining, "safe: flushed, and 2 are pending"),
]


@pytest.mark.parametrize(("lie", "words"), LIES, ids=lambda each: getattr(each, "__name__", ""))
def test_a_lie_is_found(lie: Callable[[Run], None], words: str) -> None:
    """For each rule, in words that name the record and the place."""
    run = Run()
    lie(run)
    assert words in run.judged().wrongs


def test_a_record_is_known_by_its_bytes() -> None:
    """Another value or key is told; what names no record is none of any writer's."""
    key, value = key_of(2, 4), value_of("safe", 2, 4)
    record = ("safe", 2, 4)
    assert entry_of(7, key, value) == Entry(7, record)
    assert entry_of(7, key, value[:-1]) == Entry(7, record, "has another value")
    assert entry_of(7, b"k", value) == Entry(7, record, "has the key b'k'")
    assert entry_of(7, key, b"other") == entry_of(7, key, None) == Entry(7, None)


def test_what_the_machine_takes_away_is_no_lateness() -> None:
    """Neither the time of a stopped process, nor that of one that was ready to run."""
    run = Run()
    run.safe[-3] = (8.0, "call", ["flush", 1.0, 3.0, 0.0, "TimeoutException"])
    assert run.judged().wrongs == ["flush was 2000 ms late"]
    assert not run.judged(frozen=(5.5, 7.5)).wrongs
    run.safe[-3] = (8.0, "call", ["flush", 1.0, 3.0, 1.95, "TimeoutException"])
    assert not run.judged().wrongs


def test_what_a_witness_saw_is_no_lateness() -> None:
    """Where the machine held a writer, its deliveries end, and are told, later by as much."""
    run = Run()
    run.safe[5] = (24.0, "acked", [0, 2, 0, 1, DELIVERY + 2.0])
    assert run.judged().wrongs == ["delivery was 2000 ms late"]
    run.safe += [(10.0, "held", 1.5), (24.5, "held", 0.9)]
    assert not run.judged().wrongs
    run = Run()
    hangs(run)
    assert run.judged().wrongs
    run.safe += [(15.0, "held", 4.0), (30.2, "held", 4.2)]
    assert not run.judged().wrongs


def test_who_does_not_poll_is_told_nothing() -> None:
    """confluent-kafka's program is judged up to its last message, behind which it polls."""
    run = Run()
    hangs(run)
    assert not run.judged(client="confluent-kafka").wrongs
    run.safe += [(29.0, "intends", [0, 7, 8]), (29.9, "sent", [0, 7, [0]])]
    words = "safe, stream 0, record 5 has not ended within 27.9 s"
    assert words in run.judged(client="confluent-kafka").wrongs


def test_a_witness_sees_what_the_machine_takes(tmp_path: Path) -> None:
    """A process that was stopped, and not one that keeps its own threads from running."""
    journal = tmp_path / "of.journal"
    reading = Reading(journal)
    process = subprocess.Popen([sys.executable, "-c", WITNESSED, str(journal)], cwd=ROOT)
    while not reading.more():
        assert process.poll() is None
        time.sleep(0.01)
    began = time.monotonic()
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    process.send_signal(signal.SIGCONT)
    ended = time.monotonic()
    assert process.wait(60.0) == 0
    reading.more()
    spans = held_spans(reading.events)
    assert shared(spans, began, ended) > 0.4
    (hogged,) = (each for each in reading.events if each.kind == "left")
    began, computed = hogged.what
    assert shared(spans, began, hogged.at) <= hogged.at - began - computed + 0.05


def test_no_call_is_later_than_a_plain_sleep() -> None:
    """A tenth of a second; where even a sleep was later, as much as that, up to a second."""
    run = Run()
    run.safe[-3] = (8.0, "call", ["flush", 1.0, 1.3, 0.0, "TimeoutException"])
    assert run.judged(asleep=299.0).wrongs == ["flush was 300 ms late"]
    assert not run.judged(asleep=300.0).wrongs
    run.safe[-3] = (8.0, "call", ["flush", 1.0, 2.1, 0.0, "TimeoutException"])
    assert run.judged(asleep=2000.0).wrongs == ["flush was 1100 ms late"]


def test_many_wrongs_of_one_rule_do_not_hide_another() -> None:
    """The first of each are told, and all are counted."""
    run = Run()
    run.safe += [(8.5, "wrong", f"number {each}") for each in range(30)]
    lost(run)
    verdict = run.judged()
    assert len(verdict.wrongs) == 5
    assert verdict.counts["wrong: rule told"] == 30


def test_a_summary_names_what_was_wrong() -> None:
    """And the seed, and where to look."""
    outcome = WritersResult(3, verdict=Run().judged(), wrongs=["this"], folder="here")
    lines = outcome.summary().splitlines()
    assert lines[-2:] == ["WRONG: this", "seed 3; the journals are in here"]
    assert "writers: 1 flushing, 1 plain" in lines
