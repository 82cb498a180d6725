"""What a scenario is given: requests by name, topics, and changes behind the protocol.

A scenario is a function of a `Stage` and is played twice, to the model and to a real Kafka;
both accounts are compared. Without a version of its own a request goes out in the newest
version that both sides speak, less the vintage that is being played, so that all versions
have their turn.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple

from prokurist.testing.cluster.apis import ApiName
from prokurist.testing.cluster.batches import Record, make_batch
from tests.broker.requests_by_hand import PARKED, ClosedByBroker, Talker
from tests.conformance.comparing import Difference, Step, compare
from tests.conformance.normalising import BEGAN, Normaliser
from tests.conformance.sides import Side, Topic

CLOSED: Final = "(the broker closed the connection)"
POOL: Final = 40
"""Topics that are made at once."""
AT_ONCE: Final = timedelta(0)
UNANSWERED: Final = 0.03
"""Seconds to wait for an answer that the other side did not give."""
READ_WITHIN: Final = 10.0
"""Seconds within which a request that is not answered has its effect, on a busy machine."""


class Arrivals(NamedTuple):
    """What had come of open requests at one place of a scenario.

    Attributes:
        group: The state of the group, and how many members it had.
        who: Whose had been answered.
    """

    group: tuple[str, int]
    who: list[str]


class Stage:
    """One playing of a scenario to one side.

    Args:
        side: The side.
        play: What both sides of this playing share.
        arrivals: What came when for the other side, for `settle`; None for the first.

    Attributes:
        steps: What was asked and answered.
        name: A word that no other playing has, for groups and patterns.
    """

    def __init__(self, side: Side, play: "Play", arrivals: list[Arrivals] | None) -> None:
        self.side = side
        self.steps: list[Step] = []
        self.arrivals: list[Arrivals] = []
        self.name: str = play.name
        self._play = play
        self._guide = arrivals
        self._topics = 0
        self._placed = 0
        self._talkers: dict[int, Talker] = {}
        self._normal = Normaliser(side.first_node)
        self._open: dict[str, tuple[ApiName, int, Any]] = {}

    def close(self) -> None:
        """Close all connections; the next request opens others."""
        for each in self._talkers.values():
            each.close()
        self._talkers.clear()

    # --- requests -----------------------------------------------------------------

    def version(self, api: ApiName, least: int = 0, most: int = 99) -> int:
        """The version of an API that this vintage has, between two bounds."""
        oldest, newest = self._play.versions[api]
        return max(oldest, least, min(newest, most) - self._play.vintage)

    def speaks(self, api: ApiName, version: int) -> bool:
        """True if both sides have a version of an API."""
        oldest, newest = self._play.versions[api]
        return oldest <= version <= newest

    def send(self, who: str, api: ApiName, version: int | None = None, **values: Any) -> None:
        """Send a request; `a@2` is a connection to node 2."""
        if version is None:
            version = self.version(api)
        oldest, newest = self._play.versions[api]
        version = min(max(version, oldest), newest)
        self._open[who] = (api, version, self._normal.asked(values))
        self._talker(who).send(who, api, version, **values)

    def read(self, who: str) -> Any:
        """The answer to the request of a connection; None where it was closed."""
        api, version, asked = self._open.pop(who)
        try:
            body = self._talker(who).read(who)
        except ClosedByBroker:
            self._record(api, version, who, asked, CLOSED)
            return None
        self._record(api, version, who, asked, self._normal.answered(api, body))
        return body

    def ask(self, who: str, api: ApiName, version: int | None = None, **values: Any) -> Any:
        """Send a request and read its answer."""
        self.send(who, api, version, **values)
        return self.read(who)

    def tell(self, who: str, api: ApiName, **values: Any) -> None:
        """Send a request that is not answered."""
        self._talker(who).tell(who, api, self.version(api), **values)
        self._record(api, self.version(api), who, self._normal.asked(values), None)

    def ended(self, who: str) -> None:
        """Wait until the broker has ended a connection."""
        self._record("ended", 0, who, {}, self._talker(who).ended(who))

    def parked(self, who: str, within: float = PARKED) -> bool:
        """Whether the request of a connection is still unanswered after a while."""
        parked = self._talker(who).parked(who, within)
        self._record("parked", 0, who, {}, parked)
        return parked

    def waits(self, who: str) -> bool:
        """Whether a request of a connection has not been answered yet."""
        return who in self._open

    def settle(self, group: str) -> dict[str, Any]:
        """Read what has been answered of the requests that are open.

        The second side waits until its group is as that of the first one, then for what that
        answered, and a moment for the rest: on another connection a request may be read before
        one that was sent earlier.
        """
        wanted = None if self._guide is None else self._guide[len(self.arrivals)]
        until = time.monotonic() + READ_WITHIN
        # The model has one thread: it accepts a connection in one turn and reads in the next,
        # so that what was sent before the first of these has had its effect by the last.
        _, _, seen = (self._described(group) for _ in range(3))
        while wanted is not None and seen != wanted.group and time.monotonic() < until:
            seen = self._described(group)
        came = [
            who
            for who in sorted(self._open)
            if (wanted is not None and who in wanted.who)
            or not self._talker(who).parked(who, UNANSWERED)
        ]
        self.arrivals.append(Arrivals(seen, came))
        self._record("answered", 0, "", {}, came)
        return {who: self.read(who) for who in came}

    def look(self, what: str, seen: Any) -> None:
        """Compare something that is no answer."""
        self._record("seen", 0, "", {"what": what}, seen)

    def restart(self, node: int = 1) -> None:
        """Kill a node and start it again; all connections are new then."""
        self.close()
        self.side.restart(node)

    def quietly(self, who: str, api: ApiName, version: int, **values: Any) -> Any:
        """Ask without comparing the answer."""
        return self._talker(who).ask(who, api, version, **values)

    def node(self, number: int) -> int:
        """The id of a node, counted from 1; one that there is not for a high number."""
        return self.side.first_node + number - 1

    # --- topics -------------------------------------------------------------------

    def topic(self, partitions: int = 1) -> Topic:
        """A new topic with one copy of each partition."""
        name, topic_id = self._play.pooled(self._topics, self.side, partitions)
        self._topics += 1
        return self._known(name, topic_id)

    def placed(self, *replicas: Sequence[int], **config: str) -> Topic:
        """A new topic with its copies on given nodes, and properties as in `made`."""
        self._placed += 1
        name = f"{self.name}-placed-{self._placed}"
        return self._known(name, self.side.place_topic(name, replicas, config))

    def made(self, name: str, partitions: int = 1, **config: str) -> Topic:
        """A topic of a given name, with properties if need be: Kafka's, with underscores."""
        made = self.side.create_topics([name], partitions, config)
        return self._known(name, made[name])

    def recreate(self, topic: Topic, partitions: int = 1) -> Topic:
        """Delete a topic and make another of its name."""
        self.side.delete_topic(topic.name)
        made = self.side.create_topics([topic.name], partitions)[topic.name]
        self._normal.know_topic(made, f"{topic.name} made again")
        return Topic(topic.name, made)

    def produce(
        self,
        topic: Topic,
        *values: bytes,
        partition: int = 0,
        node: int = 1,
        stamp: int = BEGAN,
        acks: int = -1,
    ) -> None:
        """Write a batch of records, a millisecond apart."""
        records = [Record(each, timestamp=stamp + nth) for nth, each in enumerate(values)]
        batch = make_batch(records).data
        row = {"name": topic.name, "topic_id": topic.id}
        rows = [{"index": partition, "records": batch}]
        self.ask(
            f"producer@{node}",
            "Produce",
            9,
            acks=acks,
            timeout=timedelta(seconds=20),
            topic_data=[{**row, "partition_data": rows}],
        )

    # --- inside -------------------------------------------------------------------

    def _described(self, group: str) -> tuple[str, int]:
        """The state of a classic group, and how many members it has."""
        told = self.quietly("me", "DescribeGroups", 5, groups=[group]).groups[0]
        return told.group_state, len(told.members)

    def _known(self, name: str, topic_id: Any) -> Topic:
        self._normal.know_topic(topic_id, name)
        return Topic(name, topic_id)

    def _talker(self, who: str) -> Talker:
        node = int(who.partition("@")[2] or 1)
        if node not in self._talkers:
            self._talkers[node] = self.side.talker(node)
        return self._talkers[node]

    def _record(self, api: str, version: int, who: str, asked: Any, answered: Any) -> None:
        self.steps.append(Step(len(self.steps) + 1, api, version, who, asked, answered))


Scenario = Callable[[Stage], None]


@dataclass
class Play:
    """What both sides share while a scenario is played.

    Attributes:
        name: A word of its own.
        vintage: How many versions back from the newest.
        versions: What both sides speak.
        pair: The sides and their topics.
        topics: The names of the topics handed out.
    """

    name: str
    vintage: int
    versions: dict[str, tuple[int, int]]
    pair: "Pair"
    topics: list[str]

    def pooled(self, place: int, side: Side, partitions: int) -> tuple[str, Any]:
        """The topic of a place in the scenario, the same name for both sides."""
        if place == len(self.topics):
            self.topics.append(self.pair.take(partitions))
        name = self.topics[place]
        return name, self.pair.ids[side][name]


class Pair:
    """The model and a real Kafka, to which scenarios are played."""

    def __init__(self, real: Side, model: Side) -> None:
        self.real = real
        self.model = model
        self.versions = {
            api: (max(oldest, model.versions[api][0]), min(newest, model.versions[api][1]))
            for api, (oldest, newest) in real.versions.items()
            if api in model.versions
        }
        self.ids: dict[Side, dict[str, Any]] = {real: {}, model: {}}
        self._spare: dict[int, list[str]] = {}
        self._plays = 0
        self._made = 0

    def take(self, partitions: int) -> str:
        """A topic that nothing was done to yet."""
        spare = self._spare.setdefault(partitions, [])
        if not spare:
            spare += [f"t{self._made + nth}" for nth in range(POOL)]
            self._made += POOL
            for side in (self.real, self.model):
                self.ids[side] |= side.create_topics(spare, partitions)
        return spare.pop()

    def play(self, scenario: Scenario, vintage: int = 0, name: str = "") -> list[Difference]:
        """Play a scenario to both, the model first, and compare."""
        self._plays += 1
        word = f"{scenario.__name__.replace('_', '-')}-{self._plays}"
        play = Play(word, vintage, self.versions, self, [])
        arrivals: list[Arrivals] | None = None
        accounts: list[list[Step]] = []
        for side in (self.model, self.real):
            stage = Stage(side, play, arrivals)
            try:
                scenario(stage)
            except Exception as error:
                error.add_note(f"in {name or word}, played to {type(side).__name__}")
                for step in stage.steps[-3:]:
                    error.add_note(f"{step}")
                raise
            finally:
                stage.close()
            arrivals = stage.arrivals
            accounts.append(stage.steps)
        model, real = accounts
        return compare(name or f"{scenario.__name__} (vintage {vintage})", real, model)

    def vintages(self, *apis: ApiName) -> Iterator[int]:
        """Every vintage in which one of these APIs has a version of its own."""
        spans = [self.versions[api] for api in apis if api in self.versions]
        return iter(range(max((newest - oldest for oldest, newest in spans), default=0) + 1))
