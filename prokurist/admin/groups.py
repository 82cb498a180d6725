"""Groups: list, describe, delete, their offsets, their members, their lag.

Thread: any application thread.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypeVar

from prokurist.admin.arguments import listed, named, require_kind, require_name
from prokurist.admin.calls import AdminCalls
from prokurist.admin.records import partition_of, partitions_of
from prokurist.admin.results import Listing, Results, listing_of
from prokurist.application.driving import Steps
from prokurist.events.admin.groups import (
    GroupOffsetsToAlter,
    GroupOffsetsToDelete,
    GroupOffsetsToFetch,
    GroupsToDelete,
    GroupsToDescribe,
    GroupsToList,
    MembersToRemove,
)
from prokurist.events.admin.items_call import Outcome
from prokurist.types import OffsetAndMetadata, TopicPartition, require_int
from prokurist.types.groups import (
    DeletedGroup,
    Everyone,
    Group,
    GroupKind,
    GroupListing,
    GroupState,
    MemberToRemove,
    RemovedMember,
)

GROUPS = '["billing"]'
PARTITIONS = '[TopicPartition("orders", 0)]'
REASON = "removed by an administrator"

Word = TypeVar("Word", bound=StrEnum)


class Groups(AdminCalls):
    """Calls of `KafkaAdmin` about groups of all kinds."""

    def list_groups(
        self,
        *,
        kinds: Iterable[str] = (),
        states: Iterable[str] = (),
        protocol_types: Iterable[str] = (),
        partial: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Listing[GroupListing]:
        """List the groups that this user may describe.

        Each broker knows the groups that it coordinates, so all are asked.

        Args:
            kinds: Kinds of groups, as `GroupKind.SHARE`; none for all kinds.
            states: States of groups, as `GroupState.EMPTY`; none for all states.
            protocol_types: Types of protocol, as `consumer` or `connect`; none for all.
            partial: True to return what there is although a broker has not answered: see
                `complete` and `errors` of the list.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            IncompleteListingException: A broker has not answered, or cannot tell the states.
            ValueError: There is no such kind, or no such state.
        """
        work = GroupsToList(
            words("kinds", kinds, GroupKind),
            words("states", states, GroupState),
            frozenset(named("protocol types", protocol_types, example='["consumer"]')),
        )
        return self._run(self._list_groups(work, timeout, partial=partial))

    def _list_groups(
        self, work: GroupsToList, timeout: float | timedelta | None, *, partial: bool
    ) -> Steps[Listing[GroupListing]]:
        outcomes = yield from self._ask("list_groups", work, timeout)
        return listing_of("list_groups", each_once(outcomes), partial=partial)

    def describe_group(
        self,
        group: str,
        *,
        operations: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Group:
        """Describe a group; see `describe_groups`.

        Args:
            group: Its name.
            operations: True to ask for the operations that this user is authorized to.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            GroupIdNotFoundException: There is no such group.
            KafkaException: The coordinator refuses it.
            TimeoutException: The time is over.
        """
        require_name("groups", group)
        work = GroupsToDescribe({group: None}, operations)
        found: Group = self._one("describe_group", work, timeout)
        return found

    def describe_groups(
        self,
        groups: Iterable[str],
        *,
        operations: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[str, Group]:
        """Describe groups of any kind, with their members.

        Args:
            groups: Their names.
            operations: True to ask for the operations that this user is authorized to.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The description of each, or its error, as GroupIdNotFoundException.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        names = dict.fromkeys(named("groups", groups, example=GROUPS))
        return self._results("describe_groups", GroupsToDescribe(names, operations), timeout)

    def group_offsets(
        self,
        groups: Mapping[str, Iterable[TopicPartition] | None] | Iterable[str],
        *,
        stable: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[str, Results[TopicPartition, OffsetAndMetadata | None]]:
        """Look up committed offsets of groups.

        Args:
            groups: The partitions of each group; None for all that have committed offsets. Or
                the names alone.
            stable: True to wait for open transactions that commit offsets.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The offsets of each group by partition; None where a partition that was named has
            none. A group that does not exist has none.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        work = GroupOffsetsToFetch(asked_partitions(groups), stable)
        return self._run(self._ask_each("group_offsets", work, timeout))

    def alter_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, None]:
        """Commit offsets of a group that has no members; one that is not there is created.

        Args:
            group: The group.
            offsets: The next offset to read, by partition.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each partition; GroupNotEmptyException if the group has members,
            which commit by themselves.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        require_name("groups", group)
        items: dict[TopicPartition, OffsetAndMetadata] = {}
        example = '{TopicPartition("orders", 0): 42}'
        for tp, offset in partitions_of("offsets", offsets, example=example).items():
            if isinstance(offset, OffsetAndMetadata):
                items[tp] = offset
            else:
                require_int(f"the offset of {tp}", offset)
                items[tp] = OffsetAndMetadata(offset)
        return self._results("alter_offsets", GroupOffsetsToAlter(group, items), timeout)

    def delete_offsets(
        self,
        group: str,
        partitions: Iterable[TopicPartition],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, None]:
        """Delete committed offsets of a group.

        Args:
            group: The group.
            partitions: The partitions.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each; GroupSubscribedToTopicException if members read its topic. A
            partition without a committed offset is no failure.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        require_name("groups", group)
        asked = listed("partitions", partitions, example=PARTITIONS)
        items = dict.fromkeys(map(partition_of, asked))
        return self._results("delete_offsets", GroupOffsetsToDelete(group, items), timeout)

    def delete_groups(
        self, groups: Iterable[str], *, timeout: float | timedelta | None = None
    ) -> Results[str, DeletedGroup]:
        """Delete groups of any kind, with their committed offsets.

        Args:
            groups: Their names.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each; GroupNotEmptyException if a group has members.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        names = dict.fromkeys(named("groups", groups, example=GROUPS))
        return self._results("delete_groups", GroupsToDelete(names), timeout)

    def remove_members(
        self,
        group: str,
        members: Iterable[MemberToRemove] | Everyone,
        *,
        reason: str = REASON,
        timeout: float | timedelta | None = None,
    ) -> Results[MemberToRemove, RemovedMember]:
        """Remove members from a group. A member that is alive joins again by itself.

        Args:
            group: The group.
            members: The members; or `ALL` for those that the group has at present.
            reason: The reason, for the broker's log.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each; UnknownMemberIdException if the group has no such member.

        Raises:
            GroupIdNotFoundException: All members are meant, of a group that is not there.
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        require_name("groups", group)
        require_kind("reason", reason, str)
        if isinstance(members, Everyone):
            return self._run(self._remove_all(group, reason, timeout))
        example = '[MemberToRemove(instance_id="billing-1")], or ALL'
        found = listed("members", members, example=example)
        for each in found:
            require_kind("a member", each, MemberToRemove)
        work = MembersToRemove(group, dict.fromkeys(found), reason)
        return self._results("remove_members", work, timeout)

    def _remove_all(
        self, group: str, reason: str, timeout: float | timedelta | None
    ) -> Steps[Results[MemberToRemove, RemovedMember]]:
        """Take the steps to remove the members that a group has at present."""
        deadline = self._until(timeout)
        asked = GroupsToDescribe({group: None})
        described: Group = yield from self._ask_one(
            "remove_members", asked, self._left(deadline)
        )
        found = [
            MemberToRemove(instance_id=each.instance_id)
            if each.instance_id
            else MemberToRemove(each.member_id)
            for each in described.members
        ]
        work = MembersToRemove(group, dict.fromkeys(found), reason)
        return (yield from self._ask_all("remove_members", work, self._left(deadline)))


def asked_partitions(groups: Any) -> dict[str, tuple[TopicPartition, ...] | None]:
    """Return partitions by group; None for all partitions of a group.

    Raises:
        TypeError: They are none.
        ValueError: A group's name is empty.
    """
    if not isinstance(groups, Mapping):
        return dict.fromkeys(named("groups", groups, example=GROUPS))
    items: dict[str, tuple[TopicPartition, ...] | None] = {}
    for name, partitions in groups.items():
        require_name("groups", name)
        items[name] = None
        if partitions is not None:
            asked = listed(f"partitions of {name}", partitions, example=PARTITIONS)
            items[name] = tuple(map(partition_of, asked))
    return items


def words(what: str, given: Any, kind: type[Word]) -> frozenset[str]:
    """Return words of an enumeration, given in upper or lower case.

    Raises:
        TypeError: They are no collection of str.
        ValueError: One is not among the known ones.
    """
    known = {each.value.lower(): each.value for each in kind}
    found = named(what, given, example=f'["{next(iter(kind)).value}"]')
    for each in found:
        if each.lower() not in known:
            raise ValueError(
                f"{what} of groups are {', '.join(known.values())}; {each!r} is none of them"
            )
    return frozenset(known[each.lower()] for each in found)


def each_once(outcomes: Mapping[int, Outcome]) -> dict[int, Outcome]:
    """Leave a group out that two brokers list, since it has moved from one to the other."""
    seen: set[str] = set()
    once: dict[int, Outcome] = {}
    for broker, outcome in outcomes.items():
        if outcome.error is not None:
            once[broker] = outcome
            continue
        mine = tuple(each for each in outcome.value if each.group_id not in seen)
        seen.update(each.group_id for each in mine)
        once[broker] = Outcome(mine)
    return once
