"""Writes `docs/spark_options.md` from the tables of options.

Invariants: the output depends on nothing but the tables, and two runs give the same text.
"""

from collections.abc import Mapping
from typing import Final

from prokurist.spark.option_table import KAFKA, Option
from prokurist.spark.sink import options as writing
from prokurist.spark.source import options as reading

_INTRO: Final = """\
# Options of `format("prokurist")`

% Written by `make generated`; its tables are prokurist/spark/source/options.py and
% prokurist/spark/sink/options.py.

Names are compared without regard to case. What is not marked as ours means what it means to
Spark's own source and sink for Kafka. An option that is not known is an error, which names the
nearest that is.

## Reading

`kafka.bootstrap.servers` and one of `subscribe`, `subscribePattern` and `assign` have to be
given.

| option | for | default | what it does |
| --- | --- | --- | --- |
"""

_CLIENT: Final = """
### Keys of the consumer

`kafka.` and a key of [the consumer's configuration](config.md) sets that key, on the driver and
on the executors. These cannot be given:

| key | because |
| --- | --- |
"""

_WRITING: Final = """
## Writing

`kafka.bootstrap.servers` has to be given, and `topic`, or a column of that name. The columns
are in [how to write to Kafka](howto/spark_writing.md).

| option | for | default | what it does |
| --- | --- | --- | --- |
"""

_PRODUCER: Final = """
### Keys of the producer

`kafka.` and a key of [the producer's configuration](config.md) sets that key, on the executors
and, with `exactly_once`, on the driver. These cannot be given:

| key | because |
| --- | --- |
"""


def document() -> str:
    """Write the page of options.

    Returns:
        The text of `docs/spark_options.md`.
    """
    read = _INTRO + "".join(map(row, reading.OPTIONS)) + _CLIENT + refused(reading.REFUSED)
    written = "".join(map(row, writing.OPTIONS)) + _PRODUCER + refused(writing.REFUSED)
    return read + _WRITING + written


def refused(keys: Mapping[str, str]) -> str:
    """The lines of keys that cannot be given."""
    return "".join(f"| `{KAFKA}{key}` | {why} |\n" for key, why in keys.items())


def row(option: Option) -> str:
    """The page's line of an option."""
    name = f"`{option.name}`{' (ours)' if option.ours else ''}"
    text = option.text.replace("|", r"\|")
    return f"| {name} | {option.mode.value} | {option.default} | {text} |\n"
