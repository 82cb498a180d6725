"""Commits offsets, and looks committed offsets up.

Thread: the network thread alone. Each request of a caller is one operation, to be read from top
to bottom: find the coordinator, ask it, handle the error codes of its answer
(`coordinator_errors`), and repeat until success, a fatal error, or the caller's deadline.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from uuid import UUID

from prokurist.errors import CommitFailedException, KafkaException
from prokurist.events.application_events import BY_NAME
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.member_identity import NO_MEMBER, Identity
from prokurist.events.subscription import Subscription
from prokurist.network_thread.broker_errors import UNKNOWN_TOPIC_ID, topics_of
from prokurist.network_thread.cluster.coordinators import Coordinator
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.error_actions import (
    OFFSET_COMMIT,
    OFFSET_FETCH,
    Action,
    ErrorTable,
)
from prokurist.network_thread.offsets.commit_counters import CommitCounters
from prokurist.network_thread.offsets.commit_identity import CommitIdentities
from prokurist.network_thread.offsets.committed_lookups import CommittedLookups, Taker
from prokurist.network_thread.offsets.coordinator_errors import CoordinatorErrors
from prokurist.network_thread.operations.operation import Promise, Withdrawn
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.committed_offsets import (
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetFetch,
)
from prokurist.types import Node, OffsetAndMetadata, TopicPartition

REQUEST_TIMED_OUT = 7
APPLIED = frozenset({REQUEST_TIMED_OUT, 15, 20})
"""Codes after which the coordinator's log may hold the commit all the same.

A coordinator also answers COORDINATOR_NOT_AVAILABLE (15) after a write that was appended and
not replicated in time, NOT_ENOUGH_REPLICAS_AFTER_APPEND (20) included.
"""

UNSTABLE = 88
UNNAMED = REQUEST_TIMED_OUT
"""Error code for a partition missing from an answer."""


class CommitManager:
    """Sends OffsetCommit and OffsetFetch to the coordinator.

    Args:
        group_id: The group.
        client: To ask with.
        coordinator: Finds the coordinator.
        metadata: Knows the topics' ids.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        commit_identities: Chooses the identity of each attempt.
        subscription: Is told what is committed of assigned partitions.

    Attributes:
        counters: Counters of commits.
    """

    def __init__(
        self,
        group_id: str,
        client: NetworkClient,
        coordinator: Coordinator,
        metadata: MetadataManager,
        timer: Timer,
        backoff: Backoff,
        commit_identities: CommitIdentities,
        subscription: Subscription,
    ) -> None:
        self.counters: CommitCounters = CommitCounters()
        self._commit_identities = commit_identities
        self._subscription = subscription
        self._group_id = group_id
        self._client = client
        self._coordinator = coordinator
        self._metadata = metadata
        self._timer = timer
        self._backoff = backoff
        self._errors = CoordinatorErrors(group_id, coordinator, metadata, timer)
        self._lookups = CommittedLookups(self._look_up, timer)

    async def commit(
        self,
        call: Call,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        identity: Identity = NO_MEMBER,
        topics: Mapping[str, UUID] = BY_NAME,
        *,
        kind: str = "sync",
        overtaken: Collection[TopicPartition] = frozenset(),
        table: ErrorTable = OFFSET_COMMIT,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Commit offsets; those that the coordinator has taken are not sent again.

        Args:
            call: For whom.
            offsets: The offsets.
            identity: Who we were when it was wished.
            topics: The topics' ids, as far as known.
            kind: Its kind, for the counters.
            overtaken: Partitions that need no further attempt; it may grow meanwhile.
            table: Actions by error code.

        Returns:
            The committed offsets.
        """
        with self.counters.counted(kind, lambda: self._timer.now):
            return await self._commit(call, offsets, identity, topics, overtaken, table)

    async def _commit(
        self,
        call: Call,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        identity: Identity,
        topics: Mapping[str, UUID],
        overtaken: Collection[TopicPartition],
        table: ErrorTable,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """See `commit`."""
        self._lookups.part()
        left, taken = dict(offsets), dict[TopicPartition, OffsetAndMetadata]()
        failures = 0
        while left:
            node = await self._coordinator.known(call)
            sent_as = self._commit_identities.of(identity, left)
            request = self._request(left, sent_as, topics)
            call.wait_begins(self._client.awaited(Lane.COORDINATOR, node), self._timer.now)
            try:
                answer = await self._send(call, node, request, identity, sent_as)
            except Withdrawn:
                raise
            except KafkaException as error:
                self._errors.unreachable(call, node, error)
            else:
                failed = refused(answer.response, left)
                self._commit_identities.heed(identity, sent_as, failed.values())
                undone = len(failed) == len(left) and not APPLIED.intersection(failed.values())
                new = {tp: left[tp] for tp in left if tp not in failed}
                taken.update(new)
                self._subscription.committed_are(new)
                left = {tp: left[tp] for tp in failed}
                action = await self._errors.recover(
                    call,
                    table,
                    failed,
                    node,
                    answer.attempt,
                    undone=undone,
                    renews=partial(self._commit_identities.may_go_on, identity, sent_as, left),
                    refusal=partial(self._commit_identities.refusal, identity, left),
                )
                if action is Action.REFRESH:
                    self._see_ended(failed, topics)
            if left:
                failures += 1
                await self._pause(call, failures)
                left = {tp: at for tp, at in left.items() if tp not in overtaken}
        return taken

    def _send(
        self,
        call: Call,
        node: Node,
        request: OffsetCommit,
        made_by: Identity,
        sent_as: Identity,
    ) -> Promise[Answer[OffsetCommitAnswer]]:
        """Send a commit; a late answer is heeded as well.

        One that cannot write says so after 5 s, and no caller may ever wait as long.
        """

        def late(answer: OffsetCommitAnswer) -> None:
            # A broker that was the coordinator may have lost the member with the group.
            if self._coordinator.is_at(node):
                failed = refused(answer, dict(request.offsets))
                self._commit_identities.heed(made_by, sent_as, failed.values())
                self._errors.heard_after_commit(node, failed)

        return self._client.send(
            node, request, call=call, lane=Lane.COORDINATOR, effect=True, late=late
        )

    def _request(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        sent_as: Identity,
        topics: Mapping[str, UUID],
    ) -> OffsetCommit:
        """The OffsetCommit of an attempt, under an identity."""
        return OffsetCommit(
            self._group_id,
            tuple(sorted(offsets.items())),
            sent_as.epoch,
            sent_as.member_id,
            sent_as.instance_id,
            sent_as.by_epoch,
            topics,
        )

    def _see_ended(
        self, failed: Mapping[TopicPartition, int], topics: Mapping[str, UUID]
    ) -> None:
        """Raise if a topic with an unknown id was recreated, by fresh metadata.

        Raises:
            CommitFailedException: It is another topic by now, for good.
        """
        unknown = topics_of(tp for tp, code in failed.items() if code == UNKNOWN_TOPIC_ID)
        now = self._metadata.cluster.ids_of(unknown)
        recreated = [each for each in now if topics.get(each, now[each]) != now[each]]
        if recreated:
            raise CommitFailedException(
                f"Commit rejected: {', '.join(recreated)} was deleted and created again. "
                f"Offsets of the old topic cannot be committed for the new one, which is "
                f"read from where auto.offset.reset says"
            )

    async def commit_once(
        self,
        call: Call,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        identity: Identity = NO_MEMBER,
        topics: Mapping[str, UUID] = BY_NAME,
    ) -> None:
        """Commit offsets in one attempt; its outcome, of any kind, ends the call."""
        with self.counters.counted("async", lambda: self._timer.now):
            await self._commit_once(call, offsets, identity, topics)

    async def _commit_once(
        self,
        call: Call,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        identity: Identity,
        topics: Mapping[str, UUID],
    ) -> None:
        self._lookups.part()
        node = await self._coordinator.known(call)
        sent_as = self._commit_identities.of(identity, offsets)
        request = self._request(offsets, sent_as, topics)
        call.wait_begins(self._client.awaited(Lane.COORDINATOR, node), self._timer.now)
        try:
            answer = await self._send(call, node, request, identity, sent_as)
        except Withdrawn:
            raise
        except KafkaException as error:
            self._coordinator.forget(node, error)
            raise
        failed = refused(answer.response, offsets)
        self._subscription.committed_are(
            {tp: offsets[tp] for tp in offsets if tp not in failed}
        )
        self._commit_identities.heed(identity, sent_as, failed.values())
        action, refusal = self._errors.heard_after_commit(node, failed)
        if refusal is None:
            return
        if action is Action.RENEW:
            raise self._commit_identities.refusal(identity, offsets, refusal)
        raise refusal

    async def committed(
        self,
        call: Call,
        partitions: tuple[TopicPartition, ...],
        taker: Taker | None = None,
        *,
        stable: bool = True,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Look up committed offsets; None for a partition without a commit.

        Args:
            call: For whom.
            partitions: The partitions.
            taker: Takes each partial answer; the whole may be long in coming, while a
                transaction is open.
            stable: True to wait for that transaction.
        """
        return await self._lookups.look_up(call, partitions, taker, stable=stable)

    async def _look_up(
        self, call: Call, partitions: frozenset[TopicPartition], told: Taker, *, stable: bool
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        try:
            return await self._ask_until_told(call, partitions, told, stable=stable)
        finally:
            self.counters.unsettled -= partitions

    async def _ask_until_told(
        self, call: Call, partitions: frozenset[TopicPartition], told: Taker, *, stable: bool
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        found: dict[TopicPartition, OffsetAndMetadata | None] = {}
        left = set(partitions)
        failures = 0
        while left:
            node = await self._coordinator.known(call)
            sent_as = self._commit_identities.present
            # A broker too old to wait for open transactions is asked all the same:
            # offsets that may yet change are better than none.
            request = OffsetFetch(
                self._group_id,
                tuple(sorted(left)),
                require_stable=stable,
                unstable_will_do=True,
                member_id=sent_as.member_id if sent_as.by_epoch else None,
                member_epoch=sent_as.epoch if sent_as.by_epoch else -1,
            )
            call.wait_begins(self._client.awaited(Lane.COORDINATOR, node), self._timer.now)
            try:
                answer = await self._client.send(
                    node, request, call=call, lane=Lane.COORDINATOR
                )
            except Withdrawn:
                raise
            except KafkaException as error:
                self._errors.unreachable(call, node, error)
            else:
                response = answer.response
                failed = {tp: response.error for tp in left if response.error}
                new: dict[TopicPartition, OffsetAndMetadata | None] = {}
                for row in response.committed:
                    if row.partition not in left or failed.get(row.partition):
                        continue
                    if row.error:
                        failed[row.partition] = row.error
                    else:
                        left.discard(row.partition)
                        new[row.partition] = (
                            None
                            if row.offset is None
                            else OffsetAndMetadata(row.offset, row.metadata, row.leader_epoch)
                        )
                found.update(new)
                self._subscription.committed_are(new)
                unsettled = {tp for tp, code in failed.items() if code == UNSTABLE}
                self.counters.unsettled = (self.counters.unsettled - partitions) | unsettled
                told(new)
                await self._errors.recover(
                    call,
                    OFFSET_FETCH,
                    failed,
                    node,
                    answer.attempt,
                    renews=partial(self._commit_identities.may_ask_again, sent_as),
                )
            if left:
                failures += 1
                await self._pause(call, failures)
        return found

    async def _pause(self, call: Call, failures: int) -> None:
        call.wait_begins("retry backoff", self._timer.now)
        await self._timer.sleep(self._backoff.pause(failures), "commit backoff")
        call.wait_ends(self._timer.now)

    def __repr__(self) -> str:
        return f"CommitManager({self._group_id})"


def refused(
    answer: OffsetCommitAnswer, asked: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """The partitions that were not committed, with their error codes.

    A partition that the answer does not name was not committed either: the
    broker's word for it is missing, and it is asked again.
    """
    codes = dict(answer.errors)
    return {tp: code for tp in asked if (code := codes.get(tp, UNNAMED))}
