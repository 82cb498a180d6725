"""Replicas: log directories, elections of leaders, reassignments.

Thread: any application thread.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from prokurist.admin.arguments import listed, mapping_of, require_kind
from prokurist.admin.calls import AdminCalls
from prokurist.admin.records import partition_of, partitions_of
from prokurist.admin.results import Results
from prokurist.application.driving import Steps
from prokurist.events.admin.items_call import Outcome
from prokurist.events.admin.replicas import (
    AllLeadersToElect,
    LeadersToElect,
    LogDirsToAlter,
    LogDirsToDescribe,
    PartitionsToReassign,
    ReassignmentsToList,
)
from prokurist.types import TopicPartition, require_int
from prokurist.types.replicas import (
    Cancel,
    Election,
    LogDir,
    Reassignment,
    ReassignmentAccepted,
    Replica,
)

PARTITIONS = '[TopicPartition("orders", 0)]'


class Replicas(AdminCalls):
    """Calls of `KafkaAdmin` about replicas."""

    def describe_log_dirs(
        self,
        brokers: Iterable[int] | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[int, dict[str, LogDir]]:
        """Describe the log directories of brokers, with the replicas in them.

        Args:
            brokers: The brokers by id; None for all that are live.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The directories of each broker by path; a broker that does not answer is an error.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        numbers = [] if brokers is None else listed("brokers", brokers, example="[1, 2]")
        for each in numbers:
            require_int("a broker's id", each, 31)
        if brokers is not None and not numbers:
            return Results("describe_log_dirs", {})
        work = LogDirsToDescribe(dict.fromkeys(numbers))
        return self._results("describe_log_dirs", work, timeout)

    def alter_log_dirs(
        self,
        paths: Mapping[Replica, str],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[Replica, None]:
        """Move replicas to other log directories of their brokers.

        The copying goes on by itself: `describe_log_dirs` shows it as `is_future`.

        Args:
            paths: The directory of each replica.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each; `check()` raises if any has failed.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        example = '{Replica("orders", 0, 1): "/data/2"}'
        for replica, path in mapping_of("paths", paths, example=example).items():
            require_kind("a replica", replica, Replica)
            require_kind(f"the directory of {replica}", path, str)
        return self._results("alter_log_dirs", LogDirsToAlter(dict(paths)), timeout)

    def elect_leaders(
        self,
        partitions: Iterable[TopicPartition] | None,
        *,
        unclean: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, Election]:
        """Elect leaders: the preferred ones, or any replicas that there are.

        Args:
            partitions: The partitions; None for all that have another leader than the preferred
                one.
            unclean: True to elect a replica that is not in sync, where there is no other: that
                loses records. The partitions have to be named.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each partition; with None, of those that needed an election. A
            partition that needs none is no failure.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
            ValueError: An unclean election of no named partitions.
        """
        if partitions is not None:
            named = listed("partitions", partitions, example=PARTITIONS)
            items = dict.fromkeys(map(partition_of, named))
            return self._results("elect_leaders", LeadersToElect(items, unclean), timeout)
        if unclean:
            raise ValueError(
                "an unclean election loses records: name its partitions, such as "
                f"elect_leaders({PARTITIONS}, unclean=True)"
            )
        return self._run(self._elect_all(timeout))

    def _elect_all(
        self, timeout: float | timedelta | None
    ) -> Steps[Results[TopicPartition, Election]]:
        found: dict[TopicPartition, Any] = yield from self._ask_one(
            "elect_leaders", AllLeadersToElect(), timeout
        )
        return Results(
            "elect_leaders",
            {tp: Outcome(Election(elected=True), error) for tp, error in found.items()},
        )

    def reassign(
        self,
        brokers: Mapping[TopicPartition, Sequence[int] | Cancel],
        *,
        allow_rf_change: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, ReassignmentAccepted]:
        """Move partitions to brokers, or cancel such moves.

        The copying goes on by itself: `list_reassignments` shows it.

        Args:
            brokers: The brokers of each partition, the preferred leader first; or `Cancel()`.
            allow_rf_change: True to allow another number of replicas than now.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each; `check()` raises if any has failed.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        example = '{TopicPartition("orders", 0): [2, 3]}'
        items: dict[TopicPartition, tuple[int, ...] | Cancel] = {}
        for tp, numbers in partitions_of("brokers", brokers, example=example).items():
            items[tp] = numbers if isinstance(numbers, Cancel) else replicas_of(tp, numbers)
        work = PartitionsToReassign(items, allow_rf_change)
        return self._results("reassign", work, timeout)

    def list_reassignments(
        self,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> dict[TopicPartition, Reassignment]:
        """List the reassignments that are under way.

        Args:
            partitions: The partitions; None for all.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            TimeoutException: The time is over.
        """
        named = None
        if partitions is not None:
            items = listed("partitions", partitions, example=PARTITIONS)
            named = tuple(map(partition_of, items))
        work = ReassignmentsToList(partitions=named)
        found: dict[TopicPartition, Reassignment] = self._one(
            "list_reassignments", work, timeout
        )
        return found


def replicas_of(tp: TopicPartition, numbers: Any) -> tuple[int, ...]:
    """Return the brokers of a partition.

    Raises:
        TypeError: They are no sequence of int.
        ValueError: There are none, or one is named twice.
    """
    if isinstance(numbers, str) or not isinstance(numbers, Sequence):
        raise TypeError(
            f"the brokers of {tp} are ids, such as [2, 3], or Cancel(): {numbers!r}"
        )
    for each in numbers:
        require_int(f"a broker of {tp}", each, 31)
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"{tp} is given each broker once, and one at least: {numbers!r}")
    return tuple(numbers)
