"""Passes errors of metadata that belong to no call to the consumer's next poll.

Thread: the network thread alone.
"""

from prokurist.errors import KafkaException
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.subscription import Subscription
from prokurist.network_thread.cluster.metadata_manager import MetadataManager


class RefusedTopics:
    """Posts the errors of topics that a consumer reads.

    Args:
        metadata: Emits the errors.
        subscription: What is read of these topics: the error ends with it.
        background: Where the next poll finds the error.
    """

    def __init__(
        self,
        metadata: MetadataManager,
        subscription: Subscription,
        background: BackgroundEvents,
    ) -> None:
        self._subscription = subscription
        self._background = background
        metadata.refused.connect(self._post)
        metadata.accepted.connect(background.accept)

    def _post(self, error: KafkaException, topics: frozenset[str]) -> None:
        self._background.post_about(error, self._subscription.held(topics), topics)

    def __repr__(self) -> str:
        return f"RefusedTopics({self._subscription})"
