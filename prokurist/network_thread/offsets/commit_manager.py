"""Commits offsets, and looks committed offsets up.

Thread: the network thread alone. Each request of a caller is one operation: `Attempts` asks the
group's coordinator until nothing of a `CommitQuestion` or a `CommittedQuestion` is left, a code
is fatal, or the caller's deadline has come.
"""

from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

from prokurist.errors import CommitFailedException, KafkaException
from prokurist.events.application_events import BY_NAME
from prokurist.events.call import Call
from prokurist.events.committable import Committable
from prokurist.events.member_identity import NO_MEMBER, Identity
from prokurist.network_thread.broker_errors import (
    UNKNOWN_TOPIC_ID,
    topics_of,
    worst_offsets_error,
)
from prokurist.network_thread.cluster.attempts import Attempts, Question, Verdict
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
from prokurist.network_thread.offsets.committed_lookups import (
    Committed,
    CommittedLookups,
    Taker,
)
from prokurist.network_thread.operations.operation import Promise, Withdrawn
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.committed_offsets import (
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
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
        client: To ask with.
        coordinator: The group's coordinator.
        metadata: Knows the topics' ids.
        attempts: Asks.
        timer: The Timer.
        identities: Chooses the identity of each attempt.
        committable: Notes committed offsets of assigned partitions.

    Attributes:
        counters: Counters of commits.
        coordinator: The group's coordinator.
        metadata: The metadata.
        identities: The identities.
        committable: See above.
    """

    def __init__(
        self,
        client: NetworkClient,
        coordinator: Coordinator,
        metadata: MetadataManager,
        attempts: Attempts,
        timer: Timer,
        identities: CommitIdentities,
        committable: Committable,
    ) -> None:
        self.counters: CommitCounters = CommitCounters()
        self.coordinator: Coordinator = coordinator
        self.metadata: MetadataManager = metadata
        self.identities: CommitIdentities = identities
        self.committable: Committable = committable
        self._client = client
        self._attempts = attempts
        self._timer = timer
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
            self._lookups.part()
            question = CommitQuestion(self, call, offsets, identity, topics, overtaken, table)
            await self._attempts.ask(self.coordinator, question)
            return question.taken

    async def commit_once(
        self,
        call: Call,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        identity: Identity = NO_MEMBER,
        topics: Mapping[str, UUID] = BY_NAME,
    ) -> None:
        """Commit offsets in one attempt; its outcome, of any kind, ends the call."""
        with self.counters.counted("async", lambda: self._timer.now):
            self._lookups.part()
            question = CommitQuestion(self, call, offsets, identity, topics)
            node = await self.coordinator.find(call)
            sent = question.send(self._client, node)
            call.wait_begins(self._client.awaited(Lane.COORDINATOR, node), self._timer.now)
            try:
                answer = await sent
            except Withdrawn:
                raise
            except KafkaException as error:
                self.coordinator.forget(node, error)
                raise
            verdict = question.judge(answer)
            self.coordinator.note_answer(node, verdict)
            if verdict.action is Action.RENEW:
                raise self.identities.refusal(identity, offsets, verdict.error)
            if verdict.error is not None:
                raise verdict.error

    async def committed(
        self,
        call: Call,
        partitions: tuple[TopicPartition, ...],
        taker: Taker | None = None,
        *,
        stable: bool = True,
    ) -> Committed:
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
    ) -> Committed:
        question = CommittedQuestion(self, call, partitions, told, stable=stable)
        try:
            await self._attempts.ask(self.coordinator, question)
            return question.found
        finally:
            self.counters.unsettled -= partitions

    def __repr__(self) -> str:
        return f"CommitManager({self.coordinator.key})"


class CommitQuestion(Question[OffsetCommitAnswer]):
    """A commit, until the coordinator has taken all offsets; see `CommitManager.commit`.

    Attributes:
        taken: The offsets that are committed.
    """

    call: Call
    pause: str | None = "commit backoff"

    def __init__(
        self,
        commits: CommitManager,
        call: Call,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        identity: Identity,
        topics: Mapping[str, UUID],
        overtaken: Collection[TopicPartition] = frozenset(),
        table: ErrorTable = OFFSET_COMMIT,
    ) -> None:
        self.call = call
        self.taken: dict[TopicPartition, OffsetAndMetadata] = {}
        self._commits = commits
        self._identities = commits.identities
        self._left = dict(offsets)
        self._identity = identity
        self._sent_as = identity
        self._topics = topics
        self._overtaken = overtaken
        self._table = table
        self._failed: dict[TopicPartition, int] = {}

    @property
    def is_over(self) -> bool:
        """See `Question`."""
        return all(tp in self._overtaken for tp in self._left)

    def send(self, client: NetworkClient, node: Node) -> Promise[Answer[OffsetCommitAnswer]]:
        """See `Question`; a late answer is heeded as well.

        One that cannot write says so after 5 s, and no caller may ever wait as long.
        """
        if not self.is_over:
            self._left = {tp: at for tp, at in self._left.items() if tp not in self._overtaken}
        left, coordinator = self._left, self._commits.coordinator
        sent_as = self._sent_as = self._identities.of(self._identity, left)

        def late(answer: OffsetCommitAnswer) -> None:
            # A broker that was the coordinator may have lost the member with the group.
            if coordinator.is_at(node):
                failed = refused(answer, left)
                self._identities.heed(self._identity, sent_as, failed.values())
                coordinator.note_answer(node, self._judged(failed))

        request = OffsetCommit(
            coordinator.key,
            tuple(sorted(left.items())),
            sent_as.epoch,
            sent_as.member_id,
            sent_as.instance_id,
            sent_as.by_epoch,
            self._topics,
        )
        return client.send(
            node, request, call=self.call, lane=Lane.COORDINATOR, effect=True, late=late
        )

    def judge(self, answer: Answer[OffsetCommitAnswer]) -> Verdict:
        """See `Question`."""
        left = self._left
        failed = self._failed = refused(answer.response, left)
        self._identities.heed(self._identity, self._sent_as, failed.values())
        new = {tp: left[tp] for tp in left if tp not in failed}
        self.taken.update(new)
        self._commits.committable.committed_are(new)
        self._left = {tp: left[tp] for tp in failed}
        undone = not new and not APPLIED.intersection(failed.values())
        return self._judged(failed)._replace(undone=undone)

    def _judged(self, failed: Mapping[TopicPartition, int]) -> Verdict:
        if not failed:
            return Verdict(Action.DONE, wrote=True)
        group_id = self._commits.coordinator.key
        return Verdict(*worst_offsets_error(self._table, failed, group_id))

    async def recover(self, verdict: Verdict) -> None:
        """See `Question`."""
        left, made_by = self._left, self._identity
        if verdict.action is Action.RENEW:
            if not self._identities.may_go_on(made_by, self._sent_as, left):
                raise self._identities.refusal(made_by, left, verdict.error)
        elif verdict.action is Action.REFRESH:
            await self._commits.metadata.refreshed(self.call, "fresh metadata")
            self._check_topics()

    def _check_topics(self) -> None:
        """Raise if a topic with an unknown id was recreated, by fresh metadata.

        Raises:
            CommitFailedException: It is another topic by now, for good.
        """
        failed, topics = self._failed, self._topics
        unknown = topics_of(tp for tp, code in failed.items() if code == UNKNOWN_TOPIC_ID)
        now = self._commits.metadata.cluster.ids_of(unknown)
        recreated = [each for each in now if topics.get(each, now[each]) != now[each]]
        if recreated:
            raise CommitFailedException(
                f"Commit rejected: {', '.join(recreated)} was deleted and created again. "
                f"Offsets of the old topic cannot be committed for the new one, which is "
                f"read from where auto.offset.reset says"
            )

    def __repr__(self) -> str:
        return f"CommitQuestion({len(self._left)} partitions left)"


class CommittedQuestion(Question[OffsetFetchAnswer]):
    """A look-up of committed offsets, until there is an answer for each partition.

    Attributes:
        found: The committed offsets.
    """

    call: Call
    pause: str | None = "commit backoff"

    def __init__(
        self,
        commits: CommitManager,
        call: Call,
        partitions: frozenset[TopicPartition],
        told: Taker,
        *,
        stable: bool,
    ) -> None:
        self.call = call
        self.found: Committed = {}
        self._commits = commits
        self._partitions = partitions
        self._left = set(partitions)
        self._told = told
        self._stable = stable
        self._sent_as = commits.identities.present

    @property
    def is_over(self) -> bool:
        """See `Question`."""
        return not self._left

    def send(self, client: NetworkClient, node: Node) -> Promise[Answer[OffsetFetchAnswer]]:
        """See `Question`.

        A broker too old to wait for open transactions is asked all the same: offsets that may
        yet change are better than none.
        """
        sent_as = self._sent_as = self._commits.identities.present
        request = OffsetFetch(
            self._commits.coordinator.key,
            tuple(sorted(self._left)),
            require_stable=self._stable,
            unstable_will_do=True,
            member_id=sent_as.member_id if sent_as.by_epoch else None,
            member_epoch=sent_as.epoch if sent_as.by_epoch else -1,
        )
        return client.send(node, request, call=self.call, lane=Lane.COORDINATOR)

    def judge(self, answer: Answer[OffsetFetchAnswer]) -> Verdict:
        """See `Question`."""
        response, counters = answer.response, self._commits.counters
        failed = {tp: response.error for tp in self._left if response.error}
        new: Committed = {}
        for row in response.committed:
            if row.partition not in self._left or failed.get(row.partition):
                continue
            if row.error:
                failed[row.partition] = row.error
            else:
                self._left.discard(row.partition)
                new[row.partition] = (
                    None
                    if row.offset is None
                    else OffsetAndMetadata(row.offset, row.metadata, row.leader_epoch)
                )
        self.found.update(new)
        self._commits.committable.committed_are(new)
        unsettled = {tp for tp, code in failed.items() if code == UNSTABLE}
        counters.unsettled = (counters.unsettled - self._partitions) | unsettled
        self._told(new)
        if not failed:
            return Verdict(Action.DONE)
        group_id = self._commits.coordinator.key
        action, error = worst_offsets_error(OFFSET_FETCH, failed, group_id)
        return Verdict(action, error, undone=True)

    async def recover(self, verdict: Verdict) -> None:
        """See `Question`."""
        if verdict.action is Action.RENEW and verdict.error is not None:
            if not self._commits.identities.may_ask_again(self._sent_as):
                raise verdict.error
        elif verdict.action is Action.REFRESH:
            await self._commits.metadata.refreshed(self.call, "fresh metadata")

    def __repr__(self) -> str:
        return f"CommittedQuestion({len(self._left)} partitions left)"


def refused(
    answer: OffsetCommitAnswer, asked: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """The partitions that were not committed, with their error codes.

    A partition that the answer does not name was not committed either: the
    broker's word for it is missing, and it is asked again.
    """
    codes = dict(answer.errors)
    return {tp: code for tp in asked if (code := codes.get(tp, UNNAMED))}
