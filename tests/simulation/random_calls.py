"""What a user does with a consumer in a life by lot: a table, one line a call.

Each call is held against the contract when it is over: it has answered by its
deadline, with a result that can be or with an error that it may raise. What a commit
has said is held against what the broker has, at the end.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final
from uuid import UUID

from prokurist import errors
from prokurist.application.call_runner import TURN
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import KafkaException, TimeoutException, WakeupException
from prokurist.network_thread.thread import Life
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.random_faults import LOGS, MOST_PARTITIONS
from tests.simulation.witness import History
from tests.simulation.world import Member, World

ALL: Final = [TopicPartition(LOGS, number) for number in range(MOST_PARTITIONS)]
TIMEOUTS: Final = (0, 0, 0.001, 0.01, 0.1, 0.5, 2.0, 5.0)
ROUNDING: Final = 1e-9
NEXT_OFFSET: Final = 1_000_000
"""Commits begin here, so that none looks like a log's own offset."""


@dataclass
class Committing:
    """A commit, and what its caller was told of it."""

    offset: int
    partitions: tuple[TopicPartition, ...]
    done: bool = False
    nothing_happened: bool = False


class User:
    """One application thread and its consumer.

    Args:
        lot: Where everything is drawn from.
        say: Takes a line for the report of a failure.
        history: What was ever committed.
    """

    def __init__(
        self, world: World, lot: Random, say: Callable[[str], None], history: History
    ) -> None:
        pick = lot.choice
        self._world = world
        self._lot = lot
        self._say = say
        self._history = history
        self._consumer: KafkaConsumer = world.consumer(
            request_timeout_ms=pick((300, 1_000, 30_000)),
            default_api_timeout_ms=30_000,
            metadata_max_age_ms=pick((1_000, 300_000)),
            auto_offset_reset=pick(("earliest", "latest", "none")),
            connections_max_idle_ms=pick((400, 540_000)),
        )
        self.member: Member = world.members[-1]
        self._commits: list[Committing] = []
        self._begun = 0
        self._asked: list[int] = []
        self._heard: list[int] = []
        self._wakeups = 0
        self._over = False

    # --- living ----------------------------------------------------------------------

    def one(self) -> None:
        """One of the table, with a wake-up by chance."""
        calls = [call for call, _ in MENU]
        call = self._lot.choices(calls, [weight for _, weight in MENU])[0]
        if not self._over:
            call(self)

    def _some(self) -> list[TopicPartition]:
        assigned = sorted(self._consumer.assignment())
        return (
            self._lot.sample(assigned, self._lot.randint(1, len(assigned))) if assigned else []
        )

    def _timeout(self) -> float:
        return self._lot.choice(TIMEOUTS)

    def _call(self, what: str, timeout: float, call: Callable[[], Any]) -> Any:
        """Make a call: its answer, or the error that it raised."""
        clock, began = self._world.clock, self._world.clock.time
        self._say(f"{what}, {timeout} s")
        if self._lot.random() < 0.15:
            self._world.at(began + timeout * self._lot.random(), self._wakeup)
        outcome: Any
        try:
            outcome = call()
        except KafkaException as error:
            outcome = error
        took = clock.time - began
        assert took <= max(timeout, TURN if not timeout else 0.0) + ROUNDING, (
            f"{what} was given {timeout} s and took {took}"
        )
        if isinstance(outcome, WakeupException):
            assert self._wakeups, f"{what} raised {outcome!r}, without a wake-up"
            self._wakeups = 0
        elif isinstance(outcome, TimeoutException):
            assert timeout == 0 or took >= timeout - ROUNDING, f"{what} gave up after {took}"
        elif isinstance(outcome, KafkaException):
            assert not outcome.retriable, f"{what} ended with a bare {outcome!r}"
            assert not isinstance(outcome, errors.NetworkThreadDiedException), outcome
        return outcome

    def _wakeup(self) -> None:
        if not self._over:
            self._wakeups += 1
            self._consumer.wakeup()

    # --- what is read ----------------------------------------------------------------

    def assign(self) -> None:
        """Read some, or none."""
        wanted = self._lot.sample(ALL, self._lot.randint(0, 4))
        self._call(f"assign {len(wanted)}", 0, partial(self._consumer.assign, wanted))
        assert self._consumer.assignment() == set(wanted)

    def seek(self) -> None:
        """Read on elsewhere: that is where one is, and nothing under way moves it.

        Nothing but that the topic turns out to be another one than it was known to be.
        """
        some, length = self._some(), self._lot.choice((0.0, 0.003, 0.05))
        self._consumer.pause(some)
        sought = {tp: self._lot.randrange(100) for tp in some}
        for tp, offset in sought.items():
            self._call(f"seek {tp}", 0, partial(self._consumer.seek, tp, offset))
        of = self._topics()
        self._world.clock.sleep(length)
        now = self._topics()
        for tp, offset in sought.items():
            if of[tp] is not None and of[tp] != now[tp]:
                continue
            known = self._call("position", 0, partial(self._consumer.position, tp, 0))
            assert known == offset, f"sought {offset}, and is at {known} {length} s later"
        self._consumer.resume(some)

    def _topics(self) -> dict[TopicPartition, UUID | None]:
        """Of which topics the assigned partitions are, as far as the client knows."""
        partitions = self._consumer._committable.assigned.rows
        return {tp: state.topic for tp, state in partitions.items()}

    def seek_by_policy(self) -> None:
        """Read on from an edge."""
        some = self._some()
        edge = self._lot.choice((self._consumer.seek_to_beginning, self._consumer.seek_to_end))
        self._call(edge.__name__, 0, lambda: edge(some))

    def pause(self) -> None:
        """Want no records of some, or want them again."""
        some = self._some()
        self._call("pause", 0, partial(self._consumer.pause, some))
        assert self._consumer.paused() >= set(some)
        if self._lot.random() < 0.5:
            self._call("resume", 0, partial(self._consumer.resume, some))
            assert not self._consumer.paused() & set(some)

    def poll(self) -> None:
        """Poll, once or often: never a TimeoutException."""
        if not self._consumer.assignment():
            return
        timeout = self._timeout()
        for _ in range(self._lot.choice((1, 1, 5))):
            outcome = self._call("poll", timeout, partial(self._consumer.poll, timeout))
            assert not isinstance(outcome, TimeoutException), outcome

    def iterate(self) -> None:
        """Wait for one record: it comes, or the iteration ends in time."""
        if not self._consumer.assignment():
            return
        timeout = self._timeout()
        outcome = self._call(
            "records", timeout, lambda: next(self._consumer.records(timeout), None)
        )
        assert not isinstance(outcome, TimeoutException), outcome

    def produce(self) -> None:
        """A record is written; readers may get it."""
        tp = self._lot.choice(ALL[:3])
        with suppress(ValueError):  # The topic may have fewer partitions.
            self._world.control.append(tp, *[b"x" * 100] * self._lot.choice((1, 3, 50)))

    def position(self) -> None:
        """Where does reading go on?"""
        for tp in self._some()[:1]:
            timeout = self._timeout()
            found = self._call(
                "position", timeout, partial(self._consumer.position, tp, timeout)
            )
            assert isinstance(found, KafkaException) or found >= 0

    def lag(self) -> None:
        """How far behind? It waits for nothing."""
        for tp in self._some():
            found = self._call("current_lag", 0, partial(self._consumer.current_lag, tp))
            assert found is None or found >= 0

    # --- look-ups --------------------------------------------------------------------

    def edges(self) -> None:
        """Where do logs begin and end, and where are records of a time?"""
        timeout, wanted = self._timeout(), self._lot.sample(ALL, 2)
        ask: dict[str, Callable[[], Any]] = {
            "beginning_offsets": partial(self._consumer.beginning_offsets, wanted, timeout),
            "end_offsets": partial(self._consumer.end_offsets, wanted, timeout),
            "offsets_for_times": lambda: self._consumer.offsets_for_times(
                dict.fromkeys(wanted, 1), timeout
            ),
        }
        what = self._lot.choice(list(ask))
        found = self._call(what, timeout, ask[what])
        if not isinstance(found, KafkaException):
            assert set(found) == set(wanted), f"{what} answered {found}"

    def topics(self) -> None:
        """Which topics are there, and which partitions has one?"""
        timeout = self._timeout()
        if self._lot.random() < 0.5:
            found = self._call(
                "list_topics", timeout, partial(self._consumer.list_topics, timeout)
            )
            assert isinstance(found, (dict, KafkaException))
        else:
            found = self._call(
                "partitions_for", timeout, partial(self._consumer.partitions_for, LOGS, timeout)
            )
            assert isinstance(found, KafkaException) or len(found) <= MOST_PARTITIONS

    def committed(self) -> None:
        """What has the group committed?"""
        timeout = self._timeout()
        found = self._call(
            "committed", timeout, partial(self._consumer.committed, ALL[:3], timeout)
        )
        if not isinstance(found, KafkaException):
            for tp, at in found.items():
                known = at is None or (tp, at.offset) in self._history.ever
                assert known, f"was told {at} of {tp}"

    # --- commits ---------------------------------------------------------------------

    def _new_commit(self) -> Committing:
        self._begun += 1
        some = tuple(self._lot.sample(ALL[:3], self._lot.choice((1, 1, 3))))
        commit = Committing(NEXT_OFFSET + self._begun, some)
        self._commits.append(commit)
        return commit

    def commit_sync(self) -> None:
        """Commit, and wait."""
        timeout, commit = self._timeout(), self._new_commit()
        offsets = dict.fromkeys(commit.partitions, OffsetAndMetadata(commit.offset))
        outcome = self._call(
            "commit_sync", timeout, partial(self._consumer.commit_sync, offsets, timeout)
        )
        commit.done = outcome is None
        if isinstance(outcome, TimeoutException):
            commit.nothing_happened = not outcome.may_have_happened

    def commit_async(self) -> None:
        """Commit, and do not wait; the callback may come now or later."""
        commit, number = self._new_commit(), self._begun
        offsets = dict.fromkeys(commit.partitions, OffsetAndMetadata(commit.offset))

        def heard(_offsets: object, error: KafkaException | None) -> None:
            self._heard.append(number)
            commit.done = error is None

        self._asked.append(number)
        self._call("commit_async", 0, partial(self._consumer.commit_async, offsets, heard))

    # --- the end ---------------------------------------------------------------------

    def close(self) -> None:
        """Close in some time; every callback has run by then, in order."""
        if self._over:
            return
        timeout = self._timeout()
        running = self.member.thread.life is Life.RUNNING
        began = self._world.clock.time
        self._say(f"close, {timeout} s")
        try:
            self._consumer.close(timeout)
        except KafkaException as error:
            self._check_close(error)
        self._over = True
        took = self._world.clock.time - began
        assert took <= timeout + TURN + ROUNDING, f"close was given {timeout} s, took {took}"
        assert not running or self.member.thread.life is Life.ENDED
        assert self._heard == self._asked, f"{self._heard} of {self._asked} were heard"

    def _check_close(self, error: KafkaException) -> None:
        """The last commit may be refused for good; a passing failure is none."""
        cause = error.__cause__
        assert type(error) is KafkaException, repr(error)
        assert isinstance(cause, KafkaException), repr(cause)
        assert not cause.retriable, repr(cause)

    def judge(self) -> None:
        """Hold what commits have said against what the broker has had."""
        for commit in self._commits:
            at = [self._history.ever.get((tp, commit.offset)) for tp in commit.partitions]
            if commit.done:
                assert None not in at, f"{commit} was acknowledged, and is not on the broker"
            if commit.nothing_happened:
                assert at == [None] * len(at), f"{commit} said that nothing happened"


MENU: Final[tuple[tuple[Callable[[User], None], int], ...]] = (
    (User.assign, 4),
    (User.seek, 3),
    (User.seek_by_policy, 3),
    (User.pause, 2),
    (User.poll, 8),
    (User.iterate, 3),
    (User.produce, 4),
    (User.position, 5),
    (User.lag, 3),
    (User.edges, 5),
    (User.topics, 3),
    (User.committed, 3),
    (User.commit_sync, 5),
    (User.commit_async, 4),
)
"""What a user may do, and how often in proportion."""
