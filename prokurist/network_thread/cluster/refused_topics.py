"""Passes errors of metadata that belong to no call to the consumer's next poll.

Thread: the network thread alone.
"""

from prokurist.errors import KafkaException
from prokurist.events.assigned import AnyAssigned
from prokurist.events.background_events import BackgroundEvents
from prokurist.network_thread.cluster.metadata_manager import MetadataManager


class RefusedTopics:
    """Posts the errors of topics that a consumer reads.

    Args:
        metadata: Emits the errors.
        assigned: What is read of these topics: the error ends with it.
        background: Where the next poll finds the error.
    """

    def __init__(
        self,
        metadata: MetadataManager,
        assigned: AnyAssigned,
        background: BackgroundEvents,
    ) -> None:
        self._assigned = assigned
        self._background = background
        metadata.refused.connect(self._post)
        metadata.accepted.connect(background.accept)

    def _post(self, error: KafkaException, topics: frozenset[str]) -> None:
        self._background.post_about(error, self._assigned.held(topics), topics)

    def __repr__(self) -> str:
        return f"RefusedTopics({self._assigned})"
