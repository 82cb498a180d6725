"""Subscription of the member, and the partitions that its group has assigned to it.

Thread: both, under the subscription's lock, like all of it.

The application decides on the subscription, the network thread on the resulting assignment.
Each step of the latter is bound to the term of its decision: `unsubscribe` ends the term, and a
decision of an older term changes nothing.

- A partition to give up is marked in the same step as the decision: a poll that has not
  collected yet cannot return records of it.
- One that is new waits until its callback has returned: nothing of it is fetched, so
  that a seek in the callback is where reading begins.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias
from uuid import UUID

from prokurist.config import OffsetReset
from prokurist.errors import IllegalStateException
from prokurist.events.assignment import Assignment
from prokurist.events.partition_state import PartitionState
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


class GroupAssignment(Assignment):
    """The part of `Subscription` with the topics subscribed to and the group's assignment."""

    def __init__(self, policy: OffsetReset) -> None:
        super().__init__(policy)
        self._subscribed: Subscribed | None = None
        self._leaving = False
        self._closing = False
        self._term = 0
        self._version = 0

    # --- the application thread ------------------------------------------------------

    def subscribe(self, wanted: Collection[str] | Pattern, *, listens: bool) -> None:
        """Subscribe to topics or to a pattern.

        Raises:
            IllegalStateException: Partitions were assigned by hand.
        """
        with self._lock:
            if self._partitions and self._subscribed is None:
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
        with self._lock:
            return self._subscribed

    def follows_pattern(self) -> bool:
        """True if the subscription is a pattern, of either kind."""
        subscribed = self.subscribed
        return subscribed is not None and subscribed.pattern is not None

    @property
    def is_used(self) -> bool:
        """True if anything is subscribed to or assigned."""
        with self._lock:
            return self._subscribed is not None or bool(self._partitions)

    def begin_close(self) -> None:
        """Note that `close` has begun: there is no poll any more."""
        with self._lock:
            self._closing = True

    def let_go(self) -> frozenset[TopicPartition]:
        """Return no more records: `unsubscribe` or `close` has begun.

        Returns:
            The partitions that the listener was told of as assigned.
        """
        with self._lock:
            if self._subscribed is None:
                return frozenset()
            self._leaving = True
            self._give_up(self._partitions.values())
            return self._told()

    @property
    def is_leaving(self) -> bool:
        """True from the start of `unsubscribe` or `close` to its end."""
        with self._lock:
            return self._leaving or self._closing

    def hears(self, partitions: Iterable[TopicPartition]) -> None:
        """Note that the listener is about to be called with these as assigned."""
        with self._lock:
            for tp in partitions:
                state = self._partitions.get(tp)
                if state is not None:
                    state.told = True

    def heard(self, partitions: Collection[TopicPartition]) -> None:
        """Remove revoked partitions, once the listener has returned."""
        with self._lock:
            self._keep(
                [
                    tp
                    for tp, state in self._partitions.items()
                    if not (state.giving_up and tp in partitions)
                ]
            )

    def unsubscribe(self) -> None:
        """End the subscription and the assignment."""
        with self._lock:
            self._subscribed, self._leaving = None, False
            self._term += 1
            self._keep(())

    # --- the network thread ----------------------------------------------------------

    def owned(self) -> frozenset[TopicPartition]:
        """The partitions that the group has assigned, until they are revoked."""
        with self._lock:
            return frozenset() if self._subscribed is None else frozenset(self._partitions)

    def told(self) -> frozenset[TopicPartition]:
        """Return the assigned partitions that the listener has been called with."""
        with self._lock:
            return frozenset() if self._subscribed is None else self._told()

    def give_up(self, term: int, partitions: Iterable[TopicPartition]) -> bool:
        """Begin to revoke partitions: no record of them is returned; False for an old term."""
        with self._lock:
            if not self._goes_on(term):
                return False
            self._give_up(self._partitions[tp] for tp in partitions if tp in self._partitions)
            return True

    def lose(self, term: int) -> frozenset[TopicPartition] | None:
        """Return no record any more: all partitions may be other members' by now.

        Returns:
            The partitions that the listener was told of as assigned; None for an old term, and
            where `unsubscribe` or `close` tells of them.
        """
        with self._lock:
            if not self._goes_on(term):
                return None
            self._give_up(self._partitions.values())
            for state in self._partitions.values():
                state.forget_done()
            return self._told()

    def drop(self, term: int, partitions: Collection[TopicPartition]) -> bool:
        """Remove partitions; False when the term is over."""
        with self._lock:
            if not self._goes_on(term):
                return False
            self._keep([tp for tp in self._partitions if tp not in partitions])
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
        with self._lock:
            if not self._goes_on(term):
                return False
            self.steady.off()
            for tp in partitions:
                state = self._partitions.setdefault(tp, PartitionState(self._ticket()))
                state.awaiting = awaiting
                state.told = state.told or not awaiting
                state.topic = ids.get(tp, state.topic)
                state.by_id = tp in ids
            self._generation += 1
            return True

    def begin(self, term: int, partitions: Iterable[TopicPartition]) -> bool:
        """Read added partitions after their callback; False when the term is over."""
        with self._lock:
            if not self._goes_on(term):
                return False
            for tp in partitions:
                state = self._partitions.get(tp)
                if state is not None:
                    state.awaiting = False
            return True

    def matched(self, version: int, topics: Collection[str]) -> bool:
        """Set the topics that match the pattern; return True if they have changed.

        Args:
            version: The version of the subscription that they matched.
            topics: The topics.
        """
        with self._lock:
            now = self._subscribed
            if now is None or now.version != version or now.topics == frozenset(topics):
                return False
            self._version += 1
            self._subscribed = replace(now, version=self._version, topics=frozenset(topics))
            return True

    # --- inside: the lock is held ----------------------------------------------------

    def _goes_on(self, term: int) -> bool:
        now = self._subscribed
        return now is not None and now.term == term and not self._leaving

    def _told(self) -> frozenset[TopicPartition]:
        return frozenset(tp for tp, state in self._partitions.items() if state.told)

    def _give_up(self, states: Iterable[PartitionState]) -> None:
        self.steady.off()
        for state in states:
            state.giving_up = True
            state.replaced = False

    def _keep(self, partitions: Collection[TopicPartition]) -> None:
        self.steady.off()
        self._stale = self._stale or any(
            state.asked
            for tp, state in self._partitions.items()
            if state.missing and tp not in partitions
        )
        self._partitions = {
            tp: state for tp, state in self._partitions.items() if tp in partitions
        }
        self._generation += 1
