"""Handles fetch responses: row by row, records to the buffer, errors to where they belong.

Thread: the network thread alone.

A row is checked against the wish that it answers. Data are dropped after a seek, or when the
partition is no longer assigned. An error for the user takes its place in the buffer, behind the
records fetched before it; the partition is fetched no further until a poll has seen it.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Final

from prokurist.errors import (
    CorruptRecordException,
    KafkaException,
    RecordTooLargeException,
)
from prokurist.errors.security import name_credentials
from prokurist.events.fetch_buffer import Chunk, Entry, Failure, ResponseBytes
from prokurist.events.fetching import Fetching, Wish
from prokurist.events.position_state import Position
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.broker_errors import TOPIC_AUTHORIZATION_FAILED, topic_error
from prokurist.network_thread.error_actions import FETCH, Action
from prokurist.network_thread.fetch.session import SessionPartition
from prokurist.network_thread.fetch.sources import Replicas
from prokurist.network_thread.wire.fetch import FetchAnswer, FetchedPartition
from prokurist.records.implementation import CODEC
from prokurist.types import Node, TopicPartition

CORRUPT_MESSAGE: Final = 2


@dataclass(slots=True)
class FetchOutcome:
    """The outcome of one answer.

    Attributes:
        entries: For the buffer.
        moved: True if a position moved, so there is more to fetch at once.
        well: Partitions that were answered without an error.
        redirected: Partitions for which a replica was named in place of records.
        behind: Partitions whose replica lacks the offset: their leader is asked.
        out_of_range: Wishes whose offset the leader lacks, and the leader epoch that was
            named: fresh metadata have to confirm the leader.
        troubled: Partitions to be fetched again after a pause.
        stale: True if the client's metadata may be stale.
        leaders: Newly named leaders: their ids and epochs.
    """

    entries: list[Entry[Any]] = field(default_factory=list)
    moved: bool = False
    well: list[TopicPartition] = field(default_factory=list)
    redirected: list[TopicPartition] = field(default_factory=list)
    behind: list[TopicPartition] = field(default_factory=list)
    out_of_range: list[tuple[Wish, int | None]] = field(default_factory=list)
    troubled: list[TopicPartition] = field(default_factory=list)
    stale: bool = False
    leaders: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)


class FetchResponseHandler:
    """Handles the rows of fetch responses.

    Args:
        fetching: The positions of fetches.
        replicas: Preferred read replicas, by partition.
        read_committed: True if logs end at their last stable offset.
        credentials: The client's identity to brokers, for errors of authorization.
    """

    def __init__(
        self,
        fetching: Fetching,
        replicas: Replicas,
        *,
        read_committed: bool,
        credentials: str | None = None,
    ) -> None:
        self._fetching = fetching
        self._replicas = replicas
        self._read_committed = read_committed
        self._credentials = credentials

    def judge(
        self,
        wishes: Sequence[Wish],
        answer: FetchAnswer,
        asked: dict[TopicPartition, SessionPartition],
        node: Node,
    ) -> FetchOutcome:
        """Handle an answer row by row.

        Args:
            wishes: The new or changed partitions of this request.
            answer: The answer.
            asked: All partitions of the session with this broker.
            node: The broker of the answer.
        """
        outcome = FetchOutcome()
        held = ResponseBytes(answer.size)
        refused: list[tuple[Wish, FetchedPartition]] = []
        told: set[TopicPartition] = set()
        for row in answer.partitions:
            put = asked.get(row.partition)
            if put is None or row.partition in told:
                # It is not wanted any more, was never asked for, or stood above already: each
                # row of a partition that is refused would be an error of its own for a poll.
                continue
            told.add(row.partition)
            match FETCH.of(row.error):
                case Action.DONE:
                    self._take(outcome, put, row, held)
                case Action.REFRESH:
                    outcome.stale = True
                    outcome.troubled.append(row.partition)
                    self._replicas.forget(row.partition)
                    if row.leader is not None:
                        outcome.leaders[row.partition] = row.leader.leader, row.leader.epoch
                case Action.RETRY | Action.NEW_SESSION:
                    outcome.troubled.append(row.partition)
                case Action.OUT_OF_RANGE if self._replicas.forget(row.partition):
                    outcome.moved = True
                    outcome.behind.append(row.partition)
                case Action.OUT_OF_RANGE:
                    outcome.out_of_range.append((put.wish, put.question.leader_epoch))
                case _:
                    refused.append((put.wish, row))
        if wishes:
            # Of a session's partitions only those are told that have something new.
            for wish in wishes:
                if wish.partition not in told:
                    self._fetching.fetched(wish, None)
        self._refuse(outcome, refused, node)
        return outcome

    def _take(
        self,
        outcome: FetchOutcome,
        put: SessionPartition,
        row: FetchedPartition,
        held: ResponseBytes,
    ) -> None:
        wish = put.wish
        if row.preferred_replica is not None:
            self._replicas.prefer(wish.partition, row.preferred_replica)
            outcome.moved = True
        if row.preferred_replica is not None and not len(row.records):
            outcome.redirected.append(wish.partition)
        else:
            outcome.well.append(wish.partition)
        end, written = row.high_watermark, None
        if self._read_committed:
            end, written = row.last_stable_offset, row.high_watermark
        if not len(row.records):
            self._fetching.fetched(wish, None, end=end, written=written, start=row.log_start)
            return
        run = CODEC.extent(row.records)
        offset = wish.position.offset
        if run.next_offset is None or run.next_offset <= offset:
            self._fail(outcome, wish, unreadable(wish, run.damage, len(row.records)))
            return
        # Also of a partition whose position was moved by a seek meanwhile: the new
        # position is fetched at once.
        outcome.moved = True
        after = Position(run.next_offset, run.leader_epoch)
        epoch = put.question.leader_epoch
        if not self._fetching.fetched(
            wish, after, end=end, written=written, start=row.log_start, leader_epoch=epoch
        ):
            return
        outcome.entries.append(
            Chunk(
                wish.partition,
                wish.ticket,
                offset,
                row.records[: run.size],
                (row.aborted or ()) if self._read_committed else None,
                held,
                wish.stop,
            )
        )

    def _refuse(
        self, outcome: FetchOutcome, refused: list[tuple[Wish, FetchedPartition]], node: Node
    ) -> None:
        # One error for all topics that are forbidden, so that it is raised once.
        forbidden = [
            wish.partition.topic
            for wish, row in refused
            if row.error == TOPIC_AUTHORIZATION_FAILED
        ]
        denied = topic_error(FETCH, TOPIC_AUTHORIZATION_FAILED, forbidden)
        name_credentials(denied, self._credentials)
        for wish, row in refused:
            error = denied
            if row.error == CORRUPT_MESSAGE:
                error = CorruptRecordException(
                    f"{node} reports that {wish.partition} is damaged at offset "
                    f"{wish.position.offset}: seek past it to go on"
                )
            elif row.error != TOPIC_AUTHORIZATION_FAILED:
                error = topic_error(FETCH, row.error, [str(wish.partition)])
            self._fail(outcome, wish, error)

    def _fail(self, outcome: FetchOutcome, wish: Wish, error: KafkaException | None) -> None:
        """Post an error to a poll, unless the fetch is stale."""
        if self._fetching.stick(wish):
            outcome.entries.append(
                Failure(wish.partition, wish.ticket, wish.position.offset, error)
            )

    def __repr__(self) -> str:
        return f"FetchResponseHandler({self._fetching})"


def unreadable(wish: Wish, damage: str | None, size: int) -> KafkaException:
    """The error for bytes of a partition that are no valid batch."""
    place = f"{wish.partition} at offset {wish.position.offset}"
    if damage is not None:
        return CorruptRecordException(f"{place}: {damage}; seek past it to go on")
    return RecordTooLargeException(
        f"{place}: {size} bytes came, which hold no whole batch that reaches this offset; "
        f"raise max.partition.fetch.bytes"
    )
