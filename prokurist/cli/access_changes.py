"""`prokurist acls`, `users`, `quotas`.

Thread: the main one.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prokurist.admin import (
    DEFAULT,
    Acl,
    AclFilter,
    AclOperation,
    AclPattern,
    AclPermission,
    AclResource,
    DeletePassword,
    QuotaEntity,
    QuotaName,
    ScramMechanism,
    SetPassword,
)
from prokurist.cli.changes import confirmed, reported
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.output import Column, Row, show
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import counted

ACLS = (
    Column("principal", "bold"),
    Column("permission"),
    Column("operation"),
    Column("resource"),
    Column("name"),
    Column("pattern", "dim"),
    Column("host", "dim"),
)
USERS = (Column("user", "bold"), Column("mechanism"), Column("iterations"))
QUOTAS = (Column("entity", "bold"), Column("key"), Column("value"))


@dataclass(frozen=True, slots=True)
class Rights:
    """The fields of ACLs, as options name them.

    Attributes:
        principals: Users, such as `User:alice`.
        operations: Operations.
        topics: Topics.
        groups: Groups.
        transactional_ids: Transactional ids.
        cluster: True for the cluster.
        prefixed: True if names are prefixes.
        hosts: Addresses.
        deny: True to deny.
    """

    principals: Sequence[str]
    operations: Sequence[str]
    topics: Sequence[str] = ()
    groups: Sequence[str] = ()
    transactional_ids: Sequence[str] = ()
    cluster: bool = False
    prefixed: bool = False
    hosts: Sequence[str] = ()
    deny: bool = False

    def acls(self) -> tuple[Acl, ...]:
        """The ACLs that they name.

        Raises:
            Misused: They name none.
        """
        try:
            return Acl.allow(
                self.principals,
                self.kinds(),
                topics=self.topics,
                groups=self.groups,
                transactional_ids=self.transactional_ids,
                cluster=self.cluster,
                prefixed=self.prefixed,
                hosts=self.hosts or ("*",),
                permission=AclPermission.DENY if self.deny else AclPermission.ALLOW,
            )
        except ValueError as error:
            raise Misused(str(error)) from None

    def filters(self) -> list[AclFilter]:
        """The filters that they name.

        Raises:
            Misused: A principal has no type.
        """
        resources: list[tuple[AclResource, str | None]] = [
            *((AclResource.TOPIC, each) for each in self.topics),
            *((AclResource.GROUP, each) for each in self.groups),
            *((AclResource.TRANSACTIONAL_ID, each) for each in self.transactional_ids),
        ]
        if self.cluster:
            resources.append((AclResource.CLUSTER, None))
        try:
            return [
                AclFilter(
                    resource,
                    name,
                    principal,
                    operation,
                    AclPermission.DENY if self.deny else AclPermission.ANY,
                    host,
                    AclPattern.PREFIXED if self.prefixed else AclPattern.ANY,
                )
                for resource, name in resources or [(AclResource.ANY, None)]
                for principal in self.principals or (None,)
                for operation in self.kinds() or [AclOperation.ANY]
                for host in self.hosts or (None,)
            ]
        except ValueError as error:
            raise Misused(str(error)) from None

    def kinds(self) -> list[AclOperation]:
        """The operations.

        Raises:
            Misused: There is no such operation.
        """
        known = {each.name: each for each in AclOperation if each > AclOperation.ANY}
        found = []
        for each in self.operations:
            name = each.upper().replace("-", "_")
            if name not in known:
                raise Misused(f"--operation {each}: there are {', '.join(known).lower()}")
            found.append(known[name])
        return found


def list_acls(asked: CommandOptions, rights: Rights, *, as_json: bool) -> None:
    """List ACLs that options fit; all of them without any.

    Raises:
        KafkaException: Brokers refuse it, as without an authorizer.
    """
    with asked.admin() as admin:
        found = {
            each: None
            for wanted in rights.filters()
            for each in admin.acls(wanted, timeout=asked.left())
        }
    show(ACLS, [row_of(each) for each in sorted(found)], as_json=as_json)
    asked.say(counted(len(found), "ACL"))


def row_of(acl: Acl) -> Row:
    """An ACL in one row."""
    return {
        "principal": acl.principal,
        "permission": acl.permission.name.lower(),
        "operation": acl.operation.name.lower(),
        "resource": acl.resource.name.lower(),
        "name": acl.name,
        "pattern": acl.pattern.name.lower(),
        "host": acl.host,
    }


def add_acls(asked: CommandOptions, rights: Rights, *, dry_run: bool, as_json: bool) -> int:
    """Create ACLs.

    Raises:
        KafkaException: Nothing could be asked.
        Misused: The options name none.
    """
    acls = rights.acls()
    if dry_run:
        return reported(asked, dict.fromkeys(acls), "created", as_json=as_json, dry_run=True)
    with asked.admin() as admin:
        results = admin.create_acls(acls, timeout=asked.left())
    return reported(asked, results, "created", as_json=as_json)


def remove_acls(
    asked: CommandOptions, rights: Rights, *, yes: bool, dry_run: bool, as_json: bool
) -> int:
    """Delete the ACLs that options fit.

    Raises:
        Failed: They fit none, or the deletion is not confirmed.
        KafkaException: Nothing could be asked.
        Misused: There are no options.
    """
    if rights == Rights((), ()):
        raise Misused("name the ACLs to remove: by --principal, --topic, --group, …")
    filters = rights.filters()
    with asked.admin() as admin:
        found = {
            each: None
            for wanted in filters
            for each in admin.acls(wanted, timeout=asked.left())
        }
        if not found:
            raise Failed("there are no such ACLs")
        if dry_run:
            return reported(asked, found, "deleted", as_json=as_json, dry_run=True)
        for each in found:
            asked.say(str(each))
        asked = confirmed(asked, "delete", len(found), "ACL", yes=yes)
        results = admin.delete_acls(found, expect=len(found), timeout=asked.left())
        deleted = {acl: results.errors.get(AclFilter.of(acl)) for acl in found}
    return reported(asked, deleted, "deleted", as_json=as_json)


# --- users ---------------------------------------------------------------------------------


def list_users(asked: CommandOptions, *, as_json: bool) -> None:
    """List users with SCRAM credentials.

    Raises:
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        found = admin.users(timeout=asked.left()).check()
    rows: list[Row] = [
        {"user": name, "mechanism": spelled(mechanism), "iterations": iterations}
        for name, each in sorted(found.items())
        for mechanism, iterations in sorted(each.items())
    ]
    show(USERS, rows, as_json=as_json)
    asked.say(counted(len(found), "user"))


def spelled(mechanism: ScramMechanism) -> str:
    """The name of a mechanism, as configurations have it."""
    return mechanism.name.replace("_", "-")


def mechanism_of(text: str) -> ScramMechanism:
    """The mechanism of a name.

    Raises:
        Misused: There is no such mechanism.
    """
    known = {spelled(each): each for each in ScramMechanism}
    if text.upper() not in known:
        raise Misused(f"--mechanism {text}: there are {' and '.join(known)}")
    return known[text.upper()]


def set_password(
    asked: CommandOptions,
    name: str,
    mechanism: str,
    password: Path | None,
    *,
    iterations: int,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Create a user, or change its password, which is read from a file or standard input.

    Raises:
        KafkaException: Nothing could be asked.
        Misused: There is no password.
    """
    kind = mechanism_of(mechanism)
    if dry_run:
        return reported(asked, {name: None}, "given a password", as_json=as_json, dry_run=True)
    change = SetPassword(read_password(name, password), kind, iterations)
    with asked.admin() as admin:
        results = admin.alter_users({name: change}, timeout=asked.left())
    return reported(asked, results, "given a password", as_json=as_json)


def read_password(name: str, file: Path | None) -> str:
    """Read a password: the first line of a file, or of standard input.

    Raises:
        Misused: There is none.
    """
    if file is not None:
        try:
            text = file.read_text("utf-8")
        except (OSError, ValueError) as error:
            raise Misused(f"--password-file {file}: {error}") from None
    elif sys.stdin.isatty():
        from getpass import getpass  # noqa: PLC0415 - on a terminal alone

        text = getpass(f"password of {name}: ")
    else:
        text = sys.stdin.readline()
    line = text.partition("\n")[0].rstrip("\r")
    if not line:
        raise Misused("there is no password: give --password-file, or write it to stdin")
    return line


def delete_user(
    asked: CommandOptions,
    name: str,
    mechanism: str | None,
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Delete the credentials of a user: of one mechanism, or of all.

    Raises:
        Failed: The deletion is not confirmed.
        KafkaException: There is no such user.
    """
    with asked.admin() as admin:
        present = admin.users([name], timeout=asked.left())[name]
        wanted = list(present) if mechanism is None else [mechanism_of(mechanism)]
        rows: dict[str, Any] = {f"{name} {spelled(each)}": None for each in wanted}
        if dry_run:
            return reported(asked, rows, "deleted", as_json=as_json, dry_run=True)
        asked = confirmed(asked, "delete", len(wanted), "credential", yes=yes)
        for each in wanted:
            done = admin.alter_users({name: DeletePassword(each)}, timeout=asked.left())
            rows[f"{name} {spelled(each)}"] = done.errors.get(name)
    return reported(asked, rows, "deleted", as_json=as_json)


# --- quotas --------------------------------------------------------------------------------


def entity_of(user: str | None, client_id: str | None, ip: str | None) -> QuotaEntity:
    """The entity of options; an empty name is the default.

    Raises:
        Misused: Nothing is named.
    """
    names: list[str | QuotaName | None] = [
        DEFAULT if each == "" else each for each in (user, client_id, ip)
    ]
    try:
        return QuotaEntity(*names)
    except ValueError as error:
        raise Misused(f"--user, --client-id or --ip: {error}") from None


def name_of(entity: QuotaEntity) -> str:
    """An entity in words."""
    parts = {"user": entity.user, "client-id": entity.client_id, "ip": entity.ip}
    return ", ".join(
        f"{kind} {'(default)' if name is DEFAULT else name}"
        for kind, name in parts.items()
        if name is not None
    )


def list_quotas(asked: CommandOptions, *, as_json: bool) -> None:
    """List client quotas.

    Raises:
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        found = admin.quotas(timeout=asked.left())
    rows: list[Row] = [
        {"entity": name_of(entity), "key": key, "value": f"{value:.15g}"}
        for entity, values in found.items()
        for key, value in sorted(values.items())
    ]
    show(QUOTAS, sorted(rows, key=lambda row: str(row["entity"])), as_json=as_json)


def change_quotas(
    asked: CommandOptions,
    entity: QuotaEntity,
    values: Mapping[str, str | None],
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Set quotas, or remove those whose value is None.

    Raises:
        KafkaException: Nothing could be asked.
        Misused: A value is no number.
    """
    try:
        numbers = {
            key: None if value is None else float(value) for key, value in values.items()
        }
    except ValueError as error:
        raise Misused(f"a quota is a number, such as producer_byte_rate=1e6: {error}") from None
    with asked.admin() as admin:
        results = admin.alter_quotas(
            {entity: numbers}, validate_only=dry_run, timeout=asked.left()
        )
    outcomes = {name_of(each): results.errors.get(each) for each in results}
    return reported(asked, outcomes, "altered", as_json=as_json, dry_run=dry_run)
