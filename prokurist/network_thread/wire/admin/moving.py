"""ElectLeaders, AlterPartitionReassignments and ListPartitionReassignments.

Thread: any; frozen values.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from prokurist.events.admin.work import WHOLE
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import (
    ItemAnswer,
    ItemsAnswer,
    answer_of,
    item_of,
)
from prokurist.network_thread.wire.apis import (
    ALTER_PARTITION_REASSIGNMENTS,
    ELECT_LEADERS,
    LIST_PARTITION_REASSIGNMENTS,
    Api,
)
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import by_partition, by_topic, milliseconds
from prokurist.types import TopicPartition
from prokurist.types.replicas import Cancel, Election, Reassignment, ReassignmentAccepted


@dataclass(frozen=True, slots=True)
class ElectLeaders:
    """Asks the controller to elect leaders.

    Nothing is ever left out.

    Attributes:
        partitions: The partitions; None for all that need it.
        unclean: True to elect replicas that are not in sync.
        timeout: Seconds that the controller may take.
    """

    api: ClassVar[Api] = ELECT_LEADERS

    partitions: tuple[TopicPartition, ...] | None
    unclean: bool
    timeout: float

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if self.unclean:
            yield Limit("an unclean election", oldest=1)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "election_type": int(self.unclean),
            "topic_partitions": None
            if self.partitions is None
            else tuple(
                {"topic": topic, "partitions": partitions}
                for topic, partitions in numbers_of(self.partitions).items()
            ),
            "timeout": milliseconds(self.timeout),
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        rows = (
            (TopicPartition(topic["topic"], row["partition_id"]), item_of(row, Election(True)))
            for topic in body["replica_election_results"]
            for row in topic["partition_result"]
        )
        return answer_of(body, rows, body.get("error_code", 0))


@dataclass(frozen=True, slots=True)
class AlterPartitionReassignments:
    """Asks the controller to move partitions, or to cancel that.

    The refusal of another number of replicas is left out before version 1: whoever forbids it
    compares the numbers before.

    Attributes:
        brokers: The brokers of each partition.
        allow_rf_change: True to allow another number of replicas.
        timeout: Seconds that the controller may take.
    """

    api: ClassVar[Api] = ALTER_PARTITION_REASSIGNMENTS

    brokers: Mapping[TopicPartition, tuple[int, ...] | Cancel]
    allow_rf_change: bool
    timeout: float

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "timeout": milliseconds(self.timeout),
            "allow_replication_factor_change": self.allow_rf_change,
            "topics": tuple(
                {
                    "name": topic,
                    "partitions": tuple(
                        {
                            "partition_index": partition,
                            "replicas": None if isinstance(brokers, Cancel) else brokers,
                        }
                        for partition, brokers in rows
                    ),
                }
                for topic, rows in by_topic(self.brokers.items()).items()
            ),
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        rows = by_partition(body["responses"])
        return answer_of(
            body,
            ((tp, item_of(row, ReassignmentAccepted())) for tp, row in rows),
            body["error_code"],
        )


@dataclass(frozen=True, slots=True)
class ListPartitionReassignments:
    """Asks the controller for reassignments under way.

    Nothing is ever left out.

    Attributes:
        partitions: The partitions; None for all.
        timeout: Seconds that the controller may take.
    """

    api: ClassVar[Api] = LIST_PARTITION_REASSIGNMENTS

    partitions: tuple[TopicPartition, ...] | None
    timeout: float

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "timeout": milliseconds(self.timeout),
            "topics": None
            if self.partitions is None
            else tuple(
                {"name": topic, "partition_indexes": partitions}
                for topic, partitions in numbers_of(self.partitions).items()
            ),
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        found = {
            tp: Reassignment(row["replicas"], row["adding_replicas"], row["removing_replicas"])
            for tp, row in by_partition(body["topics"])
        }
        code = body["error_code"]
        return answer_of(body, [] if code else [(WHOLE, ItemAnswer(value=found))], code)


def numbers_of(partitions: Iterable[TopicPartition]) -> dict[str, tuple[int, ...]]:
    """The numbers of partitions by topic."""
    rows = by_topic((tp, None) for tp in partitions)
    return {topic: tuple(number for number, _ in each) for topic, each in rows.items()}
