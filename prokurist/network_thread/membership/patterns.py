"""Resolves a subscription by `re.Pattern` to topics.

Thread: the network thread alone.

They are found among all topics that there are; each new snapshot of the cluster may hold
another answer.
"""

import re

from prokurist.events.call import Call
from prokurist.events.cluster import Cluster
from prokurist.events.subscription import Subscription
from prokurist.network_thread.cluster.metadata_manager import MetadataManager


class Patterns:
    """The topics that the subscribed `re.Pattern` matches.

    Args:
        subscription: What is subscribed to.
        metadata: Knows the topics.
        internal: Whether a pattern finds Kafka's own topics as well.
    """

    def __init__(
        self, subscription: Subscription, metadata: MetadataManager, *, internal: bool
    ) -> None:
        self._subscription = subscription
        self._metadata = metadata
        self._internal = internal
        self._matched: re.Pattern[str] | None = None

    @property
    def subscribed(self) -> frozenset[str]:
        """What is subscribed to by now; of a pattern, what it matches."""
        subscribed = self._subscription.subscribed
        return frozenset() if subscribed is None else subscribed.topics

    async def found(self, call: Call) -> frozenset[str]:
        """What is subscribed to; of a pattern, what it matches, once that can be known.

        Raises:
            KafkaException: The list of topics could not be had.
        """
        subscribed = self._subscription.subscribed
        pattern = None if subscribed is None else subscribed.pattern
        self._metadata.interest.everything = isinstance(pattern, re.Pattern)
        if isinstance(pattern, re.Pattern) and self._matched != pattern:
            self._match(await self._metadata.refreshed(call, "the topics that there are"))
        return self.subscribed

    def seek(self) -> bool:
        """Have what is subscribed to found out, and wait for nothing: whether it is known."""
        subscribed = self._subscription.subscribed
        pattern = None if subscribed is None else subscribed.pattern
        self._metadata.interest.everything = isinstance(pattern, re.Pattern)
        known = self.look_again()
        if not known:
            self._metadata.request_update()
        return known

    def look_again(self) -> bool:
        """See what the pattern matches by now; False while that of another one is known."""
        self._match(self._metadata.cluster)
        return self.is_matched

    @property
    def is_matched(self) -> bool:
        """Whether what the present pattern matches is known; without a pattern it is."""
        subscribed = self._subscription.subscribed
        pattern = None if subscribed is None else subscribed.pattern
        return not isinstance(pattern, re.Pattern) or self._matched == pattern

    def stop(self) -> None:
        """Look at nothing any more."""
        self._metadata.interest.everything = False
        self._matched = None

    def _match(self, cluster: Cluster) -> None:
        """See what the pattern matches, if there is one."""
        subscribed = self._subscription.subscribed
        pattern = None if subscribed is None else subscribed.pattern
        if (
            subscribed is None
            or not isinstance(pattern, re.Pattern)
            or not self._metadata.complete
        ):
            return
        self._matched = pattern
        topics = matching(pattern, cluster, internal=self._internal)
        self._subscription.matched(subscribed.version, topics)

    def __repr__(self) -> str:
        return f"Patterns({None if self._matched is None else self._matched.pattern!r})"


def matching(pattern: re.Pattern[str], cluster: Cluster, *, internal: bool) -> frozenset[str]:
    """The topics whose whole name a pattern matches."""
    return frozenset(
        name
        for name, view in cluster.topics.items()
        if view.partitions and (internal or not view.internal) and pattern.fullmatch(name)
    )
