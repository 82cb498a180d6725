"""Warns of topics and partitions in use that do not exist.

Thread: the network thread alone. Each answer about the cluster is checked; the log makes one
line a minute of these warnings (`logs.storms`).
"""

from collections.abc import Callable
from typing import Final

from prokurist.events.cluster import ABSENT, Cluster
from prokurist.events.outage_log_events import (
    PARTITION_FOUND,
    PARTITION_MISSING,
    TOPIC_FOUND,
    TOPIC_MISSING,
)
from prokurist.events.trace import Trace
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.types import TopicPartition

MOST: Final = 500
"""Topics from which on those that are not read any more are forgotten."""


class MissingTopics:
    """Compares the topics that a client has to do with with those that exist.

    Args:
        metadata: Emits each snapshot of the cluster.
        read: Returns the topics that are subscribed to or assigned now; a producer's, those
            that something is sent to.
        assigned: Returns the partitions that are assigned now.
        trace: The client's.
    """

    def __init__(
        self,
        metadata: MetadataManager,
        read: Callable[[], frozenset[str]],
        assigned: Callable[[], frozenset[TopicPartition]],
        trace: Trace,
    ) -> None:
        self._read = read
        self._assigned = assigned
        self._trace = trace
        self._missing: frozenset[str] = frozenset()
        self._partitions: frozenset[TopicPartition] = frozenset()
        metadata.updated.connect(self._look)

    def _look(self, cluster: Cluster) -> None:
        """Emit missing and found topics of a snapshot."""
        self._look_for_topics(cluster)
        missing = cluster.without(self._assigned())
        for tp in sorted(missing):
            count = len(cluster.topics[tp.topic].partitions)
            self._trace.emit(PARTITION_MISSING, partition=tp, partitions=count)
        for tp in sorted(self._partitions - missing):
            if cluster.partition(tp) is not None:
                self._trace.emit(PARTITION_FOUND, partition=tp)
        self._partitions = missing

    def _look_for_topics(self, cluster: Cluster) -> None:
        read = self._read()
        views = {name: view for name in read if (view := cluster.topics.get(name)) is not None}
        missing = frozenset(name for name, view in views.items() if view.error in ABSENT)
        for name in sorted(missing):
            self._trace.emit(TOPIC_MISSING, topic=name)
        for name in sorted(self._missing - missing):
            if name in views and not views[name].error:
                self._trace.emit(TOPIC_FOUND, topic=name)
        # Also of topics that are not read just now, as where a group has taken a deleted one
        # away: it is found when it is read again.
        before = self._missing if len(self._missing) < MOST else self._missing & read
        self._missing = missing | frozenset(
            name for name in before if name not in views or views[name].error
        )

    def __repr__(self) -> str:
        return (
            f"MissingTopics({len(self._missing)} missing, {len(self._partitions)} partitions)"
        )
