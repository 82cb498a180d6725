"""The columns of a Kafka topic in Spark: those that Spark's own source for Kafka has.

Thread: any; constants and one pure function.
"""

from collections.abc import Iterable
from typing import Final

from prokurist.errors import ConfigException

COLUMNS: Final = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
}
"""Their names and types, in order."""
HEADERS: Final = "headers"
HEADERS_TYPE: Final = "array<struct<key:string,value:binary>>"


def schema(*, with_headers: bool) -> dict[str, str]:
    """The columns, with the headers where they are wanted."""
    return {**COLUMNS, HEADERS: HEADERS_TYPE} if with_headers else dict(COLUMNS)


def ddl(*, with_headers: bool) -> str:
    """The same as DDL for Spark."""
    columns = schema(with_headers=with_headers)
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def projected(fields: Iterable[tuple[str, str]], *, with_headers: bool) -> tuple[str, ...]:
    """The columns that a user's own schema asks for.

    Args:
        fields: The names and types of its fields, as Spark writes them.
        with_headers: Whether `includeHeaders` is set.

    Raises:
        ConfigException: A column is not there, or is of another type.
    """
    known = schema(with_headers=with_headers)
    names: list[str] = []
    for name, kind in fields:
        if name not in known:
            hint = (
                "; set includeHeaders to true"
                if name == HEADERS
                else f": there are {', '.join(known)}"
            )
            raise ConfigException(f"the schema asks for a column {name!r}{hint}")
        if kind != known[name]:
            raise ConfigException(
                f"the schema asks for {name} as {kind}, and it is {known[name]}: "
                f"read it so and cast it"
            )
        names.append(name)
    if not names:
        raise ConfigException(f"the schema has no column: ask for some of {', '.join(known)}")
    return tuple(names)
