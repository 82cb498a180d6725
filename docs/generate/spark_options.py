"""Writes `docs/spark_options.md` from the table of options.

Invariants: the output depends on nothing but the table, and two runs give the same text.
"""

from typing import Final

from prokurist.spark.source.options import KAFKA, OPTIONS, REFUSED, Option

_INTRO: Final = """\
# Options of `format("prokurist")`

% Written by `make generated`; its table is prokurist/spark/source/options.py.

Names are compared without regard to case. What is not marked as ours means what it means to
Spark's own source for Kafka. An option that is not known is an error, which names the
nearest that is. `kafka.bootstrap.servers` and one of `subscribe`, `subscribePattern` and
`assign` have to be given.

| option | for | default | what it does |
| --- | --- | --- | --- |
"""

_CLIENT: Final = """
## Keys of the client

`kafka.` and a key of [the consumer's configuration](config.md) sets that key, on the driver and
on the executors. These cannot be given:

| key | because |
| --- | --- |
"""


def document() -> str:
    """Write the page of options.

    Returns:
        The text of `docs/spark_options.md`.
    """
    rows = "".join(map(row, OPTIONS))
    refused = "".join(f"| `{KAFKA}{key}` | {why} |\n" for key, why in REFUSED.items())
    return _INTRO + rows + _CLIENT + refused


def row(option: Option) -> str:
    """The page's line of an option."""
    name = f"`{option.name}`{' (ours)' if option.ours else ''}"
    text = option.text.replace("|", r"\|")
    return f"| {name} | {option.mode.value} | {option.default} | {text} |\n"
