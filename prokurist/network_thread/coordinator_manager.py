"""Which broker coordinates the group.

Thread: the network thread alone. One look-up at a time serves everybody who
waits; a caller's deadline takes him out of the waiting and leaves the look-up to
the others. It goes on for as long as somebody waits, and no longer: an idle
client asks nobody anything.

Each time that it turns out to be out of reach is told of, and when it serves again; the
log makes of that a line a minute (`logs.storms`).
"""

from typing import Final

from prokurist.errors import GroupAuthorizationException, KafkaException
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.counters import Stretch
from prokurist.events.tellings import (
    COORDINATOR_FOUND,
    COORDINATOR_LOST,
    COORDINATOR_SERVES,
    COORDINATOR_UNREACHABLE,
)
from prokurist.network_thread.client import NetworkClient
from prokurist.network_thread.metadata_manager import MetadataManager
from prokurist.network_thread.operation import Operation, Promise, Withdrawn
from prokurist.network_thread.requests import Lane
from prokurist.network_thread.timer import Timer
from prokurist.network_thread.verdicts import FIND_COORDINATOR, Verdict
from prokurist.network_thread.wire.metadata import CoordinatorOf, FindCoordinator
from prokurist.types import Node

WAIT = "the group's coordinator"

ITS_LANES: Final = frozenset({Lane.COORDINATOR, Lane.JOIN})
"""What is sent to the coordinator as such; the same broker may lead partitions, too."""


class CoordinatorManager:
    """See the module.

    Attributes:
        unknown: How long somebody has had to wait for it.
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
        self._waiting: list[Call] = []
        self._last_error: KafkaException | None = None
        self._is_troubled = False
        self.unknown: Stretch = Stretch()

    @property
    def name(self) -> str | None:
        """The coordinator by name, if it is known: for anybody who looks from outside."""
        node = self._node
        return None if node is None else str(node)

    async def known(self, call: Call) -> Node:
        """The coordinator, as soon as there is one.

        Raises:
            KafkaException: The search met an error that no patience mends, such
                as missing rights on the group.
        """
        if self._node is not None:
            return self._node
        if self._last_error is not None:
            call.met(self._last_error)
        call.wait_begins(WAIT, self._timer.now)
        self._waiting.append(call)
        try:
            return await self._search_shared()
        finally:
            self._waiting.remove(call)
            call.wait_ends(self._timer.now)

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
        """Nobody waits any more."""
        if self._search is not None:
            self._search.throw(Withdrawn("nobody waits for the coordinator"))

    def _searched(self, node: Node | None, error: KafkaException | None) -> None:
        found, self._found, self._search = self._found, None, None
        self.unknown.end(self._timer.now)
        if node is not None:
            self._node, self._last_error = node, None
            self._client.trace.tell(COORDINATOR_FOUND, node=node)
        if found is not None:
            if error is not None:
                found.break_(error)
            elif node is not None:
                found.keep(node)

    async def _look_up(self) -> Node:
        failures = 0
        while True:
            asked = await self._metadata.somebody()
            try:
                answer = await self._client.send(
                    asked, FindCoordinator(self._group_id, CoordinatorOf.GROUP), anybody=True
                )
            except Withdrawn:
                raise
            except KafkaException as error:
                self._met(self._metadata.suspect(asked, error))
            else:
                self._metadata.answered()
                response = answer.response
                if FIND_COORDINATOR.of(response.error) is Verdict.DONE and response.node:
                    return response.node
                self._met(self._judged(response.error, response.message))
                if FIND_COORDINATOR.of(response.error) is Verdict.REFRESH:
                    self._metadata.request_update()
            failures += 1
            await self._timer.sleep(
                self._backoff.pause(failures), "coordinator look-up backoff"
            )

    def _met(self, error: KafkaException) -> None:
        """The search goes on; whoever gives up waiting for it can say what it met."""
        self._last_error = error
        self._trouble(error)
        for call in self._waiting:
            call.met(error)

    def _judged(self, code: int, message: str | None) -> KafkaException:
        """The error to remember.

        Raises:
            KafkaException: It is fatal.
        """
        if code == 0:
            return KafkaException("the broker named no coordinator")
        error = FIND_COORDINATOR.error(code, message)
        if FIND_COORDINATOR.of(code) is Verdict.FATAL:
            if isinstance(error, GroupAuthorizationException):
                error = GroupAuthorizationException(
                    f"not allowed in group {self._group_id}: its coordinator may not even be "
                    f"looked up",
                    group_id=self._group_id,
                )
            raise error
        return error

    def forget(self, node: Node, why: KafkaException) -> None:
        """This one coordinates no more; word of an older one changes nothing."""
        if self._node == node:
            self._node = None
            self._last_error = why
            self._client.trace.tell(COORDINATOR_LOST, node=node, error=why)
            self._trouble(why)

    def served(self, node: Node) -> None:
        """The coordinator has answered as such: whatever kept it out of reach is over."""
        if self._is_troubled:
            self._is_troubled = False
            self._client.trace.tell(COORDINATOR_SERVES, node=node, group=self._group_id)

    def _trouble(self, error: KafkaException) -> None:
        self._is_troubled = True
        self._client.trace.tell(COORDINATOR_UNREACHABLE, group=self._group_id, error=error)

    def on_disconnect(self, node: Node, lane: Lane, error: KafkaException) -> None:
        """One of the coordinator's own connections went down: perhaps it has moved."""
        if lane in ITS_LANES:
            self.forget(node, error)

    def __repr__(self) -> str:
        return f"CoordinatorManager({self._group_id}, {self._node or 'unknown'})"
