"""Transitions of partitions with positions: the steps for each, and their order.

Thread: the network thread alone. Each waits for the application, which may be computing, or for
the coordinator.

Revoke: no more records are returned; with auto-commit the positions at the next poll are
    committed; the listener is called; offsets that it stored are committed; the partitions are
    removed. Take: the partitions are assigned, with auto-commit once the positions of the
    others are on their way to the coordinator; the listener is called; then they are read.
    Lose: as revoke, without any commit, for other members may own them already.
"""

from collections.abc import Mapping
from uuid import UUID

from prokurist.errors import KafkaException
from prokurist.events.application_events import AutoCommit, StepDone
from prokurist.events.assigned import NO_IDS, AnyAssigned
from prokurist.events.background_events import Step, StepKind
from prokurist.events.group_log_events import (
    PARTITIONS_ASSIGNED,
    PARTITIONS_LOST,
    PARTITIONS_REVOKED,
)
from prokurist.events.trace import EventKind, Trace
from prokurist.network_thread.membership.application_steps import ApplicationSteps
from prokurist.network_thread.membership.membership import Partitions
from prokurist.network_thread.offsets.background_commit import BackgroundCommits
from prokurist.network_thread.operations.operation import Operation, Promise, Withdrawn
from prokurist.network_thread.operations.signal import Signal
from prokurist.network_thread.operations.timer import Timer
from prokurist.types import TopicPartition


class CommittingTransitions:
    """The `Transitions` of a consumer with commits, for both protocols.

    Args:
        assigned: The assigned partitions.
        steps: The way to the application thread.
        auto: Commits the positions of revoked partitions.
        auto_commit: True if positions are committed before a revocation.
        timer: The Timer.
        patience: Seconds for that commit: the group waits no longer than this.
        changed: Emitted when something is assigned, or is not any more.
        trace: The client's trace.
    """

    def __init__(
        self,
        assigned: AnyAssigned,
        steps: ApplicationSteps,
        auto: BackgroundCommits,
        timer: Timer,
        patience: float,
        changed: Signal[()],
        trace: Trace,
        *,
        auto_commit: bool,
    ) -> None:
        self._trace = trace
        self._assigned = assigned
        self._steps = steps
        self._auto = auto
        self._auto_commit = auto_commit
        self._timer = timer
        self._patience = patience
        self._changed = changed
        self._told_lost = False

    async def revoke(self, term: int, partitions: Partitions) -> bool:
        """See `Transitions`."""
        if not self._assigned.give_up(term, partitions):
            return False
        self._changed.emit()
        heard = partitions & self._assigned.told()
        if heard and self._auto_commit:
            await self._commit_owned()
        if heard and self._steps.is_heard:
            told = await self._steps.heard(StepKind.REVOKED, heard)
            await self._commit_in(told)
            if told.error is not None:
                return False
        self._tell(PARTITIONS_REVOKED, partitions)
        return self._drop(term, partitions)

    async def take(
        self,
        term: int,
        partitions: Partitions,
        ids: Mapping[TopicPartition, UUID] = NO_IDS,
        *,
        revoked: bool = False,
    ) -> bool:
        """See `Transitions`; a revocation has committed the kept positions."""
        if partitions and not revoked and self._auto_commit and (kept := self._assigned.told()):
            # The next poll commits them, and nothing waits for the answer.
            await self._steps.made(Step(StepKind.COMMIT, kept))
        awaiting = self._steps.is_heard
        if not self._assigned.add(term, partitions, awaiting=awaiting, ids=ids):
            return False
        self._tell(PARTITIONS_ASSIGNED, partitions)
        self._told_lost = False
        self._changed.emit()
        if awaiting:
            if not await self._steps.tell(StepKind.ASSIGNED, partitions):
                return False
            return self.begin(term, partitions)
        return True

    def begin(self, term: int, partitions: Partitions) -> bool:
        """See `Transitions`."""
        begun = self._assigned.begin(term, partitions)
        if begun:
            # A poll that waits already has looked for their positions before.
            self._changed.emit()
        return begun

    async def lose(self, term: int) -> None:
        """See `Transitions`."""
        owned = self._assigned.owned()
        heard = self._assigned.lose(term)
        self._changed.emit()
        if heard is None:
            return  # The application has left meanwhile, and `tell_left` says as what.
        self._tell(PARTITIONS_LOST, owned)
        self._told_lost = True
        if heard:
            await self._steps.tell(StepKind.LOST, heard)
        self._drop(term, self._assigned.owned())

    def tell_left(self, partitions: Partitions, *, lost: bool) -> None:
        """Emit the partitions of a member that has left, as the listener heard of them."""
        if not lost:
            self._tell(PARTITIONS_REVOKED, partitions)
        elif not self._told_lost:
            self._tell(PARTITIONS_LOST, partitions)
        self._told_lost = False

    def _tell(self, kind: EventKind, partitions: Partitions) -> None:
        if partitions:
            self._trace.emit(kind, partitions=partitions, count=len(partitions))

    def _drop(self, term: int, partitions: Partitions) -> bool:
        dropped = self._assigned.drop(term, partitions)
        self._changed.emit()
        return dropped

    async def _commit_owned(self) -> None:
        """Commit the positions at the next poll, of all that is owned.

        It is one request, and kept partitions are safe with it.
        """
        owned = self._assigned.told()
        await self._commit_in(await self._steps.made(Step(StepKind.POSITIONS, owned)))

    async def _commit_in(self, done: StepDone) -> None:
        """Make the commit that a step of the application asks for."""
        if isinstance(done.answer, AutoCommit):
            await self._commit(done.answer)

    async def _commit(self, commit: AutoCommit) -> None:
        """Commit until the coordinator has it, it refuses, or the rebalance cannot wait."""
        ended = Promise[KafkaException | None]()

        def done(committed: object, error: KafkaException | None) -> None:
            if error is None:
                commit.call.finish(committed)
            else:
                commit.call.fail(error)
            ended.keep(error)

        self._auto.overtake(commit.offsets)
        operation = Operation(
            self._auto.commit(commit),
            "the commit before a revocation",
            done,
        )
        due = self._timer.after(
            self._patience,
            "the commit before a revocation",
            lambda: operation.throw(Withdrawn("the group waits no longer")),
        )
        ended.on_forsaken = lambda: operation.throw(Withdrawn("the membership is over"))
        try:
            await ended
        finally:
            self._timer.cancel(due)

    def __repr__(self) -> str:
        return f"CommittingTransitions({self._assigned})"
