"""DescribeAcls, CreateAcls and DeleteAcls.

Thread: any; frozen values.
"""

from collections.abc import Iterator
from typing import ClassVar

from prokurist.events.admin.work import WHOLE
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import (
    ItemAnswer,
    ItemsAnswer,
    answer_of,
    item_of,
)
from prokurist.network_thread.wire.apis import CREATE_ACLS, DELETE_ACLS, DESCRIBE_ACLS, Api
from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.types.access import (
    Acl,
    AclFilter,
    AclPattern,
    AclPermission,
    AclResource,
    DeletedAcls,
)
from prokurist.types.operations import AclOperation


def filter_fields(asked: AclFilter) -> Body:
    """The fields of a filter."""
    return {
        "resource_type_filter": asked.resource,
        "resource_name_filter": asked.name,
        "pattern_type_filter": asked.pattern,
        "principal_filter": asked.principal,
        "host_filter": asked.host,
        "operation": asked.operation,
        "permission_type": asked.permission,
    }


def acl_of(resource: Body, row: Body) -> Acl:
    """Read an ACL.

    Raises:
        Malformed: It is of a kind that is not known.
    """
    try:
        return Acl(
            AclResource(resource["resource_type"]),
            resource["resource_name"],
            row["principal"],
            AclOperation(row["operation"]),
            AclPermission(row["permission_type"]),
            row["host"],
            AclPattern(resource["pattern_type"]),
        )
    except ValueError as error:
        raise Malformed(f"an ACL that cannot be: {error}") from error


@dataclass(frozen=True, slots=True)
class DescribeAcls:
    """Asks a broker for ACLs.

    Nothing is ever left out.

    Attributes:
        asked: The filter.
    """

    api: ClassVar[Api] = DESCRIBE_ACLS

    asked: AclFilter

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return filter_fields(self.asked)

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        code = body["error_code"]
        found = tuple(
            acl_of(resource, row) for resource in body["resources"] for row in resource["acls"]
        )
        return answer_of(body, [] if code else [(WHOLE, ItemAnswer(value=found))], code)


@dataclass(frozen=True, slots=True)
class CreateAcls:
    """Asks the controller to create ACLs.

    Nothing is ever left out.

    Attributes:
        acls: The ACLs.
    """

    api: ClassVar[Api] = CREATE_ACLS

    acls: tuple[Acl, ...]

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "creations": tuple(
                {
                    "resource_type": each.resource,
                    "resource_name": each.name,
                    "resource_pattern_type": each.pattern,
                    "principal": each.principal,
                    "host": each.host,
                    "operation": each.operation,
                    "permission_type": each.permission,
                }
                for each in self.acls
            )
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version: its rows are in the order of the request."""
        rows = body["results"]
        if len(rows) != len(self.acls):
            raise Malformed(f"{len(rows)} results for {len(self.acls)} ACLs")
        return answer_of(body, zip(self.acls, map(item_of, rows), strict=True))


@dataclass(frozen=True, slots=True)
class DeleteAcls:
    """Asks the controller to delete ACLs.

    Nothing is ever left out.

    Attributes:
        filters: The filters.
    """

    api: ClassVar[Api] = DELETE_ACLS

    filters: tuple[AclFilter, ...]

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"filters": tuple(map(filter_fields, self.filters))}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version: its rows are in the order of the request."""
        rows = body["filter_results"]
        if len(rows) != len(self.filters):
            raise Malformed(f"{len(rows)} results for {len(self.filters)} filters")
        return answer_of(body, zip(self.filters, map(deleted_of, rows), strict=True))


def deleted_of(row: Body) -> ItemAnswer:
    """Read the ACLs that a filter has deleted; one that could not be is the filter's error."""
    for each in (row, *row["matching_acls"]):
        if each["error_code"]:
            return item_of(each)
    return ItemAnswer(
        value=DeletedAcls(tuple(acl_of(each, each) for each in row["matching_acls"]))
    )
