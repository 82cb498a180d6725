"""IncrementalAlterConfigs: single properties of resources, set, deleted, appended to."""

from collections import Counter
from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.configs import ResourceType, is_list
from prokurist.testing.cluster.handlers.administration import Refused
from prokurist.testing.cluster.handlers.altering import (
    check_resource,
    given_to,
    level_loggers,
    put,
)
from prokurist.testing.cluster.properties import BROKER_PROPERTIES, TOPIC_PROPERTIES, items_of
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

SET, DELETE, APPEND, SUBTRACT = range(4)
OPERATIONS: Final = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


def handle(state: State, request: Any, context: Context) -> Values:
    """Change each resource, as a whole or not at all."""
    named = Counter((each.resource_type, each.resource_name) for each in request.resources)
    rows = []
    for each in request.resources:
        who = each.resource_type, each.resource_name
        row = {"resource_type": who[0], "resource_name": who[1]}
        if named[who] > 1:
            text = "Each resource must appear at most once."
            code = ErrorCode.invalid_request
            rows.append({**row, "error_code": code, "error_message": text})
            continue
        try:
            alter(state, each, context, dry=request.validate_only)
            rows.append({**row, "error_code": ErrorCode.none, "error_message": None})
        except Refused as refused:
            rows.append({**row, "error_code": refused.code, "error_message": refused.text})
    return {"responses": rows}


def alter(state: State, asked: Any, context: Context, *, dry: bool) -> None:
    """Change one resource."""
    operations = {each.name: each for each in asked.configs}
    if len(operations) < len(asked.configs):
        raise Refused(ErrorCode.invalid_request, "Error due to duplicate config keys")
    nulls = [
        each.name
        for each in asked.configs
        if each.value is None and each.config_operation != DELETE
    ]
    if nulls:
        text = f"Null value not supported for : {','.join(nulls)}"
        raise Refused(ErrorCode.invalid_request, text)
    kind = check_resource(state, asked, context)
    if any(each.config_operation not in range(4) for each in asked.configs):
        raise Refused(ErrorCode.unknown_server_error)
    if kind is ResourceType.BROKER_LOGGER:
        levels = {
            name: None if each.config_operation == DELETE else each.value
            for name, each in operations.items()
        }
        level_loggers(state, context, levels, dry=dry)
        return
    values = dict(given_to(state, kind, asked.resource_name))
    for name, each in operations.items():
        change(values, kind, name, each)
    put(state, context, kind, asked.resource_name, values, dry=dry)


def change(values: dict[str, str], kind: ResourceType, name: str, asked: Any) -> None:
    """Change one property."""
    match asked.config_operation:
        case 0:
            values[name] = asked.value
        case 1:
            values.pop(name, None)
        case operation:
            if not is_list(kind, name):
                text = f"Can't {OPERATIONS[operation]} to key {name} because its type is not "
                raise Refused(ErrorCode.invalid_config, f"{text}LIST.")
            known = {**BROKER_PROPERTIES, **TOPIC_PROPERTIES}.get(name)
            before = values.get(name, (known.default if known else None) or "")
            items, named = items_of(before), items_of(asked.value)
            if operation == APPEND:
                items += [each for each in named if each not in items]
            else:
                items = [each for each in items if each not in named]
            values[name] = ",".join(items)
