"""Reconciles the partitions that a member owns with its target assignment.

Thread: the network thread alone.

First all missing partitions are revoked, then all new ones are taken; changes of the target
meanwhile come after that. A topic with an unknown name delays its own partitions, and no
others. When the listener has raised an error, it stops in place, and the next poll tries again.

Whenever the target has changed, and nothing is left to be revoked, the owned partitions are
sent to the coordinator, even if they are the same as before: it may have assigned us some
meanwhile, and gives those to no other member until it hears that we do not own them. That holds
as well where the listener refuses new partitions: others do not wait for that.

A partition of our target is no other member's until we report that we do not own it, and a list
without it counts as that report. So a list sent while partitions are being taken, as everything
is sent again after an error, contains them: their callback may be running.

A partition is held by the id of its topic: a topic that was deleted and made again is
another one, even under the same name. Where brokers give an id another name, what is held
under the former one is given back. So each pass takes something from what is held, or adds
to what is read, which is a part of it; with nothing left of either the work is done.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from uuid import UUID

from prokurist.errors import KafkaException
from prokurist.network_thread.membership.membership import Transitions
from prokurist.network_thread.membership.topic_names import TopicNames
from prokurist.network_thread.operations.operation import Operation, Withdrawn
from prokurist.network_thread.operations.rounds import Rounds
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.consumer_group import TopicIdPartitions
from prokurist.types import TopicPartition

Target = frozenset[tuple[UUID, int]]


class ReconcileOutcome(Enum):
    """Results of a reconciliation."""

    SETTLED = "settled"
    """Nothing is left to be done, for now."""
    STUCK = "stuck"
    """The listener has raised something."""


class Reconciler:
    """Brings the owned partitions to the target assignment, one operation at a time.

    Args:
        transitions: How partitions change hands.
        names: Of topics.
        timer: The Timer.
        settled: Called when nothing is left to be done, for now; and with whether the
            coordinator has wanted anything else since the last time.
        stuck: Called when the listener has raised something; with whether there is
            something to tell the coordinator, as above.
    """

    def __init__(
        self,
        transitions: Transitions,
        names: TopicNames,
        timer: Timer,
        settled: Callable[[bool], None],
        stuck: Callable[[bool], None],
    ) -> None:
        self._transitions = transitions
        self._names = names
        self._timer = timer
        self._settled = settled
        self._stuck = stuck
        self._term = 0
        self._target: Target = frozenset()
        self._held: dict[TopicPartition, UUID] = {}
        self._read: set[TopicPartition] = set()
        self._refused: Target = frozenset()
        self._is_new = self._greeted = True
        self._is_changed = False
        self._work: Operation[ReconcileOutcome] | None = None

    def begin(self, term: int) -> None:
        """Begin a membership, without any partitions."""
        self.stop()
        self._term = term
        self._target = frozenset()
        self._held.clear()
        self._read.clear()
        self._refused = frozenset()
        self._is_new = self._greeted = True
        self._is_changed = False

    def stop(self) -> None:
        """Stop the operation under way."""
        self._names.stop()
        work, self._work = self._work, None
        if work is not None:
            work.throw(Withdrawn("the membership is over"))

    def aim(self, assignment: tuple[TopicIdPartitions, ...]) -> None:
        """Set the target assignment."""
        if self._is_new:
            # The first assignment: the listener is called even if it is empty.
            self._is_new, self._greeted = False, bool(assignment)
        target = frozenset(
            (each.topic_id, number) for each in assignment for number in each.partitions
        )
        self._is_changed = self._is_changed or target != self._target
        self._target = target
        self._refused &= target
        if not self.is_working and not self.is_needed:
            self._settle()
        self.go_on()

    def go_on(self) -> None:
        """Start an operation for the remaining changes, if none is running."""
        if self._work is None and self.is_needed:
            work = Operation(self._reconcile(), "reconciliation", self._ended)
            self._work = None if work.ended else work

    @property
    def is_needed(self) -> bool:
        """True if anything can be done towards the target."""
        return not self._greeted or self._named().keys() != self._read or bool(self._gone())

    @property
    def is_working(self) -> bool:
        """True while an operation is running."""
        return self._work is not None

    @property
    def lacks_names(self) -> bool:
        """True if names of the target's topics are being looked up."""
        return self._names.lacking

    def owned(self) -> tuple[TopicIdPartitions, ...]:
        """Return the owned partitions, to be sent when they change.

        Partitions count as owned until their revocation has ended, even if they were not sent
        yet.
        """
        return by_topics(self._owned())

    def owned_or_coming(self) -> tuple[TopicIdPartitions, ...]:
        """Return them with those being taken, unless the listener has refused these."""
        return by_topics(self._owned() | (self._target - self._refused))

    # --- the work --------------------------------------------------------------------

    async def _reconcile(self) -> ReconcileOutcome:
        revoked = False
        rounds = Rounds(self._timer, "reconciliation")
        while self.is_needed:
            rounds.count()
            gone = self._gone()
            if gone:
                if not await self._transitions.revoke(self._term, gone):
                    return ReconcileOutcome.STUCK
                for tp in gone:
                    del self._held[tp]
                self._read -= gone
                revoked = True
                continue
            named = self._named()
            new = {tp: each for tp, each in named.items() if tp not in self._read}
            self._held.update(new)
            self._refused = frozenset()
            coming = frozenset(new)
            if not await self._transitions.take(self._term, coming, new, revoked=revoked):
                self._refused = frozenset((each, tp.partition) for tp, each in new.items())
                return ReconcileOutcome.STUCK
            self._greeted = True
            self._read.update(new)
        return ReconcileOutcome.SETTLED

    def _ended(self, outcome: ReconcileOutcome | None, error: KafkaException | None) -> None:
        self._work = None
        if error is not None:
            if not isinstance(error, Withdrawn):
                raise AssertionError("reconciling meets no errors of its own") from error
        elif outcome is ReconcileOutcome.SETTLED:
            self._settle()
        else:
            self._stuck(not self._gone() and self._has_changed())

    def _settle(self) -> None:
        self._settled(self._has_changed())

    def _has_changed(self) -> bool:
        """Return True once after the target has changed."""
        changed, self._is_changed = self._is_changed, False
        return changed

    def _owned(self) -> Target:
        return frozenset((self._held[tp], tp.partition) for tp in self._read | self._gone())

    def _gone(self) -> frozenset[TopicPartition]:
        """The partitions to be revoked: not in the target, or there by another name.

        The name may be another topic's of the target by now.
        """
        named = self._named()
        return frozenset(tp for tp, each in self._held.items() if named.get(tp) != each)

    def _named(self) -> Mapping[TopicPartition, UUID]:
        """Return the target's partitions with known topic names; look the others up."""
        ids = {each for each, _ in self._target}
        names = self._names.of(ids | set(self._held.values()))
        self._names.want(ids - names.keys())
        return {
            TopicPartition(names[each], number): each
            for each, number in self._target
            if each in names
        }

    def __repr__(self) -> str:
        at_it = ", changing hands" * self.is_working
        return f"Reconciler({len(self._read)} owned, {len(self._target)} wanted{at_it})"


def by_topics(partitions: Target) -> tuple[TopicIdPartitions, ...]:
    """Partitions as heartbeats send them."""
    by_topic: dict[UUID, list[int]] = {}
    for each, number in sorted(partitions):
        by_topic.setdefault(each, []).append(number)
    return tuple(TopicIdPartitions(each, tuple(numbers)) for each, numbers in by_topic.items())
