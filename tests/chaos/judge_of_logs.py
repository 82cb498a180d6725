"""What has to hold for producers after a chaos run: all logs, held against the journals.

Thread: any; a pure function of what was written down, and of the logs.

1. What was acknowledged is there, at the offset that was told.
2. With idempotence a record is there at most once.
3. What failed with `may_have_happened` False is not there.
4. With idempotence what a stream sent to a partition is there in order, and what is missing
   before something that is there was reported as failed.
5. Every call and every delivery ends by its time, and no call gives up before. Granted is the
   time in which the machine did not let the writer run, by its witness or by the count of
   Linux. Each delivery ends once, by the end of its producer at the latest.

And a log has nothing that no journal has an intent of, and nothing that differs from what
was sent. For a writer without idempotence a broker may lose what it acknowledged, and retries
may repeat and reorder: 1, 2 and 4 are not asked of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from prokurist.application.call_runner import TURN
from tests.chaos.kinds import SENDERS
from tests.chaos.verdict import Life, Verdict, shared
from tests.chaos.witness import held_spans
from tests.chaos.writing import STYLES

LATE: Final = 100.0
"""Milliseconds behind its time from which on a call or a delivery is late."""

LATE_EVEN_SO: Final = 1000.0
"""The same, however long the machine stood still in the same run."""

SHOWN: Final = 4
"""Wrongs of one rule that are told, so that one does not hide the others."""

Where = tuple[str, int, int]
"""Writer, stream and sequence number: which record it is."""


class Entry(NamedTuple):
    """A record in a log.

    Attributes:
        offset: Where.
        record: Which; None if its value names none.
        differs: How it differs from what was sent, in words; empty if it does not.
    """

    offset: int
    record: Where | None
    differs: str = ""


class Fate:
    """What a journal says of one record.

    Attributes:
        life: Whose.
        partition: Where it was sent to, if that is known.
        offset: Where it was acknowledged, if it was; −1 if no broker told where.
        maybe: If it has failed, whether it may be in the log all the same.
        sent: When its `send` had returned, if it had.
        found: Where the logs have it.
    """

    __slots__ = ("found", "life", "maybe", "offset", "partition", "sent")

    def __init__(self, life: Life) -> None:
        self.life = life
        self.partition: int | None = None
        self.offset: int | None = None
        self.maybe: bool | None = None
        self.sent: float | None = None
        self.found: list[tuple[int, int]] = []

    @property
    def has_ended(self) -> bool:
        """Whether a delivery was told of."""
        return self.offset is not None or self.maybe is not None


class JudgeOfLogs:
    """Goes through the journals of all writers, and then through the logs."""

    def __init__(
        self,
        lives: Sequence[Life],
        logs: Mapping[int, Iterable[Entry]],
        asleep: float = 0.0,
    ) -> None:
        """Take the journals and the logs.

        Args:
            lives: The writers' lives.
            logs: What each partition has, in order.
            asleep: The longest that the machine can have stood still, in milliseconds.
        """
        self.verdict = Verdict()
        self._late = min(LATE_EVEN_SO, max(LATE, asleep))
        self._lives = lives
        self._logs = logs
        self._fates: dict[Where, Fate] = {}
        self._style = dict.fromkeys((life.name for life in lives), "")
        self._left: set[str] = set()
        self._polled: dict[tuple[str, int], float] = {}

    def judge(self) -> Verdict:
        """Hold the logs against the journals of the writers."""
        for life in self._lives:
            # First of all: that a thread was held is written down when it runs again.
            life.stalled += held_spans(life.events)
            for event in life.events:
                getattr(self, "on_" + event.kind)(life, event.at, event.what)
        self._deliveries_end()
        self._hold_logs_against_intents()
        for where, fate in self._fates.items():
            self._is_where_it_was_told(where, fate)
        self._are_in_order()
        for kind, figures in self.verdict.late.table().items():
            if figures["max"] > self._late:
                self._wrong("late", f"{kind} was {figures['max']:.0f} ms late")
        for words in self.verdict.late.early:
            self._wrong("late", words)
        return self.verdict

    # --- one for each kind of event --------------------------------------------------------

    def on_born(self, life: Life, _now: float, style: str) -> None:
        """A writer is about to send."""
        self.verdict.styles[style] += 1
        self._style[life.name] = style

    def on_intends(self, life: Life, _now: float, what: tuple[int, int, int]) -> None:
        """Records are about to be sent."""
        stream, first, end = what
        for sequence in range(first, end):
            self._fates[life.name, stream, sequence] = Fate(life)

    def on_sent(self, life: Life, now: float, what: tuple[int, int, list[int | None]]) -> None:
        """They were sent, to these partitions, where the client has told them by then."""
        stream, first, partitions = what
        self._polled[life.name, stream] = now
        for sequence, partition in enumerate(partitions, first):
            fate = self._fates[life.name, stream, sequence]
            fate.sent = now
            if partition is not None:
                fate.partition = partition

    def on_acked(self, life: Life, now: float, what: tuple[int, int, int, int, float]) -> None:
        """A delivery has ended well."""
        stream, sequence, partition, offset, took = what
        fate = self._ends(life, stream, sequence)
        fate.partition, fate.offset = partition, offset
        self.verdict.counts["acknowledged"] += 1
        self._in_time(life, now, took, 0.0)

    def on_failed(
        self, life: Life, now: float, what: tuple[int, int, str, bool, float, float]
    ) -> None:
        """A delivery has failed."""
        stream, sequence, error, maybe, took, starved = what
        self._ends(life, stream, sequence).maybe = maybe
        self.verdict.counts["failed" + (", may be there" if maybe else "")] += 1
        self.verdict.endings[f"delivery: {error}"] += 1
        self._in_time(life, now, took, starved)

    def on_call(
        self, life: Life, now: float, what: tuple[str, float, float, float, str]
    ) -> None:
        """A call has ended. Time that the machine owes the process is not lateness."""
        kind, timeout, took, starved, ending = what
        self.verdict.endings[f"{kind}: {ending}"] += 1
        gave_up = ending in ("TimeoutException", "BufferExhaustedException")
        if kind == "close" and not timeout:
            # Without time it waits for a turn of the network thread, which may be starved.
            timeout = TURN
        self._took(life, now, kind, timeout, took, starved, gave_up=gave_up)
        self.verdict.starved = max(self.verdict.starved, starved)

    def on_logged(self, _life: Life, _now: float, words: str) -> None:
        """A warning."""
        self.verdict.logged[words] += 1

    def on_held(self, _life: Life, _now: float, seconds: float) -> None:
        """The machine did not let a writer run; `judge` has granted it already."""
        self.verdict.held += seconds

    def on_wrong(self, life: Life, _now: float, words: str) -> None:
        """A writer has seen itself what must not be."""
        self._wrong("told", f"{life.name}: {words}")

    def on_left(self, life: Life, _now: float, _nothing: None) -> None:
        """A writer has closed its last producer."""
        self.verdict.counts["left in order"] += 1
        self._left.add(life.name)

    # --- time ------------------------------------------------------------------------------

    def _ends(self, life: Life, stream: int, sequence: int) -> Fate:
        fate = self._fates[life.name, stream, sequence]
        if fate.has_ended:
            self._wrong("ends", f"{name_of((life.name, stream, sequence))} has ended twice")
        return fate

    def _in_time(self, life: Life, now: float, took: float, starved: float) -> None:
        timeout = STYLES[self._style[life.name]].delivery_timeout
        self._took(life, now, "delivery", timeout, took, starved, gave_up=False)

    def _took(
        self,
        life: Life,
        now: float,
        kind: str,
        timeout: float,
        took: float,
        starved: float,
        *,
        gave_up: bool,
    ) -> None:
        behind = max(0.0, took - timeout)
        if behind:
            # Either figure is of the same machine: threads that it starved, or held altogether.
            stopped = shared(life.frozen, now - took, now) + starved
            behind = max(0.0, behind - max(stopped, self._held(life, now - took, now)))
        self.verdict.late.ended(kind, timeout, min(took, timeout + behind), gave_up=gave_up)

    def _held(self, life: Life, since: float, until: float) -> float:
        """Seconds between two moments in which a writer could not run."""
        return shared([*life.frozen, *life.stalled], since, until)

    def _deliveries_end(self) -> None:
        """Find deliveries that were due and never told of."""
        for where, fate in self._fates.items():
            life = fate.life
            if fate.has_ended or fate.sent is None:
                continue
            timeout = STYLES[self._style[life.name]].delivery_timeout
            until = min(life.ended, life.events[-1].at)
            if SENDERS[life.client].tells_in_poll:
                until = min(until, self._polled[where[:2]])
            if life.name in self._left:
                self._wrong("ends", f"{name_of(where)} has never ended, and its writer has")
            elif until - fate.sent > timeout:
                ran = until - fate.sent - self._held(life, fate.sent, until)
                if ran > timeout + self._late / 1000:
                    self._wrong("ends", f"{name_of(where)} has not ended within {ran:.1f} s")

    # --- logs ------------------------------------------------------------------------------

    def _hold_logs_against_intents(self) -> None:
        for partition, log in sorted(self._logs.items()):
            for entry in log:
                self.verdict.counts["in logs"] += 1
                fate = None if entry.record is None else self._fates.get(entry.record)
                if fate is None or entry.record is None:
                    self._wrong(
                        "log", f"{partition}:{entry.offset} has what no writer has sent"
                    )
                    continue
                name = f"{name_of(entry.record)} at {partition}:{entry.offset}"
                if entry.differs:
                    self._wrong("log", f"{name} {entry.differs}")
                if fate.partition not in (None, partition):
                    self._wrong("log", f"{name} was sent to {fate.partition}")
                fate.found.append((partition, entry.offset))

    def _is_where_it_was_told(self, where: Where, fate: Fate) -> None:
        """Rules 1, 2 and 3, for one record."""
        if fate.maybe is False and fate.found:
            self._wrong(
                "3", f"{name_of(where)} has failed without any effect, and is {at(fate)}"
            )
        if not self._is_idempotent(fate.life):
            return
        if len(fate.found) > 1:
            self._wrong("2", f"{name_of(where)} is {at(fate)}")
        if fate.offset is None:
            return
        told = f"acknowledged at {fate.partition}:{fate.offset}"
        if not fate.found:
            self._wrong("1", f"{name_of(where)} was {told}, and is lost")
        elif fate.offset >= 0 and (fate.partition, fate.offset) not in fate.found:
            self._wrong("1", f"{name_of(where)} was {told}, and is {at(fate)}")
        elif fate.offset < 0:
            self.verdict.counts["acknowledged without an offset"] += 1

    def _are_in_order(self) -> None:
        """Rule 4, for all streams and partitions."""
        reached: dict[tuple[str, int, int], int] = defaultdict(lambda: -1)
        for partition, log in sorted(self._logs.items()):
            for entry in log:
                if entry.record not in self._fates or entry.record is None:
                    continue
                writer, stream, sequence = entry.record
                if not self._is_idempotent(self._fates[entry.record].life):
                    continue
                before = reached[writer, stream, partition]
                if sequence < before:
                    self._wrong(
                        "4",
                        f"{name_of(entry.record)} at {partition}:{entry.offset} comes "
                        f"after {before}",
                    )
                reached[writer, stream, partition] = max(before, sequence)
        for where, fate in self._fates.items():
            if fate.partition is None or fate.found or fate.has_ended:
                continue
            writer, stream, sequence = where
            last = reached[writer, stream, fate.partition]
            if sequence < last and self._is_idempotent(fate.life):
                self._wrong(
                    "4",
                    f"{name_of(where)} is missing in {fate.partition}, which has {last}, and "
                    f"no failure was told",
                )

    def _is_idempotent(self, life: Life) -> bool:
        return STYLES[self._style[life.name]].idempotent

    def _wrong(self, rule: str, words: str) -> None:
        """Keep what was wrong, unless there is plenty of the same."""
        self.verdict.counts[f"wrong: rule {rule}"] += 1
        if self.verdict.counts[f"wrong: rule {rule}"] <= SHOWN:
            self.verdict.wrong(words)


def name_of(where: Where) -> str:
    """A record, in words."""
    writer, stream, sequence = where
    return f"{writer}, stream {stream}, record {sequence}"


def at(fate: Fate) -> str:
    """Where the logs have a record, in words."""
    return "at " + " and ".join(f"{partition}:{offset}" for partition, offset in fate.found)
