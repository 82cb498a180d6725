"""The cluster as a whole: its brokers.

Thread: any application thread.
"""

from datetime import timedelta

from prokurist.admin.calls import AdminCalls
from prokurist.events.admin.cluster import ClusterToDescribe
from prokurist.types.clusters import ClusterDescription


class ClusterCalls(AdminCalls):
    """Calls of `KafkaAdmin` about the cluster."""

    def describe_cluster(
        self,
        *,
        operations: bool = False,
        fenced: bool = False,
        timeout: float | timedelta | None = None,
    ) -> ClusterDescription:
        """Describe the cluster and its brokers.

        Args:
            operations: True to ask for the operations that this user is authorized to.
            fenced: True to ask for registered brokers that are not live (Kafka 4.0 and newer).
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            TimeoutException: The time is over.
            UnsupportedVersionException: The brokers do not tell fenced brokers.
        """
        work = ClusterToDescribe(operations=operations, fenced=fenced)
        found: ClusterDescription = self._one("describe_cluster", work, timeout)
        return found
