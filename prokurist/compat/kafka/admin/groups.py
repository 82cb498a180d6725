"""Groups, as kafka-python administers them.

Thread: any.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from prokurist.admin import Group, GroupMember
from prokurist.admin import MemberToRemove as OurMember
from prokurist.admin import OffsetSpec as OurSpec
from prokurist.compat.kafka.admin.base import AdminBase, code_of, names_of, raise_first, told
from prokurist.compat.kafka.admin.values import (
    GroupState,
    GroupType,
    MemberToRemove,
    OffsetSpec,
    OffsetTimestamp,
)
from prokurist.compat.kafka.errors import KafkaError, for_code
from prokurist.compat.kafka.structs import OffsetAndMetadata
from prokurist.errors import GroupNotEmptyException, KafkaException
from prokurist.events.clock import Deadline
from prokurist.types import OffsetAndMetadata as OurOffset
from prokurist.types import TopicPartition

_NO_GROUP: Final = 69
_STRANGER: Final = 25
Errors = dict[TopicPartition, type[KafkaError]]


class GroupCalls(AdminBase):
    """Calls of a KafkaAdminClient about groups."""

    def list_groups(
        self,
        broker_ids: Iterable[int] | None = None,
        states_filter: Iterable[GroupState | str] | None = None,
        types_filter: Iterable[GroupType | str] | None = None,
    ) -> list[dict[str, Any]]:
        """List groups.

        Args:
            broker_ids: Only groups that these brokers coordinate; None for all.
            states_filter: States of groups; None for all.
            types_filter: Protocols of groups; None for all.

        Raises:
            KafkaError: A broker does not answer.
            ValueError: There is no such state, or no such protocol.
        """
        states = [GroupState.value_for(each) for each in states_filter or ()]
        kinds = [GroupType.value_for(each) for each in types_filter or ()]
        with self._converted():
            found = self._admin.list_groups(states=states, kinds=kinds, timeout=self._wait)
        brokers = None if broker_ids is None else set(broker_ids)
        return [
            {
                "group_id": each.group_id,
                "protocol_type": each.protocol_type,
                "group_state": each.state,
                "group_type": each.kind,
            }
            for each in found
            if brokers is None or each.coordinator in brokers
        ]

    def describe_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """Describe groups of any protocol, with their members.

        Args:
            group_ids: Their names.
            group_coordinator_id: Accepted without effect: coordinators are looked up.
            include_authorized_operations: Accepted without effect: they are always asked for.

        Returns:
            A dict for each group; one that does not exist is `Dead`, and has an `error`.

        Raises:
            KafkaError: A coordinator does not answer.
        """
        del group_coordinator_id, include_authorized_operations
        with self._converted():
            found = self._admin.describe_groups(group_ids, operations=True, timeout=self._wait)
            return {
                name: _group(name, found.succeeded.get(name), found.errors.get(name))
                for name in found
            }

    def delete_groups(
        self, group_ids: Iterable[str], group_coordinator_id: int | None = None
    ) -> dict[str, str]:
        """Delete groups, with their committed offsets.

        Args:
            group_ids: Their names.
            group_coordinator_id: Accepted without effect: coordinators are looked up.

        Returns:
            `"OK"`, or the name of an error, by group.

        Raises:
            KafkaError: Nothing could be asked.
        """
        del group_coordinator_id
        with self._converted():
            found = self._admin.delete_groups(group_ids, timeout=self._wait)
            return {
                name: for_code(code_of(found.errors[name])).__name__
                if name in found.errors
                else "OK"
                for name in found
            }

    def list_group_offsets(
        self, group_specs: Mapping[str, Iterable[TopicPartition] | None] | Iterable[str] | str
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        """Look up committed offsets of groups; −1 where nothing is committed.

        Args:
            group_specs: The partitions of each group, or None for all; or groups.

        Raises:
            KafkaError: An offset cannot be looked up.
        """
        if isinstance(group_specs, str):
            group_specs = [group_specs]
        with self._converted():
            found = self._admin.group_offsets(group_specs, timeout=self._wait)
            raise_first(found)
            offsets = {}
            for name, each in found.succeeded.items():
                raise_first(each)
                offsets[name] = {
                    tp: OffsetAndMetadata(-1) if place is None else OffsetAndMetadata.of(place)
                    for tp, place in each.succeeded.items()
                }
        return offsets

    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_coordinator_id: int | None = None,
    ) -> Errors:
        """Commit offsets of a group that has no members.

        Args:
            group_id: The group.
            offsets: The next offset to read, by partition.
            group_coordinator_id: Accepted without effect: coordinators are looked up.

        Returns:
            The class of an error by partition; `NoError` where there is none.

        Raises:
            KafkaError: Nothing could be asked.
        """
        del group_coordinator_id
        items = {tp: OffsetAndMetadata.given(place).ours() for tp, place in offsets.items()}
        with self._converted():
            return self._committed(group_id, items, self._until())

    def reset_group_offsets(
        self,
        group_id: str,
        offset_specs: Mapping[TopicPartition, OffsetSpec | OffsetTimestamp | int],
        group_coordinator_id: int | None = None,
    ) -> dict[TopicPartition, dict[str, Any]]:
        """Commit other offsets of a group that has no members, each within its log.

        Args:
            group_id: The group.
            offset_specs: By partition an OffsetSpec, an OffsetTimestamp, or an offset.
            group_coordinator_id: Accepted without effect: coordinators are looked up.

        Returns:
            The class of an error, and the offset, by partition.

        Raises:
            KafkaError: An offset cannot be looked up.
            TypeError: One is given as something else.
        """
        del group_coordinator_id
        for tp, spec in offset_specs.items():
            if not isinstance(spec, int):
                raise TypeError(
                    f"the offset of {tp} is an OffsetSpec, an OffsetTimestamp or an int, not "
                    f"{spec!r}"
                )
        until = self._until()
        with self._converted():
            present = self._admin.group_offsets(
                {group_id: list(offset_specs)}, timeout=self._left(until)
            )[group_id]
            first, last = (
                self._listed(dict.fromkeys(offset_specs, spec), until)
                for spec in (OurSpec.EARLIEST, OurSpec.LATEST)
            )
            sought = {
                tp: OurSpec(spec) if isinstance(spec, OffsetSpec) else int(spec)
                for tp, spec in offset_specs.items()
                if isinstance(spec, OffsetSpec | OffsetTimestamp)
            }
            found = {**offset_specs, **(self._listed(sought, until) if sought else {})}
            items = {}
            for tp, offset in found.items():
                within = last[tp] if offset < 0 else min(max(int(offset), first[tp]), last[tp])
                kept = present.succeeded.get(tp)
                items[tp] = OurOffset(within, "" if kept is None else kept.metadata)
            errors = self._committed(group_id, items, until)
        return {tp: {"error": errors[tp], "offset": items[tp].offset} for tp in items}

    def delete_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        group_coordinator_id: int | None = None,
    ) -> Errors:
        """Delete committed offsets of a group.

        Args:
            group_id: The group.
            partitions: The partitions.
            group_coordinator_id: Accepted without effect: coordinators are looked up.

        Returns:
            The class of an error by partition; `NoError` where there is none.

        Raises:
            KafkaError: There is no such group.
        """
        del group_coordinator_id
        with self._converted():
            found = self._admin.delete_offsets(group_id, partitions, timeout=self._wait)
            codes = {tp: code_of(found.errors.get(tp)) for tp in found}
            if found and set(codes.values()) == {_NO_GROUP}:
                raise_first(found)
        return {tp: for_code(code) for tp, code in codes.items()}

    def remove_group_members(
        self,
        group_id: str,
        members: Iterable[MemberToRemove],
        group_coordinator_id: int | None = None,
    ) -> dict[str, type[KafkaError]]:
        """Remove members from a group; one that is alive joins again.

        Args:
            group_id: The group.
            members: The members.
            group_coordinator_id: Accepted without effect: coordinators are looked up.

        Returns:
            The class of an error by member id or static name; `NoError` where there is none.

        Raises:
            KafkaError: Nothing could be asked.
        """
        del group_coordinator_id
        given = {
            OurMember(each.member_id or "", each.group_instance_id): each.reason
            for each in members
        }
        reasons = [each for each in given.values() if each]
        more = {"reason": reasons[0]} if reasons else {}
        with self._converted():
            found = self._admin.remove_members(group_id, given, timeout=self._wait, **more)
            return {
                each.member_id or each.instance_id or "": for_code(
                    code_of(found.errors.get(each))
                )
                for each in found
            }

    # --- within ------------------------------------------------------------------------

    def _listed(
        self, specs: Mapping[TopicPartition, OurSpec | int], until: Deadline
    ) -> dict[TopicPartition, int]:
        """Offsets by name or time; −1 where there is no such record."""
        found = self._admin.list_offsets(specs, timeout=self._left(until))
        raise_first(found)
        return {
            tp: -1 if each.offset is None else each.offset
            for tp, each in found.succeeded.items()
        }

    def _committed(
        self, group_id: str, offsets: Mapping[TopicPartition, OurOffset], until: Deadline
    ) -> Errors:
        found = self._admin.alter_offsets(group_id, offsets, timeout=self._left(until))
        return {tp: _refusal(found.errors.get(tp)) for tp in found}


def _refusal(error: KafkaException | None) -> type[KafkaError]:
    if isinstance(error, GroupNotEmptyException):
        # Coordinators know no member of that name, which is what they say there.
        return for_code(_STRANGER)
    return for_code(code_of(error))


def _group(name: str, group: Group | None, error: KafkaException | None) -> dict[str, Any]:
    if group is None:
        code_of(error)
        return {
            "group_id": name,
            "group_state": "Dead",
            "protocol_type": "",
            "protocol_data": "",
            "members": [],
            "authorized_operations": None,
            "error": error and told(error),
        }
    return {
        "group_id": name,
        "group_state": str(group.state),
        "protocol_type": group.protocol_type,
        "protocol_data": group.assignor,
        "members": [_member(each) for each in group.members],
        "authorized_operations": names_of(group.operations),
        "error": None,
    }


def _member(member: GroupMember) -> dict[str, Any]:
    numbers: dict[str, list[int]] = {}
    for tp in sorted(member.assignment):
        numbers.setdefault(tp.topic, []).append(tp.partition)
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.host,
        "member_metadata": {"topics": sorted(member.topics), "user_data": ""},
        "member_assignment": {
            "assigned_partitions": [
                {"topic": topic, "partitions": each} for topic, each in numbers.items()
            ],
            "user_data": "",
        },
    }
