"""DescribeAcls, CreateAcls and DeleteAcls: as a cluster with an authorizer answers them."""

from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.acls import (
    ANY,
    CLUSTER,
    CLUSTER_NAME,
    MATCH,
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSIONS,
    RESOURCE_TYPES,
    UNKNOWN,
    Acl,
    Filter,
    Pattern,
)
from prokurist.testing.cluster.answers import Context, Result, Silence
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.administration import Refused
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Result:
    """Answer by the API."""
    match context.api.name:
        case "DescribeAcls":
            return describe(state, request, context)
        case "CreateAcls":
            return create(state, request, context)
        case _:
            return delete(state, request, context)


def filter_of(asked: Any) -> Filter:
    """The filter in a request, or in a part of a request."""
    return Filter(
        asked.resource_type_filter,
        asked.resource_name_filter,
        field(asked, "pattern_type_filter", 3),
        asked.principal_filter,
        asked.host_filter,
        asked.operation,
        asked.permission_type,
    )


def describe(state: State, request: Any, context: Context) -> Result:
    """List the matching entries, by their resources."""
    asked = filter_of(request)
    if asked.is_unknown:
        return Silence.CLOSE
    code = context.refusals.whole()
    patterns: dict[Pattern, list[Acl]] = {}
    for each in [] if code else state.acls.fitting(asked):
        patterns.setdefault(each.pattern, []).append(each)
    return {
        "error_code": code,
        "error_message": None if code else "",
        "resources": [
            {
                "resource_type": pattern.resource_type,
                "resource_name": pattern.name,
                "pattern_type": pattern.pattern_type,
                "acls": [entry_values(each) for each in entries],
            }
            for pattern, entries in patterns.items()
        ],
    }


def entry_values(acl: Acl) -> dict[str, Any]:
    """An entry without its resource."""
    return {
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation,
        "permission_type": acl.permission,
    }


def create(state: State, request: Any, context: Context) -> Result:
    """Make the valid entries of the request."""
    asked = [creation_of(each) for each in request.creations]
    if any(UNKNOWN in codes(each) for each in asked):
        return Silence.CLOSE
    code = context.refusals.whole()
    if not code and any(is_filter(each) for each in asked):
        # A filter in place of an entry fails the whole request.
        code = ErrorCode.unknown_server_error
    if code:
        return {"results": [{"error_code": code, "error_message": None}] * len(asked)}
    rows: list[Values] = []
    for each in asked:
        try:
            check(each)
            state.acls.add(each)
            rows.append({"error_code": ErrorCode.none, "error_message": ""})
        except Refused as refused:
            rows.append({"error_code": refused.code, "error_message": refused.text})
    return {"results": rows}


def creation_of(asked: Any) -> Acl:
    """The requested entry."""
    pattern = Pattern(
        asked.resource_type, asked.resource_name, field(asked, "resource_pattern_type", 3)
    )
    return Acl(pattern, asked.principal, asked.host, asked.operation, asked.permission_type)


def codes(acl: Acl) -> tuple[int, ...]:
    """The codes of an entry."""
    pattern = acl.pattern
    return pattern.resource_type, pattern.pattern_type, acl.operation, acl.permission


def is_filter(acl: Acl) -> bool:
    """True if a field fits several things, as only a filter's may."""
    return ANY in codes(acl) or acl.pattern.pattern_type == MATCH


def check(acl: Acl) -> None:
    """Refuse an invalid entry."""
    pattern = acl.pattern
    why = None
    if ":" not in acl.principal:
        why = (
            f"Could not parse principal from `{acl.principal}` (no colon is present separating "
            "the principal type from the principal name)"
        )
    elif pattern.resource_type == CLUSTER and pattern.name != CLUSTER_NAME:
        why = f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    elif pattern.resource_type not in RESOURCE_TYPES:
        why = "Invalid resourceType UNKNOWN"
    elif pattern.pattern_type not in PATTERN_TYPES:
        why = "Invalid patternType UNKNOWN"
    elif acl.operation not in OPERATIONS:
        why = "Invalid operation UNKNOWN"
    elif acl.permission not in PERMISSIONS:
        why = "Invalid permissionType UNKNOWN"
    elif not pattern.name:
        why = "Invalid empty resource name"
    if why is not None:
        raise Refused(ErrorCode.invalid_request, why)


def delete(state: State, request: Any, context: Context) -> Result:
    """Delete the entries matching any of the filters."""
    filters = [filter_of(each) for each in request.filters]
    if any(each.is_unknown for each in filters):
        return Silence.CLOSE
    code = context.refusals.whole()
    found = [[] if code else state.acls.fitting(each) for each in filters]
    for each in found:
        state.acls.remove(each)
    return {"filter_results": [filter_values(each, code) for each in found]}


def filter_values(found: list[Acl], code: int) -> Values:
    """The part of an answer about a filter."""
    return {
        "error_code": code,
        "error_message": None,
        "matching_acls": [
            {
                "error_code": ErrorCode.none,
                "error_message": None,
                "resource_type": each.pattern.resource_type,
                "resource_name": each.pattern.name,
                "pattern_type": each.pattern.pattern_type,
                **entry_values(each),
            }
            for each in found
        ],
    }
