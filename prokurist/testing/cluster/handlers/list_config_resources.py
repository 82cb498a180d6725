"""ListConfigResources: the resources with a configuration; once ListClientMetricsResources."""

from collections.abc import Iterator
from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.configs import ResourceType
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

CLIENT_METRICS: Final = 16
KNOWN: Final = frozenset({CLIENT_METRICS, *ResourceType})


def handle(state: State, request: Any, context: Context) -> Values:
    """List the resources of given types, or of all; version 0 has one type."""
    types = set(field(request, "resource_types", (CLIENT_METRICS,)))
    code = context.refusals.whole()
    if not code and types - KNOWN:
        code = ErrorCode.unsupported_version
    rows = [] if code else list(resources(state))
    return {
        "error_code": code,
        "config_resources": [
            {"resource_name": name, "resource_type": int(kind)}
            for kind, name in rows
            if not types or kind in types
        ],
    }


def resources(state: State) -> Iterator[tuple[ResourceType, str]]:
    """All resources: brokers and topics, and groups with properties of their own."""
    for broker in state.registered():
        yield ResourceType.BROKER, str(broker.node.id)
        yield ResourceType.BROKER_LOGGER, str(broker.node.id)
    for topic in state.topics:
        yield ResourceType.TOPIC, topic
    for kind, name in state.configs.given:
        if kind is ResourceType.GROUP:
            yield kind, name
