"""Tells of the beginning and the end of an outage: no broker that could be asked has answered.

Thread: the network thread alone. An outage is told each time that all brokers have failed; the
log makes a line a minute of that (`logs.storms`).
"""

from prokurist.errors import KafkaException
from prokurist.events.cluster import Cluster
from prokurist.events.outage_log_events import (
    BOOTSTRAP_FAILED,
    BOOTSTRAP_SUCCEEDED,
    CLUSTER_REACHABLE,
    CLUSTER_UNREACHABLE,
)
from prokurist.events.reachability import Reachability
from prokurist.events.trace import Trace


class Outage:
    """Emits the beginning and the end of an outage.

    Args:
        trace: The client's.
        reachability: When a broker answered last.
        servers: The configured bootstrap addresses, as text.
    """

    def __init__(self, trace: Trace, reachability: Reachability, servers: str) -> None:
        self._trace = trace
        self._reachability = reachability
        self._servers = servers
        self._lasts = False

    def goes_on(self, cluster: Cluster, error: KafkaException, now: float) -> None:
        """Emit the outage: each broker that could be asked has failed."""
        self._lasts = True
        self._reachability.outage = error
        if cluster.nodes:
            # From the last answer on: of silence one knows when a request has timed out.
            answered = self._reachability.answered_at
            seconds = 0.0 if answered is None else now - answered
            self._trace.emit(
                CLUSTER_UNREACHABLE, cluster=cluster.id, error=error, seconds=seconds
            )
        else:
            self._trace.emit(BOOTSTRAP_FAILED, servers=self._servers, error=error)

    def ended(self, cluster: Cluster) -> None:
        """Emit the end of the outage, if there was one: a broker has answered."""
        if self._lasts:
            self._lasts = False
            self._reachability.outage = None
            self._trace.emit(BOOTSTRAP_SUCCEEDED, servers=self._servers)
            self._trace.emit(CLUSTER_REACHABLE, cluster=cluster.id)

    def __repr__(self) -> str:
        return f"Outage({'lasts' if self._lasts else 'none'})"
