"""Confirms that an offset is out of range before a policy is applied or an error is raised.

Thread: the network thread alone.

A deposed leader that has not learned so yet lacks its successor's records, and answers
OFFSET_OUT_OF_RANGE for them. Therefore the first such answer has metadata fetched, of another
broker where there is one. If they name another leader or epoch, that leader is asked;
otherwise, or if none come within a second, the answer counts. A second answer about the same
position counts at once, so that a true one costs one round trip more.
"""

from collections.abc import Callable, Collection

from prokurist.events.fetch_buffer import Failure
from prokurist.events.fetching import Fetching, Wish
from prokurist.events.log_events import OFFSET_OUT_OF_RANGE
from prokurist.events.trace import Trace
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.cluster.overdue_responses import OVERDUE
from prokurist.network_thread.fetch.sources import Leadership, leadership
from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.operations.timer import Due, Timer
from prokurist.types import Node, TopicPartition


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """An out-of-range answer that fresh metadata have to confirm.

    Attributes:
        wish: The position that was asked for.
        leadership: The broker that answered, and the leader epoch that it was asked in.
    """

    wish: Wish
    leadership: Leadership


class OutOfRangeCheck:
    """Holds answers back until metadata confirm the leaders that gave them.

    A partition is not fetched while its answer is held back.

    Args:
        metadata: Is asked for fresh metadata.
        fetching: The positions of fetches: drops stale positions.
        timer: The Timer.
        trace: Records each offset that is out of range.
        confirmed: Called with the answers that count, and with none where another leader
            is to be asked.
    """

    def __init__(
        self,
        metadata: MetadataManager,
        fetching: Fetching,
        timer: Timer,
        trace: Trace,
        confirmed: Callable[[list[Failure]], None],
    ) -> None:
        self._metadata = metadata
        self._fetching = fetching
        self._timer = timer
        self._trace = trace
        self._confirmed = confirmed
        self._held: list[Unconfirmed] = []
        self._asked_again: dict[TopicPartition, Wish] = {}
        self._fresh: Promise[object] | None = None
        self._due: Due | None = None

    def check(self, node: Node, wish: Wish, epoch: int | None) -> None:
        """Take an out-of-range answer of a leader.

        Args:
            node: The leader.
            wish: The position that it lacks.
            epoch: The leader epoch that it was asked in.
        """
        if not self._fetching.stick(wish):
            return
        answer = Unconfirmed(wish, (node.id, epoch))
        if self._asked_again.get(wish.partition) == wish:
            self._settle([answer])
            return
        self._held.append(answer)
        if self._fresh is None:
            self._metadata.doubt(node)
            fresh: Promise[object] = self._metadata.fresh()  # type: ignore[assignment]  # read only
            self._fresh = fresh
            fresh.add(self._end_wait)
            self._due = self._timer.after(
                OVERDUE, "metadata that confirm a leader", self._end_wait
            )

    def _end_wait(self) -> None:
        """Decide, since metadata have come or are not waited for any longer."""
        self._forget()
        held, self._held = self._held, []
        self._settle(held)

    def _settle(self, answers: list[Unconfirmed]) -> None:
        failures: list[Failure] = []
        cluster = self._metadata.cluster
        for answer in answers:
            wish = answer.wish
            tp = wish.partition
            moved = leadership(cluster, tp) != answer.leadership
            if moved and self._asked_again.get(tp) != wish:
                self._asked_again[tp] = wish
                self._fetching.unstick(tp, wish.ticket)
                continue
            self._asked_again.pop(tp, None)
            self._trace.emit(
                OFFSET_OUT_OF_RANGE,
                partition=tp,
                offset=wish.position.offset,
                policy=str(self._fetching.positions.policy_of(tp)),
            )
            failures.append(Failure(tp, wish.ticket, wish.position.offset, None))
        self._confirmed(failures)

    def keep(self, partitions: Collection[TopicPartition]) -> None:
        """Forget partitions that are no longer assigned."""
        self._asked_again = {
            tp: wish for tp, wish in self._asked_again.items() if tp in partitions
        }
        self._held = [each for each in self._held if each.wish.partition in partitions]

    def _forget(self) -> None:
        if self._due is not None:
            self._timer.cancel(self._due)
            self._due = None
        if self._fresh is not None:
            self._fresh.remove(self._end_wait)
            self._fresh = None

    def close(self) -> None:
        """Drop all answers that wait."""
        self._forget()
        self._held.clear()

    def __repr__(self) -> str:
        return f"OutOfRangeCheck({len(self._held)} held back)"
