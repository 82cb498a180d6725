"""The options of `format("prokurist")`: one table, and what is read out of it.

Thread: any; a table, and frozen values made of it. Where reading begins and ends, and how
much a trigger takes, is read by `beginnings` and `limits`; whose options those are stands
here all the same, since documentation and the hints for misspelt names come from here.

Invariants: names are compared without regard to case, as Spark hands them on; a name that
is not known is an error, with the nearest that is. What begins with `kafka.` goes to the
client. Each option of Spark's own source for Kafka is known here, and does the same, or
is refused with the way out.
"""

import enum
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from prokurist.config import ConsumerConfig
from prokurist.config.clients import CONSUMER
from prokurist.errors import ConfigException
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.offset_json import INT_MAX
from prokurist.spark.option_table import (
    Mode,
    Option,
    by_name,
    check_names,
    client_keys,
    flag,
    ours,
    seconds,
)
from prokurist.spark.rate_limits import Splits, positive
from prokurist.spark.source.partition_selection import Selection, selection_in

BOTH, BATCH, STREAM = Mode
OPTIONS: Final = (
    Option("subscribe", BOTH, "", "The topics to read, separated by commas."),
    Option(
        "subscribePattern",
        BOTH,
        "",
        "A regular expression, as Java reads it: all topics in whose name it is found.",
    ),
    Option("assign", BOTH, "", 'The partitions to read: `{"orders": [0, 1]}`.'),
    Option(
        "startingOffsets",
        BOTH,
        "`latest`; in a batch `earliest`",
        "Where a new query begins: `earliest`, `latest` (not in a batch), or JSON with an "
        "offset for each partition, −2 for earliest and −1 for latest. Beyond Spark's own: "
        "`committed` or `committed:GROUP`, a date and time, or a duration back from now "
        "(`-1h`). A stream that has a checkpoint goes on from there.",
    ),
    Option(
        "startingTimestamp",
        BOTH,
        "",
        "The same as a time, in milliseconds since the epoch; it is preferred.",
    ),
    Option(
        "startingOffsetsByTimestamp",
        BOTH,
        "",
        "The same with a time for each partition, as JSON.",
    ),
    Option(
        "startingOffsetsByTimestampStrategy",
        BOTH,
        "`error`",
        "`error` or `latest`: what if no record of a partition is as young.",
    ),
    ours(
        "startingOffsetsMissing",
        BOTH,
        "`error`",
        "`error`, `earliest` or `latest`: what of partitions that the JSON does not name, or "
        "for which the group has committed nothing.",
    ),
    Option(
        "endingOffsets",
        BATCH,
        "`latest`",
        "Where a batch ends: `latest`, JSON, a time. Spark asks once for each `load()`, so a "
        "frame's `latest` is fixed at its first action: load again to see new records.",
    ),
    Option("endingTimestamp", BATCH, "", "The same as a time; it is preferred."),
    Option("endingOffsetsByTimestamp", BATCH, "", "The same with a time for each partition."),
    Option(
        "maxOffsetsPerTrigger",
        STREAM,
        "",
        "How many offsets a trigger takes at most, each partition by its share of what is "
        "behind.",
    ),
    Option(
        "minOffsetsPerTrigger",
        STREAM,
        "",
        "How many there have to be before a trigger takes any.",
    ),
    Option(
        "maxTriggerDelay", STREAM, "`15m`", "After so long it takes what there is all the same."
    ),
    Option("minPartitions", BOTH, "", "Into how many tasks a read is cut, about."),
    Option("maxRecordsPerPartition", BOTH, "", "How many offsets a task reads at most."),
    Option(
        "failOnDataLoss",
        BOTH,
        "`true`",
        "Whether it is an error when records that were to be read are gone; else what is left "
        "is read. Streams notice before they write down what they are about to read. A topic "
        "that is missing keeps its place, for `brokerDownGraceMs`.",
    ),
    Option("includeHeaders", BOTH, "`false`", "Whether there is a column `headers`."),
    Option(
        "groupIdPrefix",
        BOTH,
        "",
        "The beginning of the client ids under which brokers know the readers. No group is "
        "joined.",
    ),
    Option(
        "kafkaConsumer.pollTimeoutMs",
        BOTH,
        "",
        "Spark's own name for `readStallMs`, which is preferred.",
    ),
    Option(
        "fetchOffset.numRetries",
        BOTH,
        "",
        "Read and not needed: every look-up is tried again until `driverDeadlineMs`.",
    ),
    Option("fetchOffset.retryIntervalMs", BOTH, "", "The same."),
    ours(
        "driverDeadlineMs",
        BOTH,
        "`60000`",
        "How long the driver may take for what it asks the brokers in one step, before the "
        "query fails. It outlasts the replacement of a leader. A stream does not wait for a "
        "leader that is away while others answer: it reads the other partitions.",
    ),
    ours(
        "readStallMs",
        BOTH,
        "`60000`",
        "How long a task waits for a record before it fails, and is tried again.",
    ),
    ours(
        "batchDeadlineMs",
        BOTH,
        "`300000`",
        "How long a task waits for a record in all its attempts together: each has half of "
        "what the earlier ones left of it, and at most `readStallMs`. What is done with the "
        "records, and how long a frame is kept before it is used, does not count.",
    ),
    ours(
        "onBrokerDown",
        STREAM,
        "`fail`",
        "`fail` or `skip`: when no broker answers the driver, whether the query fails, or "
        "reads nothing and tries again at the next trigger. Never skips under "
        "`availableNow`, where nothing read means that all is read.",
    ),
    ours(
        "brokerDownGraceMs",
        STREAM,
        "`300000`",
        "For how long it skips before it fails all the same; and for how long a stream passes "
        "over partitions whose leader is away.",
    ),
    ours(
        "arrowBatchBytes",
        BOTH,
        "`1048576`",
        "How many bytes a task hands on to Spark at a time, about.",
    ),
    ours(
        "filterPushdown",
        BATCH,
        "`false`",
        "Whether only that is read where records can match the query's filters of `topic`, "
        "`partition`, `offset` and `timestamp`. It wants PySpark 4.1 and "
        "`spark.sql.python.filterPushdown.enabled`, without which Spark fails the read.",
    ),
)
"""All options but those of the client."""
NAMES: Final[Mapping[str, Option]] = by_name(OPTIONS)

COMMIT_GROUP: Final = "commitGroupId"
COMMITTING: Final = (
    "Spark tells a source of a batch's end when the next one begins, and of the last one "
    "never. prokurist.spark.watch(spark, bootstrap, group=...) commits what is completed"
)
NO_COMMITS: Final = f"{COMMIT_GROUP} cannot be given here: {COMMITTING}"
REFUSED: Final[Mapping[str, str]] = {
    "consumer.commit.groupid": COMMITTING,
    "auto.offset.reset": "startingOffsets says where reading begins, and nothing is reset",
    "enable.auto.commit": "Spark keeps the offsets in its checkpoint",
    "interceptor.classes": "records are handed on as columns, and never as objects",
    "key.deserializer": "keys are bytes: cast or decode the column",
    "value.deserializer": "values are bytes: cast or decode the column",
    "key.serializer": "this reads, and keys are bytes",
    "value.serializer": "this reads, and values are bytes",
    "group.instance.id": "no group is joined",
    "group.protocol": "no group is joined",
    "max.poll.records": "arrowBatchBytes says how much is handed on at a time",
}
"""Keys of the client that cannot be given here, and why."""


class OnBrokerDown(enum.Enum):
    """Behaviour of a trigger when no broker answers."""

    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a reader, from its options; it can be pickled.

    Attributes:
        given: All options, their names in lower case.
        selection: Which topics or partitions.
        client: Configuration of the clients, without a group.
        group: `kafka.group.id`; the group that `committed` means.
        splits: Into how many tasks.
        fail_on_data_loss: `failOnDataLoss`.
        include_headers: `includeHeaders`.
        filter_pushdown: `filterPushdown`.
        driver_deadline: Seconds for a step of the driver.
        read_stall: Seconds that an attempt of a task waits for a record.
        batch_deadline: Seconds that all attempts of a task wait for a record.
        on_broker_down: What if no broker answers.
        grace: Seconds for which it skips, or passes over partitions.
        batch_bytes: Bytes of an Arrow batch.
    """

    given: Mapping[str, str] = field(repr=False)
    selection: Selection
    client: Mapping[str, str] = field(repr=False)
    group: str | None
    splits: Splits
    fail_on_data_loss: bool
    include_headers: bool
    filter_pushdown: bool
    driver_deadline: float
    read_stall: float
    batch_deadline: float
    on_broker_down: OnBrokerDown
    grace: float
    batch_bytes: int

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Settings":
        """Read the options of a reader.

        Args:
            options: Names, in any case, and values.

        Raises:
            ConfigException: One is not known, cannot be given, or has no value of its kind.
        """
        given = {name.lower(): value for name, value in options.items()}
        client = client_keys(given, CONSUMER, REFUSED)
        check_names(given, NAMES, {COMMIT_GROUP.lower(): NO_COMMITS})
        group = client.pop("group.id", None)
        client.setdefault("allow.auto.create.topics", "false")  # Who reads makes no topics.
        if name := given.get("groupidprefix", group):
            client.setdefault("client.id", name)
        stall = "readStallMs" if "readstallms" in given else "kafkaConsumer.pollTimeoutMs"
        settings = cls(
            given=given,
            selection=selection_in(given),
            client=client,
            group=group,
            splits=Splits.of(given),
            fail_on_data_loss=flag(given, "failOnDataLoss", default=True),
            include_headers=flag(given, "includeHeaders", default=False),
            filter_pushdown=flag(given, "filterPushdown", default=False),
            driver_deadline=seconds(given, "driverDeadlineMs", 60_000),
            read_stall=seconds(given, stall, 60_000),
            batch_deadline=seconds(given, "batchDeadlineMs", 300_000),
            on_broker_down=_on_broker_down(given),
            grace=seconds(given, "brokerDownGraceMs", 300_000),
            batch_bytes=positive(given, "arrowBatchBytes", INT_MAX) or 1 << 20,
        )
        ConsumerConfig(client)  # What is wrong with a key of the client is said now.
        return settings


def _on_broker_down(given: Mapping[str, str]) -> OnBrokerDown:
    text = given.get("onbrokerdown", OnBrokerDown.FAIL.value)
    try:
        return OnBrokerDown(text.strip().lower())
    except ValueError:
        raise ConfigException(f"onBrokerDown is fail or skip: {text!r}") from None
