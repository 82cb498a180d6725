"""The cluster as it is described."""

from collections.abc import Iterable

from prokurist.admin import ClusterDescription
from prokurist.compat.confluent_kafka.admin.acls import AclOperation, operations_of
from prokurist.compat.confluent_kafka.model import Node


class DescribeClusterResult:
    """The cluster and its brokers.

    Args:
        controller: The broker that Metadata calls the controller.
        nodes: The live brokers.
        cluster_id: The cluster's id.
        authorized_operations: Operations that this user is authorized to; None unless
            requested.
    """

    def __init__(
        self,
        controller: Node | None,
        nodes: list[Node],
        cluster_id: str | None = None,
        authorized_operations: Iterable[AclOperation | str | int] | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.controller = controller
        self.nodes = nodes
        self.authorized_operations: list[AclOperation] | None = operations_of(
            authorized_operations
        )

    @classmethod
    def of(cls, found: ClusterDescription) -> "DescribeClusterResult":
        """A description of ours."""
        return cls(
            None if found.controller is None else Node.of(found.controller),
            [Node.of(each) for each in found.brokers],
            found.cluster_id,
            found.operations and sorted(found.operations),
        )

    def __repr__(self) -> str:
        return f"DescribeClusterResult({self.cluster_id}, {len(self.nodes)} nodes)"
