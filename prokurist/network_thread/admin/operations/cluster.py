"""Operations on the cluster as a whole.

Thread: any; tables.
"""

from typing import Final

from prokurist.events.admin.cluster import ClusterToDescribe
from prokurist.events.admin.work import WHOLE
from prokurist.network_thread.admin.job import AdminJob, AdminOperation, Again
from prokurist.network_thread.admin.places import any_broker
from prokurist.network_thread.error_actions import METADATA, Action, table
from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer
from prokurist.network_thread.wire.admin.cluster import DescribeCluster
from prokurist.network_thread.wire.metadata import Metadata, MetadataAnswer
from prokurist.types.clusters import ClusterDescription

DESCRIBE_CLUSTER: Final = table(
    "DescribeCluster",
    {
        114: (Action.FATAL, "a controller was asked, and brokers were meant"),
        115: (Action.FATAL, "the kind of endpoint is not known"),
    },
)


def brokers_of(job: AdminJob, answer: MetadataAnswer) -> ItemsAnswer:
    """Read the brokers of a Metadata answer."""
    del job
    brokers = tuple(sorted(answer.brokers, key=lambda node: node.id))
    controller = next((each for each in brokers if each.id == answer.controller_id), None)
    value = ClusterDescription(answer.cluster_id, controller, brokers)
    return ItemsAnswer(
        {WHOLE: ItemAnswer(value=value)} if not answer.error else {}, answer.error
    )


BY_METADATA: Final = AdminOperation(
    table=METADATA,
    again=Again.QUESTION,
    place=any_broker,
    message=lambda _job, _items, _seconds: Metadata(()),
    rows=brokers_of,
)
"""For brokers before 2.8, if neither operations nor fenced brokers are asked for."""

OPERATIONS: Final = {
    ClusterToDescribe: AdminOperation(
        table=DESCRIBE_CLUSTER,
        again=Again.QUESTION,
        place=any_broker,
        message=lambda job, _items, _seconds: DescribeCluster(
            job.work.operations, job.work.fenced
        ),
        older=BY_METADATA,
    ),
}
