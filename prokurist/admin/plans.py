"""Plans: resets of committed offsets, and moves of partitions with a throttle.

Thread: any application thread.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias
from uuid import UUID

from prokurist.admin.arguments import listed, named, require_kind, require_name
from prokurist.admin.calls import AdminCalls
from prokurist.admin.moves import planned
from prokurist.admin.records import partition_of, partitions_of
from prokurist.admin.results import Results
from prokurist.application.driving import Steps
from prokurist.errors import IllegalStateException
from prokurist.events.admin.cluster import ClusterToDescribe
from prokurist.events.admin.configs import ConfigsToAlter
from prokurist.events.admin.groups import GroupOffsetsToFetch
from prokurist.events.admin.items_call import Outcome
from prokurist.events.admin.records import OffsetsToList
from prokurist.events.admin.replicas import PartitionsToReassign, ReassignmentsToList
from prokurist.events.admin.share import ShareOffsetsToDescribe
from prokurist.events.admin.topics import TopicsToDescribe
from prokurist.events.clock import Deadline, epoch_milliseconds
from prokurist.types import OffsetAndMetadata, TopicPartition, require_int
from prokurist.types.configs import ConfigChange, ConfigResource, Delete, Set
from prokurist.types.groups import ShareOffset
from prokurist.types.plans import (
    OffsetChange,
    ReassignmentPlan,
    ReassignmentProgress,
    Replicas,
    Shift,
)
from prokurist.types.records import OffsetSpec
from prokurist.types.replicas import ReassignmentAccepted
from prokurist.types.topics import TopicDescription

PARTITIONS = '[TopicPartition("orders", 0)]'
RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Configurations of brokers: bytes a second, sent and received."""
LEADERS: Final = "leader.replication.throttled.replicas"
FOLLOWERS: Final = "follower.replication.throttled.replicas"
"""Configurations of topics: the replicas whose copying is throttled."""

Destination: TypeAlias = (
    OffsetSpec | datetime | timedelta | Shift | Mapping[TopicPartition, int]
)


class OffsetPlan(Results[TopicPartition, OffsetChange]):
    """A plan of committed offsets, partition by partition; nothing is changed by it.

    Args:
        operation: The call that has made it.
        group: The group.
        outcomes: The change of each partition, or why there is none.
    """

    __slots__ = ("group",)

    def __init__(
        self, operation: str, group: str, outcomes: Mapping[TopicPartition, Outcome]
    ) -> None:
        super().__init__(operation, outcomes)
        self.group: str = group

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """The planned offsets, for `alter_offsets` or `alter_share_offsets`.

        Raises:
            AdminException: A partition has no plan.
        """
        return {tp: change.after for tp, change in self.check().items()}


class Plans(AdminCalls):
    """Calls of `KafkaAdmin` that plan changes, and carry out moves."""

    def plan_offsets(
        self,
        group: str,
        to: Destination,
        *,
        partitions: Iterable[TopicPartition] | None = None,
        timeout: float | timedelta | None = None,
    ) -> OffsetPlan:
        """Plan a reset of a group's committed offsets; nothing is changed.

        `alter_offsets(group, plan.offsets)` carries it out.

        Args:
            group: The group.
            to: The start or the end of each log (`OffsetSpec.EARLIEST`, `OffsetSpec.LATEST`); a
                time, with its time zone, or how long ago it was: the first record that is not
                older, or the end; `Shift(-100)` from the committed offset, from the log's start
                where none is committed; or offsets by partition.
            partitions: The partitions; None for those with a committed offset, or those that
                `to` names.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The change of each partition, kept within its log.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        asked, exact = asked_places(group, to, partitions)
        look = GroupOffsetsToFetch({group: asked})
        return self._run(self._plan_offsets("plan_offsets", group, look, to, exact, timeout))

    def plan_share_offsets(
        self,
        group: str,
        to: Destination,
        *,
        partitions: Iterable[TopicPartition] | None = None,
        timeout: float | timedelta | None = None,
    ) -> OffsetPlan:
        """Plan a reset of a share group's start offsets; nothing is changed.

        `alter_share_offsets(group, plan.offsets)` carries it out.

        Args:
            group: The share group.
            to: See `plan_offsets`.
            partitions: The partitions; None for those with a start offset, or those that `to`
                names.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The change of each partition, kept within its log.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        asked, exact = asked_places(group, to, partitions)
        look = ShareOffsetsToDescribe({group: asked})
        steps = self._plan_offsets("plan_share_offsets", group, look, to, exact, timeout)
        return self._run(steps)

    def _plan_offsets(
        self,
        operation: str,
        group: str,
        look: GroupOffsetsToFetch | ShareOffsetsToDescribe,
        to: Destination,
        exact: Mapping[TopicPartition, int] | None,
        timeout: float | timedelta | None,
    ) -> Steps[OffsetPlan]:
        deadline = self._until(timeout)
        present: dict[TopicPartition, Outcome] = yield from self._ask_one(
            operation, look, self._left(deadline)
        )
        places = [int(OffsetSpec.EARLIEST), int(OffsetSpec.LATEST)]
        if isinstance(to, datetime | timedelta):
            places.append(milliseconds_of(to))
        times: list[Mapping[TopicPartition, Outcome]] = []
        for place in places if present else ():
            work = OffsetsToList(dict.fromkeys(present, place))
            times.append((yield from self._ask(operation, work, self._left(deadline))))
        outcomes: dict[TopicPartition, Outcome] = {}
        for tp, before in present.items():
            parts = [before, *(each[tp] for each in times)]
            error = next((each.error for each in parts if each.error is not None), None)
            if error is not None:
                outcomes[tp] = Outcome(error=error)
                continue
            start, end, *moment = (each[tp].value.offset for each in times)
            outcomes[tp] = Outcome(
                change_of(
                    offset_of(before.value),
                    start,
                    end,
                    exact[tp] if exact is not None else to,
                    moment[0] if moment else None,
                )
            )
        return OffsetPlan(operation, group, outcomes)

    # --- moves -------------------------------------------------------------------------

    def plan_reassignment(
        self,
        topics: Iterable[str],
        brokers: Iterable[int],
        *,
        rack_aware: bool = True,
        timeout: float | timedelta | None = None,
    ) -> ReassignmentPlan:
        """Plan to spread topics over brokers, with as few copies as there can be.

        `start_reassignment(plan)` carries it out; nothing is changed before.

        Args:
            topics: The topics.
            brokers: The ids of the brokers to be used; others are left.
            rack_aware: True to keep the replicas of a partition in as many racks as there are.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            AdminException: A topic is not known.
            IllegalStateException: A broker is not live.
            TimeoutException: The time is over.
            ValueError: There are fewer brokers than replicas.
        """
        numbers = listed("brokers", brokers, example="[1, 2, 3]")
        for each in numbers:
            require_int("a broker's id", each, 31)
        names = named("topics", topics, example='["orders"]')
        return self._run(
            self._plan_reassignment(names, numbers, timeout, rack_aware=rack_aware)
        )

    def _plan_reassignment(
        self,
        names: list[str],
        numbers: list[int],
        timeout: float | timedelta | None,
        *,
        rack_aware: bool,
    ) -> Steps[ReassignmentPlan]:
        deadline = self._until(timeout)
        described = yield from self._described(names, deadline)
        cluster = yield from self._ask_one(
            "plan_reassignment", ClusterToDescribe(), self._left(deadline)
        )
        racks = {each.id: each.rack for each in cluster.brokers}
        gone = [each for each in numbers if each not in racks]
        if gone:
            raise IllegalStateException(
                f"broker {gone[0]} is not live: the live ones are {sorted(racks)}"
            )
        if not rack_aware or None in racks.values():
            racks = {}
        return planned(present_replicas(described), numbers, racks)

    def start_reassignment(
        self,
        plan: ReassignmentPlan,
        *,
        throttle: int | None = None,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, ReassignmentAccepted]:
        """Start the moves of a plan. `verify_reassignment` says how far they are.

        Args:
            plan: The plan.
            throttle: Bytes a second that each broker may send and receive for these copies, for
                as long as `verify_reassignment` has not removed the limit; None for no limit.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each partition; `check()` raises if any has failed.

        Raises:
            AdminException: The throttle could not be set, and nothing is moved.
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        require_kind("the plan", plan, ReassignmentPlan)
        if throttle is not None:
            require_int("throttle", throttle)
            if not throttle:
                raise ValueError("throttle is at least 1 byte a second: 0 would copy nothing")
        return self._run(self._start_reassignment(plan, throttle, timeout))

    def _start_reassignment(
        self,
        plan: ReassignmentPlan,
        throttle: int | None,
        timeout: float | timedelta | None,
    ) -> Steps[Results[TopicPartition, ReassignmentAccepted]]:
        deadline = self._until(timeout)
        if throttle is not None:
            yield from self._alter("start_reassignment", throttled(plan, throttle), deadline)
        work = PartitionsToReassign(dict(plan.after))
        return (yield from self._ask_all("start_reassignment", work, self._left(deadline)))

    def verify_reassignment(
        self, plan: ReassignmentPlan, *, timeout: float | timedelta | None = None
    ) -> ReassignmentProgress:
        """Compare partitions with a plan, and remove its throttle once nothing is copied.

        Args:
            plan: The plan.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            AdminException: A topic is not known, or the throttle could not be removed.
            TimeoutException: The time is over.
        """
        require_kind("the plan", plan, ReassignmentPlan)
        return self._run(self._verify_reassignment(plan, timeout))

    def _verify_reassignment(
        self, plan: ReassignmentPlan, timeout: float | timedelta | None
    ) -> Steps[ReassignmentProgress]:
        deadline = self._until(timeout)
        look = ReassignmentsToList(partitions=tuple(plan.after))
        moving = yield from self._ask_one("verify_reassignment", look, self._left(deadline))
        names = list(dict.fromkeys(tp.topic for tp in plan.after))
        present = present_replicas((yield from self._described(names, deadline)))
        at_rest = [tp for tp in plan.after if tp not in moving]
        done = tuple(tp for tp in at_rest if present.get(tp) == tuple(plan.after[tp]))
        if not moving:
            yield from self._alter("verify_reassignment", unthrottled(plan), deadline)
        return ReassignmentProgress(
            moving,
            done,
            {tp: present.get(tp, ()) for tp in at_rest if tp not in done},
            throttle_removed=not moving,
        )

    def _described(self, names: list[str], deadline: Deadline) -> Steps[list[TopicDescription]]:
        """Describe topics, all of them.

        Raises:
            AdminException: One is not known.
        """
        asked: dict[str | UUID, None] = dict.fromkeys(names)
        found: Results[str, TopicDescription] = yield from self._ask_all(
            "plan_reassignment", TopicsToDescribe(asked), self._left(deadline)
        )
        return list(found.check().values())

    def _alter(
        self,
        operation: str,
        changes: Mapping[ConfigResource, Mapping[str, ConfigChange]],
        deadline: Deadline,
    ) -> Steps[None]:
        """Alter configurations, all of them.

        Raises:
            AdminException: One could not be altered.
        """
        work = ConfigsToAlter(changes)
        (yield from self._ask_all(operation, work, self._left(deadline))).check()


def asked_places(
    group: str, to: Destination, partitions: Iterable[TopicPartition] | None
) -> tuple[tuple[TopicPartition, ...] | None, Mapping[TopicPartition, int] | None]:
    """Check the arguments of a plan of offsets.

    Returns:
        The partitions that are named, and the offsets that are; None where none are.

    Raises:
        TypeError: One is no such thing.
        ValueError: One cannot be.
    """
    require_name("groups", group)
    exact = exact_offsets(to)
    if partitions is None:
        return (None if exact is None else tuple(exact)), exact
    found = listed("partitions", partitions, example=PARTITIONS)
    asked = tuple(map(partition_of, found))
    missing = [] if exact is None else [tp for tp in asked if tp not in exact]
    if missing:
        raise ValueError(f"`to` names no offset of {missing[0]}")
    return asked, exact


def offset_of(place: OffsetAndMetadata | ShareOffset | None) -> int | None:
    """The present offset of a group in a partition, if it has one."""
    if place is None:
        return None
    return place.start if isinstance(place, ShareOffset) else place.offset


def exact_offsets(to: Any) -> dict[TopicPartition, int] | None:
    """Return the offsets that are named, or None for another destination.

    Raises:
        TypeError: It is no destination.
        ValueError: It is a time without a time zone, or no place of every log.
    """
    if isinstance(to, Mapping):
        exact = partitions_of("offsets", to, example='{TopicPartition("orders", 0): 42}')
        for tp, offset in exact.items():
            require_int(f"the offset of {tp}", offset)
        return exact
    if isinstance(to, OffsetSpec):
        if to not in (OffsetSpec.EARLIEST, OffsetSpec.LATEST):
            raise ValueError(f"offsets are reset to EARLIEST or LATEST, not to {to.name}")
    elif isinstance(to, datetime):
        if to.tzinfo is None:
            raise ValueError(f"a time has a time zone, such as datetime.now(UTC): {to}")
    elif not isinstance(to, timedelta | Shift):
        raise TypeError(
            f"`to` is an OffsetSpec, a datetime, a timedelta, a Shift, or offsets by "
            f"partition, not {to!r}"
        )
    return None


def milliseconds_of(to: datetime | timedelta) -> int:
    """A time in epoch milliseconds."""
    if isinstance(to, timedelta):
        return epoch_milliseconds() - round(to.total_seconds() * 1000)
    return round(to.timestamp() * 1000)


def change_of(
    before: int | None, start: int, end: int, to: int | Destination, at: int | None
) -> OffsetChange:
    """Plan one offset, within its log.

    Args:
        before: The committed offset.
        start: The start of the log.
        end: The end of the log.
        to: The destination.
        at: The first offset that is not older than a time; None if there is none.
    """
    if isinstance(to, OffsetSpec):
        wanted = start if to is OffsetSpec.EARLIEST else end
    elif isinstance(to, Shift):
        wanted = (start if before is None else before) + to.by
    elif isinstance(to, int):
        wanted = to
    else:
        wanted = end if at is None else at
    after = min(max(wanted, start), end)
    return OffsetChange(before, after, start, end, clamped=after != wanted)


def present_replicas(topics: Iterable[TopicDescription]) -> dict[TopicPartition, Replicas]:
    """The brokers of partitions."""
    return {
        TopicPartition(each.topic, each.partition): tuple(node.id for node in each.replicas)
        for topic in topics
        for each in topic.partitions
    }


def throttled(
    plan: ReassignmentPlan, rate: int
) -> dict[ConfigResource, Mapping[str, ConfigChange]]:
    """The configurations that limit the copies of a plan."""
    changes: dict[ConfigResource, Mapping[str, ConfigChange]] = {}
    sources: dict[str, list[str]] = {}
    targets: dict[str, list[str]] = {}
    for tp, after in plan.after.items():
        before = plan.before[tp]
        new = [each for each in after if each not in before]
        if new:
            sources.setdefault(tp.topic, []).extend(f"{tp.partition}:{each}" for each in before)
            targets.setdefault(tp.topic, []).extend(f"{tp.partition}:{each}" for each in new)
    for topic, replicas in sources.items():
        changes[ConfigResource.topic(topic)] = {
            LEADERS: Set(",".join(replicas)),
            FOLLOWERS: Set(",".join(targets[topic])),
        }
    for broker in concerned(plan):
        changes[ConfigResource.broker(broker)] = {key: Set(str(rate)) for key in RATES}
    return changes


def unthrottled(plan: ReassignmentPlan) -> dict[ConfigResource, Mapping[str, ConfigChange]]:
    """The changes that remove the limits of a plan."""
    changes: dict[ConfigResource, Mapping[str, ConfigChange]] = {
        ConfigResource.topic(topic): {LEADERS: Delete(), FOLLOWERS: Delete()}
        for topic in dict.fromkeys(tp.topic for tp in plan.after)
    }
    for broker in concerned(plan):
        changes[ConfigResource.broker(broker)] = {key: Delete() for key in RATES}
    return changes


def concerned(plan: ReassignmentPlan) -> list[int]:
    """The brokers that send or receive copies."""
    return sorted(
        {
            each
            for tp, after in plan.after.items()
            if set(after) - set(plan.before[tp])
            for each in (*after, *plan.before[tp])
        }
    )
