"""The calls of an admin client for coroutines, each as that of threads.

Written by `python -m docs.generate` from `prokurist/admin`: change nothing here.

Thread: the event loop's.
"""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import timedelta
    from uuid import UUID

    from prokurist.admin.results import Results
    from prokurist.aio.task_admin import TaskAdmin
    from prokurist.types import TopicPartition
    from prokurist.types.clusters import ClusterDescription
    from prokurist.types.configs import ConfigChange, ConfigEntry, ConfigResource, ResourceKind
    from prokurist.types.quorums import (
        FeatureLevels,
        FeatureUpdate,
        QuorumChange,
        QuorumDescription,
    )
    from prokurist.types.records import ListedOffset, OffsetSpec
    from prokurist.types.replicas import (
        Cancel,
        Election,
        LogDir,
        Reassignment,
        ReassignmentAccepted,
        Replica,
    )
    from prokurist.types.topics import (
        CreatedPartitions,
        CreatedTopic,
        DeletedTopic,
        NewPartitions,
        NewTopic,
        TopicDescription,
        TopicListing,
    )


class AdminCalls:
    """Calls of `KafkaAdmin`."""

    _inner: TaskAdmin

    async def _awaited(self, operation: str, *given: Any, **keywords: Any) -> Any:
        """Make a call, and wait for what it has asked brokers."""
        found = getattr(self._inner, operation)(*given, **keywords)
        return await found if isawaitable(found) else found

    async def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication_factor: int | None = None,
        *,
        configs: Mapping[str, str | None] | None = None,
        replicas: Mapping[int, Sequence[int]] | None = None,
        validate_only: bool = False,
        wait: bool = False,
        timeout: float | timedelta | None = None,
    ) -> CreatedTopic:
        """As `prokurist.admin.KafkaAdmin.create_topic`."""
        found: CreatedTopic = await self._awaited(
            "create_topic",
            name,
            partitions,
            replication_factor,
            configs=configs,
            replicas=replicas,
            validate_only=validate_only,
            wait=wait,
            timeout=timeout,
        )
        return found

    async def create_topics(
        self,
        topics: Mapping[str, NewTopic],
        *,
        validate_only: bool = False,
        wait: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[str, CreatedTopic]:
        """As `prokurist.admin.KafkaAdmin.create_topics`."""
        found: Results[str, CreatedTopic] = await self._awaited(
            "create_topics",
            topics,
            validate_only=validate_only,
            wait=wait,
            timeout=timeout,
        )
        return found

    async def delete_topic(
        self,
        topic: str | UUID,
        *,
        wait: bool = False,
        timeout: float | timedelta | None = None,
    ) -> DeletedTopic:
        """As `prokurist.admin.KafkaAdmin.delete_topic`."""
        found: DeletedTopic = await self._awaited(
            "delete_topic",
            topic,
            wait=wait,
            timeout=timeout,
        )
        return found

    async def delete_topics(
        self,
        topics: Iterable[str | UUID],
        *,
        wait: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[str | UUID, DeletedTopic]:
        """As `prokurist.admin.KafkaAdmin.delete_topics`."""
        found: Results[str | UUID, DeletedTopic] = await self._awaited(
            "delete_topics",
            topics,
            wait=wait,
            timeout=timeout,
        )
        return found

    async def create_partitions(
        self,
        totals: Mapping[str, int | NewPartitions],
        *,
        validate_only: bool = False,
        wait: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[str, CreatedPartitions]:
        """As `prokurist.admin.KafkaAdmin.create_partitions`."""
        found: Results[str, CreatedPartitions] = await self._awaited(
            "create_partitions",
            totals,
            validate_only=validate_only,
            wait=wait,
            timeout=timeout,
        )
        return found

    async def list_topics(
        self,
        *,
        internal: bool = False,
        timeout: float | timedelta | None = None,
    ) -> dict[str, TopicListing]:
        """As `prokurist.admin.KafkaAdmin.list_topics`."""
        found: dict[str, TopicListing] = await self._awaited(
            "list_topics",
            internal=internal,
            timeout=timeout,
        )
        return found

    async def describe_topics(
        self,
        topics: Iterable[str | UUID],
        *,
        operations: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[str | UUID, TopicDescription]:
        """As `prokurist.admin.KafkaAdmin.describe_topics`."""
        found: Results[str | UUID, TopicDescription] = await self._awaited(
            "describe_topics",
            topics,
            operations=operations,
            timeout=timeout,
        )
        return found

    async def describe_configs(
        self,
        resources: Iterable[ConfigResource] | Mapping[ConfigResource, Iterable[str] | None],
        *,
        synonyms: bool = False,
        documentation: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[ConfigResource, dict[str, ConfigEntry]]:
        """As `prokurist.admin.KafkaAdmin.describe_configs`."""
        found: Results[ConfigResource, dict[str, ConfigEntry]] = await self._awaited(
            "describe_configs",
            resources,
            synonyms=synonyms,
            documentation=documentation,
            timeout=timeout,
        )
        return found

    async def alter_configs(
        self,
        changes: Mapping[ConfigResource, Mapping[str, ConfigChange]],
        *,
        validate_only: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[ConfigResource, None]:
        """As `prokurist.admin.KafkaAdmin.alter_configs`."""
        found: Results[ConfigResource, None] = await self._awaited(
            "alter_configs",
            changes,
            validate_only=validate_only,
            timeout=timeout,
        )
        return found

    async def list_config_resources(
        self,
        kinds: Iterable[ResourceKind] = (),
        *,
        timeout: float | timedelta | None = None,
    ) -> tuple[ConfigResource, ...]:
        """As `prokurist.admin.KafkaAdmin.list_config_resources`."""
        found: tuple[ConfigResource, ...] = await self._awaited(
            "list_config_resources",
            kinds,
            timeout=timeout,
        )
        return found

    async def describe_cluster(
        self,
        *,
        operations: bool = False,
        fenced: bool = False,
        timeout: float | timedelta | None = None,
    ) -> ClusterDescription:
        """As `prokurist.admin.KafkaAdmin.describe_cluster`."""
        found: ClusterDescription = await self._awaited(
            "describe_cluster",
            operations=operations,
            fenced=fenced,
            timeout=timeout,
        )
        return found

    async def delete_records(
        self,
        before: Mapping[TopicPartition, int],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, int]:
        """As `prokurist.admin.KafkaAdmin.delete_records`."""
        found: Results[TopicPartition, int] = await self._awaited(
            "delete_records",
            before,
            timeout=timeout,
        )
        return found

    async def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec | int],
        *,
        read_committed: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, ListedOffset]:
        """As `prokurist.admin.KafkaAdmin.list_offsets`."""
        found: Results[TopicPartition, ListedOffset] = await self._awaited(
            "list_offsets",
            specs,
            read_committed=read_committed,
            timeout=timeout,
        )
        return found

    async def describe_log_dirs(
        self,
        brokers: Iterable[int] | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[int, dict[str, LogDir]]:
        """As `prokurist.admin.KafkaAdmin.describe_log_dirs`."""
        found: Results[int, dict[str, LogDir]] = await self._awaited(
            "describe_log_dirs",
            brokers,
            timeout=timeout,
        )
        return found

    async def alter_log_dirs(
        self,
        paths: Mapping[Replica, str],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[Replica, None]:
        """As `prokurist.admin.KafkaAdmin.alter_log_dirs`."""
        found: Results[Replica, None] = await self._awaited(
            "alter_log_dirs",
            paths,
            timeout=timeout,
        )
        return found

    async def elect_leaders(
        self,
        partitions: Iterable[TopicPartition] | None,
        *,
        unclean: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, Election]:
        """As `prokurist.admin.KafkaAdmin.elect_leaders`."""
        found: Results[TopicPartition, Election] = await self._awaited(
            "elect_leaders",
            partitions,
            unclean=unclean,
            timeout=timeout,
        )
        return found

    async def reassign(
        self,
        brokers: Mapping[TopicPartition, Sequence[int] | Cancel],
        *,
        allow_rf_change: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, ReassignmentAccepted]:
        """As `prokurist.admin.KafkaAdmin.reassign`."""
        found: Results[TopicPartition, ReassignmentAccepted] = await self._awaited(
            "reassign",
            brokers,
            allow_rf_change=allow_rf_change,
            timeout=timeout,
        )
        return found

    async def list_reassignments(
        self,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> dict[TopicPartition, Reassignment]:
        """As `prokurist.admin.KafkaAdmin.list_reassignments`."""
        found: dict[TopicPartition, Reassignment] = await self._awaited(
            "list_reassignments",
            partitions,
            timeout=timeout,
        )
        return found

    async def quorum(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> QuorumDescription:
        """As `prokurist.admin.KafkaAdmin.quorum`."""
        found: QuorumDescription = await self._awaited(
            "quorum",
            timeout=timeout,
        )
        return found

    async def add_voter(
        self,
        number: int,
        directory_id: UUID,
        listeners: Mapping[str, tuple[str, int]],
        *,
        timeout: float | timedelta | None = None,
    ) -> QuorumChange:
        """As `prokurist.admin.KafkaAdmin.add_voter`."""
        found: QuorumChange = await self._awaited(
            "add_voter",
            number,
            directory_id,
            listeners,
            timeout=timeout,
        )
        return found

    async def remove_voter(
        self,
        number: int,
        directory_id: UUID,
        *,
        timeout: float | timedelta | None = None,
    ) -> QuorumChange:
        """As `prokurist.admin.KafkaAdmin.remove_voter`."""
        found: QuorumChange = await self._awaited(
            "remove_voter",
            number,
            directory_id,
            timeout=timeout,
        )
        return found

    async def unregister_broker(
        self,
        number: int,
        *,
        timeout: float | timedelta | None = None,
    ) -> QuorumChange:
        """As `prokurist.admin.KafkaAdmin.unregister_broker`."""
        found: QuorumChange = await self._awaited(
            "unregister_broker",
            number,
            timeout=timeout,
        )
        return found

    async def features(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> dict[str, FeatureLevels]:
        """As `prokurist.admin.KafkaAdmin.features`."""
        found: dict[str, FeatureLevels] = await self._awaited(
            "features",
            timeout=timeout,
        )
        return found

    async def update_features(
        self,
        updates: Mapping[str, FeatureUpdate],
        *,
        validate_only: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[str, None]:
        """As `prokurist.admin.KafkaAdmin.update_features`."""
        found: Results[str, None] = await self._awaited(
            "update_features",
            updates,
            validate_only=validate_only,
            timeout=timeout,
        )
        return found
