"""Work on the cluster as a whole.

Thread: any; frozen values.
"""

from collections.abc import Mapping
from dataclasses import field

from prokurist.events.admin.work import ONE
from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClusterToDescribe:
    """Describe the cluster and its brokers.

    Attributes:
        operations: True to ask for the authorized operations.
        fenced: True to ask for registered brokers that are not live.
    """

    items: Mapping[str, None] = field(default_factory=lambda: ONE)
    operations: bool = False
    fenced: bool = False
