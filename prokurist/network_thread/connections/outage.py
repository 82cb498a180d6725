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
from prokurist.events.trace import Trace


class Outage:
    """Emits the beginning and the end of an outage.

    Args:
        trace: The client's.
        servers: The configured bootstrap addresses, as text.
    """

    def __init__(self, trace: Trace, servers: str) -> None:
        self._trace = trace
        self._servers = servers
        self._lasts = False

    def goes_on(self, cluster: Cluster, error: KafkaException) -> None:
        """Emit the outage: each broker that could be asked has failed."""
        self._lasts = True
        if cluster.nodes:
            self._trace.emit(CLUSTER_UNREACHABLE, cluster=cluster.id, error=error)
        else:
            self._trace.emit(BOOTSTRAP_FAILED, servers=self._servers, error=error)

    def ended(self, cluster: Cluster) -> None:
        """Emit the end of the outage, if there was one: a broker has answered."""
        if self._lasts:
            self._lasts = False
            self._trace.emit(BOOTSTRAP_SUCCEEDED, servers=self._servers)
            self._trace.emit(CLUSTER_REACHABLE, cluster=cluster.id)

    def __repr__(self) -> str:
        return f"Outage({'lasts' if self._lasts else 'none'})"
