"""confluent-kafka's administrator over ours.

Thread: any; each call runs on a thread of its own, and its futures end there.
"""

import warnings
from collections.abc import Mapping
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any, ClassVar, Final

from prokurist.admin import ConfigChange, Delete, Election, KafkaAdmin, Set
from prokurist.admin import ConfigEntry as OurEntry
from prokurist.admin import ConfigSource as OurSource
from prokurist.admin import OffsetSpec as OurSpec
from prokurist.compat.confluent_kafka.admin.access_calls import AccessCalls
from prokurist.compat.confluent_kafka.admin.base import (
    converted,
    listed,
    outcomes_of,
    place_of,
    some,
)
from prokurist.compat.confluent_kafka.admin.calls import raised
from prokurist.compat.confluent_kafka.admin.cluster import DescribeClusterResult
from prokurist.compat.confluent_kafka.admin.configs import ConfigEntry, ConfigResource
from prokurist.compat.confluent_kafka.admin.group_calls import GroupCalls
from prokurist.compat.confluent_kafka.admin.offsets import (
    DeletedRecords,
    ListOffsetsResultInfo,
    OffsetSpec,
)
from prokurist.compat.confluent_kafka.admin.topics import (
    NewPartitions,
    NewTopic,
    TopicDescription,
)
from prokurist.compat.confluent_kafka.cluster import ClusterMetadata
from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.compat.confluent_kafka.model import (
    ElectionType,
    IsolationLevel,
    TopicCollection,
)
from prokurist.compat.confluent_kafka.values import OFFSET_END, TopicPartition, ours
from prokurist.compat.waiting import seconds
from prokurist.errors import KafkaException as OurException

_INSTEAD: Final = (
    "alter_configs resets the keys that it does not name: use incremental_alter_configs, which "
    "alters the keys that it names"
)
_OWN: Final = frozenset({OurSource.TOPIC, OurSource.BROKER, OurSource.GROUP})
"""Origins of keys that a resource itself has."""


class AdminClient(GroupCalls, AccessCalls):
    """An administrator with the calls of confluent-kafka's: futures by item.

    A call without `request_timeout` ends by `default.api.timeout.ms`, or by
    `socket.timeout.ms` where that is given. `operation_timeout` is accepted without effect:
    brokers have the time of the call.

    Args:
        conf: Keys of librdkafka, or ours.
        logger: Accepted without effect.
        kwargs: More keys.

    Raises:
        KafkaException: The configuration cannot be used.
    """

    _left_out: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "set_sasl_credentials": "build a client with the new ones, or give oauth_cb",
        }
    )

    # --- topics --------------------------------------------------------------------------

    def create_topics(
        self,
        new_topics: list[NewTopic],
        *,
        operation_timeout: float | None = None,
        request_timeout: float | None = None,
        validate_only: bool = False,
    ) -> dict[str, Future[None]]:
        """Create topics.

        Args:
            new_topics: The topics.
            operation_timeout: Accepted without effect, also as 0.
            request_timeout: Seconds.
            validate_only: True to check the request, and create nothing.

        Returns:
            Futures by name; their results are None.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: There are no topics, or one contradicts itself.
        """
        items = {each.topic: each.ours() for each in some("NewTopic", new_topics, NewTopic)}
        wait = self._timeout(request_timeout, operation_timeout)
        return self._start(
            items,
            lambda admin: admin.create_topics(
                items, validate_only=bool(validate_only), timeout=wait
            ),
        )

    def delete_topics(
        self,
        topics: list[str],
        *,
        operation_timeout: float | None = None,
        request_timeout: float | None = None,
    ) -> dict[str, Future[None]]:
        """Delete topics.

        Args:
            topics: Their names.
            operation_timeout: Accepted without effect, also as 0.
            request_timeout: Seconds.

        Returns:
            Futures by name; their results are None.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: There are no topics, or a number is out of range.
        """
        names = some("topic names", topics, str)
        wait = self._timeout(request_timeout, operation_timeout)
        return self._start(names, lambda admin: admin.delete_topics(names, timeout=wait))

    def create_partitions(
        self,
        new_partitions: list[NewPartitions],
        *,
        operation_timeout: float | None = None,
        request_timeout: float | None = None,
        validate_only: bool = False,
    ) -> dict[str, Future[None]]:
        """Add partitions to topics.

        Args:
            new_partitions: The partitions that topics are to have.
            operation_timeout: Accepted without effect, also as 0.
            request_timeout: Seconds.
            validate_only: True to check the request, and create nothing.

        Returns:
            Futures by topic; their results are None.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: There are no topics, or a number is out of range.
        """
        given = some("NewPartitions", new_partitions, NewPartitions)
        items = {each.topic: each.ours() for each in given}
        wait = self._timeout(request_timeout, operation_timeout)
        return self._start(
            items,
            lambda admin: admin.create_partitions(
                items, validate_only=bool(validate_only), timeout=wait
            ),
        )

    def describe_topics(
        self,
        topics: TopicCollection,
        *,
        include_authorized_operations: bool = False,
        request_timeout: float | None = None,
    ) -> dict[str, Future[TopicDescription]]:
        """Describe topics and their partitions.

        Args:
            topics: The topics.
            include_authorized_operations: True to ask for this user's operations.
            request_timeout: Seconds.

        Returns:
            Futures by name.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: A name is empty, or a number is out of range.
        """
        if not isinstance(topics, TopicCollection):
            raise TypeError(f"topics are a TopicCollection, not {topics!r}")
        names = listed("topic names", topics.topic_names)
        if "" in names:
            raise ValueError(f"a topic's name is empty: {names}")
        wait = self._timeout(request_timeout)
        return self._start(
            names,
            lambda admin: admin.describe_topics(
                names, operations=bool(include_authorized_operations), timeout=wait
            ),
            TopicDescription.of,
        )

    def list_topics(
        self, topic: str | None = None, timeout: float | None = None
    ) -> ClusterMetadata:
        """All topics, or one, and the brokers of the cluster.

        Args:
            topic: The topic; None for all. One that does not exist has an error.
            timeout: Seconds; None or −1 for `default.api.timeout.ms`.

        Raises:
            KafkaException: They cannot be looked up.
        """
        until = self._until(timeout)
        admin = self._open()
        with converted():
            cluster = admin.describe_cluster(timeout=self._left(until))
            if topic is None:
                names = list(admin.list_topics(internal=True, timeout=self._left(until)))
            else:
                names = [topic]
            found = admin.describe_topics(names, timeout=self._left(until))
            partitions = {str(name): each.partitions for name, each in found.succeeded.items()}
            errors = {str(name): raised(error).args[0] for name, error in found.errors.items()}
        return ClusterMetadata.of_cluster(cluster, partitions, errors)

    # --- configurations ------------------------------------------------------------------

    def describe_configs(
        self, resources: list[ConfigResource], *, request_timeout: float | None = None
    ) -> dict[ConfigResource, Future[dict[str, ConfigEntry]]]:
        """Describe configurations.

        Args:
            resources: The resources.
            request_timeout: Seconds.

        Returns:
            Futures by resource, of entries by key.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: There are no resources, or one has no configuration.
        """
        given = some("ConfigResource", resources, ConfigResource, ValueError)
        items = {each: each.ours() for each in given}
        wait = self._timeout(request_timeout)
        return self._start(
            items,
            lambda admin: admin.describe_configs(items.values(), synonyms=True, timeout=wait),
            lambda found: {name: ConfigEntry.of(each) for name, each in found.items()},
            key=ConfigResource.ours,
        )

    def incremental_alter_configs(
        self,
        resources: list[ConfigResource],
        *,
        request_timeout: float | None = None,
        validate_only: bool = False,
        broker: int | None = None,
    ) -> dict[ConfigResource, Future[None]]:
        """Alter single keys of configurations.

        Args:
            resources: The resources, with their `incremental_configs`.
            request_timeout: Seconds.
            validate_only: True to check the changes, and make none.
            broker: Accepted without effect: each resource goes where it belongs.

        Returns:
            Futures by resource; their results are None.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: There are no resources or no changes.
        """
        del broker
        given = some("ConfigResource", resources, ConfigResource)
        items = {each.ours(): each.changes() for each in given}
        wait = self._timeout(request_timeout)
        return self._start(
            given,
            lambda admin: admin.alter_configs(
                items, validate_only=bool(validate_only), timeout=wait
            ),
            key=ConfigResource.ours,
        )

    def alter_configs(
        self,
        resources: list[ConfigResource],
        *,
        request_timeout: float | None = None,
        validate_only: bool = False,
        broker: int | None = None,
    ) -> dict[ConfigResource, Future[None]]:
        """Set whole configurations: keys that are not named are reset.

        The present keys are looked up, and altered one by one: keys that others set meanwhile
        stay.

        Args:
            resources: The resources, with their `set_config_dict`.
            request_timeout: Seconds.
            validate_only: True to check the changes, and make none.
            broker: Accepted without effect.

        Returns:
            Futures by resource; their results are None.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: There are no resources, or one has no configuration.
        """
        del broker
        warnings.warn(_INSTEAD, DeprecationWarning, stacklevel=2)
        given = some("ConfigResource", resources, ConfigResource, ValueError)
        items = {each: each.ours() for each in given}
        until = self._until(self._timeout(request_timeout))

        def altered(admin: KafkaAdmin) -> Mapping[Any, Any]:
            found = admin.describe_configs(items.values(), timeout=self._left(until))
            changes = {
                items[each]: _whole(each, found.succeeded[items[each]])
                for each in given
                if items[each] in found.succeeded
            }
            done = outcomes_of(
                admin.alter_configs(
                    changes, validate_only=bool(validate_only), timeout=self._left(until)
                )
            )
            return {**done, **found.errors}

        return self._start(given, altered, key=ConfigResource.ours)

    # --- records, offsets, leaders ---------------------------------------------------------

    def list_offsets(
        self,
        topic_partition_offsets: dict[TopicPartition, OffsetSpec],
        *,
        isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        request_timeout: float | None = None,
    ) -> dict[TopicPartition, Future[ListOffsetsResultInfo]]:
        """Look offsets up, by name or by time.

        Args:
            topic_partition_offsets: For each partition the offset that is asked for.
            isolation_level: The end of logs with open transactions.
            request_timeout: Seconds.

        Returns:
            Futures by partition.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: A partition has no topic, or a negative number.
        """
        if not isinstance(topic_partition_offsets, dict):
            raise TypeError(f"expected a dict of OffsetSpec, not {topic_partition_offsets!r}")
        if not isinstance(isolation_level, IsolationLevel):
            raise TypeError(f"isolation_level is an IsolationLevel, not {isolation_level!r}")
        items = {}
        for partition, spec in topic_partition_offsets.items():
            if not isinstance(spec, OffsetSpec):
                raise TypeError(f"the offset of {partition} is an OffsetSpec, not {spec!r}")
            items[place_of(partition)] = spec._value
        wait = self._timeout(request_timeout)
        return self._start(
            topic_partition_offsets,
            lambda admin: admin.list_offsets(
                _specs(items),
                read_committed=isolation_level is IsolationLevel.READ_COMMITTED,
                timeout=wait,
            ),
            ListOffsetsResultInfo.of,
            key=ours,
        )

    def delete_records(
        self,
        topic_partition_offsets: list[TopicPartition],
        *,
        request_timeout: float | None = None,
        operation_timeout: float | None = None,
    ) -> dict[TopicPartition, Future[DeletedRecords]]:
        """Delete the records before offsets, for good.

        Args:
            topic_partition_offsets: Partitions with the first offset to keep; `OFFSET_END` to
                delete all records.
            request_timeout: Seconds.
            operation_timeout: Accepted without effect, also as 0.

        Returns:
            Futures by partition.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: A partition has no topic, or a negative number.
        """
        given = listed("topic_partition_offsets", topic_partition_offsets)
        items = {place_of(each): each.offset for each in given}
        wait = self._timeout(request_timeout, operation_timeout)

        def deleted(admin: KafkaAdmin) -> Mapping[Any, Any]:
            wrong = [tp for tp, offset in items.items() if offset < OFFSET_END]
            if wrong:
                text = f"the first offset to keep is not given for {wrong[0]}"
                raise KafkaException(KafkaError(KafkaError._INVALID_ARG, text))
            return admin.delete_records(items, timeout=wait)

        return self._start(given, deleted, DeletedRecords, key=ours)

    def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: list[TopicPartition] | None = None,
        *,
        request_timeout: float | None = None,
        operation_timeout: float | None = None,
    ) -> Future[dict[TopicPartition, KafkaError | None]]:
        """Elect leaders.

        Args:
            election_type: The preferred ones, or any replicas that there are.
            partitions: The partitions; None for all that have another leader than the preferred
                one.
            request_timeout: Seconds.
            operation_timeout: Accepted without effect, also as 0.

        Returns:
            A future, of None or an error by partition.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: A partition has no topic, or a negative number.
        """
        if not isinstance(election_type, ElectionType):
            raise TypeError(f"election_type is an ElectionType, not {election_type!r}")
        named = None
        if partitions is not None:
            named = [place_of(each) for each in listed("partitions", partitions)]
        wait = self._timeout(request_timeout, operation_timeout)
        unclean = election_type is ElectionType.UNCLEAN

        def elected(admin: KafkaAdmin) -> dict[TopicPartition, KafkaError | None]:
            found = admin.elect_leaders(named, unclean=unclean, timeout=wait)
            return dict(
                _elected(tp, found.errors.get(tp), found.succeeded.get(tp)) for tp in found
            )

        return self._start_one(elected)

    # --- the cluster -----------------------------------------------------------------------

    def describe_cluster(
        self,
        *,
        include_authorized_operations: bool = False,
        request_timeout: float | None = None,
    ) -> Future[DescribeClusterResult]:
        """Describe the cluster and its brokers.

        Args:
            include_authorized_operations: True to ask for this user's operations.
            request_timeout: Seconds.

        Raises:
            TypeError: An argument is of a wrong type.
            ValueError: The number is out of range.
        """
        wait = self._timeout(request_timeout)
        return self._start_one(
            lambda admin: DescribeClusterResult.of(
                admin.describe_cluster(
                    operations=bool(include_authorized_operations), timeout=wait
                )
            )
        )

    def cluster_id(self, timeout: float | None = None) -> str | None:
        """The cluster's id.

        Raises:
            KafkaException: No broker answers in time.
        """
        admin = self._open()
        with converted():
            return admin.describe_cluster(timeout=seconds(timeout, self._wait)).cluster_id

    def __repr__(self) -> str:
        return f"AdminClient({self.__dict__.get('_calls')!r})"


def _whole(
    resource: ConfigResource, present: Mapping[str, OurEntry]
) -> dict[str, ConfigChange]:
    """The changes that leave a resource with just the keys that are given."""
    given = resource.set_config_dict
    changes: dict[str, ConfigChange] = {
        name: Delete()
        for name, entry in present.items()
        if entry.source in _OWN and name not in given
    }
    changes.update((name, Set(str(value))) for name, value in given.items())
    return changes


def _elected(
    tp: tuple[str, int], error: OurException | None, election: Election | None
) -> tuple[TopicPartition, KafkaError | None]:
    partition = TopicPartition(*tp)
    if error is not None:
        partition.error = raised(error).args[0]
    elif election is not None and not election.elected:
        text = "the preferred leader leads already"
        partition.error = KafkaError(KafkaError.ELECTION_NOT_NEEDED, text)
    return partition, partition.error


def _specs(items: Mapping[Any, int]) -> dict[Any, OurSpec | int]:
    return {tp: OurSpec(number) if number < 0 else number for tp, number in items.items()}
