"""The calls of an admin client for coroutines, each as that of threads.

Written by `python -m docs.generate` from `prokurist/admin`: change nothing here.

Thread: the event loop's.
"""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from prokurist.admin.groups import REASON
from prokurist.admin.transactions import OLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from prokurist.admin.lag import GroupLags
    from prokurist.admin.plans import Destination, OffsetPlan
    from prokurist.admin.results import Listing, Results
    from prokurist.aio.task_admin import TaskAdmin
    from prokurist.config.secret import Secret
    from prokurist.types import OffsetAndMetadata, TopicPartition
    from prokurist.types.access import (
        Acl,
        AclFilter,
        AlteredUser,
        DelegationToken,
        DeletedAcls,
        DeletePassword,
        QuotaEntity,
        QuotaFilter,
        ScramMechanism,
        SetPassword,
    )
    from prokurist.types.clusters import ClusterDescription
    from prokurist.types.configs import ConfigChange, ConfigEntry, ConfigResource, ResourceKind
    from prokurist.types.groups import (
        DeletedGroup,
        Everyone,
        Group,
        GroupListing,
        MemberToRemove,
        RemovedMember,
        ShareOffset,
    )
    from prokurist.types.plans import ReassignmentPlan, ReassignmentProgress
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
    from prokurist.types.transactions import (
        ActiveProducer,
        FencedProducer,
        HangingTransaction,
        TransactionDescription,
        TransactionListing,
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

    async def list_groups(
        self,
        *,
        kinds: Iterable[str] = (),
        states: Iterable[str] = (),
        protocol_types: Iterable[str] = (),
        partial: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Listing[GroupListing]:
        """As `prokurist.admin.KafkaAdmin.list_groups`."""
        found: Listing[GroupListing] = await self._awaited(
            "list_groups",
            kinds=kinds,
            states=states,
            protocol_types=protocol_types,
            partial=partial,
            timeout=timeout,
        )
        return found

    async def describe_group(
        self,
        group: str,
        *,
        operations: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Group:
        """As `prokurist.admin.KafkaAdmin.describe_group`."""
        found: Group = await self._awaited(
            "describe_group",
            group,
            operations=operations,
            timeout=timeout,
        )
        return found

    async def describe_groups(
        self,
        groups: Iterable[str],
        *,
        operations: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[str, Group]:
        """As `prokurist.admin.KafkaAdmin.describe_groups`."""
        found: Results[str, Group] = await self._awaited(
            "describe_groups",
            groups,
            operations=operations,
            timeout=timeout,
        )
        return found

    async def group_offsets(
        self,
        groups: Mapping[str, Iterable[TopicPartition] | None] | Iterable[str],
        *,
        stable: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[str, Results[TopicPartition, OffsetAndMetadata | None]]:
        """As `prokurist.admin.KafkaAdmin.group_offsets`."""
        found: Results[
            str, Results[TopicPartition, OffsetAndMetadata | None]
        ] = await self._awaited(
            "group_offsets",
            groups,
            stable=stable,
            timeout=timeout,
        )
        return found

    async def alter_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, None]:
        """As `prokurist.admin.KafkaAdmin.alter_offsets`."""
        found: Results[TopicPartition, None] = await self._awaited(
            "alter_offsets",
            group,
            offsets,
            timeout=timeout,
        )
        return found

    async def delete_offsets(
        self,
        group: str,
        partitions: Iterable[TopicPartition],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, None]:
        """As `prokurist.admin.KafkaAdmin.delete_offsets`."""
        found: Results[TopicPartition, None] = await self._awaited(
            "delete_offsets",
            group,
            partitions,
            timeout=timeout,
        )
        return found

    async def delete_groups(
        self,
        groups: Iterable[str],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[str, DeletedGroup]:
        """As `prokurist.admin.KafkaAdmin.delete_groups`."""
        found: Results[str, DeletedGroup] = await self._awaited(
            "delete_groups",
            groups,
            timeout=timeout,
        )
        return found

    async def remove_members(
        self,
        group: str,
        members: Iterable[MemberToRemove] | Everyone,
        *,
        reason: str = REASON,
        timeout: float | timedelta | None = None,
    ) -> Results[MemberToRemove, RemovedMember]:
        """As `prokurist.admin.KafkaAdmin.remove_members`."""
        found: Results[MemberToRemove, RemovedMember] = await self._awaited(
            "remove_members",
            group,
            members,
            reason=reason,
            timeout=timeout,
        )
        return found

    async def lag(
        self,
        groups: Iterable[str] | None = None,
        *,
        read_committed: bool = False,
        newest: bool = False,
        timeout: float | timedelta | None = None,
    ) -> GroupLags:
        """As `prokurist.admin.KafkaAdmin.lag`."""
        found: GroupLags = await self._awaited(
            "lag",
            groups,
            read_committed=read_committed,
            newest=newest,
            timeout=timeout,
        )
        return found

    async def acls(
        self,
        asked: AclFilter | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> tuple[Acl, ...]:
        """As `prokurist.admin.KafkaAdmin.acls`."""
        found: tuple[Acl, ...] = await self._awaited(
            "acls",
            asked,
            timeout=timeout,
        )
        return found

    async def create_acls(
        self,
        acls: Iterable[Acl],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[Acl, None]:
        """As `prokurist.admin.KafkaAdmin.create_acls`."""
        found: Results[Acl, None] = await self._awaited(
            "create_acls",
            acls,
            timeout=timeout,
        )
        return found

    async def delete_acls(
        self,
        filters: Iterable[AclFilter | Acl],
        *,
        expect: int | None = None,
        timeout: float | timedelta | None = None,
    ) -> Results[AclFilter, DeletedAcls]:
        """As `prokurist.admin.KafkaAdmin.delete_acls`."""
        found: Results[AclFilter, DeletedAcls] = await self._awaited(
            "delete_acls",
            filters,
            expect=expect,
            timeout=timeout,
        )
        return found

    async def users(
        self,
        names: Iterable[str] | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[str, dict[ScramMechanism, int]]:
        """As `prokurist.admin.KafkaAdmin.users`."""
        found: Results[str, dict[ScramMechanism, int]] = await self._awaited(
            "users",
            names,
            timeout=timeout,
        )
        return found

    async def alter_users(
        self,
        changes: Mapping[str, SetPassword | DeletePassword],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[str, AlteredUser]:
        """As `prokurist.admin.KafkaAdmin.alter_users`."""
        found: Results[str, AlteredUser] = await self._awaited(
            "alter_users",
            changes,
            timeout=timeout,
        )
        return found

    async def quotas(
        self,
        asked: QuotaFilter | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> dict[QuotaEntity, dict[str, float]]:
        """As `prokurist.admin.KafkaAdmin.quotas`."""
        found: dict[QuotaEntity, dict[str, float]] = await self._awaited(
            "quotas",
            asked,
            timeout=timeout,
        )
        return found

    async def alter_quotas(
        self,
        changes: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[QuotaEntity, None]:
        """As `prokurist.admin.KafkaAdmin.alter_quotas`."""
        found: Results[QuotaEntity, None] = await self._awaited(
            "alter_quotas",
            changes,
            validate_only=validate_only,
            timeout=timeout,
        )
        return found

    async def create_token(
        self,
        *,
        owner: str | None = None,
        renewers: Iterable[str] = (),
        lifetime: float | timedelta | None = None,
        timeout: float | timedelta | None = None,
    ) -> DelegationToken:
        """As `prokurist.admin.KafkaAdmin.create_token`."""
        found: DelegationToken = await self._awaited(
            "create_token",
            owner=owner,
            renewers=renewers,
            lifetime=lifetime,
            timeout=timeout,
        )
        return found

    async def renew_token(
        self,
        token: DelegationToken | str | Secret,
        period: float | timedelta | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> datetime:
        """As `prokurist.admin.KafkaAdmin.renew_token`."""
        found: datetime = await self._awaited(
            "renew_token",
            token,
            period,
            timeout=timeout,
        )
        return found

    async def expire_token(
        self,
        token: DelegationToken | str | Secret,
        period: float | timedelta | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> datetime | None:
        """As `prokurist.admin.KafkaAdmin.expire_token`."""
        found: datetime | None = await self._awaited(
            "expire_token",
            token,
            period,
            timeout=timeout,
        )
        return found

    async def describe_tokens(
        self,
        owners: Iterable[str] | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> tuple[DelegationToken, ...]:
        """As `prokurist.admin.KafkaAdmin.describe_tokens`."""
        found: tuple[DelegationToken, ...] = await self._awaited(
            "describe_tokens",
            owners,
            timeout=timeout,
        )
        return found

    async def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        running_for: float | timedelta | None = None,
        pattern: str | None = None,
        partial: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Listing[TransactionListing]:
        """As `prokurist.admin.KafkaAdmin.list_transactions`."""
        found: Listing[TransactionListing] = await self._awaited(
            "list_transactions",
            states=states,
            producer_ids=producer_ids,
            running_for=running_for,
            pattern=pattern,
            partial=partial,
            timeout=timeout,
        )
        return found

    async def describe_transactions(
        self,
        transactional_ids: Iterable[str],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[str, TransactionDescription]:
        """As `prokurist.admin.KafkaAdmin.describe_transactions`."""
        found: Results[str, TransactionDescription] = await self._awaited(
            "describe_transactions",
            transactional_ids,
            timeout=timeout,
        )
        return found

    async def describe_producers(
        self,
        partitions: Iterable[TopicPartition],
        *,
        broker: int | None = None,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, tuple[ActiveProducer, ...]]:
        """As `prokurist.admin.KafkaAdmin.describe_producers`."""
        found: Results[TopicPartition, tuple[ActiveProducer, ...]] = await self._awaited(
            "describe_producers",
            partitions,
            broker=broker,
            timeout=timeout,
        )
        return found

    async def fence_producers(
        self,
        transactional_ids: Iterable[str],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[str, FencedProducer]:
        """As `prokurist.admin.KafkaAdmin.fence_producers`."""
        found: Results[str, FencedProducer] = await self._awaited(
            "fence_producers",
            transactional_ids,
            timeout=timeout,
        )
        return found

    async def find_hanging(
        self,
        topics: Iterable[str] | None = None,
        *,
        broker: int | None = None,
        older: float | timedelta = OLDER,
        timeout: float | timedelta | None = None,
    ) -> tuple[HangingTransaction, ...]:
        """As `prokurist.admin.KafkaAdmin.find_hanging`."""
        found: tuple[HangingTransaction, ...] = await self._awaited(
            "find_hanging",
            topics,
            broker=broker,
            older=older,
            timeout=timeout,
        )
        return found

    async def abort_transaction(
        self,
        hanging: HangingTransaction,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """As `prokurist.admin.KafkaAdmin.abort_transaction`."""
        found: None = await self._awaited(
            "abort_transaction",
            hanging,
            timeout=timeout,
        )
        return found

    async def share_offsets(
        self,
        groups: Mapping[str, Iterable[TopicPartition] | None] | Iterable[str],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[str, Results[TopicPartition, ShareOffset | None]]:
        """As `prokurist.admin.KafkaAdmin.share_offsets`."""
        found: Results[str, Results[TopicPartition, ShareOffset | None]] = await self._awaited(
            "share_offsets",
            groups,
            timeout=timeout,
        )
        return found

    async def alter_share_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, None]:
        """As `prokurist.admin.KafkaAdmin.alter_share_offsets`."""
        found: Results[TopicPartition, None] = await self._awaited(
            "alter_share_offsets",
            group,
            offsets,
            timeout=timeout,
        )
        return found

    async def delete_share_offsets(
        self,
        group: str,
        topics: Iterable[str],
        *,
        timeout: float | timedelta | None = None,
    ) -> Results[str, None]:
        """As `prokurist.admin.KafkaAdmin.delete_share_offsets`."""
        found: Results[str, None] = await self._awaited(
            "delete_share_offsets",
            group,
            topics,
            timeout=timeout,
        )
        return found

    async def plan_offsets(
        self,
        group: str,
        to: Destination,
        *,
        partitions: Iterable[TopicPartition] | None = None,
        timeout: float | timedelta | None = None,
    ) -> OffsetPlan:
        """As `prokurist.admin.KafkaAdmin.plan_offsets`."""
        found: OffsetPlan = await self._awaited(
            "plan_offsets",
            group,
            to,
            partitions=partitions,
            timeout=timeout,
        )
        return found

    async def plan_reassignment(
        self,
        topics: Iterable[str],
        brokers: Iterable[int],
        *,
        rack_aware: bool = True,
        timeout: float | timedelta | None = None,
    ) -> ReassignmentPlan:
        """As `prokurist.admin.KafkaAdmin.plan_reassignment`."""
        found: ReassignmentPlan = await self._awaited(
            "plan_reassignment",
            topics,
            brokers,
            rack_aware=rack_aware,
            timeout=timeout,
        )
        return found

    async def start_reassignment(
        self,
        plan: ReassignmentPlan,
        *,
        throttle: int | None = None,
        timeout: float | timedelta | None = None,
    ) -> Results[TopicPartition, ReassignmentAccepted]:
        """As `prokurist.admin.KafkaAdmin.start_reassignment`."""
        found: Results[TopicPartition, ReassignmentAccepted] = await self._awaited(
            "start_reassignment",
            plan,
            throttle=throttle,
            timeout=timeout,
        )
        return found

    async def verify_reassignment(
        self,
        plan: ReassignmentPlan,
        *,
        timeout: float | timedelta | None = None,
    ) -> ReassignmentProgress:
        """As `prokurist.admin.KafkaAdmin.verify_reassignment`."""
        found: ReassignmentProgress = await self._awaited(
            "verify_reassignment",
            plan,
            timeout=timeout,
        )
        return found
