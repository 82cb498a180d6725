"""Finds the group's coordinator.

Thread: the network thread alone. One look-up at a time serves all calls that
wait; a call's deadline ends its own wait and leaves the look-up to
the others. It goes on for as long as a call waits, and no longer: an idle
client sends no FindCoordinator.

The last requests before the client closes wait for a look-up only if it can succeed in time:
not when every broker refuses connections, and not when the next attempt lies beyond the
deadline. A silent broker is waited for.

Each time that it turns out to be out of reach is told of, and when it serves again; the
log makes of that a line a minute (`logs.storms`). One that goes on failing, and is named again
and again, is told as lost and as found once a minute.
"""

import math
from functools import partial
from typing import Final

from prokurist.errors import (
    AuthenticationException,
    CoordinatorNotAvailableException,
    DisconnectException,
    GroupAuthorizationException,
    KafkaException,
)
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.counter_types import Stretch
from prokurist.events.group_log_events import (
    COORDINATOR_AVAILABLE,
    COORDINATOR_CONFIRMED,
    COORDINATOR_FOUND,
    COORDINATOR_LOST,
    COORDINATOR_REACHABLE,
    COORDINATOR_UNAVAILABLE,
    COORDINATOR_UNREACHABLE,
)
from prokurist.events.trace import EVERY
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Lane
from prokurist.network_thread.error_actions import FIND_COORDINATOR, Action
from prokurist.network_thread.operations.operation import Operation, Promise, Withdrawn
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.metadata import CoordinatorOf, FindCoordinator
from prokurist.types import Node

WAIT = "the group's coordinator"

ITS_LANES: Final = frozenset({Lane.COORDINATOR, Lane.JOIN})
"""Lanes for requests to the coordinator as such; its broker may lead partitions, too."""


class CoordinatorWaiter:
    """A call's wait for the coordinator.

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


def hand_on(shared: Promise[Node], found: Promise[Node]) -> None:
    """End a wait with the outcome of the search."""
    if shared.error is not None:
        found.break_(shared.error)
    else:
        found.keep(shared.value)


class CoordinatorManager:
    """Finds the group's coordinator, by one look-up for all calls that wait.

    Attributes:
        unknown: How long calls have had to wait for it.
    """

    def __init__(
        self,
        group_id: str,
        client: NetworkClient,
        metadata: MetadataManager,
        timer: Timer,
        backoff: Backoff,
    ) -> None:
        self._group_id = group_id
        self._client = client
        self._metadata = metadata
        self._timer = timer
        self._backoff = backoff
        self._node: Node | None = None
        self._search: Operation[Node] | None = None
        self._found: Promise[Node] | None = None
        self._waiting: list[CoordinatorWaiter] = []
        self._next_attempt = -math.inf
        self._ends_at = math.inf
        self._last_error: KafkaException | None = None
        # Since when it has not answered, and when that was seen last; None while it does.
        self._trouble: tuple[float, float] | None = None
        # Whether it has refused something since it took something of that kind: what is
        # written, or a heartbeat alone.
        self._refuses_writes = self._refuses_beats = False
        # What was told last: who it is, if it was found; and who was lost, and when.
        self._told: Node | None = None
        self._told_lost: tuple[Node | None, float] = (None, -math.inf)
        self.unknown: Stretch = Stretch()
        client.disconnected.connect(self._on_disconnect)

    @property
    def name(self) -> str | None:
        """The coordinator's name, if it is known; for other threads."""
        node = self._node
        return None if node is None else str(node)

    def is_at(self, node: Node) -> bool:
        """Return True if the node is the coordinator, as far as is known."""
        return self._node == node

    async def known(self, call: Call, *, last: bool = False) -> Node:
        """The coordinator; looks it up first if it is not known.

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
        call.wait_begins(WAIT, self._timer.now)
        waiter = CoordinatorWaiter(call, last=last)
        self._waiting.append(waiter)
        shared = self._search_shared()
        pass_on = partial(hand_on, shared, waiter.found)
        if shared.is_kept:
            pass_on()
        else:
            shared.add(pass_on)
            self._give_up_late()
        try:
            return await waiter.found
        finally:
            self._waiting.remove(waiter)
            shared.remove(pass_on)
            call.wait_ends(self._timer.now)

    def end_by(self, deadline: Deadline) -> None:
        """End all look-ups but that of leaving by a deadline: the client closes."""
        self._ends_at = deadline.at
        self._give_up_late()

    def _give_up_late(self, *, out_of_reach: bool = False) -> None:
        """End last waits that this search cannot serve before their deadlines.

        Args:
            out_of_reach: True if no broker can be reached at all.
        """
        for waiter in tuple(self._waiting):
            if not waiter.last and self._ends_at == math.inf:
                continue
            until = waiter.call.deadline.at
            if not waiter.last:
                until = min(until, self._ends_at)
            if out_of_reach or self._next_attempt >= until:
                waiter.found.break_(
                    DisconnectException(
                        f"the coordinator of group {self._group_id} is not known, and cannot "
                        f"be looked up in time: {self._last_error}"
                    )
                )

    def _search_shared(self) -> Promise[Node]:
        if self._found is None:
            found = self._found = Promise[Node]()
            self.unknown.begin(self._timer.now)
            found.on_forsaken = self._stop
            search = Operation(self._look_up(), "FindCoordinator", self._searched)
            self._search = None if search.ended else search
            return found
        return self._found

    def _stop(self) -> None:
        """End the search: no call waits any more."""
        if self._search is not None:
            self._search.throw(Withdrawn("no caller waits for the coordinator"))

    def _searched(self, node: Node | None, error: KafkaException | None) -> None:
        found, self._found, self._search = self._found, None, None
        self.unknown.end(self._timer.now)
        if node is not None:
            self._node, self._last_error = node, None
            kind = COORDINATOR_CONFIRMED if node == self._told else COORDINATOR_FOUND
            self._told = node
            self._client.trace.emit(kind, node=node)
        if found is not None:
            if error is not None:
                found.break_(error)
            elif node is not None:
                found.keep(node)

    async def _look_up(self) -> Node:
        failures = 0
        while True:
            self._next_attempt = -math.inf
            asked = await self._metadata.brokers.next()
            try:
                answer = await self._client.send(
                    asked, FindCoordinator(self._group_id, CoordinatorOf.GROUP), any_broker=True
                )
            except Withdrawn:
                raise
            except KafkaException as error:
                judged = error.retriable or isinstance(error, AuthenticationException)
                tell = (
                    self._metadata.brokers.failed if judged else self._metadata.brokers.suspect
                )
                self._met(tell(asked, error))
            else:
                self._metadata.brokers.answered()
                response = answer.response
                if FIND_COORDINATOR.of(response.error) is Action.DONE and response.node:
                    return response.node
                self._met(self._judged(response.error, response.message))
                if FIND_COORDINATOR.of(response.error) is Action.REFRESH:
                    self._metadata.request_update()
            failures += 1
            pause = self._backoff.pause(failures)
            self._next_attempt = self._timer.now + pause
            self._give_up_late(out_of_reach=self._metadata.brokers.all_have_refused)
            if not self._waiting:
                raise Withdrawn("nothing waits for the coordinator")
            await self._timer.sleep(pause, "coordinator look-up backoff")

    def _met(self, error: KafkaException) -> None:
        """Note an error: the search goes on, and a call that gives up waiting names it."""
        self._last_error = error
        self._tell_trouble(error, self._timer.now)
        for waiter in self._waiting:
            waiter.call.met(error)

    def _judged(self, code: int, message: str | None) -> KafkaException:
        """The error to remember.

        Raises:
            KafkaException: It is fatal.
        """
        if code == 0:
            return KafkaException("the broker named no coordinator")
        error = FIND_COORDINATOR.error(code, message)
        if FIND_COORDINATOR.of(code) is Action.FATAL:
            if isinstance(error, GroupAuthorizationException):
                error = GroupAuthorizationException(
                    f"not allowed in group {self._group_id}: not even to look up its "
                    f"coordinator",
                    group_id=self._group_id,
                )
            raise error
        return error

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
            now = self._timer.now
            lost, at = self._told_lost
            if node != lost or now - at >= EVERY:
                self._told, self._told_lost = None, (node, now)
                self._client.trace.emit(COORDINATOR_LOST, node=node, error=why)
            if isinstance(why, CoordinatorNotAvailableException):
                self._refuses_beats |= beat
                self._refuses_writes |= not beat
                if self._trouble is not None:
                    # It has answered: whatever silence comes next begins now.
                    self._trouble = now, now
                self._client.trace.emit(
                    COORDINATOR_UNAVAILABLE, node=node, group=self._group_id, error=why
                )
            else:
                self._tell_trouble(why, now if since is None else since)

    def served(self, node: Node, *, wrote: bool = False, beat: bool = False) -> None:
        """Note that the coordinator has answered: it is in reach.

        Args:
            node: Which.
            wrote: True if the request was a write, as heartbeats are not.
            beat: True for a member's heartbeat. If nothing else was refused, an accepted
                heartbeat ends the outage: an idle member writes nothing.
        """
        refuses = self._refuses_writes or self._refuses_beats
        if refuses and (wrote or (beat and not self._refuses_writes)):
            self._refuses_writes = self._refuses_beats = False
            self._client.trace.emit(COORDINATOR_AVAILABLE, node=node, group=self._group_id)
        if self._trouble is not None:
            self._trouble = None
            self._client.trace.emit(COORDINATOR_REACHABLE, node=node, group=self._group_id)

    def _tell_trouble(self, error: KafkaException, since: float) -> None:
        """Tell that it cannot be asked, and since when: a client that was idle began later."""
        now = self._timer.now
        if self._trouble is not None and now - self._trouble[1] <= EVERY:
            since = min(since, self._trouble[0])
        self._trouble = since, now
        self._client.trace.emit(
            COORDINATOR_UNREACHABLE, group=self._group_id, error=error, seconds=now - since
        )

    def _on_disconnect(
        self, node: Node, lane: Lane, error: KafkaException, since: float
    ) -> None:
        """Forget the coordinator if one of its connections was lost: it may have moved."""
        if lane in ITS_LANES:
            self.forget(node, error, since)

    def __repr__(self) -> str:
        return f"CoordinatorManager({self._group_id}, {self._node or 'unknown'})"
