"""DescribeCluster: the brokers, and the operations on the cluster.

Thread: any; frozen values.
"""

from collections.abc import Iterator
from typing import ClassVar, Final

from prokurist.events.admin.work import WHOLE
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer, answer_of
from prokurist.network_thread.wire.apis import DESCRIBE_CLUSTER, Api
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.rights import NOT_TOLD
from prokurist.network_thread.wire.translation import node
from prokurist.types import Node
from prokurist.types.clusters import ClusterDescription
from prokurist.types.operations import AclOperation

BROKERS: Final = 1


@dataclass(frozen=True, slots=True)
class DescribeCluster:
    """Asks for the brokers of the cluster.

    Nothing is ever left out.

    Attributes:
        operations: True to ask for the authorized operations on the cluster.
        fenced: True to ask for registered brokers that are not live.
    """

    api: ClassVar[Api] = DESCRIBE_CLUSTER

    operations: bool = False
    fenced: bool = False

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if self.fenced:
            yield Limit("asking for fenced brokers", oldest=2)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "include_cluster_authorized_operations": self.operations,
            "endpoint_type": BROKERS,
            "include_fenced_brokers": self.fenced,
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        rows = [] if body["error_code"] else [(WHOLE, ItemAnswer(value=description_of(body)))]
        return answer_of(body, rows, body["error_code"])


def description_of(body: Body) -> ClusterDescription:
    """Read the brokers of an answer."""
    live: list[Node] = []
    fenced: list[Node] = []
    for row in sorted(body["brokers"], key=lambda row: row["broker_id"]):
        broker = node(row["broker_id"], row["host"], row["port"], row["rack"])
        (fenced if row.get("is_fenced") else live).append(broker)
    return ClusterDescription(
        cluster_id=body["cluster_id"],
        controller=next((each for each in live if each.id == body["controller_id"]), None),
        brokers=tuple(live),
        fenced=tuple(fenced),
        operations=acl_operations(body["cluster_authorized_operations"]),
    )


def acl_operations(bits: int) -> frozenset[AclOperation] | None:
    """Read a set of authorized operations; None where the broker has told none."""
    if bits == NOT_TOLD:
        return None
    return frozenset(each for each in AclOperation if bits >> each & 1)
