"""Names of attributes: one table, with the names before and from semantic conventions 1.45.

`OTEL_SEMCONV_STABILITY_OPT_IN` chooses, as for every instrumentation: `messaging` has the newer
names, `messaging/dup` both, and without either the older ones stand.

Thread: any; read-only once made.
"""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

Value = str | int | bool

OPT_IN: Final = "OTEL_SEMCONV_STABILITY_OPT_IN"

SCHEMA_OLD: Final = "https://opentelemetry.io/schemas/1.44.0"
SCHEMA_NEW: Final = "https://opentelemetry.io/schemas/1.45.0"

TABLE: Final[Mapping[str, tuple[str | None, str | None]]] = MappingProxyType(
    {
        "system": ("messaging.system", "messaging.system.name"),
        "operation_name": ("messaging.operation.name",) * 2,
        "operation_type": ("messaging.operation.type",) * 2,
        "topic": ("messaging.destination.name",) * 2,
        "partition": ("messaging.destination.partition.id",) * 2,
        "group": ("messaging.consumer.group.name",) * 2,
        "client": ("messaging.client.id",) * 2,
        "count": ("messaging.batch.message_count",) * 2,
        "offset": ("messaging.kafka.offset", "kafka.offset"),
        "key": ("messaging.kafka.message.key", "kafka.message.key"),
        "tombstone": ("messaging.kafka.message.tombstone", "kafka.message.tombstone"),
        "cluster": (None, "kafka.cluster.id"),
        "server": ("server.address",) * 2,
        "port": ("server.port",) * 2,
        "error": ("error.type",) * 2,
    }
)
"""Each attribute by our word for it: its name until 1.44, and its name from 1.45 on."""


class Names:
    """Names of attributes as one program wants them.

    Args:
        opt_in: The value of `OTEL_SEMCONV_STABILITY_OPT_IN`; None to read the environment.
    """

    def __init__(self, opt_in: str | None = None) -> None:
        given = os.environ.get(OPT_IN, "") if opt_in is None else opt_in
        wanted = {each.strip() for each in given.split(",")}
        both, newer = "messaging/dup" in wanted, "messaging" in wanted
        self.schema: Final = SCHEMA_NEW if both or newer else SCHEMA_OLD
        columns = (0, 1) if both else (1,) if newer else (0,)
        self._names: Final = {
            word: tuple(dict.fromkeys(name for at in columns if (name := names[at])))
            for word, names in TABLE.items()
        }

    def of(self, **values: Value | None) -> dict[str, Value]:
        """Attributes by their names; values that are None are left out."""
        made: dict[str, Value] = {}
        for word, value in values.items():
            if value is not None:
                for name in self._names[word]:
                    made[name] = value
        return made

    def __repr__(self) -> str:
        return f"Names({self.schema})"
