"""Controls of share groups, and the states of their records.

Thread: any for a served cluster; the driver's for a model.
"""

from dataclasses import replace
from typing import Any

from prokurist.testing.cluster.share_partition import RecordState
from prokurist.testing.cluster.share_sessions import Holder
from prokurist.testing.cluster.steering import Steering
from prokurist.types import TopicPartition


class ShareControls(Steering):
    """Share groups."""

    __slots__ = ()

    def configure_share_groups(self, **settings: Any) -> None:
        """Change the configuration of share groups, those that there are too.

        Args:
            **settings: Fields of `ShareSettings`, such as `lock_duration=6.0`.
        """
        with self._change() as (cluster, now):
            changed = replace(cluster.state.share_settings, **settings)
            cluster.state.share_settings = changed
            for group in cluster.state.share_groups.values():
                group.settings = changed
            cluster.state.changed(now)

    def share_members(self, group: str) -> list[str]:
        """List the members of a share group."""
        with self._change() as (cluster, now):
            found = cluster.state.share_groups.get(group)
            if found is None:
                return []
            found.advance(now)
            return list(found.members)

    def share_states(self, group: str, tp: TopicPartition) -> dict[int, str]:
        """Return the state of each record that was delivered ever, by offset."""
        with self._change() as (cluster, now):
            found = cluster.state.share_groups.get(group)
            topic = cluster.state.topics.get(tp.topic)
            if found is None or topic is None:
                return {}
            known = found.partitions.get((topic.id, tp.partition))
            if known is None:
                return {}
            known.expire(now, found.settings)
            present = {offset: each.state for offset, each in known.records.items()}
            return {
                offset: state.value
                for offset, state in sorted({**known.outcomes, **present}.items())
            }

    def share_counts(self, group: str, tp: TopicPartition) -> dict[int, int]:
        """Return how often each record that is not at its end was delivered, by offset."""
        with self._change() as (cluster, _):
            found = cluster.state.share_groups.get(group)
            topic = cluster.state.topics.get(tp.topic)
            known = (
                None
                if found is None or topic is None
                else found.partitions.get((topic.id, tp.partition))
            )
            if known is None:
                return {}
            ended = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)
            return {
                offset: each.count
                for offset, each in known.records.items()
                if each.state not in ended
            }

    def remove_share_member(self, group: str, member: str) -> None:
        """Have the coordinator forget a member; acquired records stay its own."""
        with self._change() as (cluster, now):
            found = cluster.state.share_groups[group]
            found.remove(found.members[member])
            cluster.state.changed(now)

    def forget_share_sessions(self, node: int | None = None) -> None:
        """Let a broker, or all, forget every share session; locks stay."""
        with self._change() as (cluster, _):
            for each in cluster.brokers(node):
                each.share_sessions.kept.clear()

    def share_sessions(self, node: int) -> list[Holder]:
        """List the holders of a broker's share sessions."""
        with self._change() as (cluster, _):
            return list(cluster.state.broker(node).share_sessions.kept)
