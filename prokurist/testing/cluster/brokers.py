"""One broker of the model: its state as seen by itself and by the others.

Thread: the one that drives the model.
"""

from dataclasses import field

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.fetch_sessions import FetchSessions
from prokurist.testing.cluster.images import Lag
from prokurist.testing.cluster.share_sessions import ShareSessions
from prokurist.types import Node


@dataclass(slots=True)
class Broker:
    """One broker.

    Attributes:
        node: Its id and advertised address.
        running: True if it accepts connections.
        registered: True if the others count on it. A broker that was killed and has not been
            missed yet is registered and does not run.
        frozen: True if it takes connections and bytes and does nothing with them.
        follows: True if it replicates from the leaders of its partitions.
        fetch_sessions: The fetch sessions that it keeps.
        share_sessions: The share sessions that it keeps.
        lag: How late it learns of topics, leaders and other brokers.
    """

    node: Node
    running: bool = True
    registered: bool = True
    frozen: bool = False
    follows: bool = True
    fetch_sessions: FetchSessions = field(default_factory=FetchSessions)
    share_sessions: ShareSessions = field(default_factory=ShareSessions)
    lag: Lag = field(default_factory=Lag)

    def __repr__(self) -> str:
        life = "frozen" if self.frozen else "running" if self.running else "down"
        missed = "" if self.registered else ", missed"
        return f"Broker({self.node.id}, {life}{missed})"
