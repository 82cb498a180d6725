"""Resolves a subscription by `re.Pattern` to topics.

Thread: the network thread alone.

They are found among all topics that there are; each new snapshot of the cluster may hold
another answer.
"""

import re

from prokurist.events.assigned import AnyAssigned, Subscribed
from prokurist.events.call import Call
from prokurist.events.cluster import Cluster
from prokurist.network_thread.cluster.metadata_manager import MetadataManager


class Patterns:
    """The topics that the subscribed `re.Pattern` matches.

    Args:
        assigned: The assigned partitions.
        metadata: Knows the topics.
        internal: True if patterns match internal topics too.
    """

    def __init__(
        self, assigned: AnyAssigned, metadata: MetadataManager, *, internal: bool
    ) -> None:
        self._assigned = assigned
        self._metadata = metadata
        self._internal = internal
        self._matched: re.Pattern[str] | None = None

    @property
    def subscribed(self) -> frozenset[str]:
        """The topics subscribed to now; of a pattern, those that match."""
        subscribed = self._assigned.subscribed
        return frozenset() if subscribed is None else subscribed.topics

    async def found(self, call: Call) -> frozenset[str]:
        """The same, awaiting metadata of all topics for a pattern.

        Raises:
            KafkaException: The list of topics could not be had.
        """
        pattern = pattern_of(self._assigned.subscribed)
        self._metadata.interest.everything = pattern is not None
        if pattern is not None and self._matched != pattern:
            self._match(await self._metadata.refreshed(call, "the topics that there are"))
        return self.subscribed

    def seek(self) -> bool:
        """Request metadata for a pattern; return True if its matches are known."""
        pattern = pattern_of(self._assigned.subscribed)
        self._metadata.interest.everything = pattern is not None
        known = self.look_again()
        if not known:
            self._metadata.request_update()
        return known

    def look_again(self) -> bool:
        """Match the pattern again; False while another pattern's matches are known."""
        self._match(self._metadata.cluster)
        return self.is_matched

    @property
    def is_matched(self) -> bool:
        """True if the present pattern's matches are known; True without a pattern."""
        pattern = pattern_of(self._assigned.subscribed)
        return pattern is None or self._matched == pattern

    def stop(self) -> None:
        """Stop matching, and need no metadata of all topics."""
        self._metadata.interest.everything = False
        self._matched = None

    def _match(self, cluster: Cluster) -> None:
        """Match the pattern, if there is one, with the snapshot."""
        subscribed = self._assigned.subscribed
        pattern = pattern_of(subscribed)
        if subscribed is None or pattern is None or not self._metadata.complete:
            return
        self._matched = pattern
        topics = matching(pattern, cluster, internal=self._internal)
        self._assigned.matched(subscribed.version, topics)

    def __repr__(self) -> str:
        return f"Patterns({None if self._matched is None else self._matched.pattern!r})"


def pattern_of(subscribed: Subscribed | None) -> re.Pattern[str] | None:
    """The pattern that is matched here; None for names, and for one matched by the broker."""
    pattern = None if subscribed is None else subscribed.pattern
    return pattern if isinstance(pattern, re.Pattern) else None


def matching(pattern: re.Pattern[str], cluster: Cluster, *, internal: bool) -> frozenset[str]:
    """Return the topics with names that fully match a pattern."""
    return frozenset(
        name
        for name, view in cluster.topics.items()
        if view.partitions and (internal or not view.internal) and pattern.fullmatch(name)
    )
