"""The options of writing with `format("prokurist")`: one table, and the settings from it.

Thread: any; a table, and frozen values made of it.

Invariants: each option of Spark's own sink for Kafka is known here, and does the same, or is
refused with the way out.
"""

import enum
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from prokurist.config import ProducerConfig
from prokurist.config.clients import CONSUMER, PRODUCER
from prokurist.config.table import plain, spellings
from prokurist.errors import ConfigException
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.offset_json import LONG_MAX
from prokurist.spark.option_table import (
    Mode,
    Option,
    by_name,
    check_names,
    client_keys,
    ours,
    seconds,
)
from prokurist.spark.rate_limits import positive

BOTH, BATCH, STREAM = Mode
OPTIONS: Final = (
    Option(
        "topic",
        BOTH,
        "",
        "The topic that all rows go to, whatever a column `topic` has. Without it there has to "
        "be that column.",
    ),
    Option(
        "includeHeaders",
        BOTH,
        "",
        "Read and not needed: a column `headers` is written if there is one.",
    ),
    ours(
        "writeDeadlineMs",
        BOTH,
        "`120000`",
        "How long a row may wait for its acknowledgement before its task fails, and is tried "
        "again. What Spark does meanwhile does not count. With `exactly_once` the driver has "
        "as long for each of its steps.",
    ),
    ours(
        "delivery",
        BOTH,
        "`at_least_once`",
        "`at_least_once`, or `exactly_once`: the rows go by way of the driver, which writes "
        "them, and the number of their batch, in one transaction.",
    ),
    ours(
        "exactlyOnceId",
        BOTH,
        "",
        "The name of what writes exactly once: a `transactional.id`, and the group whose "
        "offset is the ledger. One query at a time has it, and keeps it over restarts.",
    ),
    ours(
        "exactlyOnceRun",
        BATCH,
        "",
        "With `exactly_once` the name of this run of a batch job: the last run that was "
        "written is passed over when it is tried again.",
    ),
    ours(
        "exactlyOnceMaxBytes",
        BOTH,
        "`268435456`",
        "How many bytes of rows one batch may bring to the driver. Spark itself has a limit, "
        "`spark.driver.maxResultSize`.",
    ),
    ours(
        "ledgerTopic",
        BOTH,
        "`topic`",
        "The topic that the ledger's offset names; needed where a column has the topics.",
    ),
    ours(
        "ledgerMissing",
        BOTH,
        "`error`",
        "`error` or `continue`: what if the ledger has no entry though batches were written, "
        "or one of another query, or of a later batch. Offsets of a group expire, by default "
        "after seven days.",
    ),
)
"""All options but those of the client."""
NAMES: Final[Mapping[str, Option]] = by_name(OPTIONS)

SPARKS_OWN: Final = frozenset({"checkpointlocation", "path"})
"""Options of a `DataStreamWriter` that Spark hands on to the sink."""

REFUSED: Final[Mapping[str, str]] = {
    "key.serializer": "keys are bytes or text: encode the column",
    "value.serializer": "values are bytes or text: encode the column",
    "interceptor.classes": "rows are written as columns, and never as objects",
    "partitioner.class": "rows are written as columns: compute a column `partition` instead",
    "transactional.id": "delivery=exactly_once makes transactions, named by exactlyOnceId",
    "group.id": "no group is joined; the ledger of exactly_once is named by exactlyOnceId",
}
"""Keys of the client that cannot be given here, and why."""

FOR_ROWS: Final = {"linger.ms": "5", "batch.size": str(256 << 10)}
"""Keys for tasks that write ten thousands of rows at once, unless the user sets them."""
LONGEST_REQUEST: Final = 30_000
"""`request.timeout.ms`, where the deadline is not below it."""
LONGEST_TRANSACTION: Final = 900_000
"""Milliseconds that brokers allow a transaction unless they are told otherwise."""


class Delivery(enum.Enum):
    """Number of times that a row is written."""

    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"


@dataclass(frozen=True, slots=True)
class ExactlyOnce:
    """Settings of `delivery=exactly_once`.

    Attributes:
        id: `exactlyOnceId`.
        run: `exactlyOnceRun`.
        max_bytes: `exactlyOnceMaxBytes`.
        ledger_topic: `ledgerTopic`.
        continues: True if `ledgerMissing` is `continue`.
        reader: Configuration of the consumer that reads the ledger.
    """

    id: str
    run: str | None
    max_bytes: int
    ledger_topic: str
    continues: bool
    reader: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """The settings of a writer, from its options; it can be pickled.

    Attributes:
        topic: `topic`.
        client: Configuration of the producer.
        deadline: Seconds that a row may wait for its acknowledgement.
        exactly_once: Settings of exactly once; None for at least once.
    """

    topic: str | None
    client: Mapping[str, str] = field(repr=False)
    deadline: float
    exactly_once: ExactlyOnce | None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "SinkSettings":
        """Read the options of a writer.

        Args:
            options: Names, in any case, and values.

        Raises:
            ConfigException: One is not known, cannot be given, or has no value of its kind.
        """
        given = {name.lower(): value for name, value in options.items()}
        given = {name: value for name, value in given.items() if name not in SPARKS_OWN}
        client = client_keys(given, PRODUCER, REFUSED)
        check_names(given, NAMES, {})
        topic = given.get("topic") or None
        deadline = seconds(given, "writeDeadlineMs", 120_000)
        exactly_once = _exactly_once(given, topic, client)
        settings = cls(topic, _timed(client, deadline, exactly_once), deadline, exactly_once)
        ProducerConfig(settings.client)  # So a wrong key of the client is refused now.
        return settings


def _timed(
    client: Mapping[str, str], deadline: float, exactly_once: ExactlyOnce | None
) -> dict[str, str]:
    """Complete the producer's configuration: every wait by the deadline of a row."""
    keys = {**FOR_ROWS, **client}
    given = {plain(name) for name in client}
    whole = round(deadline * 1000)
    linger = int(float(keys["linger.ms"])) if keys["linger.ms"].strip().isdigit() else 0
    bounds = {
        "delivery.timeout.ms": whole,
        "max.block.ms": whole,
        "request.timeout.ms": max(1, min(LONGEST_REQUEST, whole - linger)),
    }
    if exactly_once is not None:
        keys["transactional.id"] = exactly_once.id
        bounds["transaction.timeout.ms"] = min(LONGEST_TRANSACTION, 60_000 + 2 * whole)
    keys |= {name: str(value) for name, value in bounds.items() if name not in given}
    return keys


def _exactly_once(
    given: Mapping[str, str], topic: str | None, client: Mapping[str, str]
) -> ExactlyOnce | None:
    """Read the options of `delivery=exactly_once`."""
    if _word(given, "delivery", Delivery.AT_LEAST_ONCE, Delivery) is Delivery.AT_LEAST_ONCE:
        for row in OPTIONS:
            if row.name.startswith(("exactlyOnce", "ledger")) and row.name.lower() in given:
                raise ConfigException(
                    f"{row.name} means something with delivery=exactly_once alone: give that, "
                    f"or leave {row.name} out"
                )
        return None
    name = given.get("exactlyonceid")
    if not name:
        raise ConfigException(
            "delivery=exactly_once needs exactlyOnceId: a name that this query alone has, and "
            "keeps over restarts"
        )
    ledger = given.get("ledgertopic") or topic
    if ledger is None:
        raise ConfigException(
            "delivery=exactly_once needs topic or ledgerTopic: the ledger's entry is an offset "
            "of partition 0 of that topic"
        )
    known = spellings(CONSUMER)
    return ExactlyOnce(
        id=name,
        run=given.get("exactlyoncerun") or None,
        max_bytes=positive(given, "exactlyOnceMaxBytes", LONG_MAX) or 256 << 20,
        ledger_topic=ledger,
        continues=_word(given, "ledgerMissing", Missing.ERROR, Missing) is Missing.CONTINUE,
        reader={key: value for key, value in client.items() if plain(key) in known},
    )


class Missing(enum.Enum):
    """Behaviour without an entry of this query in the ledger."""

    ERROR = "error"
    CONTINUE = "continue"


W = Missing | Delivery


def _word(given: Mapping[str, str], name: str, default: W, kind: type[enum.Enum]) -> enum.Enum:
    """Read an option that is one of a few words."""
    text = given.get(name.lower(), str(default.value))
    try:
        return kind(text.strip().lower())
    except ValueError:
        words = " or ".join(str(each.value) for each in kind)
        raise ConfigException(f"{name} is {words}: {text!r}") from None
