"""Descriptions of groups' members, and brokers' actions on them.

Thread: any for a served cluster; the driver's for a model.
"""

from prokurist.testing.cluster.group_settings import GroupSettings
from prokurist.testing.cluster.group_view import view
from prokurist.testing.cluster.steering import Fault, Steering
from prokurist.testing.groups import GroupDescription
from prokurist.types import TopicPartition


class MembershipControls(Steering):
    """Groups and their members."""

    __slots__ = ()

    def describe_group(self, group: str) -> GroupDescription:
        """Describe a group: its members and epoch, with present and target assignments.

        `RealKafka.describe_group` returns the same, so one test can run on both. Sessions that
        have timed out by now have ended, unless the group's coordinator is frozen or down.
        """
        with self._change() as (cluster, now):
            state = cluster.state
            node = state.coordinator(group)
            broker = None if node is None else state.broker(node)
            if group in state.groups and broker and broker.running and not broker.frozen:
                state.group_now(group, now)
            return view(state, group)

    def expire_member(self, group: str, member: str) -> None:
        """End a member's session, as if nothing had been heard of it.

        Args:
            group: The group.
            member: The member's id, or its instance id.

        Raises:
            ValueError: There is no such member.
        """
        with self._change() as (cluster, now):
            if not cluster.state.group_now(group, now).membership.expire(member, now):
                known = [each.member_id for each in view(cluster.state, group).members]
                raise ValueError(f"{group} has no member {member!r}: there are {known}")
            cluster.state.changed(now)

    def configure_groups(self, settings: GroupSettings) -> None:
        """Change the brokers' configuration of groups, from now on."""
        with self._change() as (cluster, _):
            cluster.state.group_settings = settings
            for each in cluster.state.groups.values():
                each.membership.settings = settings

    def unstable_offsets(self, group: str, *partitions: TopicPartition) -> Fault:
        """Have a transaction be under way that commits offsets of a group.

        Who asks for stable offsets is refused until this is undone.
        """
        with self._change() as (cluster, _):
            unstable = cluster.state.group(group).unstable
            unstable.update(partitions)

        def undo() -> None:
            with self._change():
                unstable.difference_update(partitions)

        return Fault(f"{group} has unstable offsets", undo)
