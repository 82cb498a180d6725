"""DescribeConfigs: the properties of topics, brokers, loggers and groups."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.brokers import Broker
from prokurist.testing.cluster.configs import (
    EVERY_BROKER,
    ResourceType,
    Source,
    Value,
    in_force,
)
from prokurist.testing.cluster.handlers.administration import (
    Refused,
    refuse_by_rule,
    refused_if_no_name,
)
from prokurist.testing.cluster.properties import (
    BROKER_PROPERTIES,
    GROUP_PROPERTIES,
    TOPIC_PROPERTIES,
    Kind,
    Property,
)
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the "
    "message was sent to an incompatible broker. See the broker logs for more details."
)
LOGGERS: Final = ("kafka.server.KafkaApis", "root")
USUAL_LEVEL: Final = "INFO"


def handle(state: State, request: Any, context: Context) -> Values:
    """Describe each resource."""
    return {"results": [describe(state, request, each, context) for each in request.resources]}


def describe(state: State, request: Any, asked: Any, context: Context) -> Values:
    """One resource."""
    row = {"resource_type": asked.resource_type, "resource_name": asked.resource_name}
    try:
        refuse_by_rule(context, asked.resource_name)
        rows = rows_of(state, asked, context)
    except Refused as refused:
        text = refused.text or ""
        return {**row, "error_code": refused.code, "error_message": text, "configs": []}
    keys = asked.configuration_keys
    return {
        **row,
        "error_code": ErrorCode.none,
        "error_message": "",
        "configs": [
            {**each, "synonyms": each["synonyms"] if request.include_synonyms else []}
            for each in rows
            if not keys or each["name"] in keys
        ],
    }


def rows_of(state: State, asked: Any, context: Context) -> list[Values]:
    """The properties of one resource."""
    match asked.resource_type:
        case ResourceType.TOPIC:
            return topic_rows(state, asked.resource_name, context)
        case ResourceType.BROKER:
            return broker_rows(state, asked.resource_name, context)
        case ResourceType.BROKER_LOGGER:
            return logger_rows(state, asked.resource_name, context)
        case ResourceType.GROUP:
            return group_rows(state, asked.resource_name, context)
        case _:
            raise Refused(ErrorCode.invalid_request, MALFORMED)


def topic_rows(state: State, name: str, context: Context) -> list[Values]:
    """The properties of a topic."""
    refused_if_no_name(name)
    if name in state.denied_topics:
        raise Refused(ErrorCode.topic_authorization_failed)
    topic = state.topics.get(name)
    if topic is None:
        raise Refused(ErrorCode.unknown_topic_or_partition)
    rows = []
    for known in TOPIC_PROPERTIES.values():
        values = state.configs.values_of(known, topic.given, Source.TOPIC, context.node)
        rows.append(row_of(known, in_force(known, values), values))
    return rows


def group_rows(state: State, name: str, context: Context) -> list[Values]:
    """The properties of a group, whether it is there or not."""
    if not name:
        raise Refused(ErrorCode.invalid_request, "Group name must not be empty")
    if name in state.denied_groups:
        raise Refused(ErrorCode.group_authorization_failed)
    given = state.configs.of(ResourceType.GROUP, name)
    rows = []
    for known in GROUP_PROPERTIES.values():
        values = state.configs.values_of(known, given, Source.GROUP, context.node)
        rows.append(row_of(known, in_force(known, values), values))
    return rows


def broker_rows(state: State, name: str, context: Context) -> list[Values]:
    """The properties of the broker asked, or those set for all brokers."""
    if name == EVERY_BROKER:
        given = state.configs.of(ResourceType.BROKER, EVERY_BROKER)
        return [default_row(each, value) for each, value in given.items()]
    refused_if_another(name, context, "expected {} or empty string, but received {}")
    own = file_of(context.broker)
    rows = []
    for known in BROKER_PROPERTIES.values():
        values = state.configs.values_of_broker(known, context.node, own)
        rows.append(row_of(known, in_force(known, values), values))
    return [*rows, *custom_rows(state, context)]


def custom_rows(state: State, context: Context) -> Iterable[Values]:
    """Properties that an administrator has set and no broker knows."""
    given = {
        **state.configs.of(ResourceType.BROKER, EVERY_BROKER),
        **state.configs.of(ResourceType.BROKER, str(context.node)),
    }
    for name in given:
        if name not in BROKER_PROPERTIES:
            known = unknown(name)
            values = state.configs.values_of_broker(known, context.node, {})
            yield row_of(known, in_force(known, values), values)


def default_row(name: str, value: str) -> Values:
    """A property that is set for all brokers."""
    known = BROKER_PROPERTIES.get(name, unknown(name))
    found = Value(name, value, Source.EVERY_BROKER)
    return row_of(known, found, [found])


def unknown(name: str) -> Property:
    """A property that no broker knows: its value is not shown."""
    return Property(name, Kind.UNKNOWN, None, read_only=True)


def logger_rows(state: State, name: str, context: Context) -> list[Values]:
    """The levels of the loggers of the broker that is asked."""
    refused_if_another(name, context, "expected {} but received {}")
    return [
        {
            "name": each,
            "value": state.configs.loggers.get((context.node, each), USUAL_LEVEL),
            "read_only": False,
            "config_source": int(Source.LOGGER),
            "is_sensitive": False,
            "synonyms": [],
            "config_type": int(Kind.UNKNOWN),
            "documentation": None,
        }
        for each in LOGGERS
    ]


def refused_if_another(name: str, context: Context, form: str) -> None:
    """Refuse a name that is not that of the broker that is asked."""
    try:
        node = int(name)
    except ValueError:
        text = f"Broker id must be an integer, but it is: {name}"
        raise Refused(ErrorCode.invalid_request, text) from None
    if node != context.node:
        text = f"Unexpected broker id, {form.format(context.node, node)}"
        raise Refused(ErrorCode.invalid_request, text)


def row_of(known: Property, value: Value, synonyms: Iterable[Value]) -> Values:
    """One property, with the values behind it."""
    hidden = known.sensitive
    return {
        "name": known.name,
        "value": None if hidden else value.value,
        "read_only": known.read_only,
        "config_source": int(value.source),
        "is_sensitive": hidden,
        "synonyms": [
            {
                "name": each.name,
                "value": None if hidden else each.value,
                "source": int(each.source),
            }
            for each in synonyms
        ],
        "config_type": int(known.kind),
        "documentation": None,
    }


def file_of(broker: Broker) -> Mapping[str, str]:
    """The properties in the file of one broker alone."""
    node = broker.node
    address = f"PLAINTEXT://{node.host}:{node.port}"
    own = {
        "node.id": str(node.id),
        "broker.id": str(node.id),
        "listeners": address,
        "advertised.listeners": address,
        "process.roles": "broker,controller",
    }
    return own if node.rack is None else {**own, "broker.rack": node.rack}
