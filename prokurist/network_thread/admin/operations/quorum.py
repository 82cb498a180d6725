"""Operations on the controllers' quorum, on features, and on registrations.

Thread: any; tables.
"""

from collections.abc import Mapping
from typing import Any, Final

from prokurist.errors import IllegalStateException
from prokurist.events.admin.quorum import (
    BrokersToUnregister,
    FeaturesToDescribe,
    FeaturesToUpdate,
    QuorumToDescribe,
    VoterToAdd,
    VoterToRemove,
)
from prokurist.network_thread.admin.job import AdminJob, AdminOperation, Again
from prokurist.network_thread.admin.places import any_broker, controller
from prokurist.network_thread.error_actions import Action, table
from prokurist.network_thread.wire.admin.features import DescribeFeatures, UpdateFeatures
from prokurist.network_thread.wire.admin.quorum import (
    AddRaftVoter,
    DescribeQuorum,
    RemoveRaftVoter,
    UnregisterBroker,
)
from prokurist.types.quorums import QuorumChange

_NO_RIGHTS: Final = (Action.FATAL, "no rights on the cluster")
_ELSEWHERE: Final = (Action.RETRY, "another controller is active")
_CROWDED: Final = (Action.RETRY, "the controller did not come to it in time")

DESCRIBE_QUORUM: Final = table(
    "DescribeQuorum", {6: _ELSEWHERE, 31: _NO_RIGHTS, 41: _ELSEWHERE}
)

ALTER_VOTERS: Final = table(
    "AddRaftVoter",
    {
        6: _ELSEWHERE,
        7: _CROWDED,
        31: _NO_RIGHTS,
        41: _ELSEWHERE,
        42: (Action.FATAL, "the controller makes no sense of the voter"),
        126: (Action.ECHO, "it is a voter"),
        127: (Action.ECHO, "it is no voter"),
    },
)

UNREGISTER_BROKER: Final = table(
    "UnregisterBroker",
    {
        7: _CROWDED,
        31: _NO_RIGHTS,
        41: _ELSEWHERE,
        102: (Action.ECHO, "no broker of this id is registered"),
    },
)

UPDATE_FEATURES: Final = table(
    "UpdateFeatures",
    {
        7: _CROWDED,
        31: _NO_RIGHTS,
        41: _ELSEWHERE,
        95: (Action.FATAL, "the level cannot be"),
        96: (Action.FATAL, "the controller could not update it"),
    },
)

DESCRIBE_FEATURES: Final = table("ApiVersions", {})


async def refuse_the_living(job: AdminJob) -> None:
    """Refuse to unregister brokers that are in fresh metadata."""
    cluster = await job.tools.metadata.refreshed(job.call, "the brokers that are alive")
    for number in job.work.items:
        node = cluster.nodes.get(number)
        if node is not None:
            job.call.refuse(
                number,
                IllegalStateException(f"{node} is alive: stop it before it is unregistered"),
            )


def changed(_job: AdminJob, _item: object) -> QuorumChange:
    """The value of a change that an earlier attempt has made."""
    return QuorumChange(earlier_attempt=True)


OPERATIONS: Final[Mapping[type[Any], AdminOperation]] = {
    QuorumToDescribe: AdminOperation(
        table=DESCRIBE_QUORUM,
        again=Again.QUESTION,
        place=any_broker,
        message=lambda _job, _items, _seconds: DescribeQuorum(),
    ),
    VoterToAdd: AdminOperation(
        table=ALTER_VOTERS,
        again=Again.ECHO,
        place=controller,
        message=lambda job, _items, seconds: AddRaftVoter(
            job.work.number, job.work.directory_id, job.work.listeners, seconds
        ),
        echoed=changed,
    ),
    VoterToRemove: AdminOperation(
        table=ALTER_VOTERS,
        again=Again.ECHO,
        place=controller,
        message=lambda job, _items, _seconds: RemoveRaftVoter(
            job.work.number, job.work.directory_id
        ),
        echoed=changed,
    ),
    BrokersToUnregister: AdminOperation(
        table=UNREGISTER_BROKER,
        again=Again.ECHO,
        place=controller,
        prepare=refuse_the_living,
        message=lambda _job, items, _seconds: UnregisterBroker(next(iter(items))),
        echoed=changed,
        most=1,
    ),
    FeaturesToDescribe: AdminOperation(
        table=DESCRIBE_FEATURES,
        again=Again.QUESTION,
        place=any_broker,
        message=lambda _job, _items, _seconds: DescribeFeatures(),
    ),
    FeaturesToUpdate: AdminOperation(
        table=UPDATE_FEATURES,
        again=Again.SAME,
        place=controller,
        message=lambda job, items, seconds: UpdateFeatures(
            items, seconds, job.work.validate_only
        ),
    ),
}
