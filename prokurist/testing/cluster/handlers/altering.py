"""Changes of configurations, for both requests that change them."""

from collections.abc import Mapping
from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.configs import (
    EVERY_BROKER,
    ResourceType,
    check_broker_config,
    check_group_config,
    check_topic_config,
    in_force,
)
from prokurist.testing.cluster.handlers.administration import Refused, refuse_by_rule
from prokurist.testing.cluster.handlers.describe_configs import LOGGERS
from prokurist.testing.cluster.properties import BROKER_PROPERTIES, InvalidValue
from prokurist.testing.cluster.state import State

LEVELS: Final = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")


def check_resource(state: State, asked: Any, context: Context) -> ResourceType:
    """Return the kind of a resource that may be changed."""
    name = asked.resource_name
    refuse_by_rule(context, name)
    try:
        kind = ResourceType(asked.resource_type)
    except ValueError:
        text = f"Unknown resource type {asked.resource_type}"
        raise Refused(ErrorCode.invalid_request, text) from None
    if kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and name != EVERY_BROKER:
        refused_if_another(name, context)
    elif kind in (ResourceType.TOPIC, ResourceType.GROUP) and not name:
        text = f"Default {kind.name.lower()} resources are not allowed."
        raise Refused(ErrorCode.invalid_request, text)
    if kind is ResourceType.TOPIC:
        if name in state.denied_topics:
            raise Refused(ErrorCode.topic_authorization_failed)
        if name not in state.topics:
            text = f"The topic '{name}' does not exist."
            raise Refused(ErrorCode.unknown_topic_or_partition, text)
    if kind is ResourceType.GROUP and name in state.denied_groups:
        raise Refused(ErrorCode.group_authorization_failed)
    return kind


def refused_if_another(name: str, context: Context) -> None:
    """Refuse a name that is not that of the broker that is asked."""
    try:
        node = int(name)
    except ValueError:
        text = f"Node id must be an integer, but it is: {name}"
        raise Refused(ErrorCode.invalid_request, text) from None
    if node != context.node:
        text = f"Unexpected broker id, expected {context.node}, but received {node}"
        raise Refused(ErrorCode.invalid_request, text)


def given_to(state: State, kind: ResourceType, name: str) -> Mapping[str, str]:
    """The properties that are set for a resource."""
    if kind is ResourceType.TOPIC:
        return state.topics[name].given
    return state.configs.of(kind, name)


def put(
    state: State,
    context: Context,
    kind: ResourceType,
    name: str,
    values: dict[str, str],
    *,
    dry: bool,
) -> None:
    """Set the properties of a resource once they are checked."""
    try:
        if kind is ResourceType.TOPIC:
            check_topic_config(values)
        elif kind is ResourceType.GROUP:
            check_group_config(values, broker_values(state, context))
    except InvalidValue as error:
        raise Refused(ErrorCode.invalid_config, str(error)) from None
    try:
        if kind is ResourceType.BROKER:
            check_broker_config(values)
    except InvalidValue as error:
        raise Refused(ErrorCode.invalid_request, str(error)) from None
    if dry:
        return
    if kind is ResourceType.TOPIC:
        state.topics[name].given = values
        state.configs_changed(state.topics[name])
    else:
        state.configs.replace(kind, name, values)
        state.configs_changed()
    state.changed(context.now)


def broker_values(state: State, context: Context) -> Mapping[str, str | None]:
    """The properties of a broker in force."""
    found = {}
    for name, known in BROKER_PROPERTIES.items():
        values = state.configs.values_of_broker(known, context.node, {})
        found[name] = in_force(known, values).value
    return found


def level_loggers(
    state: State, context: Context, levels: Mapping[str, str | None], *, dry: bool
) -> None:
    """Change the levels of loggers of the broker that is asked; None for the usual one."""
    for logger, level in levels.items():
        if logger not in LOGGERS:
            raise Refused(ErrorCode.invalid_config, f"Logger {logger} does not exist!")
        if level is not None and level not in LEVELS:
            raise Refused(
                ErrorCode.invalid_config,
                f"Cannot set the log level of {logger} to {level} as it is not a supported log "
                f"level. Valid log levels are {', '.join(LEVELS)}",
            )
    if dry:
        return
    for logger, level in levels.items():
        if level is None:
            state.configs.loggers.pop((context.node, logger), None)
        else:
            state.configs.loggers[context.node, logger] = level
