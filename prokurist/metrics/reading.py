"""Reading of one client at one moment, for the rows of the catalogue.

Thread: any. It takes the lock of the assignment for a few partitions at a time, and
no other.

Partitions may be very many. The sums cover all of them; series of their own have as
many as the reader allows, in the order of the assignment, and how many are left out is
a metric itself.
"""

from dataclasses import field
from itertools import islice
from typing import Protocol

from prokurist.application.caller_counters import CallerCounters
from prokurist.assembly.counted_core import CountedCore
from prokurist.assembly.network_side import NetworkSide
from prokurist.config.connection import ConnectionKeys
from prokurist.consumer.consumer_counters import CountedConsumer
from prokurist.events.committable import PartitionOffsets
from prokurist.events.lent.counters import ShareCounters
from prokurist.lazy_dataclasses import dataclass
from prokurist.metrics.lag_ages import AGES
from prokurist.network_thread.produce.counters import ProduceCounters
from prokurist.producer.producer_counters import CountedProducer
from prokurist.share.share_counters import CountedShareConsumer
from prokurist.types import TopicPartition

AT_A_TIME = 250
"""Partitions that are looked at under the lock at once: about a tenth of a millisecond."""

MOST_PARTITIONS = 1000
"""The default number of a client's partitions that have series of their own."""


@dataclass(slots=True)
class Spread:
    """The sum, the minimum and the maximum of some numbers.

    Attributes:
        total: Their sum.
        least: The smallest; None where there is none.
        most: The largest.
    """

    total: int = 0
    least: int | None = None
    most: int | None = None

    def add(self, number: int) -> None:
        """Add a number."""
        self.total += number
        if self.least is None or number < self.least:
            self.least = number
        if self.most is None or number > self.most:
            self.most = number


@dataclass(slots=True)
class Partitions:
    """The sums and single values of the assigned partitions.

    Attributes:
        listed: Those that have series of their own.
        count: How many are assigned.
        paused: How many of them are paused.
        lag: How far they are behind the ends of their logs.
        lead: How far they are ahead of the beginnings.
        committed_lag: Offsets between the committed ones and the log ends.
    """

    listed: list[PartitionOffsets] = field(default_factory=list)
    count: int = 0
    paused: int = 0
    lag: Spread = field(default_factory=Spread)
    lead: Spread = field(default_factory=Spread)
    committed_lag: Spread = field(default_factory=Spread)


class CountedClient(Protocol):
    """Interface of each client, for readings of its counters."""

    started: int | None

    @property
    def config(self) -> ConnectionKeys:
        """Its configuration."""
        ...

    @property
    def client_id(self) -> str:
        """The `client.id`."""
        ...

    @property
    def side(self) -> NetworkSide:
        """The network side."""
        ...

    @property
    def calls(self) -> CallerCounters:
        """Counters of calls."""
        ...

    def now(self) -> float:
        """The client's clock."""
        ...


class ClientReading:
    """One client at one moment, as the rows of the catalogue read it.

    Args:
        client: The client.

    Attributes:
        now: Its clock.
    """

    __slots__ = ("client", "now")

    def __init__(self, client: CountedClient) -> None:
        self.client: CountedClient = client
        self.now: float = client.now()

    def since(self, moment: float | None) -> float | None:
        """Seconds since a moment; None if there was none."""
        return None if moment is None else max(0.0, self.now - moment)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.client} at {self.now:.3f})"


class ConsumerReading(ClientReading):
    """One consumer at one moment.

    Args:
        client: The consumer.
        most: How many partitions have series of their own.

    Attributes:
        client: The consumer.
    """

    __slots__ = ("_ages", "_most", "_partitions")

    client: CountedConsumer

    def __init__(self, client: CountedConsumer, most: int = MOST_PARTITIONS) -> None:
        super().__init__(client)
        self._most = most
        self._partitions: Partitions | None = None
        self._ages: dict[TopicPartition, float] | None = None

    @property
    def partitions(self) -> Partitions:
        """Partitions of the consumer; read once, at the first row that needs them."""
        if self._partitions is None:
            self._partitions = looked_at(self.client, self._most)
        return self._partitions

    @property
    def ages(self) -> dict[TopicPartition, float]:
        """Ages of the oldest unread records, of the listed partitions."""
        if self._ages is None:
            self._ages = AGES.seen(self.client, self.partitions.listed, self.now)
        return self._ages


class ProducerReading(ClientReading):
    """One producer at one moment.

    Attributes:
        counters: Counters of batches on its network thread.
    """

    __slots__ = ("counters",)

    client: CountedProducer

    def __init__(self, client: CountedProducer) -> None:
        super().__init__(client)
        self.counters: ProduceCounters = client.side.endings.counters


class ShareReading(ClientReading):
    """One share consumer at one moment.

    Attributes:
        counters: Counters of its network thread.
    """

    __slots__ = ("counters",)

    client: CountedShareConsumer

    def __init__(self, client: CountedShareConsumer) -> None:
        super().__init__(client)
        self.counters: ShareCounters = client.side.share_counters


def reading_of(client: object, most: int = MOST_PARTITIONS) -> ClientReading:
    """Read a client.

    Args:
        client: A counted consumer, producer or share consumer, or the core of another client.
        most: How many partitions of a consumer have series of their own.
    """
    if isinstance(client, CountedProducer):
        return ProducerReading(client)
    if isinstance(client, CountedConsumer):
        return ConsumerReading(client, most)
    if isinstance(client, CountedShareConsumer):
        return ShareReading(client)
    if isinstance(client, CountedCore):
        return ClientReading(client)
    raise TypeError(f"{client!r} is no client")


def looked_at(client: CountedConsumer, most: int) -> Partitions:
    """Read all partitions, some of them at a time."""
    committable = client.side.committable
    found = Partitions()
    assigned = iter(tuple(committable.assigned.partitions()))
    while some := tuple(islice(assigned, AT_A_TIME)):
        places = committable.offsets_of(some)
        found.listed += places[: most - len(found.listed)]
        found.count += len(places)
        for place in places:
            found.paused += place.paused
            if (lag := lag_of(place)) is not None:
                found.lag.add(lag)
            if (lead := lead_of(place)) is not None:
                found.lead.add(lead)
            if (behind := committed_lag_of(place)) is not None:
                found.committed_lag.add(behind)
    return found


def committed_lag_of(place: PartitionOffsets) -> int | None:
    """How many offsets lie between what is committed and the end of the log."""
    if place.committed is None or place.end is None:
        return None
    return max(0, place.end - place.committed)


def lag_of(place: PartitionOffsets) -> int | None:
    """Return the number of offsets between the position and the log end."""
    if place.position is None or place.end is None:
        return None
    return max(0, place.end - place.position)


def lead_of(place: PartitionOffsets) -> int | None:
    """Return the number of offsets between the log start and the position."""
    if place.position is None or place.start is None:
        return None
    return max(0, place.position - place.start)
