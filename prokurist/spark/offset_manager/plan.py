"""Plans: the offsets that a batch job reads, pinned once and for all.

Thread: any; a plan is frozen, with all its inputs in it. It holds no client and no secret, so
that it can be logged, kept beside the results, and read again by another process: JSON there
and back.
"""

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final
from uuid import UUID

from prokurist.errors import ConfigException
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.errors import Loss
from prokurist.spark.offset_json import as_dict, number_of, numbers, parsed, to_json
from prokurist.spark.offset_ranges import OffsetRange, ranges_between, split
from prokurist.spark.rate_limits import Splits
from prokurist.types import TopicPartition

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class OffsetPlan:
    """The offsets that a batch job is to read.

    Attributes:
        bootstrap_servers: The brokers.
        group: The group that the offsets are committed for, if there is one.
        starts: For each partition the first offset.
        ends: For each partition one past the last offset.
        log_starts: Where each log began when the plan was made.
        log_ends: The end of each log; offsets after the plan's own ends are for the next one.
        leader_epochs: The epoch of each leader, where it was known.
        topic_ids: The id of each topic, where it was known.
        made_at: When, in milliseconds since the epoch.
        splits: Into how many tasks Spark is to cut it.
        losses: Offsets to be read that were no longer there; see `on_data_loss`.
    """

    bootstrap_servers: str
    group: str | None
    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]
    log_starts: Mapping[TopicPartition, int]
    log_ends: Mapping[TopicPartition, int]
    leader_epochs: Mapping[TopicPartition, int] = field(default_factory=dict)
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    made_at: int = 0
    splits: Splits = field(default_factory=Splits)
    losses: tuple[Loss, ...] = ()

    @property
    def partitions(self) -> list[TopicPartition]:
        """All partitions of the plan, in order, empty ones included."""
        return sorted(self.ends)

    @property
    def size(self) -> int:
        """The number of offsets, at least that of records."""
        return sum(end - self.starts[tp] for tp, end in self.ends.items())

    def __bool__(self) -> bool:
        """True if there are records to read."""
        return self.size > 0

    def ranges(self) -> list[OffsetRange]:
        """The ranges of the tasks, cut as Spark's own source cuts them."""
        return split(
            ranges_between(self.starts, self.ends),
            min_partitions=self.splits.min_partitions,
            max_records=self.splits.max_records,
        )

    def options(self) -> dict[str, str]:
        """Return the options for a reader of exactly this: for `spark.read.options(**…)`.

        They fit `format("prokurist")` and Spark's own `format("kafka")`. Further settings of a
        client, such as `kafka.security.protocol`, are not among them.
        """
        assigned: dict[str, list[int]] = {}
        for topic, number in self.partitions:
            assigned.setdefault(topic, []).append(number)
        options = {
            "kafka.bootstrap.servers": self.bootstrap_servers,
            "assign": json.dumps(assigned),
            "startingOffsets": to_json(self.starts),
            "endingOffsets": to_json(self.ends),
        }
        if self.splits.min_partitions is not None:
            options["minPartitions"] = str(self.splits.min_partitions)
        if self.splits.max_records is not None:
            options["maxRecordsPerPartition"] = str(self.splits.max_records)
        return options

    def to_json(self) -> str:
        """Return the plan as JSON for `from_json`."""
        return json.dumps(
            {
                "version": VERSION,
                "bootstrap_servers": self.bootstrap_servers,
                "group": self.group,
                "starts": as_dict(self.starts),
                "ends": as_dict(self.ends),
                "log_starts": as_dict(self.log_starts),
                "log_ends": as_dict(self.log_ends),
                "leader_epochs": as_dict(self.leader_epochs),
                "topic_ids": {name: str(each) for name, each in sorted(self.topic_ids.items())},
                "made_at": self.made_at,
                "min_partitions": self.splits.min_partitions,
                "max_records": self.splits.max_records,
                "losses": [
                    [*each.partition, each.wanted, each.beginning, each.end]
                    for each in self.losses
                ],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "OffsetPlan":
        """Read a plan that `to_json` wrote.

        Raises:
            ConfigException: It is no plan.
        """
        table = parsed(text, "the plan")
        if table.get("version") != VERSION:
            raise ConfigException(
                f"the plan has version {table.get('version')!r}, and only {VERSION} is known: "
                "was it written by to_json of a newer release?"
            )
        try:
            plan = cls(
                bootstrap_servers=_text(table, "bootstrap_servers"),
                group=None if table["group"] is None else _text(table, "group"),
                starts=_offsets(table, "starts"),
                ends=_offsets(table, "ends"),
                log_starts=_offsets(table, "log_starts"),
                log_ends=_offsets(table, "log_ends"),
                leader_epochs=_offsets(table, "leader_epochs"),
                topic_ids={name: UUID(each) for name, each in table["topic_ids"].items()},
                made_at=number_of(table["made_at"], "the plan, at made_at", 0, "time"),
                splits=Splits(table["min_partitions"], table["max_records"]),
                losses=tuple(
                    Loss(TopicPartition(topic, number), *rest)
                    for topic, number, *rest in table["losses"]
                ),
            )
        except ConfigException:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ConfigException(
                f"this is no plan as to_json writes it ({type(error).__name__}: {error})"
            ) from None
        if not plan.starts.keys() == plan.ends.keys():
            raise ConfigException("the plan has starts and ends of different partitions")
        return plan

    def __str__(self) -> str:
        return f"OffsetPlan({self.size} offsets of {len(self.ends)} partitions)"


def _offsets(table: Mapping[str, Any], key: str) -> dict[TopicPartition, int]:
    return numbers(table[key], f"the plan, at {key}", least=0)


def _text(table: Mapping[str, Any], key: str) -> str:
    found = table[key]
    if not isinstance(found, str):
        raise TypeError(f"{key} is {found!r}")
    return found
