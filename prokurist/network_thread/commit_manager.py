"""Commits, and look-ups of what was committed.

Thread: the network thread alone. Each wish is one operation, which can be read
from top to bottom: find the coordinator, ask it, judge its answer by the table,
and go round again until it is done, fatal, or the caller's time is over.
"""

from collections.abc import Iterable, Mapping

from prokurist.errors import (
    GroupAuthorizationException,
    KafkaException,
    TopicAuthorizationException,
)
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call, Try
from prokurist.network_thread.client import NetworkClient
from prokurist.network_thread.coordinator_manager import CoordinatorManager
from prokurist.network_thread.metadata_manager import MetadataManager
from prokurist.network_thread.operation import Withdrawn
from prokurist.network_thread.requests import Lane
from prokurist.network_thread.timer import Timer
from prokurist.network_thread.verdicts import OFFSET_COMMIT, OFFSET_FETCH, Verdict, Verdicts
from prokurist.network_thread.wire.committed_offsets import (
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetFetch,
)
from prokurist.types import Node, OffsetAndMetadata, TopicPartition

TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30

REQUEST_TIMED_OUT = 7
APPLIED = frozenset({REQUEST_TIMED_OUT})
"""Codes after which the commit may be in the coordinator's log all the same."""

UNNAMED = REQUEST_TIMED_OUT
"""What counts for a partition that an answer passes over in silence."""

WORST_FIRST = (
    Verdict.FATAL,
    Verdict.COMMIT_FAILED,
    Verdict.REDISCOVER,
    Verdict.REFRESH,
    Verdict.RETRY,
)
"""Of several verdicts in one answer, the one that decides what comes next."""


class CommitManager:
    """See the module."""

    def __init__(
        self,
        group_id: str,
        client: NetworkClient,
        coordinator: CoordinatorManager,
        metadata: MetadataManager,
        timer: Timer,
        backoff: Backoff,
    ) -> None:
        self._group_id = group_id
        self._client = client
        self._coordinator = coordinator
        self._metadata = metadata
        self._timer = timer
        self._backoff = backoff

    async def commit(
        self, call: Call, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        """Commit offsets; those that the coordinator has taken are not sent again."""
        left = dict(offsets)
        failures = 0
        while left:
            node = await self._coordinator.known(call)
            request = OffsetCommit(self._group_id, tuple(sorted(left.items())))
            call.wait_begins(f"a connection to {node}", self._timer.now)
            try:
                answer = await self._client.send(
                    node, request, call=call, lane=Lane.COORDINATOR, effect=True
                )
            except Withdrawn:
                raise
            except KafkaException as error:
                self._unreachable(call, node, error)
            else:
                failed = refused(answer.response, left)
                undone = len(failed) == len(left) and not APPLIED.intersection(failed.values())
                left = {tp: left[tp] for tp in failed}
                await self._recover(
                    call, OFFSET_COMMIT, failed, node, answer.attempt, undone=undone
                )
            if left:
                failures += 1
                await self._pause(call, failures)

    async def commit_once(
        self, call: Call, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        """Commit offsets in one attempt; whatever comes of it ends the call."""
        node = await self._coordinator.known(call)
        request = OffsetCommit(self._group_id, tuple(sorted(offsets.items())))
        call.wait_begins(f"a connection to {node}", self._timer.now)
        try:
            answer = await self._client.send(
                node, request, call=call, lane=Lane.COORDINATOR, effect=True
            )
        except Withdrawn:
            raise
        except KafkaException as error:
            self._coordinator.forget(node, error)
            raise
        failed = refused(answer.response, offsets)
        if failed:
            verdict, refusal = self._worst(OFFSET_COMMIT, failed)
            if verdict is Verdict.REDISCOVER:
                self._coordinator.forget(node, refusal)
            raise refusal

    async def committed(
        self, call: Call, partitions: tuple[TopicPartition, ...]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Look up what is committed; None for a partition without a commit."""
        found: dict[TopicPartition, OffsetAndMetadata | None] = {}
        left = set(partitions)
        failures = 0
        while left:
            node = await self._coordinator.known(call)
            # A broker too old to wait for open transactions is asked all the same:
            # offsets that may yet change are better than none.
            request = OffsetFetch(
                self._group_id,
                tuple(sorted(left)),
                require_stable=True,
                unstable_will_do=True,
            )
            call.wait_begins(f"a connection to {node}", self._timer.now)
            try:
                answer = await self._client.send(
                    node, request, call=call, lane=Lane.COORDINATOR
                )
            except Withdrawn:
                raise
            except KafkaException as error:
                self._unreachable(call, node, error)
            else:
                response = answer.response
                failed = {tp: response.error for tp in left if response.error}
                for row in response.committed:
                    if row.partition not in left or failed.get(row.partition):
                        continue
                    if row.error:
                        failed[row.partition] = row.error
                    else:
                        left.discard(row.partition)
                        found[row.partition] = (
                            None
                            if row.offset is None
                            else OffsetAndMetadata(row.offset, row.metadata, row.leader_epoch)
                        )
                await self._recover(call, OFFSET_FETCH, failed, node, answer.attempt)
            if left:
                failures += 1
                await self._pause(call, failures)
        return {tp: found[tp] for tp in partitions}

    def _unreachable(self, call: Call, node: Node, error: KafkaException) -> None:
        """The coordinator did not answer, or cannot be asked this.

        Raises:
            KafkaException: It cannot be asked this, however often one tries.
        """
        if not error.retriable:
            raise error
        call.met(error)
        self._coordinator.forget(node, error)

    async def _recover(
        self,
        call: Call,
        table: Verdicts,
        failed: Mapping[TopicPartition, int],
        node: Node,
        attempt: Try | None,
        *,
        undone: bool = True,
    ) -> None:
        """Do what the worst of some codes asks for; it returns if trying again may help.

        Args:
            call: Whose ledger tells of it.
            table: What the codes mean.
            failed: The codes.
            node: Who sent them.
            attempt: Which attempt they answered.
            undone: Whether they say that nothing at all was done.

        Raises:
            KafkaException: It is fatal to the call.
        """
        if not failed:
            return
        verdict, error = self._worst(table, failed)
        if attempt is not None:
            call.ended(attempt, self._timer.now, type(error).__name__, error, undone=undone)
        if verdict in (Verdict.FATAL, Verdict.COMMIT_FAILED):
            raise error
        if verdict is Verdict.REDISCOVER:
            self._coordinator.forget(node, error)
        elif verdict is Verdict.REFRESH:
            await self._metadata.refreshed(call, "fresh metadata")

    def _worst(
        self, table: Verdicts, failed: Mapping[TopicPartition, int]
    ) -> tuple[Verdict, KafkaException]:
        """Of several codes, the one that decides, and what to say of it."""
        verdict = next(
            each
            for each in WORST_FIRST
            if any(table.of(code) is each for code in failed.values())
        )
        code = next(code for code in failed.values() if table.of(code) is verdict)
        return verdict, self._explained(table, code, failed)

    def _explained(
        self, table: Verdicts, code: int, failed: Mapping[TopicPartition, int]
    ) -> KafkaException:
        if code == TOPIC_AUTHORIZATION_FAILED:
            topics = topics_of(tp for tp, each in failed.items() if each == code)
            return TopicAuthorizationException(
                f"group {self._group_id} may not use the offsets of {', '.join(topics)}: the "
                f"right to read the topic is missing",
                topics=topics,
            )
        if code == GROUP_AUTHORIZATION_FAILED:
            return GroupAuthorizationException(
                f"not allowed in group {self._group_id}", group_id=self._group_id
            )
        return table.error(code)

    async def _pause(self, call: Call, failures: int) -> None:
        call.wait_begins("retry backoff", self._timer.now)
        await self._timer.sleep(self._backoff.pause(failures), "commit backoff")
        call.wait_ends(self._timer.now)

    def __repr__(self) -> str:
        return f"CommitManager({self._group_id})"


def refused(
    answer: OffsetCommitAnswer, asked: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """What was not committed, and the code that says why.

    A partition that the answer does not name was not committed either: the
    broker's word for it is missing, and it is asked again.
    """
    codes = dict(answer.errors)
    return {tp: code for tp in asked if (code := codes.get(tp, UNNAMED))}


def topics_of(partitions: Iterable[TopicPartition]) -> tuple[str, ...]:
    """The topics of some partitions, each once, in order."""
    return tuple(sorted({tp.topic for tp in partitions}))
