"""AlterConfigs: all properties of resources at once; a property that is not named is gone."""

from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.configs import ResourceType
from prokurist.testing.cluster.handlers.administration import Refused
from prokurist.testing.cluster.handlers.altering import check_resource, put
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:
    """Replace the properties of each resource."""
    rows = []
    for each in request.resources:
        row = {"resource_type": each.resource_type, "resource_name": each.resource_name}
        try:
            alter(state, each, context, dry=request.validate_only)
            rows.append({**row, "error_code": ErrorCode.none, "error_message": None})
        except Refused as refused:
            rows.append({**row, "error_code": refused.code, "error_message": refused.text})
    return {"responses": rows}


def alter(state: State, asked: Any, context: Context, *, dry: bool) -> None:
    """Replace the properties of one resource."""
    values = {each.name: each.value for each in asked.configs}
    if len(values) < len(asked.configs):
        raise Refused(ErrorCode.invalid_request, "Error due to duplicate config keys")
    nulls = [name for name, value in values.items() if value is None]
    if nulls:
        text = f"Null value not supported for : {','.join(nulls)}"
        raise Refused(ErrorCode.invalid_request, text)
    kind = check_resource(state, asked, context)
    if kind is ResourceType.BROKER_LOGGER:
        raise Refused(ErrorCode.invalid_request, f"Unknown resource type {int(kind)}")
    put(state, context, kind, asked.resource_name, values, dry=dry)
