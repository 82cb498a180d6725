"""All records that a share group has lent to this member, and their outcomes.

Thread: both, and any thread that marks a record; `_lock` is held for a few assignments, and
nothing is called while it is.

The application marks records; the network thread takes marks (SENT), and settles them by the
broker's answer. Decisions of the application on lost records are told by the next call that
tells: none is passed over in silence.

A batch leaves the table when all of it is done or lost; records that the user holds refer to it
on their own.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from prokurist.errors import IllegalStateException, InvalidRecordStateException
from prokurist.events.lent.batch import LentBatch, LossCause, MarkedRun
from prokurist.events.lent.marks import (
    DONE,
    GAP,
    HELD,
    KEPT,
    LOSE,
    LOST,
    MARK,
    NONE,
    ONLY_HELD,
    ONLY_LIVE,
    ONLY_LOST_OPEN,
    ONLY_MARKED,
    ONLY_OPEN,
    OPEN_TO,
    RELEASE_REST,
    RETURNED,
    SENT,
    STAGE,
    is_decided,
    is_open,
    is_undecided,
)
from prokurist.events.lent.outcome import AcknowledgeOutcome
from prokurist.types import Acknowledge, TopicPartition

MOST_REPORTS: Final = 1000
"""Outcomes that wait to be told; older ones are dropped, and have been logged."""

WHY: Final = {
    LossCause.LOCK: "the lock was over before the broker had the acknowledgement",
    LossCause.LEADER: "the partition has another leader, which knows no locks",
    LossCause.CONNECTION: "the connection that the share session belonged to has ended",
    LossCause.REPLACED: "the record was delivered to this member again in the meantime",
    LossCause.REFUSED: "the broker has refused the acknowledgement",
    LossCause.CLOSED: "the consumer has left the group",
}


class Lent:
    """The batches that this member has, and the marks of their records.

    Args:
        now: Reads the client's clock.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lock = threading.RLock()
        self._batches: list[LentBatch] = []
        self._reports: list[AcknowledgeOutcome] = []

    # --- any thread: marks ------------------------------------------------------------

    def mark(self, batch: LentBatch, index: int, mark: Acknowledge) -> None:
        """Decide on a record; a later mark replaces one that was not sent.

        Raises:
            IllegalStateException: It is sent, or acknowledged.
        """
        with self._lock:
            byte = batch.table[index]
            stage = byte & STAGE
            if stage == SENT and byte & MARK == Acknowledge.RENEW:
                stage = HELD  # Its lock may begin again all the same.
            if stage in (SENT, DONE):
                state = "is being acknowledged" if stage == SENT else "is acknowledged already"
                raise IllegalStateException(
                    f"{batch.partition} @ {batch.first + index} {state}: decide on a record "
                    f"once, before it is committed"
                )
            kept = KEPT if mark is Acknowledge.RENEW else byte & KEPT
            batch.table[index] = stage | byte & RETURNED | kept | mark
            if stage == LOST and not byte & MARK:
                self._note_lost(batch, [index])

    def mark_open(self, batches: Iterable[LentBatch], mark: Acknowledge) -> None:
        """Decide on all records of some batches that were returned and have no mark."""
        with self._lock:
            for batch in batches:
                self._mark_open(batch, mark)

    def _mark_open(self, batch: LentBatch, mark: Acknowledge) -> None:
        lost = batch.table.translate(ONLY_LOST_OPEN)
        batch.table[:] = batch.table.translate(OPEN_TO[mark])
        if 1 in lost:
            self._note_lost(batch, [at for at, is_lost in enumerate(lost) if is_lost])

    def mark_of(self, batch: LentBatch, index: int) -> Acknowledge | None:
        """The user's mark of a record; None for one without."""
        byte = batch.table[index]
        mark = byte & MARK
        is_automatic = byte & (MARK | KEPT) == Acknowledge.RENEW
        return None if mark in (NONE, GAP) or is_automatic else Acknowledge(mark)

    def is_held(self, batch: LentBatch, index: int) -> bool:
        """True while a record is this member's, and not acknowledged."""
        now = self._now()
        with self._lock:
            return batch.table[index] & STAGE in (HELD, SENT) and now < batch.until(index)

    def find(self, tp: TopicPartition, offset: int) -> tuple[LentBatch, int] | None:
        """The batch that holds an offset, and its index there."""
        with self._lock:
            for batch in reversed(self._batches):
                if batch.partition == tp and batch.first <= offset <= batch.last:
                    return batch, offset - batch.first
        return None

    # --- the application thread --------------------------------------------------------

    def decoded(self, batch: LentBatch, offsets: Collection[int]) -> None:
        """Note the offsets that have records; the others of the batch are gaps."""
        if len(offsets) == len(batch.table):
            return
        with self._lock:
            table = batch.table
            for index, byte in enumerate(table):
                if is_undecided(byte) and batch.first + index not in offsets:
                    table[index] = GAP

    def reject(self, batch: LentBatch, offsets: Collection[int]) -> None:
        """Reject offsets of which no record can be read."""
        with self._lock:
            for offset in offsets:
                if is_undecided(batch.table[offset - batch.first]):
                    batch.table[offset - batch.first] = Acknowledge.REJECT

    def returned(self, batch: LentBatch, offsets: Iterable[int]) -> None:
        """Note that a poll returns records."""
        with self._lock:
            for offset in offsets:
                batch.table[offset - batch.first] |= RETURNED

    def taken_back(self, batch: LentBatch, offsets: Iterable[int]) -> None:
        """Note that a poll has not returned records: it was interrupted."""
        with self._lock:
            for offset in offsets:
                batch.table[offset - batch.first] &= ~RETURNED & 0xFF

    def give_back(self, batch: LentBatch, offsets: Sequence[int]) -> bool:
        """Note that records were not handed out; False where one of them is decided on."""
        with self._lock:
            if not all(is_open(batch.table[each - batch.first]) for each in offsets):
                return False
            self.taken_back(batch, offsets)
            return True

    def expire(self, batch: LentBatch, offsets: Sequence[int]) -> int:
        """Lose records that no poll has returned in time; return their number."""
        first, last = offsets[0] - batch.first, offsets[-1] - batch.first
        with self._lock:
            if self._now() < min(batch.until(each - batch.first) for each in offsets):
                return 0
            return self._lose(batch, range(first, last + 1), LossCause.LOCK)

    def accept_returned(self) -> bool:
        """Accept returned records without a mark; True if any record has a mark."""
        with self._lock:
            for batch in self._batches:
                self._mark_open(batch, Acknowledge.ACCEPT)
            self._sweep()
            return any(1 in each.table.translate(ONLY_MARKED) for each in self._batches)

    def forget_lost(self) -> bool:
        """Forget lost records without a mark; True if anything has a mark."""
        with self._lock:
            self._batches = [
                each for each in self._batches if 1 in each.table.translate(ONLY_LIVE)
            ]
            return any(1 in each.table.translate(ONLY_MARKED) for each in self._batches)

    def unmarked(self) -> tuple[TopicPartition, int, int] | None:
        """A record that a poll has returned and that has no mark, and how many there are."""
        with self._lock:
            count = 0
            first: tuple[TopicPartition, int] | None = None
            for batch in self._batches:
                table = batch.table.translate(ONLY_OPEN)
                if 1 in table:
                    count += table.count(1)
                    first = first or (batch.partition, batch.first + table.index(1))
            return None if first is None else (*first, count)

    def take_reports(self) -> list[AcknowledgeOutcome]:
        """Take the outcomes of acknowledgements that no call waited for."""
        with self._lock:
            reports, self._reports = self._reports, []
            return reports

    # --- the network thread ------------------------------------------------------------

    def put(self, batches: Sequence[LentBatch]) -> int:
        """Add batches; a newer delivery replaces an older one of the same offsets.

        Returns:
            The number of replaced records.
        """
        with self._lock:
            replaced = 0
            for new in batches:
                for old in self._batches:
                    if old.partition == new.partition:
                        replaced += self._replace(old, new)
            self._batches += batches
            self._sweep()
            return replaced

    def _replace(self, old: LentBatch, new: LentBatch) -> int:
        start, stop = max(old.first, new.first), min(old.last, new.last) + 1
        return (
            0
            if stop <= start
            else self._lose(old, range(start - old.first, stop - old.first), LossCause.REPLACED)
        )

    def report(self, outcome: AcknowledgeOutcome) -> None:
        """Have the next call tell the outcome of acknowledgements."""
        with self._lock:
            self._reports = [*self._reports[1 - MOST_REPORTS :], outcome]

    def take(
        self, node: int, partitions: Collection[TopicPartition] | None = None
    ) -> list[MarkedRun]:
        """Take the marks of a broker's records: they are sent from now on.

        Args:
            node: The broker.
            partitions: Of these alone; None for all.
        """
        with self._lock:
            runs: list[MarkedRun] = []
            for batch in self._batches:
                if batch.node == node and (partitions is None or batch.partition in partitions):
                    runs += batch.marked()
            for run in runs:
                self._stage(run, SENT)
            return runs

    def settle(self, runs: Iterable[MarkedRun], until: float) -> None:
        """The broker has taken acknowledgements; renewed locks end then."""
        with self._lock:
            for run in runs:
                table, batch = run.batch.table, run.batch
                for at, mark in enumerate(run.marks, run.start):
                    if mark == Acknowledge.RENEW and table[at] & STAGE in (HELD, SENT):
                        batch.renewed[at] = until
                    if table[at] & STAGE != SENT:
                        continue  # Lost meanwhile, or decided on.
                    if mark == Acknowledge.RENEW:
                        table[at] &= ~(STAGE | MARK) & 0xFF
                    else:
                        table[at] = table[at] & ~STAGE & 0xFF | DONE
            self._sweep()

    def roll_back(self, runs: Iterable[MarkedRun]) -> None:
        """Nothing has come of acknowledgements: they are to be sent still."""
        with self._lock:
            for run in runs:
                self._stage(run, HELD)

    def not_renewed(self, runs: Iterable[MarkedRun]) -> None:
        """The broker has not renewed locks: the records go on as they are."""
        with self._lock:
            for run in runs:
                for at in range(run.start, run.start + len(run.marks)):
                    if run.batch.table[at] & STAGE == SENT:
                        run.batch.table[at] &= ~(STAGE | MARK) & 0xFF

    def refuse(self, runs: Iterable[MarkedRun], why: LossCause) -> int:
        """The broker has refused acknowledgements: the records are lost, and that is told.

        Returns:
            The number of records.
        """
        with self._lock:
            lost = 0
            for run in runs:
                lost += self._lose(
                    run.batch, range(run.start, run.start + len(run.marks)), why, tell=False
                )
            self._sweep()
            return lost

    def lose(self, which: Callable[[LentBatch], bool], why: LossCause) -> int:
        """Lose held records of some batches; decisions that were not sent are told.

        Returns:
            The number of records.
        """
        with self._lock:
            lost = 0
            for batch in self._batches:
                if which(batch):
                    lost += self._lose(batch, range(len(batch.table)), why)
            self._sweep()
            return lost

    def renew_open(self, node: int, now: float) -> None:
        """Renew the locks of records without a decision, while they last."""
        with self._lock:
            for batch in self._batches:
                if batch.node != node:
                    continue
                for at, byte in enumerate(batch.table):
                    if byte & (STAGE | MARK) == HELD and now < batch.until(at):
                        batch.table[at] = byte | Acknowledge.RENEW

    def release_rest(self, which: Callable[[LentBatch], bool]) -> None:
        """Release held records of some batches without a mark: the consumer leaves."""
        with self._lock:
            for batch in self._batches:
                if which(batch):
                    batch.table[:] = batch.table.translate(RELEASE_REST)

    def renews(self, node: int) -> bool:
        """True if a lock of a broker's record is to be renewed."""
        with self._lock:
            return any(
                Acknowledge.RENEW in run.marks
                for each in self._batches
                if each.node == node
                for run in each.marked()
            )

    def live(self, node: int) -> list[LentBatch]:
        """The batches of a broker of which something is held or sent."""
        with self._lock:
            return [
                each
                for each in self._batches
                if each.node == node and 1 in each.table.translate(ONLY_LIVE)
            ]

    def ends(self, node: int, now: float) -> list[tuple[LentBatch, float]]:
        """The batches of a broker with held records, and when their first lock ends."""
        with self._lock:
            return [
                (each, end)
                for each in self._batches
                if each.node == node and (end := each.next_end(now)) is not None
            ]

    def nodes(self) -> set[int]:
        """The brokers that have marks to be sent."""
        with self._lock:
            return {
                each.node for each in self._batches if 1 in each.table.translate(ONLY_MARKED)
            }

    def marked(self) -> int:
        """Number of records with a mark that no broker has confirmed."""
        with self._lock:
            return sum(
                byte & STAGE in (HELD, SENT)
                and byte & MARK not in (NONE, GAP)
                and byte & (MARK | KEPT) != Acknowledge.RENEW
                for each in self._batches
                for byte in each.table
            )

    def held(self) -> int:
        """Number of records that are held or being acknowledged."""
        with self._lock:
            return sum(each.table.translate(ONLY_LIVE).count(1) for each in self._batches)

    def oldest(self) -> float | None:
        """When the first lock of a held record ends; None without any."""
        with self._lock:
            return min(
                (
                    each.locked_until
                    for each in self._batches
                    if 1 in each.table.translate(ONLY_HELD)
                ),
                default=None,
            )

    # --- within -------------------------------------------------------------------------

    def _stage(self, run: MarkedRun, stage: int) -> None:
        table = run.batch.table
        for at in range(run.start, run.start + len(run.marks)):
            if table[at] & STAGE != LOST:
                table[at] = table[at] & ~STAGE & 0xFF | stage

    def _lose(
        self, batch: LentBatch, indexes: range, why: LossCause, *, tell: bool = True
    ) -> int:
        """Lose records of a batch; decisions that were not sent are told."""
        table, start, stop = batch.table, indexes.start, indexes.stop
        before = bytes(table[start:stop])
        table[start:stop] = before.translate(LOSE)
        lost = [at for at, byte in enumerate(before, start) if byte & STAGE in (HELD, SENT)]
        if lost:
            batch.lost = why
        decided = [at for at, byte in enumerate(before, start) if is_decided(byte)]
        if tell and decided:
            self._note_lost(batch, decided)
        return len(lost)

    def _note_lost(self, batch: LentBatch, indexes: Sequence[int]) -> None:
        why = batch.lost or LossCause.CLOSED
        offsets = tuple(batch.first + each for each in indexes)
        error = InvalidRecordStateException(
            f"{batch.partition} @ {offsets[0]}: {WHY[why]}; it is delivered again, unless its "
            f"deliveries are used up"
        )
        outcome = AcknowledgeOutcome()
        outcome.refuse(batch.partition, offsets, error)
        self.report(outcome)

    def _sweep(self) -> None:
        """Drop batches that are over; lost records without a decision wait for one."""
        self._batches = [
            each
            for each in self._batches
            if 1 in each.table.translate(ONLY_LIVE) or 1 in each.table.translate(ONLY_LOST_OPEN)
        ]

    def __repr__(self) -> str:
        return f"Lent({len(self._batches)} batches)"
