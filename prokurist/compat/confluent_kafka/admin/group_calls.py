"""Groups, as confluent-kafka administers them.

Thread: any; each call runs on a thread of its own, and its futures end there.
"""

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any, Final

from prokurist.admin import Group, GroupKind, GroupListing, KafkaAdmin
from prokurist.admin import GroupMember as OurMember
from prokurist.compat.confluent_kafka.admin.base import AdminBase, converted, listed, place_of
from prokurist.compat.confluent_kafka.admin.calls import raised
from prokurist.compat.confluent_kafka.admin.groups import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    GroupMember,
    GroupMetadata,
    ListConsumerGroupsResult,
    MemberAssignment,
    MemberDescription,
)
from prokurist.compat.confluent_kafka.error import KafkaError
from prokurist.compat.confluent_kafka.model import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    Node,
)
from prokurist.compat.confluent_kafka.offsets import as_committed
from prokurist.compat.confluent_kafka.values import (
    OFFSET_INVALID,
    BrokerMetadata,
    TopicPartition,
)
from prokurist.errors import GroupIdNotFoundException, GroupNotEmptyException
from prokurist.types import OffsetAndMetadata
from prokurist.types import TopicPartition as OurPartition

_STATES: Final[Mapping[str, ConsumerGroupState]] = MappingProxyType(
    {
        "PreparingRebalance": ConsumerGroupState.PREPARING_REBALANCING,
        "CompletingRebalance": ConsumerGroupState.COMPLETING_REBALANCING,
        "Stable": ConsumerGroupState.STABLE,
        "Dead": ConsumerGroupState.DEAD,
        "Empty": ConsumerGroupState.EMPTY,
    }
)
_TYPES: Final[Mapping[str, ConsumerGroupType]] = MappingProxyType(
    {"classic": ConsumerGroupType.CLASSIC, "consumer": ConsumerGroupType.CONSUMER}
)
_OF_CONSUMERS: Final = frozenset({"consumer", ""})
"""Types of protocol of the groups of consumers; empty of those that only keep offsets."""


class GroupCalls(AdminBase):
    """Calls of an AdminClient about groups."""

    def list_consumer_groups(
        self,
        *,
        request_timeout: float | None = None,
        states: set[ConsumerGroupState] | None = None,
        types: set[ConsumerGroupType] | None = None,
    ) -> Future[ListConsumerGroupsResult]:
        """List the groups of consumers.

        Args:
            request_timeout: Seconds.
            states: States of groups; None for all.
            types: Protocols of groups; None for all.

        Returns:
            A future; its result has the errors of brokers that did not answer.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: The number is out of range.
        """
        wanted_states = _words("states", states, ConsumerGroupState, _STATES)
        wanted_types = _words("types", types, ConsumerGroupType, _TYPES)
        wait = self._timeout(request_timeout)

        def found(admin: KafkaAdmin) -> ListConsumerGroupsResult:
            groups = admin.list_groups(
                kinds=wanted_types, states=wanted_states, partial=True, timeout=wait
            )
            return ListConsumerGroupsResult(
                [_listing(each) for each in groups if each.protocol_type in _OF_CONSUMERS],
                [raised(error) for error in groups.errors.values()],
            )

        return self._start_one(found)

    def describe_consumer_groups(
        self,
        group_ids: list[str],
        *,
        include_authorized_operations: bool = False,
        request_timeout: float | None = None,
    ) -> dict[str, Future[ConsumerGroupDescription]]:
        """Describe groups, with their members.

        Args:
            group_ids: Their names.
            include_authorized_operations: True to ask for this user's operations.
            request_timeout: Seconds.

        Returns:
            Futures by name. A group that does not exist is `DEAD`.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: There are no groups, or a name is empty.
        """
        names = _names(group_ids)
        wait = self._timeout(request_timeout)

        def described(admin: KafkaAdmin) -> dict[str, Any]:
            found = admin.describe_groups(
                names, operations=bool(include_authorized_operations), timeout=wait
            )
            told: dict[str, Any] = {
                name: _dead(name) if isinstance(error, GroupIdNotFoundException) else error
                for name, error in found.errors.items()
            }
            return {
                **told,
                **{name: _description(each) for name, each in found.succeeded.items()},
            }

        return self._start(names, described, lambda value: value)

    def delete_consumer_groups(
        self, group_ids: list[str], *, request_timeout: float | None = None
    ) -> dict[str, Future[None]]:
        """Delete groups, with their committed offsets.

        Args:
            group_ids: Their names.
            request_timeout: Seconds.

        Returns:
            Futures by name; their results are None.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: There are no groups, or a name is empty.
        """
        names = _names(group_ids)
        wait = self._timeout(request_timeout)
        return self._start(names, lambda admin: admin.delete_groups(names, timeout=wait))

    def list_consumer_group_offsets(
        self,
        list_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions],
        *,
        require_stable: bool = False,
        request_timeout: float | None = None,
    ) -> dict[str, Future[ConsumerGroupTopicPartitions]]:
        """Look up committed offsets of groups.

        Args:
            list_consumer_group_offsets_request: Groups and partitions; several groups, too.
            require_stable: True to wait for open transactions that commit offsets.
            request_timeout: Seconds.

        Returns:
            Futures by group. Where nothing is committed the offset is `OFFSET_INVALID`.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: There are no groups, or a partition has an offset.
        """
        items: dict[str, list[Any] | None] = {}
        for each in _requests(list_consumer_group_offsets_request):
            partitions = each.topic_partitions
            if partitions is None:
                items[each.group_id] = None
                continue
            for one in _partitions(partitions):
                if one.offset != OFFSET_INVALID:
                    raise ValueError(f"an offset is looked up, and none is given: {one}")
            items[each.group_id] = [place_of(one) for one in partitions]
        wait = self._timeout(request_timeout)

        def found(admin: KafkaAdmin) -> dict[str, Any]:
            groups = admin.group_offsets(items, stable=bool(require_stable), timeout=wait)
            told: dict[str, Any] = dict(groups.errors)
            for name, offsets in groups.succeeded.items():
                told[name] = ConsumerGroupTopicPartitions(
                    name,
                    [
                        _committed(tp, offsets.succeeded.get(tp), offsets.errors.get(tp))
                        for tp in sorted(offsets)
                    ],
                )
            return told

        return self._start(items, found, lambda value: value)

    def alter_consumer_group_offsets(
        self,
        alter_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions],
        *,
        request_timeout: float | None = None,
    ) -> dict[str, Future[ConsumerGroupTopicPartitions]]:
        """Commit offsets of groups that have no members.

        Args:
            alter_consumer_group_offsets_request: Groups, and partitions with offsets.
            request_timeout: Seconds.

        Returns:
            Futures by group; a partition that has failed has an `error`.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: There are no groups or partitions, or one has no offset.
        """
        items: dict[str, dict[Any, OffsetAndMetadata]] = {}
        for each in _requests(alter_consumer_group_offsets_request):
            offsets = items.setdefault(each.group_id, {})
            for one in _partitions(each.topic_partitions):
                if one.offset < 0:
                    raise ValueError(f"the offset to commit is from 0 on: {one}")
                offsets[place_of(one)] = OffsetAndMetadata(
                    one.offset, one.metadata or "", one.leader_epoch
                )
        until = self._until(self._timeout(request_timeout))

        def altered(admin: KafkaAdmin) -> dict[str, Any]:
            told = {}
            for name, offsets in items.items():
                done = admin.alter_offsets(name, offsets, timeout=self._left(until))
                told[name] = ConsumerGroupTopicPartitions(
                    name,
                    [
                        _committed(tp, offsets[tp], done.errors.get(tp))
                        for tp in sorted(offsets)
                    ],
                )
            return told

        return self._start(items, altered, lambda value: value)

    def list_groups(
        self, group: str | None = None, timeout: float | None = None
    ) -> list[GroupMetadata]:
        """All groups, or one, with their members' bytes as they are.

        Args:
            group: The group; None for all.
            timeout: Seconds; None or −1 for `default.api.timeout.ms`.

        Raises:
            KafkaException: They cannot be looked up.
        """
        until = self._until(timeout)
        admin = self._open()
        with converted():
            if group is None:
                listing = admin.list_groups(timeout=self._left(until))
                names = [each.group_id for each in listing if each.kind in (None, *_TYPES)]
            else:
                names = [group]
            found = admin.describe_groups(names, timeout=self._left(until))
        return [_metadata(each) for each in found.succeeded.values()]


# --- within ----------------------------------------------------------------------------------


def _words(what: str, given: Any, kind: type, known: Mapping[str, Any]) -> Collection[str]:
    """The protocol's words for members of an enumeration."""
    if given is None:
        return ()
    if not isinstance(given, set) or not all(isinstance(each, kind) for each in given):
        raise TypeError(f"{what} are a set of {kind.__name__}, not {given!r}")
    words = [word for word, member in known.items() if member in given]
    if given and not words:
        raise ValueError(f"{what}: no group is {', '.join(each.name for each in given)}")
    return words


def _names(group_ids: Any) -> list[str]:
    if not listed("groups", group_ids):
        raise ValueError("there is no group in the list")
    for each in group_ids:
        if not isinstance(each, str):
            raise TypeError(f"a group is a str, not {each!r}")
        if not each:
            raise ValueError("a group has a name: it is empty")
    return list(group_ids)


def _requests(given: Any) -> list[ConsumerGroupTopicPartitions]:
    if not listed("groups", given):
        raise ValueError("there is no group in the list")
    for each in given:
        if not isinstance(each, ConsumerGroupTopicPartitions):
            raise TypeError(f"expected a list of ConsumerGroupTopicPartitions, not of {each!r}")
        _names([each.group_id])
    return list(given)


def _partitions(given: Any) -> list[TopicPartition]:
    if given is None:
        raise ValueError("topic_partitions of a change are named: they are None")
    if not listed("topic_partitions", given):
        raise ValueError("topic_partitions are empty")
    for each in given:
        place_of(each)
    return list(given)


def _committed(tp: OurPartition, place: OffsetAndMetadata | None, error: Any) -> TopicPartition:
    partition = as_committed(TopicPartition(*tp), place)
    if isinstance(error, GroupNotEmptyException):
        # Coordinators know no member of that name, which is what they say there.
        partition.error = KafkaError(KafkaError.UNKNOWN_MEMBER_ID, str(error))
    elif error is not None:
        partition.error = raised(error).args[0]
    return partition


def _listing(group: GroupListing) -> ConsumerGroupListing:
    return ConsumerGroupListing(
        group.group_id,
        not group.protocol_type,
        _STATES.get(group.state or "", ConsumerGroupState.UNKNOWN),
        _TYPES.get(group.kind or "", ConsumerGroupType.UNKNOWN),
    )


def _description(group: Group) -> ConsumerGroupDescription:
    return ConsumerGroupDescription(
        group.group_id,
        not group.protocol_type and group.kind is GroupKind.CLASSIC,
        [_member(each) for each in group.members],
        group.assignor,
        _STATES.get(group.state, ConsumerGroupState.UNKNOWN),
        None if group.coordinator is None else Node.of(group.coordinator),
        group.operations and sorted(group.operations),
        _TYPES.get(group.kind, ConsumerGroupType.UNKNOWN),
    )


def _dead(group_id: str) -> ConsumerGroupDescription:
    """A group that does not exist."""
    return ConsumerGroupDescription(
        group_id, True, [], "", ConsumerGroupState.DEAD, None, None, ConsumerGroupType.CLASSIC
    )


def _member(member: OurMember) -> MemberDescription:
    return MemberDescription(
        member.member_id,
        member.client_id,
        member.host,
        _assignment(member.assignment),
        member.instance_id,
        None if member.target is None else _assignment(member.target),
    )


def _assignment(partitions: Iterable[tuple[str, int]]) -> MemberAssignment:
    return MemberAssignment([TopicPartition(*tp) for tp in sorted(partitions)])


def _metadata(group: Group) -> GroupMetadata:
    found = GroupMetadata()
    if group.coordinator is not None:
        node = group.coordinator
        found.broker = BrokerMetadata(node.id, node.host, node.port)
    found.id = group.group_id
    found.state = group.state
    found.protocol_type = group.protocol_type
    found.protocol = group.assignor
    for each in group.members:
        member = GroupMember()
        member.id, member.client_id, member.client_host = (
            each.member_id,
            each.client_id,
            each.host,
        )
        member.metadata, member.assignment = each.metadata, each.assignment_data
        found.members.append(member)
    return found
