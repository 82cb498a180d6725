"""Warns of topics that are read and do not exist.

Thread: the network thread alone. Each answer about the cluster is looked at; the log makes one
line a minute of what is told here (`logs.storms`).
"""

from collections.abc import Callable

from prokurist.events.cluster import ABSENT, Cluster
from prokurist.events.outage_log_events import TOPIC_FOUND, TOPIC_MISSING
from prokurist.events.trace import Trace


class MissingTopics:
    """Compares the topics that are subscribed to or assigned with those that exist.

    Args:
        read: Returns the topics that are subscribed to or assigned now.
        trace: The client's.
    """

    def __init__(self, read: Callable[[], frozenset[str]], trace: Trace) -> None:
        self._read = read
        self._trace = trace
        self._missing: frozenset[str] = frozenset()

    def look(self, cluster: Cluster) -> None:
        """Emit each topic that is missing in a snapshot, and each that has been found."""
        read = self._read()
        views = {name: view for name in read if (view := cluster.topics.get(name)) is not None}
        missing = frozenset(name for name, view in views.items() if view.error in ABSENT)
        for name in sorted(missing):
            self._trace.emit(TOPIC_MISSING, topic=name)
        for name in sorted(self._missing - missing):
            if name in views and not views[name].error:
                self._trace.emit(TOPIC_FOUND, topic=name)
        self._missing = missing | frozenset(
            name for name in self._missing & read if name not in views or views[name].error
        )

    def __repr__(self) -> str:
        return f"MissingTopics({len(self._missing)} missing)"
