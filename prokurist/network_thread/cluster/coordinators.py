"""Finds coordinators, each by its kind and key: of a group, of a transactional id, of a share.

Thread: the network thread alone.

- One look-up at a time serves all calls that wait for a key; a call's deadline ends its own
  wait and leaves the look-up to the others. A look-up goes on for as long as a call waits, and
  no longer: an idle client sends no FindCoordinator.
- Keys that are looked up together share a request; brokers before 3.0 get one for each.
- A key's coordinator is forgotten after a refusal (NOT_COORDINATOR), with a lost connection,
  and with the key's last user: `Coordinators` has weak references alone.
- The last requests before the client closes wait for a look-up only if it can succeed in time:
  not when every broker refuses connections, and not when the next attempt lies beyond the
  deadline. A silent broker is waited for.
"""

import math
from collections.abc import Iterable
from typing import Final
from weakref import WeakValueDictionary

from prokurist.errors import (
    AuthenticationException,
    DisconnectException,
    GroupAuthorizationException,
    KafkaException,
    UnsupportedVersionException,
)
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.counter_types import Stretch
from prokurist.network_thread.cluster.attempts import Attempts, Question, Verdict
from prokurist.network_thread.cluster.coordinator_reports import CoordinatorReports
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.cluster.routes import AnyBroker
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.error_actions import FIND_COORDINATOR, Action
from prokurist.network_thread.operations.operation import (
    Operation,
    Promise,
    Withdrawn,
    all_of,
    begin,
)
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.metadata import (
    CoordinatorOf,
    FindCoordinator,
    FindCoordinatorAnswer,
    FindCoordinators,
)
from prokurist.types import Node

ITS_LANES: Final = frozenset({Lane.COORDINATOR, Lane.JOIN})
"""Lanes for requests to the coordinator as such; its broker may lead partitions, too."""

KINDS: Final = {
    CoordinatorOf.GROUP: "group",
    CoordinatorOf.TRANSACTION: "transactional id",
    CoordinatorOf.SHARE: "share",
}

UNAWAITED: Final = "no caller waits for the coordinator"

Found = dict[str, FindCoordinatorAnswer]
"""Answers by key."""


class Coordinators:
    """The coordinators that a client asks for.

    Args:
        client: Its connections.
        metadata: Knows the brokers that may be asked.
        attempts: Asks them.
        timer: The Timer.
    """

    def __init__(
        self,
        client: NetworkClient,
        metadata: MetadataManager,
        attempts: Attempts,
        timer: Timer,
    ) -> None:
        self.client: NetworkClient = client
        self.metadata: MetadataManager = metadata
        self.attempts: Attempts = attempts
        self.timer: Timer = timer
        # A broker with a fault of its own is passed by; refused credentials are not.
        self.route: AnyBroker = AnyBroker(
            metadata.brokers,
            is_shared=lambda error: (
                error.retriable or isinstance(error, AuthenticationException)
            ),
        )
        self._of: WeakValueDictionary[tuple[CoordinatorOf, str], Coordinator] = (
            WeakValueDictionary()
        )
        client.disconnected.connect(self._on_disconnect)

    def of(self, kind: CoordinatorOf, key: str) -> "Coordinator":
        """The coordinator of a key, known for as long as anything holds it."""
        coordinator = self._of.get((kind, key))
        if coordinator is None:
            coordinator = self._of[kind, key] = Coordinator(self, kind, key)
        return coordinator

    async def find_all(
        self, call: Call, kind: CoordinatorOf, keys: Iterable[str]
    ) -> dict["Coordinator", Node | KafkaException]:
        """Look several keys up together; a key that is refused does not end the others.

        Args:
            call: Waits.
            kind: The kind of all keys.
            keys: The keys.

        Returns:
            Each coordinator, with its broker or the reason why there is none.
        """
        wanted = [self.of(kind, key) for key in dict.fromkeys(keys)]
        search = CoordinatorSearch(self, kind, [each for each in wanted if each.is_unsought])
        # Each waits before the search begins, which would else have nothing to look for.
        outcomes = [begin(outcome(call, each), "FindCoordinator") for each in wanted]
        search.start()
        return dict(zip(wanted, await all_of(outcomes), strict=True))

    def _on_disconnect(
        self, node: Node, lane: Lane, error: KafkaException, since: float
    ) -> None:
        """Forget a coordinator if one of its connections was lost: it may have moved."""
        if lane in ITS_LANES:
            for each in tuple(self._of.values()):
                each.forget(node, error, since)

    def __len__(self) -> int:
        """The number of keys that are in use."""
        return len(self._of)

    def __repr__(self) -> str:
        return f"Coordinators({len(self)} keys)"


async def outcome(call: Call, coordinator: "Coordinator") -> Node | KafkaException:
    """The broker, or why there is none."""
    try:
        return await coordinator.find(call)
    except Withdrawn:
        raise
    except KafkaException as error:
        return error


class CoordinatorWaiter:
    """A call's wait for a coordinator.

    Attributes:
        call: The call, for entries in its ledger.
        last: True for the last requests of a client that closes.
        found: The promise of the coordinator.
    """

    __slots__ = ("call", "found", "last")

    def __init__(self, call: Call, *, last: bool) -> None:
        self.call: Call = call
        self.last: bool = last
        self.found: Promise[Node] = Promise()


class Coordinator:
    """The coordinator of one key, and the route to it.

    Args:
        coordinators: All of the client.
        kind: The kind of the key.
        key: The group, or the transactional id.

    Attributes:
        key: The same.
        unknown: How long calls have had to wait for it.
    """

    lane: Final = Lane.COORDINATOR
    is_any: Final = False

    def __init__(self, coordinators: Coordinators, kind: CoordinatorOf, key: str) -> None:
        self._coordinators = coordinators
        self._timer = coordinators.timer
        self._kind = kind
        self.key: str = key
        self._node: Node | None = None
        self._search: CoordinatorSearch | None = None
        self._waiting: list[CoordinatorWaiter] = []
        self._next_attempt = -math.inf
        self._ends_at = math.inf
        self._last_error: KafkaException | None = None
        self._reports: CoordinatorReports | None = None
        if kind is CoordinatorOf.GROUP:
            trace = coordinators.client.trace
            self._reports = CoordinatorReports(key, trace, coordinators.timer)
        self.unknown: Stretch = Stretch()

    @property
    def name(self) -> str | None:
        """The coordinator's name, if it is known; for other threads."""
        node = self._node
        return None if node is None else str(node)

    @property
    def is_unsought(self) -> bool:
        """True if it is not known, and no search for it is running."""
        return self._node is None and self._search is None

    @property
    def is_awaited(self) -> bool:
        """True if a call waits for it."""
        return bool(self._waiting)

    def is_at(self, node: Node) -> bool:
        """Return True if the node is the coordinator, as far as is known."""
        return self._node == node

    async def find(self, call: Call, *, last: bool = False) -> Node:
        """See `Route`: the coordinator, looked up if it is not known.

        Args:
            call: Who waits.
            last: True if the client is closing: then it waits for a look-up only if that can
                end in time.

        Raises:
            KafkaException: The search met a fatal error, such as missing rights on the group,
                or it comes too late for a last request.
        """
        if self._node is not None:
            return self._node
        if self._last_error is not None:
            call.met(self._last_error)
        call.wait_begins(
            "the group's coordinator" if self._reports else f"the coordinator of {self.what}",
            self._timer.now,
        )
        waiter = CoordinatorWaiter(call, last=last)
        self._waiting.append(waiter)
        if self._search is None:
            CoordinatorSearch(self._coordinators, self._kind, [self]).start()
        if not waiter.found.is_kept:
            self._give_up_late()
        try:
            return await waiter.found
        finally:
            self._waiting.remove(waiter)
            call.wait_ends(self._timer.now)
            if self._search is not None:
                self._search.stop_unawaited()

    def begin_search(self, search: "CoordinatorSearch") -> None:
        """Note the search that looks for it."""
        self._search = search
        self.unknown.begin(self._timer.now)

    def end_search(self, end: Node | KafkaException) -> None:
        """Hand the outcome of the search to the calls that wait."""
        self._search = None
        self.unknown.end(self._timer.now)
        if isinstance(end, Node):
            self._node, self._last_error = end, None
            if self._reports is not None:
                self._reports.found(end)
        for waiter in tuple(self._waiting):
            if isinstance(end, Node):
                waiter.found.keep(end)
            else:
                waiter.found.break_(end)

    def search_failed(self, error: KafkaException, pause: float, *, out_of_reach: bool) -> None:
        """Note an error: the search goes on, and a call that gives up waiting names it.

        Args:
            error: The error.
            pause: Seconds until the next attempt.
            out_of_reach: True if no broker can be reached at all.
        """
        self._last_error = error
        if self._reports is not None:
            self._reports.unreachable(error, self._timer.now)
        for waiter in self._waiting:
            waiter.call.met(error)
        self._next_attempt = self._timer.now + pause
        self._give_up_late(out_of_reach=out_of_reach)

    def end_by(self, deadline: Deadline) -> None:
        """End all look-ups but that of leaving by a deadline: the client closes."""
        self._ends_at = deadline.at
        self._give_up_late()

    def _give_up_late(self, *, out_of_reach: bool = False) -> None:
        """End last waits that this search cannot serve before their deadlines."""
        for waiter in tuple(self._waiting):
            if not waiter.last and self._ends_at == math.inf:
                continue
            until = waiter.call.deadline.at
            if not waiter.last:
                until = min(until, self._ends_at)
            if out_of_reach or self._next_attempt >= until:
                waiter.found.break_(
                    DisconnectException(
                        f"the coordinator of {self.what} is not known, and cannot "
                        f"be looked up in time: {self._last_error}"
                    )
                )

    @property
    def what(self) -> str:
        """The kind and the key, for texts."""
        return f"{KINDS[self._kind]} {self.key}"

    # --- its requests ----------------------------------------------------------------

    def note_failure(self, node: Node, error: KafkaException) -> KafkaException:
        """See `Route`: one that does not answer may be none any more.

        Raises:
            KafkaException: It cannot be asked this, however often one tries.
        """
        if not error.retriable:
            raise error
        self.forget(node, error)
        return error

    def note_answer(self, node: Node, verdict: Verdict) -> KafkaException | None:
        """See `Route`."""
        if verdict.action is Action.REDISCOVER and verdict.error is not None:
            self.forget(node, verdict.error)
        else:
            self.served(node, wrote=verdict.wrote)
        return None

    def forget(
        self,
        node: Node,
        why: KafkaException,
        since: float | None = None,
        *,
        beat: bool = False,
    ) -> None:
        """Forget a coordinator that is none any more, unless there is another by now.

        Args:
            node: Which.
            why: Why.
            since: Since when it has not answered; None for this moment.
            beat: True if it refused a member's heartbeat.
        """
        if self._node == node:
            self._node = None
            self._last_error = why
            if self._reports is not None:
                self._reports.lost(node, why, since, beat=beat)

    def served(self, node: Node, *, wrote: bool = False, beat: bool = False) -> None:
        """Note that the coordinator has answered: it is in reach.

        Args:
            node: Which.
            wrote: True if the request was a write, as heartbeats are not.
            beat: True for a member's heartbeat. If nothing else was refused, an accepted
                heartbeat ends the outage: an idle member writes nothing.
        """
        if self._reports is not None:
            self._reports.served(node, wrote=wrote, beat=beat)

    def __repr__(self) -> str:
        return f"Coordinator({self.what}, {self._node or 'unknown'})"


class CoordinatorSearch(Question[Found]):
    """One look-up of some keys, until each is found or nothing waits for it.

    Args:
        coordinators: All of the client.
        kind: The kind of the keys.
        wanted: The coordinators to look for.
    """

    pause: str | None = "coordinator look-up backoff"

    def __init__(
        self, coordinators: Coordinators, kind: CoordinatorOf, wanted: Iterable[Coordinator]
    ) -> None:
        self._coordinators = coordinators
        self._kind = kind
        self._wanted = {each.key: each for each in wanted}
        self._outcomes: dict[Coordinator, Node | KafkaException] = {}
        self._errors: dict[str, KafkaException] = {}
        self._running: Operation[None] | None = None
        for each in self._wanted.values():
            each.begin_search(self)

    def start(self) -> None:
        """Begin to look."""
        coordinators = self._coordinators
        work = coordinators.attempts.ask(coordinators.route, self)
        running = Operation(work, "FindCoordinator", self._ended)
        self._running = None if running.ended else running

    def stop_unawaited(self) -> None:
        """Stop if no call waits for any of its keys."""
        if self._running is not None and self.is_over:
            self._running.throw(Withdrawn(UNAWAITED))

    @property
    def is_over(self) -> bool:
        """See `Question`."""
        return not any(each.is_awaited for each in self._wanted.values())

    def send(self, client: NetworkClient, node: Node) -> Promise[Answer[Found]]:
        """See `Question`; keys for which nothing waits any more are left out."""
        for key, each in tuple(self._wanted.items()):
            if not each.is_awaited:
                self._wanted.pop(key).end_search(Withdrawn(UNAWAITED))
        return begin(self._look_up(client, node, tuple(self._wanted)), "FindCoordinator")

    async def _look_up(
        self, client: NetworkClient, node: Node, keys: tuple[str, ...]
    ) -> Answer[Found]:
        """Ask one broker about some keys, in one request if it can read that."""
        if len(keys) > 1:
            try:
                return await client.send(
                    node, FindCoordinators(keys, self._kind), any_broker=True
                )
            except UnsupportedVersionException:
                pass  # It takes a single key.
        answers = await all_of(
            client.send(node, FindCoordinator(key, self._kind), any_broker=True) for key in keys
        )
        responses = (each.response for each in answers)
        return Answer(dict(zip(keys, responses, strict=True)), None, node)

    def judge(self, answer: Answer[Found]) -> Verdict:
        """See `Question`."""
        worst: Verdict | None = None
        for key, coordinator in tuple(self._wanted.items()):
            told = answer.response.get(key)
            code, node = (0, None) if told is None else (told.error, told.node)
            action = FIND_COORDINATOR.of(code)
            if action is Action.DONE and node is not None:
                self._outcomes[self._wanted.pop(key)] = node
                continue
            error = self._error(coordinator, told)
            if action is Action.FATAL:
                self._outcomes[self._wanted.pop(key)] = error
                continue
            self._errors[key] = error
            if worst is None or action is Action.REFRESH:
                kind = action if action is Action.REFRESH else Action.RETRY
                worst = Verdict(kind, error)
        return worst or Verdict(Action.DONE)

    def _error(
        self, coordinator: Coordinator, told: FindCoordinatorAnswer | None
    ) -> KafkaException:
        if told is None or not told.error:
            return KafkaException("the broker named no coordinator")
        error = FIND_COORDINATOR.error(told.error, told.message)
        if isinstance(error, GroupAuthorizationException):
            return GroupAuthorizationException(
                f"not allowed in {coordinator.what}: not even to look up its coordinator",
                group_id=coordinator.key,
            )
        return error

    def note(self, error: KafkaException) -> None:
        """See `Question`: each key has its own error, or that of the broker."""
        self._settle()
        out_of_reach = self._coordinators.metadata.brokers.all_have_refused
        for key, coordinator in tuple(self._wanted.items()):
            coordinator.search_failed(
                self._errors.pop(key, error), self.retries.next, out_of_reach=out_of_reach
            )

    async def recover(self, verdict: Verdict) -> None:
        """See `Question`."""
        if verdict.action is Action.REFRESH:
            self._coordinators.metadata.request_update()

    def _settle(self) -> None:
        """Tell the outcomes, once the answer is noted."""
        outcomes, self._outcomes = self._outcomes, {}
        for coordinator, end in outcomes.items():
            coordinator.end_search(end)

    def _ended(self, _nothing: None, error: KafkaException | None) -> None:
        self._running = None
        self._settle()
        wanted, self._wanted = self._wanted, {}
        for each in wanted.values():
            each.end_search(error or Withdrawn(UNAWAITED))

    def __repr__(self) -> str:
        return f"CoordinatorSearch({len(self._wanted)} keys left)"
