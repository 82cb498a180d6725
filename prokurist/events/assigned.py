"""Subscription of a member, and its assigned partitions: the table that both threads share.

Thread: both, under `lock`, held for a few assignments and never while anything is called.
Every method is one such step, and returns copies.

The table holds a row for each assigned partition. A client with positions has rows with more
in them: `Positions` and `Committable` work on the same rows under the same lock, so that a
partition goes with all that is known of it in one step.

The application decides on the subscription, the network thread on the resulting assignment.
Each step of the latter is bound to the term of its decision: `unsubscribe` ends the term, and a
decision of an older term changes nothing.

- A partition to give up is marked in the same step as the decision: a poll that has not
  collected yet cannot return records of it.
- One that is new waits until its callback has returned: nothing of it is fetched, so
  that a seek in the callback is where reading begins.
"""

import re
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, Generic, TypeAlias, TypeVar
from uuid import UUID

from prokurist.errors import IllegalStateException
from prokurist.events.hand import Steady, make_steady
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import SubscriptionPattern, TopicPartition

Pattern: TypeAlias = re.Pattern[str] | SubscriptionPattern

NO_IDS: Final[Mapping[TopicPartition, UUID]] = MappingProxyType({})
"""A group that gives partitions by their names alone."""


@dataclass(frozen=True, slots=True)
class Subscribed:
    """The topics or the pattern that is subscribed to.

    Attributes:
        term: Grows with each `unsubscribe`.
        version: Grows with each `subscribe`, and with each new topic that a pattern
            of ours matches.
        topics: The topics by name; of a `re.Pattern`, those that match it.
        pattern: The pattern of topics: a `re.Pattern` matched here, a `SubscriptionPattern`
            matched by the broker; None for names.
        listens: True if there is a listener.
    """

    term: int
    version: int
    topics: frozenset[str]
    pattern: Pattern | None
    listens: bool


@dataclass(frozen=True, slots=True)
class AssignedPartition:
    """A partition for as long as it stays assigned.

    Attributes:
        born: The ticket of its assignment.
    """

    partition: TopicPartition
    born: int


@dataclass(frozen=True, slots=True)
class SubscribedTopic:
    """A topic for as long as it is subscribed to.

    Attributes:
        term: Of the subscription.
    """

    topic: str
    term: int


class AssignedState:
    """Row of one assigned partition.

    Thread: either, holding the lock of the `Assigned` that owns it.

    Attributes:
        born: The ticket of its assignment.
        giving_up: True while the group takes it back: no record of it is returned or fetched
            any more.
        replaced: True if it is given up only because metadata name another topic, perhaps of a
            broker that lags.
        awaiting: True from the assignment until its callback has returned: nothing of it is
            fetched yet.
        told: True once the listener has heard of its assignment, or need not.
        topic: The id of its topic; None while that is not known.
        by_id: True if the group has given it by that id, and not by its name.
    """

    __slots__ = ("awaiting", "born", "by_id", "giving_up", "replaced", "told", "topic")

    def __init__(self, ticket: int) -> None:
        self.born: int = ticket
        self.giving_up: bool = False
        self.replaced: bool = False
        self.awaiting: bool = False
        self.told: bool = False
        self.topic: UUID | None = None
        self.by_id: bool = False

    @property
    def is_held_back(self) -> bool:
        """True during a revocation, or before the callback: nothing is fetched."""
        return self.giving_up or self.awaiting

    @property
    def awaits_answer(self) -> bool:
        """True while `poll` awaits an answer about it; False without positions."""
        return False

    def give_up(self) -> None:
        """Return no record of it any more."""
        self.giving_up = True
        self.replaced = False

    def lose(self) -> None:
        """Give it up at once: another member may own it by now."""
        self.give_up()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.born}{', given up' * self.giving_up})"


RowT_co = TypeVar("RowT_co", bound=AssignedState, covariant=True)


class Assigned(Generic[RowT_co]):
    """The subscription, and a row for each assigned partition.

    Args:
        row: Makes the row of a partition from the ticket of its assignment.

    Attributes:
        lock: Guards the table and every row of it.
        rows: The rows, in the order of the assignment; only with the lock held.
        stale: True if a partition has gone while `poll` awaited an answer about it.
        generation: Grows with each new assignment.
        steady: The iteration's fast path, which skips a look here. Any obstacle for its
            partition ends it first.
    """

    def __init__(self, row: Callable[[int], RowT_co]) -> None:
        self._make_row = row
        self.lock: threading.RLock = threading.RLock()
        self.rows: dict[TopicPartition, RowT_co] = {}
        self.stale: bool = False
        self.generation: int = 0
        self.steady: Steady = make_steady()
        self._tickets = 0
        self._subscribed: Subscribed | None = None
        self._leaving = False
        self._closing = False
        self._term = 0
        self._version = 0

    # --- the application thread ------------------------------------------------------

    def assign(self, partitions: Collection[TopicPartition]) -> bool:
        """Assign these partitions and no others; those that stay keep their rows.

        Returns:
            True if that changes anything.

        Raises:
            IllegalStateException: Topics are subscribed to.
        """
        with self.lock:
            if self._subscribed is not None:
                raise IllegalStateException(
                    "assign while topics are subscribed to: one consumer does one or the "
                    "other; call unsubscribe() before"
                )
            if partitions and set(partitions) == set(self.rows):
                return False
            changed = bool(partitions) or bool(self.rows)
            self._note_stale(partitions)
            self.rows = {tp: self.rows.get(tp) or self.new_row() for tp in partitions}
            self.generation += 1
            return changed

    def subscribe(self, wanted: Collection[str] | Pattern, *, listens: bool) -> None:
        """Subscribe to topics or to a pattern.

        Raises:
            IllegalStateException: Partitions were assigned by hand.
        """
        with self.lock:
            if self.rows and self._subscribed is None:
                raise IllegalStateException(
                    "subscribe while partitions are assigned by hand: one consumer does one "
                    "or the other; call unsubscribe() before"
                )
            pattern: Pattern | None = None
            topics = frozenset[str]()
            if isinstance(wanted, re.Pattern | SubscriptionPattern):
                pattern = wanted
            else:
                topics = frozenset(wanted)
            before = self._subscribed
            if before is not None and pattern is not None and before.pattern == pattern:
                topics = before.topics
            self._version += 1
            self._subscribed = Subscribed(self._term, self._version, topics, pattern, listens)

    @property
    def subscribed(self) -> Subscribed | None:
        """The present subscription; None without one."""
        with self.lock:
            return self._subscribed

    def follows_pattern(self) -> bool:
        """True if the subscription is a pattern, of either kind."""
        subscribed = self.subscribed
        return subscribed is not None and subscribed.pattern is not None

    @property
    def is_used(self) -> bool:
        """True if anything is subscribed to or assigned."""
        with self.lock:
            return self._subscribed is not None or bool(self.rows)

    def begin_close(self) -> None:
        """Note that `close` has begun: there is no poll any more."""
        with self.lock:
            self._closing = True

    def let_go(self) -> frozenset[TopicPartition]:
        """Return no more records: `unsubscribe` or `close` has begun.

        Returns:
            The partitions that the listener was told of as assigned.
        """
        with self.lock:
            if self._subscribed is None:
                return frozenset()
            self._leaving = True
            self.steady.off()
            for state in self.rows.values():
                state.give_up()
            return self._told()

    @property
    def is_leaving(self) -> bool:
        """True from the start of `unsubscribe` or `close` to its end."""
        with self.lock:
            return self._leaving or self._closing

    def hears(self, partitions: Iterable[TopicPartition]) -> None:
        """Note that the listener is about to be called with these as assigned."""
        with self.lock:
            for tp in partitions:
                state = self.rows.get(tp)
                if state is not None:
                    state.told = True

    def heard(self, partitions: Collection[TopicPartition]) -> None:
        """Remove revoked partitions, once the listener has returned."""
        with self.lock:
            self._keep(
                [
                    tp
                    for tp, state in self.rows.items()
                    if not (state.giving_up and tp in partitions)
                ]
            )

    def unsubscribe(self) -> None:
        """End the subscription and the assignment."""
        with self.lock:
            self._subscribed, self._leaving = None, False
            self._term += 1
            self._keep(())

    # --- any thread ------------------------------------------------------------------

    def partitions(self) -> frozenset[TopicPartition]:
        """The partitions that are assigned now."""
        with self.lock:
            return frozenset(self.rows)

    def topics(self) -> frozenset[str]:
        """The topics of assigned partitions, and those subscribed to."""
        with self.lock:
            asked = self._subscribed
            topics = frozenset(tp.topic for tp in self.rows)
            return topics if asked is None else topics | asked.topics

    def still_wanted(self, wanted: AssignedPartition | SubscribedTopic) -> bool:
        """True if a partition is still assigned, or a topic still subscribed to."""
        with self.lock:
            if isinstance(wanted, AssignedPartition):
                state = self.rows.get(wanted.partition)
                return state is not None and state.born == wanted.born
            asked = self._subscribed
            return (
                asked is not None and asked.term == wanted.term and wanted.topic in asked.topics
            )

    # --- the network thread ----------------------------------------------------------

    def held(self, topics: Collection[str]) -> frozenset[AssignedPartition | SubscribedTopic]:
        """Return assigned partitions of some topics, and those of the topics subscribed to."""
        with self.lock:
            asked = self._subscribed
            held: set[AssignedPartition | SubscribedTopic] = {
                AssignedPartition(tp, state.born)
                for tp, state in self.rows.items()
                if tp.topic in topics
            }
            if asked is not None:
                held.update(
                    SubscribedTopic(each, asked.term) for each in asked.topics & set(topics)
                )
            return frozenset(held)

    def owned(self) -> frozenset[TopicPartition]:
        """The partitions that the group has assigned, until they are revoked."""
        with self.lock:
            return frozenset() if self._subscribed is None else frozenset(self.rows)

    def told(self) -> frozenset[TopicPartition]:
        """Return the assigned partitions that the listener has been called with."""
        with self.lock:
            return frozenset() if self._subscribed is None else self._told()

    def give_up(self, term: int, partitions: Iterable[TopicPartition]) -> bool:
        """Begin to revoke partitions: no record of them is returned; False for an old term."""
        with self.lock:
            if not self._goes_on(term):
                return False
            self.steady.off()
            for tp in partitions:
                if (state := self.rows.get(tp)) is not None:
                    state.give_up()
            return True

    def lose(self, term: int) -> frozenset[TopicPartition] | None:
        """Return no record any more: all partitions may be other members' by now.

        Returns:
            The partitions that the listener was told of as assigned; None for an old term, and
            where `unsubscribe` or `close` tells of them.
        """
        with self.lock:
            if not self._goes_on(term):
                return None
            self.steady.off()
            for state in self.rows.values():
                state.lose()
            return self._told()

    def drop(self, term: int, partitions: Collection[TopicPartition]) -> bool:
        """Remove partitions; False when the term is over."""
        with self.lock:
            if not self._goes_on(term):
                return False
            self._keep([tp for tp in self.rows if tp not in partitions])
            return True

    def add(
        self,
        term: int,
        partitions: Iterable[TopicPartition],
        *,
        awaiting: bool,
        ids: Mapping[TopicPartition, UUID] = NO_IDS,
    ) -> bool:
        """Add assigned partitions; False when the term is over.

        Args:
            term: The term of that decision.
            partitions: The partitions.
            awaiting: True if they are fetched only after their callback.
            ids: Topic ids, where the group assigns by id.
        """
        with self.lock:
            if not self._goes_on(term):
                return False
            self.steady.off()
            for tp in partitions:
                state = self.rows.setdefault(tp, self.new_row())
                state.awaiting = awaiting
                state.told = state.told or not awaiting
                state.topic = ids.get(tp, state.topic)
                state.by_id = tp in ids
            self.generation += 1
            return True

    def begin(self, term: int, partitions: Iterable[TopicPartition]) -> bool:
        """Read added partitions after their callback; False when the term is over."""
        with self.lock:
            if not self._goes_on(term):
                return False
            for tp in partitions:
                state = self.rows.get(tp)
                if state is not None:
                    state.awaiting = False
            return True

    def matched(self, version: int, topics: Collection[str]) -> bool:
        """Set the topics that match the pattern; return True if they have changed.

        Args:
            version: The version of the subscription that they matched.
            topics: The topics.
        """
        with self.lock:
            now = self._subscribed
            if now is None or now.version != version or now.topics == frozenset(topics):
                return False
            self._version += 1
            self._subscribed = replace(now, version=self._version, topics=frozenset(topics))
            return True

    # --- for those that share the rows: the lock is held -----------------------------

    def new_ticket(self) -> int:
        """Issue a ticket: it is greater than all before."""
        self._tickets += 1
        return self._tickets

    def new_row(self) -> RowT_co:
        """Make a row under a new ticket."""
        return self._make_row(self.new_ticket())

    def row(self, tp: TopicPartition, what: str) -> RowT_co:
        """The row of a partition, for a call named `what`.

        Raises:
            IllegalStateException: The partition is not assigned.
        """
        state = self.rows.get(tp)
        if state is None:
            raise IllegalStateException(
                f"{what} of {tp}, which is not assigned to this consumer: assign it first"
            )
        return state

    # --- inside: the lock is held ----------------------------------------------------

    def _goes_on(self, term: int) -> bool:
        now = self._subscribed
        return now is not None and now.term == term and not self._leaving

    def _told(self) -> frozenset[TopicPartition]:
        return frozenset(tp for tp, state in self.rows.items() if state.told)

    def _note_stale(self, kept: Collection[TopicPartition]) -> None:
        self.stale = self.stale or any(
            state.awaits_answer for tp, state in self.rows.items() if tp not in kept
        )

    def _keep(self, partitions: Collection[TopicPartition]) -> None:
        self.steady.off()
        self._note_stale(partitions)
        self.rows = {tp: state for tp, state in self.rows.items() if tp in partitions}
        self.generation += 1

    def __repr__(self) -> str:
        return f"Assigned({len(self.rows)} partitions)"


AnyAssigned: TypeAlias = Assigned[AssignedState]
"""The subscription and the assignment, for code without positions."""
