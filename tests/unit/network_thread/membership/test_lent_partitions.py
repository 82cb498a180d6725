"""A membership made of the shared parts alone: its partitions have no positions, no commits."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple, cast
from uuid import UUID

from prokurist.events.assigned import NO_IDS, AnyAssigned, Assigned, AssignedState, Subscribed
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.member_identity import PollActivity
from prokurist.network_thread.cluster.attempts import Attempts
from prokurist.network_thread.connections.requests import Answer
from prokurist.network_thread.error_actions import Action
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.membership.heartbeating import INTERVAL, Heartbeats
from prokurist.network_thread.membership.membership import Partitions, Transitions
from prokurist.network_thread.membership.patterns import Patterns
from prokurist.network_thread.operations.operation import Operation, Promise
from prokurist.network_thread.operations.timer import Timer
from prokurist.types import Node, TopicPartition

NODE = Node(1, "localhost", 9092)
A, B = (TopicPartition("orders", number) for number in range(2))
MISSED = 12.0


class Beat(NamedTuple):
    """A heartbeat of this protocol."""

    epoch: int
    topics: frozenset[str]


class Given(NamedTuple):
    """Its answer."""

    epoch: int
    partitions: Partitions


class Lending:
    """`Transitions` that wait for none: no listener, and nothing to commit."""

    def __init__(self, assigned: AnyAssigned) -> None:
        self._assigned = assigned

    async def revoke(self, term: int, partitions: Partitions) -> bool:
        """See `Transitions`."""
        return self._assigned.drop(term, partitions)

    async def take(
        self,
        term: int,
        partitions: Partitions,
        ids: Mapping[TopicPartition, UUID] = NO_IDS,
        *,
        revoked: bool = False,
    ) -> bool:
        """See `Transitions`."""
        del revoked
        return self._assigned.add(term, partitions, awaiting=False, ids=ids)

    def begin(self, term: int, partitions: Partitions) -> bool:
        """See `Transitions`."""
        return self._assigned.begin(term, partitions)

    async def lose(self, term: int) -> None:
        """See `Transitions`."""
        self._assigned.lose(term)
        self._assigned.drop(term, self._assigned.owned())


class Bench:
    """A member, its coordinator, and a clock."""

    def __init__(self) -> None:
        self.timer = Timer(100.0)
        self.assigned = Assigned(AssignedState)
        self.sent: list[tuple[float, Beat]] = []
        self.missed: list[float] = []
        self.gives: Partitions = frozenset({A, B})
        transitions: Transitions = Lending(self.assigned)
        parts: dict[str, Any] = dict.fromkeys(MembershipContext.__dataclass_fields__)
        parts |= {
            "poll_interval": MISSED,
            "client": SimpleNamespace(send=self._send),
            "coordinator": SimpleNamespace(find=self._found),
            "metadata": SimpleNamespace(
                interest=SimpleNamespace(), request_update=lambda: None, cluster=None
            ),
            "timer": self.timer,
            "attempts": Attempts(cast("Any", None), self.timer, Backoff(0.1, 1.0, lambda: 0.0)),
            "assigned": self.assigned,
            "in_hand": lambda: None,
            "poll_activity": PollActivity(),
            "transitions": transitions,
        }
        self.context = MembershipContext(**parts)
        patterns = Patterns(self.assigned, cast("Any", parts["metadata"]), internal=False)
        self.prepared: list[Node] = []
        self.heartbeats: Heartbeats[Given] = Heartbeats(
            self.context, patterns, self._beat, self.prepared.append, self._take, self._met
        )
        self.guard = self.context.guard_polls(self.missed.append)

    async def _found(self, _call: Call) -> Node:
        return NODE

    def _beat(self, epoch: int, subscribed: Subscribed) -> Any:
        return Beat(epoch, subscribed.topics)

    def _send(self, node: Node, request: Beat, **_: object) -> Promise[Answer[Given]]:
        self.sent.append((self.timer.now, request))
        answer = Promise[Answer[Given]]()
        answer.keep(Answer(Given(request.epoch + 1, self.gives), None, node))
        return answer

    def _take(self, answer: Answer[Given]) -> Action:
        self.heartbeats.epoch, given = answer.response
        owned = self.assigned.owned()
        Operation(self._change(owned - given, given - owned), "changing hands", ended)
        return Action.DONE

    async def _change(self, gone: Partitions, new: Partitions) -> None:
        assert await self.context.transitions.revoke(0, gone)
        assert await self.context.transitions.take(0, new, revoked=bool(gone))

    def _met(self, error: BaseException) -> Action:
        raise error

    def at(self, moment: float) -> None:
        """Let time pass, entry by entry."""
        while (top := self.timer.top()) is not None and top.at <= moment:
            self.timer.now = max(self.timer.now, top.at)
            self.timer.fire(self.timer.mark())
        self.timer.now = moment


def ended(_nothing: None, error: BaseException | None) -> None:
    """A change of hands meets no error."""
    assert error is None


def test_it_joins_beats_and_loses() -> None:
    """One heartbeat an interval, at once when pressed; partitions come and go with answers."""
    bench = Bench()
    bench.assigned.subscribe(["orders"], listens=False)
    bench.heartbeats.start()
    assert bench.prepared == [NODE]
    assert bench.assigned.owned() == {A, B}
    bench.at(100.0 + INTERVAL)
    bench.gives = frozenset({B})
    bench.heartbeats.press()
    topics = frozenset({"orders"})
    assert bench.sent == [
        (100.0, Beat(0, topics)),
        (100.0 + INTERVAL, Beat(1, topics)),
        (100.0 + INTERVAL, Beat(2, topics)),
    ]
    assert bench.assigned.owned() == {B}
    bench.heartbeats.stop()
    Operation(bench.context.transitions.lose(0), "losing", ended)
    assert not bench.assigned.owned()


def test_its_polls_are_guarded() -> None:
    """A client without an iteration has nothing in hand; a poll alone counts."""
    bench = Bench()
    bench.context.poll_activity.enter()
    bench.guard.start()
    bench.context.poll_activity.leave(100.0)
    bench.at(100.0 + MISSED)
    assert bench.missed == [MISSED]
