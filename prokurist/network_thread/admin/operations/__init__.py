"""The operations of administration: a table for each area.

Thread: any; tables. A kind of work is added with its message, its error table and its row in
`OPERATIONS` of an area.
"""

from collections.abc import Mapping
from typing import Any, Final

from prokurist.events.admin.work import Work
from prokurist.network_thread.admin.job import AdminOperation
from prokurist.network_thread.admin.operations import (
    access,
    cluster,
    configs,
    groups,
    quorum,
    records,
    replicas,
    share,
    topics,
    transactions,
)

OPERATIONS: Final[Mapping[type[Any], AdminOperation]] = {
    **topics.OPERATIONS,
    **configs.OPERATIONS,
    **cluster.OPERATIONS,
    **records.OPERATIONS,
    **replicas.OPERATIONS,
    **quorum.OPERATIONS,
    **groups.OPERATIONS,
    **share.OPERATIONS,
    **access.OPERATIONS,
    **transactions.OPERATIONS,
}
"""The operation of each kind of work."""


def operation_of(work: Work) -> AdminOperation:
    """The operation of some work."""
    return OPERATIONS[type(work)]
