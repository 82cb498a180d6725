"""The columns that there are, and those that a user asks for."""

import pytest

from prokurist.errors import ConfigException
from prokurist.spark.row_schema import COLUMNS, ddl, projected


def test_all_columns_are_those_of_sparks_own_source() -> None:
    """In its order, with its types."""
    assert ddl(with_headers=False) == (
        "key binary, value binary, topic string, partition int, offset bigint, "
        "timestamp timestamp, timestampType int"
    )
    assert ddl(with_headers=True) == (
        f"{ddl(with_headers=False)}, headers array<struct<key:string,value:binary>>"
    )


def test_a_schema_is_a_projection() -> None:
    """In the order in which the columns are asked for."""
    fields = [("value", "binary"), ("offset", "bigint")]
    assert projected(fields, with_headers=False) == ("value", "offset")
    assert projected(COLUMNS.items(), with_headers=True) == tuple(COLUMNS)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ([("value", "string")], "value as string, and it is binary"),
        ([("amount", "int")], "there are key, value, topic"),
        ([("headers", "array<struct<key:string,value:binary>>")], "set includeHeaders"),
        ([], "has no column"),
    ],
)
def test_what_is_not_there_is_refused(fields: list[tuple[str, str]], why: str) -> None:
    """With what there is."""
    with pytest.raises(ConfigException, match=why):
        projected(fields, with_headers=False)
