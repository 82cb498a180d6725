"""Sources of records: leaders, preferred read replicas, and partitions in backoff.

Thread: the network thread alone.
"""

from collections.abc import Callable, Collection, Sequence
from math import inf
from typing import Final, TypeAlias

from prokurist.errors import KafkaException
from prokurist.events.backoff import Backoff
from prokurist.events.cluster import Cluster
from prokurist.events.fetching import Wish
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.fetch.session import FetchSession
from prokurist.network_thread.operations.operation import Operation
from prokurist.network_thread.operations.timer import Due, Timer
from prokurist.network_thread.wire.failures import UnfinishedAnswer
from prokurist.types import Node, TopicPartition

Leadership: TypeAlias = tuple[int | None, int | None]
"""Id of a partition's leader, and its epoch, as far as known."""

QUICK: Final = 0.25
"""An answer of twice the size takes less than half of its time then."""

REMEMBERED: Final = 4
"""Leaders of a partition that are known to have failed since it was last fetched."""


class FetchSource:
    """One broker that is fetched from.

    Attributes:
        node: The broker.
        session: Our fetch session with it.
        operation: The fetch that is on its way, or the pause after one that failed.
        wishes: The new or changed partitions of a fetch in flight.
        failures: How many fetches in a row have come to nothing.
        most: Bytes of an answer that its link has time for; infinite where none was too long.
    """

    __slots__ = ("failures", "most", "node", "operation", "session", "wishes")

    def __init__(self, node: Node) -> None:
        self.node: Node = node
        self.session: FetchSession = FetchSession()
        self.operation: Operation[None] | None = None
        self.wishes: Sequence[Wish] = ()
        self.failures: int = 0
        self.most: float = inf

    def lost(self, error: KafkaException) -> None:
        """Note a fetch without an answer; after one too long for its time, ask for less."""
        self.failures += 1
        if isinstance(error, UnfinishedAnswer):
            self.most = max(1, error.arrived // 2)

    def answered(self, size: int, share: float) -> None:
        """Note an answer: ask for more again where it has left time for that.

        Args:
            size: Its bytes of records.
            share: How much of the time that it may take it has taken.
        """
        self.failures = 0
        # An answer with little in it says little of the link.
        if share < QUICK and size >= self.most / 2:
            self.most = 2 * max(self.most, size)

    def __repr__(self) -> str:
        doing = "resting" if self.operation is None else "fetching"
        return f"FetchSource({self.node}, {doing}, {self.session})"


class Replicas:
    """The preferred read replicas that leaders have named (KIP-392).

    Args:
        timer: The Timer.
        lifetime: Seconds after which the leader is asked again.

    Attributes:
        silent: The ids of brokers whose answer is overdue: leaders are asked meanwhile.
    """

    def __init__(self, timer: Timer, lifetime: float) -> None:
        self._timer = timer
        self._lifetime = lifetime
        self._preferred: dict[TopicPartition, tuple[int, float]] = {}
        self.silent: set[int] = set()

    def prefer(self, tp: TopicPartition, node: int) -> None:
        """Set the replica that the leader has named."""
        self._preferred[tp] = node, self._timer.now + self._lifetime

    def preferred(self, tp: TopicPartition) -> int | None:
        """The id of the replica that the leader has named; None if there is none."""
        preferred = self._preferred.get(tp)
        return None if preferred is None else preferred[0]

    def is_read_from(self, node: int) -> bool:
        """Return True if any partition is read from this replica."""
        return any(number == node for number, _ in self._preferred.values())

    def forget(self, tp: TopicPartition) -> bool:
        """Read from the leader again; return True if that is another broker."""
        return self._preferred.pop(tp, None) is not None

    def source_of(self, tp: TopicPartition, cluster: Cluster) -> Node | None:
        """The broker to read a partition from; None while it has no leader.

        Nor is there one while its topic is absent: a replica would be asked by the topic's name
        alone, and may know a recreated topic, so its records would be read twice.
        """
        if cluster.partition(tp) is None:
            return None
        preferred = self._preferred.get(tp)
        if preferred is not None:
            number, until = preferred
            node = cluster.nodes.get(number)
            if number in self.silent:
                return cluster.leader(tp)
            if node is not None and self._timer.now < until:
                return node
            del self._preferred[tp]
        return cluster.leader(tp)

    def keep(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the preferred replicas of all other partitions."""
        self._preferred = {tp: at for tp, at in self._preferred.items() if tp in partitions}

    def __len__(self) -> int:
        return len(self._preferred)

    def __repr__(self) -> str:
        return f"Replicas({len(self._preferred)} preferred)"


@dataclass(slots=True)
class BackoffEntry:
    """The failures of a partition, and until when it waits.

    Attributes:
        failures: How often in a row.
        until: Until when it is left alone; in the past where it need not wait.
        leaderships: The leaders that it was met under last; with another one there is no
            reason to wait, and between these metadata and hints may go back and forth.
    """

    failures: int
    until: float
    leaderships: tuple[Leadership, ...]


class PartitionBackoff:
    """Partitions that wait before they are fetched again.

    Args:
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        over: Called when one of them may be fetched again.
    """

    def __init__(self, timer: Timer, backoff: Backoff, over: Callable[[], None]) -> None:
        self._timer = timer
        self._backoff = backoff
        self._over = over
        self._met: dict[TopicPartition, BackoffEntry] = {}
        self._due: Due | None = None

    def meet(self, tp: TopicPartition, *leaderships: Leadership) -> None:
        """Note that a fetch of a partition has failed, or that it has no leader."""
        former = self._met.get(tp)
        failures = 1 if former is None else former.failures + 1
        until = self._timer.now + self._backoff.pause(failures)
        older = () if former is None else former.leaderships
        led = tuple(dict.fromkeys((*leaderships, *older)))[:REMEMBERED]
        self._met[tp] = BackoffEntry(failures, until, led)
        if self._due is None or until < self._due.at:
            self._watch(until)

    def pass_on(self, tp: TopicPartition, leadership: Leadership) -> None:
        """Note that another broker may be asked for a partition at once."""
        self._met.setdefault(tp, BackoffEntry(0, self._timer.now, (leadership,)))

    def has(self, tp: TopicPartition) -> bool:
        """Return True if a partition has failed since it was last fetched."""
        return tp in self._met

    def waits(self, tp: TopicPartition, leadership: Leadership) -> bool:
        """Return True if a partition has to wait now."""
        trouble = self._met.get(tp)
        return (
            trouble is not None
            and self._timer.now < trouble.until
            and leadership in trouble.leaderships
        )

    def end(self, tp: TopicPartition) -> None:
        """End a partition's back-off, since it has been fetched."""
        self._met.pop(tp, None)

    def keep(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the failures of all other partitions."""
        self._met = {tp: trouble for tp, trouble in self._met.items() if tp in partitions}

    def close(self) -> None:
        """Forget all failures."""
        self._met.clear()
        if self._due is not None:
            self._timer.cancel(self._due)
            self._due = None

    def _watch(self, until: float) -> None:
        if self._due is not None:
            self._timer.cancel(self._due)
        self._due = self._timer.at(until, "retry backoff of Fetch", self._wake)

    def _wake(self) -> None:
        self._due = None
        later = [each.until for each in self._met.values() if each.until > self._timer.now]
        if later:
            self._watch(min(later))
        self._over()

    def __len__(self) -> int:
        return len(self._met)

    def __repr__(self) -> str:
        return f"PartitionBackoff({len(self._met)} partitions)"


def leadership(cluster: Cluster, tp: TopicPartition) -> Leadership:
    """The leader and epoch of a partition, by a snapshot."""
    view = cluster.partition(tp)
    leader = cluster.leader(tp)
    return (
        None if leader is None else leader.id,
        None if view is None else view.leader_epoch,
    )
