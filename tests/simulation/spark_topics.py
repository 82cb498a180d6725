"""Random topics, brokers and leaders below Spark's source, whose planning an oracle checks.

The driver's part of the source plays in virtual time: topics are deleted, created and created
again, one broker lags in its list of them, all lists lack one for a while, and leaders are
slow or silent. The oracle knows to which topic each answer about a log belonged.
"""

import heapq
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from uuid import UUID

from prokurist.errors import TimeoutException
from prokurist.events.clock import MonotonicClock
from prokurist.spark.source.driver_queries import DriverQueries
from prokurist.spark.source.options import Settings
from prokurist.spark.source.partition_selection import Selection
from prokurist.spark.source.stream_offsets import Stream
from prokurist.spark.source.topic_listing import Listing
from prokurist.types import Node, PartitionInfo, TopicPartition

NAMES = ("a", "b", "c")
WAYS = {
    "subscribe": "a,b,c",
    "subscribePattern": "a|b|c",
    "assign": '{"a": [0, 1], "b": [0, 1], "c": [0, 1]}',
}
TRIGGERS = 60
LEADERS = 3


class Topic:
    """One life of a topic of two partitions.

    Attributes:
        id: Its id.
        sizes: How many rows each partition has.
        planned: How many of them were planned; each once, and in order.
        is_muddled: Whether a lagging broker listed its name with the id of a former topic.
            No client can know then to which of them the end of a log belongs.
    """

    def __init__(self, number: int) -> None:
        self.id = UUID(int=number)
        self.sizes = [0, 0]
        self.planned = [0, 0]
        self.is_muddled = False


class Model(MonotonicClock, DriverQueries):
    """Brokers and the clock, which goes on as requests and pauses take time.

    Args:
        seed: Of all that is random.

    Attributes:
        topics: Those that there are.
        answered: The topic whose log was looked up last, for each partition.
    """

    def __init__(self, seed: int) -> None:
        DriverQueries.__init__(self, {})
        self.random = random.Random(seed)  # noqa: S311 - nothing is secret
        self.max_age = self.request_timeout = 5.0
        self.reads_committed = False
        self.time = 1000.0
        self.ends_at = 0.0
        self.topics: dict[str, Topic] = {}
        self.answered: dict[TopicPartition, Topic] = {}
        self.made = 0
        self.lag = 0.0
        self.pauses = [0.005] * LEADERS
        self.silent_until = [0.0] * LEADERS
        self.hidden_until: dict[str, float] = {}
        self._views: list[tuple[float, dict[str, Topic]]] = [(0.0, {})]
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        for name in NAMES:
            self.create(name)

    # --- the clock ---------------------------------------------------------------------

    def now(self) -> float:
        """The moment."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Go on, and let happen what is due."""
        until = self.time + seconds
        while self._agenda and self._agenda[0][0] <= until:
            at, _, act = heapq.heappop(self._agenda)
            self.time = max(self.time, at)
            act()
        self.time = until

    def at(self, moment: float, act: Callable[[], None]) -> None:
        """Let something happen later."""
        heapq.heappush(
            self._agenda, (moment, len(self._agenda) + self.random.getrandbits(30), act)
        )

    # --- topics ------------------------------------------------------------------------

    def create(self, name: str) -> None:
        """Make a topic, unless there is one of this name."""
        if name not in self.topics:
            self.made += 1
            self.topics[name] = Topic(self.made)
            self._views.append((self.time, dict(self.topics)))

    def delete(self, name: str) -> None:
        """Delete a topic, if there is one."""
        if self.topics.pop(name, None) is not None:
            self._views.append((self.time, dict(self.topics)))

    def append(self) -> None:
        """Write some rows."""
        for name in sorted(self.topics):
            number = self.random.randrange(2)
            self.topics[name].sizes[number] += self.random.choice((0, 1, 3, 40))

    # --- questions ---------------------------------------------------------------------

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """See `DriverQueries`."""
        self.ends_at = self.time + seconds
        yield

    @contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """See `DriverQueries`."""
        whole, self.ends_at = self.ends_at, min(self.ends_at, self.time + seconds)
        try:
            yield
        finally:
            self.ends_at = whole

    @property
    def has_time(self) -> bool:
        """See `DriverQueries`."""
        return self.time < self.ends_at

    def _takes(self, seconds: float) -> None:
        left = self.ends_at - self.time
        self.sleep(max(0.0, min(seconds, left)))
        if seconds > left:
            raise TimeoutException("no answer in time")

    def _view(self) -> dict[str, Topic]:
        """The topics as one of three brokers knows them, of which one may lag."""
        self._takes(0.004)
        known = self.time - (self.lag if self.random.randrange(3) == 0 else 0.0)
        view = next(view for since, view in reversed(self._views) if since <= known)
        for name, topic in self.topics.items():
            if view.get(name, topic) is not topic:
                topic.is_muddled = True
        hidden = {name for name, until in self.hidden_until.items() if self.time < until}
        return {name: each for name, each in view.items() if name not in hidden}

    def _listed(self, names: Collection[str]) -> dict[str, Topic]:
        """Topics by name, asked for three times if they are not known."""
        found: dict[str, Topic] = {}
        for pause in (0.1, 0.2, 0.0):
            found |= {name: each for name, each in self._view().items() if name in names}
            if len(found) == len(names):
                break
            self._takes(pause)
        return found

    def listing(self, selection: Selection, known: Collection[str] = ()) -> Listing:
        """See `DriverQueries`."""
        if "names" in dir(selection) or "partitions" in dir(selection):
            found = self._listed(NAMES)
        else:
            found = dict(self._view())
            if lacking := [name for name in known if name not in found]:
                found |= self._listed(lacking)
        infos = {
            name: [
                PartitionInfo(
                    name, number, Node(self.leader(name, number), "h", 1), topic_id=each.id
                )
                for number in range(2)
            ]
            for name, each in found.items()
        }
        return Listing.of(infos, selection)

    def topic_ids(self, topics: Collection[str]) -> dict[str, UUID | None]:
        """See `DriverQueries`."""
        return {name: each.id for name, each in self._listed(topics).items()}

    @staticmethod
    def leader(name: str, number: int) -> int:
        """Which broker leads a partition."""
        return (NAMES.index(name) + number) % LEADERS

    def leaders(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        """See `DriverQueries`."""
        wanted = list(partitions)
        found = self._listed({tp.topic for tp in wanted})
        return {tp: self.leader(*tp) for tp in wanted if tp.topic in found}

    def _ask(self, partitions: Collection[TopicPartition]) -> None:
        """Ask leaders side by side; of a partition that does not exist there is no answer."""
        until = self.time
        for tp in partitions:
            which = self.leader(*tp)
            until = max(until, self.silent_until[which] + self.pauses[which])
            until = max(until, self.time + self.pauses[which])
        self._takes(until - self.time)
        while any(tp.topic not in self.topics for tp in partitions):
            self._takes(0.1)

    def beginnings(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        """See `DriverQueries`."""
        self._ask(partitions)
        return dict.fromkeys(partitions, 0)

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See `DriverQueries`."""
        self._ask(partitions)
        self.answered |= {tp: self.topics[tp.topic] for tp in partitions}
        return {tp: self.topics[tp.topic].sizes[tp.partition] for tp in partitions}


def play(seed: int) -> Model:
    """Play one run, and check each plan, and each look's time.

    Args:
        seed: Of the run.
    """
    model = Model(seed)
    dice, (way, value) = model.random, model.random.choice(sorted(WAYS.items()))
    settings = Settings.of(
        {
            "kafka.bootstrap.servers": "h:1",
            way: value,
            "startingOffsets": "earliest",
            "failOnDataLoss": "false",
        }
    )
    stream = Stream(settings, model, model)
    place = stream.initial()
    lives = set(model.topics.values())

    def trigger() -> None:
        nonlocal place
        began = model.time
        end = stream.latest(place, limited=True)
        assert model.time - began <= settings.driver_deadline + 0.001, seed
        for piece in stream.ranges(place, end) if end != place else ():
            tp = piece.partition
            topic = model.answered[tp]
            if topic.is_muddled:
                continue
            planned = topic.planned[tp.partition]
            assert piece.start == planned, (seed, str(piece), planned)
            assert piece.end <= topic.sizes[tp.partition], (seed, str(piece))
            topic.planned[tp.partition] = piece.end
        place = end

    for _ in range(TRIGGERS):
        name, when = dice.choice(NAMES), model.time + dice.uniform(0.0, 2.0)
        match dice.randrange(12):
            case 0:
                model.at(when, lambda name=name: model.delete(name))  # type: ignore[misc]
            case 1:
                model.at(when, lambda name=name: model.delete(name))  # type: ignore[misc]
                back = when + dice.choice((0.0, 0.1, 3.0))
                model.at(back, lambda name=name: model.create(name))  # type: ignore[misc]
                model.at(back, model.append)
            case 2 | 3:
                model.at(when, lambda name=name: model.create(name))  # type: ignore[misc]
            case 4:
                which, until = dice.randrange(LEADERS), when + dice.choice((1.0, 4.0, 30.0))
                model.silent_until[which] = until
            case 5:
                model.pauses[dice.randrange(LEADERS)] = dice.choice((0.005, 0.005, 0.35, 1.2))
            case 6:
                model.lag = dice.choice((0.0, 0.0, 0.2, 8.0))
            case 7:
                model.hidden_until[name] = when + dice.choice((0.2, 2.0, 20.0))
        model.at(when, model.append)
        model.sleep(dice.choice((0.1, 1.0, 6.0)))
        trigger()
        lives |= set(model.topics.values())
    # A leader that is slow stays slow: it is read all the same.
    model.lag = 0.0
    model.sleep(60.0)
    for name in NAMES:
        model.create(name)
    for _ in range(90):
        model.append()
        model.sleep(0.5)
        trigger()
    model.sleep(40.0)
    for _ in range(8):
        model.sleep(6.0)
        trigger()
    for name, topic in model.topics.items():
        if not topic.is_muddled:
            assert topic.planned == topic.sizes, (seed, name)
    return model
