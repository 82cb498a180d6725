"""A schema registry's client, and serializers for Avro, Protobuf and JSON Schema.

Avro needs `prokurist[registry]`, Protobuf `prokurist[protobuf]`, and JSON Schema
`prokurist[jsonschema]`; each is imported when its names are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prokurist.registry.avro import AvroDeserializer as AvroDeserializer
    from prokurist.registry.avro import AvroSerializer as AvroSerializer
    from prokurist.registry.credentials import OAuthClient as OAuthClient
    from prokurist.registry.json_schema import JsonDeserializer as JsonDeserializer
    from prokurist.registry.json_schema import JsonSerializer as JsonSerializer
    from prokurist.registry.protobuf import ProtobufDeserializer as ProtobufDeserializer
    from prokurist.registry.protobuf import ProtobufSerializer as ProtobufSerializer
    from prokurist.registry.registry import SchemaRegistry as SchemaRegistry
    from prokurist.registry.schema import RegisteredSchema as RegisteredSchema
    from prokurist.registry.schema import Schema as Schema
    from prokurist.registry.schema import SchemaReference as SchemaReference
    from prokurist.registry.schema import SchemaType as SchemaType
    from prokurist.registry.subjects import record_name as record_name
    from prokurist.registry.subjects import topic_name as topic_name
    from prokurist.registry.subjects import topic_record_name as topic_record_name

_HOMES = {
    "AvroDeserializer": "avro",
    "AvroSerializer": "avro",
    "JsonDeserializer": "json_schema",
    "JsonSerializer": "json_schema",
    "OAuthClient": "credentials",
    "ProtobufDeserializer": "protobuf",
    "ProtobufSerializer": "protobuf",
    "RegisteredSchema": "schema",
    "Schema": "schema",
    "SchemaReference": "schema",
    "SchemaRegistry": "registry",
    "SchemaType": "schema",
    "record_name": "subjects",
    "topic_name": "subjects",
    "topic_record_name": "subjects",
}

__all__ = [
    "AvroDeserializer",
    "AvroSerializer",
    "JsonDeserializer",
    "JsonSerializer",
    "OAuthClient",
    "ProtobufDeserializer",
    "ProtobufSerializer",
    "RegisteredSchema",
    "Schema",
    "SchemaReference",
    "SchemaRegistry",
    "SchemaType",
    "record_name",
    "topic_name",
    "topic_record_name",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
