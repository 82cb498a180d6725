"""`prokurist acls for`: the access control lists that a client needs, and which are missing.

READ and WRITE include DESCRIBE, so that nobody needs that beside them. A producer without
transactions needs WRITE on its topics alone; with transactions, WRITE on its transactional id,
and READ on the groups whose offsets it commits.

Thread: the main one.
"""

from collections.abc import Iterable, Sequence
from enum import Enum

from prokurist.admin import Acl, AclFilter, AclOperation, AclPattern, AclPermission, AclResource
from prokurist.cli.access_changes import ACLS, row_of
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Misused
from prokurist.cli.output import Column, show

COLUMNS = (*ACLS, Column("state", "cyan"))
OPTIONS = {
    AclResource.TOPIC: "-t",
    AclResource.GROUP: "-G",
    AclResource.TRANSACTIONAL_ID: "--transactional-id",
}
EVERYBODY = "User:*"
EVERYWHERE = "*"


class State(Enum):
    """The state of a right that a client needs."""

    ALLOWED = "allowed"
    MISSING = "missing"
    DENIED = "denied"


def needed(
    principal: str,
    topics: Sequence[str],
    groups: Sequence[str],
    transactional_ids: Sequence[str],
    *,
    writes: bool,
    prefixed: bool,
) -> tuple[Acl, ...]:
    """The ACLs that a client needs.

    Args:
        principal: Its user.
        topics: The topics.
        groups: A consumer's group; the groups whose offsets a producer commits.
        transactional_ids: A producer's transactional ids.
        writes: True for a producer.
        prefixed: True if the names are prefixes.

    Raises:
        Misused: The principal has no type, or a consumer has a transactional id.
    """
    if transactional_ids and not writes:
        raise Misused("--transactional-id is a producer's: `prokurist acls for producer`")
    try:
        reads = (
            Acl.allow(
                [principal],
                [AclOperation.READ],
                topics=() if writes else topics,
                groups=groups,
                prefixed=prefixed,
            )
            if groups or not writes
            else ()
        )
        if not writes:
            return reads
        return (
            *Acl.allow(
                [principal],
                [AclOperation.WRITE],
                topics=topics,
                transactional_ids=transactional_ids,
                prefixed=prefixed,
            ),
            *reads,
        )
    except ValueError as error:
        raise Misused(str(error)) from None


def run(asked: CommandOptions, acls: Sequence[Acl], *, as_json: bool) -> int:
    """Show ACLs with their state, and the commands that allow those that are missing.

    Returns:
        The exit code: 1 if one is missing or denied.

    Raises:
        KafkaException: Brokers refuse it, as without an authorizer.
    """
    states: dict[Acl, State] = {}
    with asked.admin() as admin:
        for each in acls:
            match = AclFilter(each.resource, each.name, pattern=AclPattern.MATCH)
            states[each] = state_of(each, admin.acls(match, timeout=asked.left()))
    rows = [{**row_of(acl), "state": state.value} for acl, state in states.items()]
    show(COLUMNS, rows, as_json=as_json)
    missing = [acl for acl, state in states.items() if state is State.MISSING]
    for operation in dict.fromkeys(acl.operation for acl in missing):
        asked.say(command_for([acl for acl in missing if acl.operation is operation]))
    return 0 if set(states.values()) <= {State.ALLOWED} else 1


def state_of(wanted: Acl, found: Iterable[Acl]) -> State:
    """The state of a right, by the ACLs that concern the name of its resource."""
    concerning = [
        each
        for each in found
        if each.principal in {wanted.principal, EVERYBODY}
        and each.operation in {wanted.operation, AclOperation.ALL}
    ]
    if any(each.permission is AclPermission.DENY for each in concerning):
        return State.DENIED
    # An ACL of this very name does not allow all names that begin so.
    prefixed = wanted.pattern is AclPattern.PREFIXED
    return (
        State.ALLOWED
        if any(
            each.host == EVERYWHERE
            and (not prefixed or each.pattern is AclPattern.PREFIXED or each.name == "*")
            for each in concerning
        )
        else State.MISSING
    )


def command_for(acls: Sequence[Acl]) -> str:
    """The command that creates ACLs of one operation."""
    names = " ".join(f"{OPTIONS[each.resource]} {each.name}" for each in acls)
    prefixed = " --prefixed" if acls[0].pattern is AclPattern.PREFIXED else ""
    return (
        f"missing: prokurist acls add --principal {acls[0].principal} "
        f"--operation {acls[0].operation.name.lower()} {names}{prefixed}"
    )
