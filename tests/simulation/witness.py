"""Sees everything that a simulated client does, and holds it against the contract."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from prokurist.errors import (
    KafkaException,
    TimeoutException,
    UnknownTopicIdException,
    UnknownTopicOrPartitionException,
)
from prokurist.events.call import Call, Try
from prokurist.events.clock import Deadline
from prokurist.network_thread.thread import Life
from prokurist.testing.cluster.groups import Committed
from prokurist.testing.cluster.wire import decode
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.world import Member, World

MARK = "orders"
SHARED = 3
"""Partitions that all calls use; the others belong to one look-up each."""

GONE = (UnknownTopicOrPartitionException, UnknownTopicIdException)
"""What is said of a topic that is not there."""


class Watched(Call):
    """A call that knows when it ended."""

    witness: "Witness"
    ended_at: float | None = None

    def _noted(self, *, ended: bool) -> bool:
        if ended:
            self.ended_at = self.witness.world.clock.time
        return ended

    def claim(self, request: str, node: str, now: float, *, effect: bool) -> Try | None:
        """See `Call`; what is written next is written for this one."""
        attempt = super().claim(request, node, now, effect=effect)
        if attempt is not None:
            self.witness.claimed = self
        return attempt

    def finish(self, answer: object = None) -> bool:
        """See `Call`."""
        return self._noted(ended=super().finish(answer))

    def fail(self, error: BaseException) -> bool:
        """See `Call`."""
        return self._noted(ended=super().fail(error))

    def expire(self, now: float) -> bool:
        """See `Call`."""
        return self._noted(ended=super().expire(now))

    def leave(self, now: float, why: BaseException | None = None) -> bool:
        """See `Call`."""
        return self._noted(ended=super().leave(now, why))


class History(dict[TopicPartition, Committed]):
    """A group's offsets, and everything that was ever among them."""

    def __init__(self) -> None:
        super().__init__()
        self.ever: dict[tuple[TopicPartition, int], float] = {}

    def __setitem__(self, key: TopicPartition, value: Committed) -> None:
        """See `dict`."""
        self.ever.setdefault((key, value.offset), value.at)
        super().__setitem__(key, value)


@dataclass(frozen=True, slots=True)
class Seen:
    """A call, and by what its requests are recognised."""

    call: Watched
    offsets: Mapping[TopicPartition, OffsetAndMetadata] | None
    partition: int | None


class Witness:
    """Watches one world.

    Attributes:
        wrongs: What it has seen that may not be.
        snapshots: The commits without a call: a later one overtakes them.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.history = History()
        world.cluster.state.group("g").offsets = self.history
        self.wrongs: list[str] = []
        self.seen: list[Seen] = []
        self.claimed: Watched | None = None
        self.snapshots: set[Call] = set()
        self._newest: dict[tuple[int, str, int], int] = {}

    def watch(self, member: Member) -> None:
        """See what a client writes."""
        write = member.network.write

        def seen(connection: int, frame: bytes | bytearray) -> None:
            self._written(bytes(frame), id(member))
            write(connection, frame)

        member.network.write = seen  # type: ignore[method-assign]

    def _written(self, frame: bytes, member: int) -> None:
        request = decode(frame[4:])
        call, self.claimed = self.claimed, None
        if request.name not in ("OffsetCommit", "OffsetFetch"):
            return
        if call is None:
            self.wrongs.append(f"{request} was written without a claim")
            return
        if not call.is_open:
            self.wrongs.append(f"{request} was written for {call}, which had ended")
        if sum(each.ended is None for each in call._tries) != 1:
            self.wrongs.append(f"{request} was written while one of {call} was in flight")
        if request.name == "OffsetCommit":
            self._in_order(request.body, call, member)

    def _in_order(self, commit: Any, call: Call, member: int) -> None:
        """No snapshot goes out behind a commit that its client was asked for later."""
        for topic in commit.topics:
            for part in topic.partitions:
                where = (member, MARK, part.partition_index)
                newest = self._newest.get(where, 0)
                if call in self.snapshots and part.committed_offset < newest:
                    self.wrongs.append(f"{call} sets {where} back to {part.committed_offset}")
                self._newest[where] = max(newest, part.committed_offset)

    # --- calls -----------------------------------------------------------------------

    def _call(self, operation: str, timeout: float) -> Watched:
        now = self.world.clock.time
        call = Watched(operation, now, Deadline.after(now, timeout))
        call.witness = self
        return call

    def commit(
        self, timeout: float, partitions: list[int]
    ) -> tuple[Watched, dict[TopicPartition, OffsetAndMetadata]]:
        """A commit whose offset no other has."""
        call = self._call("commit_sync", timeout)
        offset = 1000 + len(self.seen)
        offsets = {TopicPartition(MARK, each): OffsetAndMetadata(offset) for each in partitions}
        self.seen.append(Seen(call, offsets, None))
        return call, offsets

    def committed(self, timeout: float) -> tuple[Watched, tuple[TopicPartition, ...]]:
        """A look-up of the shared partitions, and of one that no other asks for."""
        call = self._call("committed", timeout)
        own = SHARED + len(self.seen)
        self.seen.append(Seen(call, None, own))
        return call, tuple(TopicPartition(MARK, each) for each in (*range(SHARED), own))

    # --- the verdict -----------------------------------------------------------------

    def judge(self) -> None:
        """Hold everything against the contract, once all calls should have ended."""
        for member in self.world.members:
            if member.thread.life is Life.DEAD:
                raise AssertionError("the network thread died") from member.thread.died_of
        for seen in self.seen:
            self._judge(seen)
        assert not self.wrongs, "\n".join(self.wrongs)

    def _judge(self, seen: Seen) -> None:
        call = seen.call
        late = call.ended_at is None or call.ended_at > call.deadline.at + 1e-9
        if late:
            self.wrongs.append(f"{call}: due at {call.deadline.at}, ended at {call.ended_at}")
        if call.is_open:
            return
        try:
            answer = call.result()
        except TimeoutException as error:
            if seen.offsets is not None and not error.may_have_happened and self._any(seen):
                self.wrongs.append(f"{call} said that nothing happened, and it did: {error}")
        except KafkaException as error:
            # No call waits for a snapshot: of a topic that is gone it is given up.
            if error.retriable and not (call in self.snapshots and isinstance(error, GONE)):
                self.wrongs.append(f"{call} ended with a bare {error!r}")
        except KeyboardInterrupt:
            pass
        else:
            self._judge_success(seen, answer)

    def _at(self, seen: Seen) -> list[float | None]:
        offsets = seen.offsets or {}
        return [self.history.ever.get((tp, each.offset)) for tp, each in offsets.items()]

    def _any(self, seen: Seen) -> bool:
        return any(at is not None for at in self._at(seen))

    def _judge_success(self, seen: Seen, answer: object) -> None:
        end = seen.call.ended_at or 0.0
        if seen.call in self.snapshots:
            assert isinstance(answer, dict)
            seen = replace(seen, offsets=answer)  # The others have been overtaken.
        if seen.offsets is not None:
            if not all(at is not None and at <= end for at in self._at(seen)):
                self.wrongs.append(f"{seen.call} succeeded, and is not on the broker")
            return
        assert isinstance(answer, dict)
        for tp, found in answer.items():
            known = found is None or self.history.ever.get((tp, found.offset), end + 1) <= end
            if not known or (tp.partition == seen.partition and found is not None):
                self.wrongs.append(f"{seen.call} was told {found} of {tp}")
