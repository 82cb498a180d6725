"""Plan of fetches: the fetchable partitions of each broker, kept between looks.

Thread: the network thread alone.

With thousands of partitions most looks find nothing new, or a few positions that have
moved on. These are exchanged in their places. Everything is gone through again when
metadata are new, when other partitions may be fetched, and while some have to wait or are
read from replicas.
"""

from prokurist.events.fetching import Fetching, Wish
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.fetch.sources import PartitionBackoff, Replicas, leadership
from prokurist.types import Node


class Part:
    """The partitions that may be fetched from one broker.

    Attributes:
        node: The broker.
        wishes: Everything.
        changed: Those that are new since `taken`, by their places; None for all.
    """

    __slots__ = ("changed", "node", "wishes")

    def __init__(self, node: Node) -> None:
        self.node: Node = node
        self.wishes: list[Wish] = []
        self.changed: set[int] | None = None

    def taken(self) -> None:
        """Note that all of it is being asked for."""
        self.changed = set()

    def __repr__(self) -> str:
        return f"Part({self.node}, {len(self.wishes)} partitions)"


class FetchPlan:
    """Plan of fetches: the fetchable partitions of each broker.

    Args:
        metadata: Knows the leaders; is asked for fresh ones where there is none.
        fetching: The positions of fetches.
        replicas: Preferred read replicas, by partition.
        troubles: Partitions in backoff.
    """

    def __init__(
        self,
        metadata: MetadataManager,
        fetching: Fetching,
        replicas: Replicas,
        troubles: PartitionBackoff,
    ) -> None:
        self._metadata = metadata
        self._fetching = fetching
        self._replicas = replicas
        self._backoffs = troubles
        self._wishes: list[Wish] = []
        self._places: list[tuple[Part, int]] = []
        self._parts: list[Part] = []
        self._version: int | None = None

    def parts(self) -> list[Part]:
        """The partitions that may be fetched now, by broker."""
        wishes = self._fetching.fetchable()
        if not self._exchanged(wishes):
            self._begin_again(wishes)
        self._wishes = wishes
        return self._parts

    def _exchanged(self, wishes: list[Wish]) -> bool:
        """Replace moved positions in the former plan; return True if that was enough."""
        if (
            self._version != self._metadata.cluster.version
            or len(wishes) != len(self._wishes)
            or len(self._backoffs)
            or len(self._replicas)
        ):
            return False
        new = [
            (place, wish)
            for place, (wish, old) in enumerate(zip(wishes, self._wishes, strict=True))
            if wish is not old
        ]
        if any(wish.partition != self._wishes[place].partition for place, wish in new):
            return False
        for place, wish in new:
            part, index = self._places[place]
            part.wishes[index] = wish
            if part.changed is not None:
                part.changed.add(index)
        return True

    def _begin_again(self, wishes: list[Wish]) -> None:
        cluster = self._metadata.cluster
        parts: dict[Node, Part] = {}
        places: list[tuple[Part, int]] = []
        for wish in wishes:
            tp = wish.partition
            led = leadership(cluster, tp)
            if self._backoffs.waits(tp, led):
                continue
            node = self._replicas.source_of(tp, cluster)
            if node is None:
                # At each back-off, until metadata name a leader: also where they do not
                # know the partition at all.
                self._backoffs.meet(tp, led)
                self._metadata.request_update()
                continue
            part = parts.get(node)
            if part is None:
                part = parts[node] = Part(node)
            places.append((part, len(part.wishes)))
            part.wishes.append(wish)
        self._parts, self._places = list(parts.values()), places
        # Those that waited have no place.
        self._version = None if len(self._backoffs) else cluster.version

    def __repr__(self) -> str:
        return f"FetchPlan({self._parts})"
