"""A cluster of brokers as pure state: no threads, no sockets, no clock.

Holds: the model (`Cluster`), a test's controls (`Control`), and one handler for each API in
`handlers/`. It is driven in virtual time by the simulation, and served over loopback by
`prokurist.testing.broker`.
May import: the vocabulary and `records`; kio, one version of one API at a time.
"""

import prokurist.testing.kio_there  # noqa: F401 - says what to install
from prokurist.testing.cluster.batches import Record
from prokurist.testing.cluster.cluster import Cluster
from prokurist.testing.cluster.control import Control, Controls
from prokurist.testing.cluster.group_settings import GroupSettings
from prokurist.testing.cluster.groups import Committed
from prokurist.testing.cluster.journal import Entry
from prokurist.testing.cluster.session import Delivery, End, Session
from prokurist.testing.cluster.steering import Fault
from prokurist.testing.cluster.transactions import TransactionSettings

__all__ = [
    "Cluster",
    "Committed",
    "Control",
    "Controls",
    "Delivery",
    "End",
    "Entry",
    "Fault",
    "GroupSettings",
    "Record",
    "Session",
    "TransactionSettings",
]
