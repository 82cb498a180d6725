"""Writes `docs/config.md` and `typed.py` from the table.

Invariants: the output depends on nothing but the table, and two runs give the same text.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields

from prokurist.config.clients import ADMIN, CONSUMER, PRODUCER, SHARE_CONSUMER
from prokurist.config.connection import ConnectionKeys
from prokurist.config.counterparts import COUNTERPARTS
from prokurist.config.foreign import (
    FOR_CONSUMERS,
    FOR_PRODUCERS,
    KAFKA_PYTHON,
    LIBRDKAFKA,
    Foreign,
)
from prokurist.config.key import Effect
from prokurist.config.kip19 import DEPRECATED, REPLACEMENTS
from prokurist.config.sasl import SaslKeys
from prokurist.config.table import ConfigRow, table

_INTRO = """\
# Configuration

% Written by `make generated`. Change the table in prokurist/config instead.

A configuration is a mapping with Kafka's own names, or keywords with underscores, or both:

```python
from prokurist import ConsumerConfig, ProducerConfig

ConsumerConfig({"bootstrap.servers": "kafka1:9092,kafka2:9092"}, group_id="billing")
ProducerConfig({"bootstrap.servers": "kafka1:9092,kafka2:9092"}, linger_ms=20)
```

The keys are those of the [consumer](#consumer), those of the [producer](#producer), those of
the [admin client](#admin-client), `AdminConfig`, those of the
[share consumer](#share-consumer), `ShareConsumerConfig`, and those that all have, for
[connections](#connection) and [security](#security).

Values may be strings, as in a property file. A duration (unit ms) may also be a
`timedelta`, a list one string with commas. Words are taken in upper and lower case. `None`
is taken only where it is the default. A key that is unknown, a value that breaks its rule
and two keys that contradict each other raise `ConfigException`, which has all the faults of
the configuration (`faults`), each with what to write instead; all keys of a call that are
accepted without effect are listed in one `ConfigWarning`.

`ConsumerConfig.check(mapping)` and `ProducerConfig.check(mapping)` look at a configuration of
any client without using it. They return a finding for each key (`key`, `verdict`, `why`,
`instead`), the `faults`, and the keys by the names of this page (`translated`,
`properties()`). `prokurist config check FILE` does so [in the terminal](cli.md).

A secret is a string, a `Secret`, or a callable without arguments that returns the current
string. It is masked wherever it could be printed, and stays behind when a configuration is
pickled.

Status: **supported** means what Java's client means by the key. **Accepted without
effect**: read and checked, and then nothing changes. **Refused**: an error, with the way
out. Keys marked *ours* are unknown to Java.
"""

_TYPED = '''\
"""The keys as TypedDicts, so that editors complete them and type checkers know them.

Written by `make generated`; change the table instead. Keys that are
refused, and other clients' spellings, are left out.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypedDict

from prokurist.config.address import Address
from prokurist.config.offset_reset import OffsetReset
from prokurist.config.secret import SecretSource
from prokurist.types import LogEvent, OffsetAndMetadata, TopicPartition\
'''


def document() -> str:
    """Write the documentation of all keys.

    Returns:
        The text of `docs/config.md`.
    """
    consumer, producer, admin, share = (
        list(table(client).values()) for client in (CONSUMER, PRODUCER, ADMIN, SHARE_CONSUMER)
    )
    security = {field.name for field in fields(SaslKeys)}
    shared = {field.name for field in fields(ConnectionKeys)}
    groups = {
        "Consumer": [row for row in consumer if row.field not in shared],
        "Producer": [row for row in producer if row.field not in shared],
        "Admin client": [row for row in admin if row.field not in shared],
        "Share consumer": [row for row in share if row.field not in shared],
        "Connection": [row for row in consumer if row.field in shared - security],
        "Security": [row for row in consumer if row.field in security],
    }
    lines = [_INTRO]
    for title, rows in groups.items():
        lines += [f"## {title}", ""]
        for row in rows:
            lines += _entry(row)
    lines += _before_kip19()
    lines += _spellings([*consumer, *producer])
    lines += _converted()
    lines += _foreign()
    return "\n".join(lines) + "\n"


def _entry(row: ConfigRow) -> Iterator[str]:
    key = row.key
    yield f"### `{row.name}`"
    yield ""
    yield key.doc
    yield ""
    if key.status.effect is not Effect.REFUSED:
        unit = f" ({key.kind.unit})" if key.kind.unit else ""
        default = "required" if row.required else f"default {_default(row.default)}"
        valid = f", valid: {key.kind.valid}" if key.kind.valid else ""
        yield f"- {key.kind.name}{unit}, {default}{valid}"
    ours = ", ours" if key.ours else ""
    yield f"- importance {key.importance.value}{ours}"
    reason = f": {key.status.reason}" if key.status.reason else ""
    yield f"- **{key.status.effect.value}**{reason}"
    if key.aliases:
        yield f"- also spelled {', '.join(f'`{alias}`' for alias in key.aliases)}"
    yield ""


def _default(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    if isinstance(value, tuple):
        return f"`{', '.join(str(item) for item in value)}`" if value else "empty"
    return f"`{value}`" if str(value) else "empty"


def _before_kip19() -> Iterator[str]:
    yield "## A producer's keys from before KIP-19"
    yield ""
    yield "Taken, as KIP-19 says, with a `DeprecationWarning`."
    yield ""
    yield from _grid(("key", "becomes"), [(key, REPLACEMENTS[key]) for key in DEPRECATED])


def _spellings(rows: Iterable[ConfigRow]) -> Iterator[str]:
    yield "## Other clients' spellings"
    yield ""
    yield "Taken for the key beside them, with underscores or dots alike."
    yield ""
    pairs = {alias: f"`{row.name}`" for row in rows for alias in row.key.aliases}
    yield from _grid(("spelling", "key"), sorted(pairs.items()))


def _converted() -> Iterator[str]:
    yield "## Other clients' keys that are converted"
    yield ""
    yield "Taken over, and named in a `ConfigWarning`."
    yield ""
    pairs = {key: f"`{to.name}`: {to.difference}" for key, to in COUNTERPARTS.items()}
    yield from _grid(("key", "becomes"), sorted(pairs.items()))


def _foreign() -> Iterator[str]:
    tables: Mapping[str, Mapping[str, Foreign]] = {
        "librdkafka": LIBRDKAFKA,
        "kafka-python": KAFKA_PYTHON,
        "other clients' consumers, a producer's here": FOR_CONSUMERS,
        "other clients' producers, a consumer's here": FOR_PRODUCERS,
    }
    for title, keys in tables.items():
        idle = {key: to.reason for key, to in keys.items() if to.harmless is None}
        some = {
            key: f"only {' or '.join(to.harmless)}: {to.reason}"
            for key, to in keys.items()
            if to.harmless
        }
        never = {key: to.reason for key, to in keys.items() if to.harmless == ()}
        for verdict, chosen in (
            ("accepted without effect", idle),
            ("accepted without effect with one value, else refused", some),
            ("refused", never),
        ):
            if chosen:
                yield f"## Keys of {title}: {verdict}"
                yield ""
                yield from _grid(("key", "reason"), sorted(chosen.items()))


def _grid(head: tuple[str, str], rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"| {head[0]} | {head[1]} |"
    yield "| --- | --- |"
    for key, text in rows:
        yield f"| `{key}` | {text} |"
    yield ""


def typed() -> str:
    """Write the TypedDicts.

    Returns:
        The source of `prokurist/config/typed.py`.
    """
    shared = {field.name for field in fields(ConnectionKeys)}
    consumer, producer, admin, share = (
        [row for row in table(client).values() if row.key.status.effect is not Effect.REFUSED]
        for client in (CONSUMER, PRODUCER, ADMIN, SHARE_CONSUMER)
    )
    parts = {
        "Client": [row for row in consumer if row.field in shared],
        "OnlyConsumer": [row for row in consumer if row.field not in shared],
        "OnlyProducer": [row for row in producer if row.field not in shared],
        "OnlyAdmin": [row for row in admin if row.field not in shared],
        "OnlyShareConsumer": [row for row in share if row.field not in shared],
    }
    lines = [_TYPED]
    for name, rows in parts.items():
        lines += ["", f"_{name}Dict = TypedDict(", f'    "_{name}Dict",', "    {"]
        lines += [f'        "{row.name}": {_annotation(row)},' for row in rows]
        lines += ["    },", "    total=False,", ")"]
    for name, rows in parts.items():
        lines += ["", "", f"class _{name}Keywords(TypedDict, total=False):"]
        lines += [f"    {row.field}: {_annotation(row)}" for row in rows]
    words_of = {
        "Consumer": "a consumer",
        "Producer": "a producer",
        "Admin": "an admin client",
        "ShareConsumer": "a share consumer",
    }
    for client, words_for in words_of.items():
        for form, public, words in (
            ("Dict", "ConfigDict", "with dots"),
            ("Keywords", "Keywords", "as keywords"),
        ):
            bases = f"_Client{form}, _Only{client}{form}"
            lines += ["", "", f"class {client}{public}({bases}, total=False):"]
            lines += [f'    """The keys of {words_for}, {words}."""']
    return "\n".join(lines) + "\n"


def _annotation(row: ConfigRow) -> str:
    return f"{row.key.kind.accepts} | None" if row.optional else row.key.kind.accepts
