"""Records, offsets, leaders and replicas of partitions, as kafka-python administers them."""

from collections.abc import Iterable, Mapping

from prokurist.admin import Cancel
from prokurist.admin import OffsetSpec as OurSpec
from prokurist.compat.kafka.admin.base import AdminBase, code_of, raise_first, text_of
from prokurist.compat.kafka.admin.values import (
    Answer,
    ElectionType,
    IsolationLevel,
    OffsetSpec,
)
from prokurist.compat.kafka.errors import KafkaError, for_code
from prokurist.compat.kafka.structs import OffsetAndTimestamp
from prokurist.events.clock import Deadline
from prokurist.types import TopicPartition


class PartitionCalls(AdminBase):
    """Calls of a KafkaAdminClient about partitions."""

    def delete_records(
        self,
        records_to_delete: Mapping[TopicPartition, int],
        timeout_ms: float | None = None,
        partition_leader_id: int | None = None,
    ) -> dict[TopicPartition, dict[str, int]]:
        """Delete the records before offsets, for good.

        Args:
            records_to_delete: The first offset to keep, for each partition.
            timeout_ms: Milliseconds.
            partition_leader_id: Accepted without effect: leaders are looked up.

        Raises:
            KafkaError: Records of a partition were not deleted.
        """
        del partition_leader_id
        with self._converted():
            found = self._admin.delete_records(
                records_to_delete, timeout=self._left(self._until(timeout_ms))
            )
            raise_first(found)
            return {
                tp: {
                    "partition_index": tp.partition,
                    "low_watermark": offset,
                    "error_code": 0,
                }
                for tp, offset in found.succeeded.items()
            }

    def list_partition_offsets(
        self,
        topic_partition_specs: Mapping[TopicPartition, OffsetSpec | int],
        isolation_level: IsolationLevel | str | int = IsolationLevel.READ_UNCOMMITTED,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """Look offsets up, by name or by time; −1 where there is no such record.

        Args:
            topic_partition_specs: For each partition an OffsetSpec, or epoch milliseconds.
            isolation_level: The end of logs with open transactions.
            timeout_ms: Milliseconds.

        Raises:
            KafkaError: An offset cannot be looked up.
            TypeError: One is asked for by something else.
        """
        level = IsolationLevel.build_from(isolation_level)
        specs: dict[TopicPartition, OurSpec | int] = {}
        for tp, spec in topic_partition_specs.items():
            if not isinstance(spec, int):
                raise TypeError(f"the offset of {tp} is an int or an OffsetSpec, not {spec!r}")
            specs[tp] = OurSpec(spec) if spec < 0 else int(spec)
        with self._converted():
            found = self._admin.list_offsets(
                specs,
                read_committed=level is IsolationLevel.READ_COMMITTED,
                timeout=self._left(self._until(timeout_ms)),
            )
            raise_first(found)
        return {
            tp: OffsetAndTimestamp(
                -1 if each.offset is None else each.offset,
                -1 if each.timestamp is None else each.timestamp,
                each.leader_epoch,
            )
            for tp, each in found.succeeded.items()
        }

    def elect_leaders(
        self,
        election_type: ElectionType | int | str,
        topic_partitions: Mapping[str, Iterable[int]] | Iterable[str] | None = None,
        timeout_ms: float | None = None,
        raise_errors: bool = True,
    ) -> Answer:
        """Elect leaders; that a partition needs no election is no error to raise.

        Args:
            election_type: 0 for the preferred ones, 1 for any replicas that there are.
            topic_partitions: Numbers by topic, or topics; None for all.
            timeout_ms: Milliseconds.
            raise_errors: False to have errors in the answer.

        Raises:
            KafkaError: A partition was given no leader.
        """
        unclean = ElectionType.build_from(election_type) is ElectionType.UNCLEAN
        until = self._until(timeout_ms)
        with self._converted():
            named = self._named(topic_partitions, until)
            found = self._admin.elect_leaders(named, unclean=unclean, timeout=self._left(until))
            if raise_errors:
                raise_first(found)
            rows: dict[str, list[Answer]] = {}
            for tp in found:
                error, done = found.errors.get(tp), found.succeeded.get(tp)
                needless = done is not None and not done.elected
                rows.setdefault(tp.topic, []).append(
                    Answer(
                        partition_id=tp.partition,
                        error_code=84 if needless else code_of(error),
                        error_message="no election is needed" if needless else text_of(error),
                    )
                )
        results = [Answer(topic=topic, partition_result=each) for topic, each in rows.items()]
        return Answer(throttle_time_ms=0, error_code=0, replica_election_results=results)

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Iterable[int] | None],
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, type[KafkaError] | None]:
        """Move partitions to brokers; None ends a move.

        Args:
            reassignments: The brokers of each partition, or None.
            timeout_ms: Milliseconds.

        Returns:
            The class of an error, or None, by partition.

        Raises:
            KafkaError: Nothing could be asked.
            ValueError: A partition is given no broker.
        """
        items = {
            tp: Cancel() if brokers is None else list(brokers)
            for tp, brokers in reassignments.items()
        }
        with self._converted():
            found = self._admin.reassign(
                items, allow_rf_change=True, timeout=self._left(self._until(timeout_ms))
            )
            return {
                tp: for_code(code_of(found.errors[tp])) if tp in found.errors else None
                for tp in found
            }

    def list_partition_reassignments(
        self,
        topic_partitions: Mapping[str, Iterable[int]] | Iterable[TopicPartition] | None = None,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, dict[str, list[int]]]:
        """List the reassignments that are under way.

        Args:
            topic_partitions: Numbers by topic, or partitions; None for all.
            timeout_ms: Milliseconds.

        Raises:
            KafkaError: They cannot be looked up.
        """
        named = (
            _flat(topic_partitions)
            if isinstance(topic_partitions, Mapping)
            else topic_partitions
        )
        with self._converted():
            found = self._admin.list_reassignments(
                named, timeout=self._left(self._until(timeout_ms))
            )
        return {
            tp: {
                "replicas": list(each.replicas),
                "adding_replicas": list(each.adding),
                "removing_replicas": list(each.removing),
            }
            for tp, each in found.items()
        }

    def _named(
        self, given: Mapping[str, Iterable[int]] | Iterable[str] | None, until: Deadline
    ) -> list[TopicPartition] | None:
        """Partitions by number, or all of topics; None for all there are."""
        if given is None:
            return None
        if isinstance(given, Mapping):
            return _flat(given)
        found = self._admin.describe_topics(list(given), timeout=self._left(until))
        raise_first(found)
        return [
            TopicPartition(each.name, info.partition)
            for each in found.succeeded.values()
            for info in each.partitions
        ]


def _flat(by_topic: Mapping[str, Iterable[int]]) -> list[TopicPartition]:
    return [
        TopicPartition(topic, number)
        for topic, numbers in by_topic.items()
        for number in numbers
    ]
