"""The lag of groups, in one call of several steps.

Thread: any application thread.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from prokurist.admin.arguments import named
from prokurist.admin.calls import AdminCalls
from prokurist.admin.groups import GROUPS, each_once
from prokurist.admin.results import Results, listing_of
from prokurist.application.driving import Steps
from prokurist.errors import (
    IllegalStateException,
    KafkaException,
    TimeoutException,
    UnknownTopicOrPartitionException,
)
from prokurist.events.admin.groups import GroupOffsetsToFetch, GroupsToDescribe, GroupsToList
from prokurist.events.admin.items_call import Outcome
from prokurist.events.admin.records import OffsetsToList
from prokurist.events.admin.topics import TopicsToDescribe
from prokurist.events.admin.work import Work
from prokurist.events.clock import Deadline
from prokurist.types import TopicPartition
from prokurist.types.groups import Group, GroupKind, PartitionLag
from prokurist.types.records import OffsetSpec

LAG = "lag"
READING = frozenset(
    {GroupKind.CLASSIC.value, GroupKind.CONSUMER.value, GroupKind.STREAMS.value}
)
"""Kinds of groups that commit an offset for each partition."""
CONNECT = "connect"

Rows: TypeAlias = dict[TopicPartition, Outcome]
"""The partitions of a group."""


class Span(NamedTuple):
    """The time of a call of several steps.

    Attributes:
        began: When it began.
        deadline: Its deadline.
        shared: True to give each step half of the time that is left: a broker that is silent
            leaves the others their answers. False for all of it; errors name that.
    """

    began: float
    deadline: Deadline
    shared: bool

    def of_a_step(self, now: float) -> Deadline:
        """The deadline of a step that begins now."""
        return (
            Deadline(now + self.deadline.remaining(now) / 2) if self.shared else self.deadline
        )


class GroupLags(Results[str, Results[TopicPartition, PartitionLag]]):
    """The lag of groups, by group and partition; each partition has an error of its own."""

    __slots__ = ()

    def total(self, group: str) -> int:
        """The lag of a group in all its partitions.

        Raises:
            AdminException: The lag in some partition is not known.
            KafkaException: The group's is not.
        """
        return sum(each.lag for each in self[group].check().values())


class Lag(AdminCalls):
    """The call of `KafkaAdmin` for the lag of groups."""

    def lag(
        self,
        groups: Iterable[str] | None = None,
        *,
        read_committed: bool = False,
        newest: bool = False,
        timeout: float | timedelta | None = None,
    ) -> GroupLags:
        """Return the lag of groups in the partitions that they read.

        Partitions are those with a committed offset, those that members have, and those of
        topics that members subscribe to by name. Offsets within open transactions count as not
        committed yet. A share group has its lag in its own offsets, and is an error here.
        A broker that is silent keeps its own groups and partitions waiting, and no others.

        Args:
            groups: Their names; None for all groups that commit offsets.
            read_committed: True if a log ends where the first open transaction begins.
            newest: True to look the greatest timestamp of each log up as well.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            A row for each partition of each group; `total(group)` sums them up.

        Raises:
            IncompleteListingException: All groups were meant, and a broker has not answered.
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        names = None if groups is None else named("groups", groups, example=GROUPS)
        steps = self._lag(names, timeout, read_committed=read_committed, newest=newest)
        return self._run(steps)

    def _lag(
        self,
        names: list[str] | None,
        timeout: float | timedelta | None,
        *,
        read_committed: bool,
        newest: bool,
    ) -> Steps[GroupLags]:
        began = self._clock.now()
        deadline = Deadline.after(began, self._default if timeout is None else timeout)
        first, last = Span(began, deadline, shared=True), Span(began, deadline, shared=False)
        if names is None:
            names = yield from self._reading_groups(last)
        question = partial(self._rows, read_committed=read_committed, newest=newest)
        rows = yield from question(names, first)
        # What a silent broker keeps waiting is asked for again, when all else is there.
        late = [name for name, each in rows.items() if is_late(each)]
        again = (yield from question(late, last)) if late else {}
        rows |= {name: merged(rows[name], each) for name, each in again.items()}
        return GroupLags(
            LAG,
            {
                name: Outcome(error=each)
                if isinstance(each, KafkaException)
                else Outcome(Results(f"lag of {name}", each))
                for name, each in rows.items()
            },
        )

    def _rows(
        self, names: Iterable[str], span: Span, *, read_committed: bool, newest: bool
    ) -> Steps[dict[str, KafkaException | Rows]]:
        """The rows of each group, or its error."""
        items = dict.fromkeys(names)
        described = yield from self._step(GroupsToDescribe(items), span)
        readers = {name: None for name in items if refusal_of(described[name]) is None}
        offsets = yield from self._step(GroupOffsetsToFetch(readers), span)
        subscribed = yield from self._partitions(described, readers, span)
        unknown = {
            tp: found for each in subscribed.values() for tp, found in each.items() if found
        }
        parts: dict[str, dict[TopicPartition, Outcome]] = {}
        for name in readers:
            committed = offsets[name].value if offsets[name].error is None else {}
            # A partition of a group is written once, whatever it is there for.
            wanted = dict.fromkeys([*committed, *members_of(described[name].value)])
            for topic in subscribed_topics(described[name].value):
                wanted |= dict.fromkeys(subscribed.get(topic, ()))
            parts[name] = {
                tp: unknown.get(tp) or committed.get(tp, Outcome()) for tp in sorted(wanted)
            }
        every = dict.fromkeys(tp for each in parts.values() for tp in each)
        logs = yield from self._logs(every, span, read_committed=read_committed, newest=newest)
        rows: dict[str, KafkaException | Rows] = {}
        for name in items:
            error = refusal_of(described[name])
            if error is None and offsets[name].error is not None:
                error = offsets[name].error
            if error is not None:
                rows[name] = error
                continue
            holders = members_of(described[name].value)
            rows[name] = {
                tp: row_of(holders.get(tp), committed, [log[tp] for log in logs])
                for tp, committed in parts[name].items()
            }
        return rows

    def _step(self, work: Work, span: "Span") -> Steps[Mapping[Any, Outcome]]:
        """Ask one of the questions of the call; none of no items."""
        if not work.items:
            return {}
        deadline = span.of_a_step(self._clock.now())
        return (yield from self._ask(LAG, work, deadline, span.began))

    def _reading_groups(self, span: "Span") -> Steps[list[str]]:
        """List the groups that commit offsets."""
        work = GroupsToList(READING, frozenset(), frozenset())
        outcomes = each_once((yield from self._ask(LAG, work, span.deadline, span.began)))
        found = listing_of(LAG, outcomes, partial=False)
        return [each.group_id for each in found if each.protocol_type != CONNECT]

    def _partitions(
        self, described: Mapping[str, Outcome], readers: Iterable[str], span: "Span"
    ) -> Steps[dict[str, dict[TopicPartition, Outcome | None]]]:
        """The partitions of topics that members subscribe to; none of one that is gone.

        The first partition of a topic that could not be described has the error.
        """
        topics: dict[str | UUID, None] = {
            topic: None
            for name in readers
            for topic in subscribed_topics(described[name].value)
        }
        outcomes = yield from self._step(TopicsToDescribe(topics), span)
        found: dict[str, dict[TopicPartition, Outcome | None]] = {}
        for topic, outcome in outcomes.items():
            if outcome.error is None:
                partitions = [each.partition for each in outcome.value.partitions]
                found[topic] = dict.fromkeys(TopicPartition(topic, each) for each in partitions)
            elif not isinstance(outcome.error, UnknownTopicOrPartitionException):
                found[topic] = {TopicPartition(topic, 0): outcome}
        return found

    def _logs(
        self,
        partitions: Iterable[TopicPartition],
        span: "Span",
        *,
        read_committed: bool,
        newest: bool,
    ) -> Steps[Sequence[Mapping[TopicPartition, Outcome]]]:
        """The start and the end of each log, and its greatest timestamp."""
        specs = [OffsetSpec.EARLIEST, OffsetSpec.LATEST]
        specs += [OffsetSpec.MAX_TIMESTAMP] if newest else []
        logs = []
        for spec in specs:
            work = OffsetsToList(dict.fromkeys(partitions, int(spec)), read_committed)
            logs.append((yield from self._step(work, span)))
        return logs


def is_late(found: KafkaException | Rows) -> bool:
    """True if a broker has not answered about a group, or about one of its partitions."""
    if isinstance(found, KafkaException):
        return isinstance(found, TimeoutException)
    return any(isinstance(each.error, TimeoutException) for each in found.values())


def merged(first: KafkaException | Rows, again: KafkaException | Rows) -> KafkaException | Rows:
    """The rows of a group that was asked for twice; the values that there are go first."""
    if isinstance(first, KafkaException):
        return again
    if isinstance(again, KafkaException):
        return {
            tp: each if each.error is None else Outcome(error=again)
            for tp, each in first.items()
        }
    return {**again, **{tp: each for tp, each in first.items() if each.error is None}}


def refusal_of(described: Outcome) -> Any:
    """The error of a group that cannot have a lag; None of one that can."""
    if described.error is not None:
        return described.error
    group: Group = described.value
    if group.kind is GroupKind.SHARE:
        return IllegalStateException(
            f"{group.group_id} is a share group, which commits no offset for a partition: its "
            f"lag is in share_offsets"
        )
    return None


def members_of(group: Group) -> dict[TopicPartition, str]:
    """The member that each partition is assigned to."""
    return {tp: each.member_id for each in group.members for tp in sorted(each.assignment)}


def subscribed_topics(group: Group) -> list[str]:
    """The topics that members subscribe to by name."""
    return sorted({topic for each in group.members for topic in each.topics})


def row_of(member_id: str | None, committed: Outcome, logs: Sequence[Outcome]) -> Outcome:
    """The lag in one partition, or the first error of what it is made of."""
    for each in (committed, *logs):
        if each.error is not None:
            return Outcome(error=each.error)
    start, end, *newest = (each.value for each in logs)
    at = newest[0].timestamp if newest and newest[0].offset is not None else None
    return Outcome(
        PartitionLag(
            member_id,
            committed.value,
            start.offset,
            end.offset,
            None if at is None else at / 1000,
        )
    )
