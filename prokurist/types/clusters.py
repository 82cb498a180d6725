"""The cluster as an administrator sees it.

Thread: any; frozen values.
"""

from prokurist.lazy_dataclasses import dataclass
from prokurist.types import Node
from prokurist.types.operations import AclOperation


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The cluster and its brokers.

    Attributes:
        cluster_id: The cluster's id.
        controller: The broker that Metadata calls the controller. With KRaft that is any live
            broker, for all of them forward to the controllers.
        brokers: The live brokers, by id.
        fenced: Registered brokers that are not live, if requested.
        operations: Operations on the cluster that this user is authorized to; None unless
            requested.
    """

    cluster_id: str | None
    controller: Node | None
    brokers: tuple[Node, ...]
    fenced: tuple[Node, ...] = ()
    operations: frozenset[AclOperation] | None = None
