"""Operations on ACLs, SCRAM users, quotas and delegation tokens.

Thread: any; tables, and what they say of echoes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from prokurist.errors import IllegalStateException, KafkaException
from prokurist.events.admin.access import (
    AclsToCreate,
    AclsToDelete,
    AclsToDescribe,
    AllUsersToDescribe,
    QuotasToAlter,
    QuotasToDescribe,
    TokensToDescribe,
    TokenToCreate,
    TokenToExpire,
    TokenToRenew,
    UsersToAlter,
    UsersToDescribe,
)
from prokurist.events.admin.items_call import Outcome
from prokurist.events.admin.work import WHOLE
from prokurist.network_thread.admin.job import AdminJob, AdminOperation, Again
from prokurist.network_thread.admin.patience import ask_any
from prokurist.network_thread.admin.places import any_broker, controller
from prokurist.network_thread.error_actions import Action, table
from prokurist.network_thread.operations.operation import Withdrawn
from prokurist.network_thread.wire.admin.acls import CreateAcls, DeleteAcls, DescribeAcls
from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer
from prokurist.network_thread.wire.admin.quotas import AlterQuotas, DescribeQuotas
from prokurist.network_thread.wire.admin.tokens import (
    CreateToken,
    DescribeTokens,
    ExpireToken,
    RenewToken,
)
from prokurist.network_thread.wire.admin.users import AlterUsers, DescribeUsers
from prokurist.types.access import AlteredUser, DeletedAcls

_OF_THE_CLUSTER: Final = {
    7: (Action.RETRY, "the controller did not come to it in time"),
    31: (Action.FATAL, "no rights on the cluster"),
    41: (Action.RETRY, "another broker is the controller"),
    42: (Action.FATAL, "the broker makes no sense of it"),
    54: (Action.FATAL, "the brokers have no authorizer"),
}

DESCRIBE_ACLS: Final = table("DescribeAcls", _OF_THE_CLUSTER)
CREATE_ACLS: Final = table("CreateAcls", _OF_THE_CLUSTER)
DELETE_ACLS: Final = table("DeleteAcls", _OF_THE_CLUSTER)

DESCRIBE_USERS: Final = table(
    "DescribeUserScramCredentials",
    {**_OF_THE_CLUSTER, 91: (Action.FATAL, "the user has no SCRAM credential")},
)

ALTER_USERS: Final = table(
    "AlterUserScramCredentials",
    {
        **_OF_THE_CLUSTER,
        33: (Action.FATAL, "the mechanism is not known there"),
        91: (Action.ECHO, "the user has no such credential"),
        92: (Action.FATAL, "the user is there twice"),
        93: (Action.FATAL, "the credential is refused"),
    },
)

DESCRIBE_QUOTAS: Final = table("DescribeClientQuotas", _OF_THE_CLUSTER)

ALTER_QUOTAS: Final = table(
    "AlterClientQuotas",
    {**_OF_THE_CLUSTER, 40: (Action.FATAL, "the value cannot be")},
)

_OF_A_TOKEN: Final = {
    7: (Action.RETRY, "the controller did not come to it in time"),
    41: (Action.RETRY, "another broker is the controller"),
    61: (Action.FATAL, "the brokers have no delegation.token.secret.key"),
    62: (Action.FATAL, "there is no such token"),
    63: (Action.FATAL, "it belongs to another user"),
    64: (Action.FATAL, "not on this connection: it is unauthenticated, or used a token itself"),
    65: (Action.FATAL, "no rights on the token"),
    66: (Action.FATAL, "it has expired"),
    67: (Action.FATAL, "the brokers do not know the type of a principal"),
}

CREATE_TOKEN: Final = table("CreateDelegationToken", _OF_A_TOKEN)
RENEW_TOKEN: Final = table("RenewDelegationToken", _OF_A_TOKEN)
EXPIRE_TOKEN: Final = table(
    "ExpireDelegationToken",
    {**_OF_A_TOKEN, 62: (Action.ECHO, "there is no such token")},
)
DESCRIBE_TOKENS: Final = table("DescribeDelegationToken", _OF_A_TOKEN)


async def look_for_acls(job: AdminJob) -> None:
    """List the ACLs that are to be deleted, and compare their number."""
    wanted: AclsToDelete = job.work
    found = 0
    for asked in wanted.items:
        try:
            answer = await ask_any(job, DescribeAcls(asked), DESCRIBE_ACLS)
        except Withdrawn:
            raise
        except KafkaException as error:
            job.give_up(wanted.items, error)
            return
        job.notes[asked] = answer.items[WHOLE].value
        found += len(job.notes[asked])
    if wanted.expect is not None and found != wanted.expect:
        job.refuse_all(
            wanted.items,
            IllegalStateException(
                f"the filters fit {found} ACLs where {wanted.expect} were expected, and none "
                f"is deleted: look at them with acls(filter)"
            ),
        )


def deleted_acls(job: AdminJob, answer: ItemsAnswer) -> ItemsAnswer:
    """Read deleted ACLs: a repetition fits none, where an earlier attempt has deleted them."""
    rows: dict[Any, ItemAnswer] = {}
    for asked, row in answer.items.items():
        before = job.notes.get(asked, ())
        gone = not row.error and not row.value.acls and before
        if gone and job.call.was_asked_before(asked):
            row = replace(row, value=DeletedAcls(before, earlier_attempt=True))  # noqa: PLW2901
        rows[asked] = row
    return ItemsAnswer(rows, answer.error, answer.message, answer.throttle)


def all_users_of(job: AdminJob, answer: ItemsAnswer) -> ItemsAnswer:
    """Read the credentials of all users, as one value."""
    if answer.error:
        return answer
    users = {
        name: Outcome(error=job.error(name, row.error, row.message))
        if row.error
        else Outcome(row.value)
        for name, row in answer.items[WHOLE].value.items()
    }
    return ItemsAnswer({WHOLE: ItemAnswer(value=users)}, throttle=answer.throttle)


OPERATIONS: Final[Mapping[type[Any], AdminOperation]] = {
    AclsToDescribe: AdminOperation(
        table=DESCRIBE_ACLS,
        again=Again.QUESTION,
        place=any_broker,
        message=lambda job, _items, _seconds: DescribeAcls(job.work.asked),
    ),
    AclsToCreate: AdminOperation(
        table=CREATE_ACLS,
        again=Again.SAME,
        place=controller,
        message=lambda _job, items, _seconds: CreateAcls(tuple(items)),
    ),
    AclsToDelete: AdminOperation(
        table=DELETE_ACLS,
        again=Again.SAME,
        prepare=look_for_acls,
        place=controller,
        message=lambda _job, items, _seconds: DeleteAcls(tuple(items)),
        rows=deleted_acls,
    ),
    UsersToDescribe: AdminOperation(
        table=DESCRIBE_USERS,
        again=Again.QUESTION,
        place=any_broker,
        message=lambda _job, items, _seconds: DescribeUsers(tuple(items)),
    ),
    AllUsersToDescribe: AdminOperation(
        table=DESCRIBE_USERS,
        again=Again.QUESTION,
        place=any_broker,
        message=lambda _job, _items, _seconds: DescribeUsers(None),
        rows=all_users_of,
    ),
    UsersToAlter: AdminOperation(
        table=ALTER_USERS,
        again=Again.ECHO,
        place=controller,
        message=lambda _job, items, _seconds: AlterUsers(items),
        echoed=lambda _job, _user: AlteredUser(earlier_attempt=True),
    ),
    QuotasToDescribe: AdminOperation(
        table=DESCRIBE_QUOTAS,
        again=Again.QUESTION,
        place=any_broker,
        message=lambda job, _items, _seconds: DescribeQuotas(job.work.asked),
    ),
    QuotasToAlter: AdminOperation(
        table=ALTER_QUOTAS,
        again=Again.SAME,
        place=controller,
        message=lambda job, items, _seconds: AlterQuotas(items, job.work.validate_only),
    ),
    TokenToCreate: AdminOperation(
        table=CREATE_TOKEN,
        again=Again.NEVER,
        place=controller,
        message=lambda job, _items, _seconds: CreateToken(
            job.work.owner, job.work.renewers, job.work.lifetime
        ),
    ),
    TokenToRenew: AdminOperation(
        table=RENEW_TOKEN,
        again=Again.SAME,
        place=controller,
        message=lambda job, _items, _seconds: RenewToken(job.work.hmac, job.work.period),
    ),
    TokenToExpire: AdminOperation(
        table=EXPIRE_TOKEN,
        again=Again.ECHO,
        place=controller,
        message=lambda job, _items, _seconds: ExpireToken(job.work.hmac, job.work.period),
        echoed=lambda _job, _item: None,
    ),
    TokensToDescribe: AdminOperation(
        table=DESCRIBE_TOKENS,
        again=Again.QUESTION,
        place=any_broker,
        message=lambda job, _items, _seconds: DescribeTokens(job.work.owners),
    ),
}
