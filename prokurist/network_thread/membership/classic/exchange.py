"""Requests of a classic member to its coordinator: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

Thread: the network thread alone. This finds and asks the coordinator, and judges its error
codes by the tables; the member decides on the consequences. A fatal verdict is raised, with a
text that names the way out.

JoinGroup and SyncGroup have a lane of their own, because the broker parks them until
the others have come; heartbeats and the leave share theirs with commits.
"""

from typing import Any, Final, Generic, TypeVar

from prokurist.errors import (
    FencedInstanceIdException,
    GroupAuthorizationException,
    GroupMaxSizeReachedException,
    InconsistentGroupProtocolException,
    InvalidSessionTimeoutException,
    KafkaException,
)
from prokurist.events.call import Call
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.connections.requests import Lane
from prokurist.network_thread.error_actions import (
    HEARTBEAT,
    JOIN_GROUP,
    SYNC_GROUP,
    Action,
    ErrorTable,
)
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.membership.prewarm import look_ahead
from prokurist.network_thread.operations.operation import Withdrawn
from prokurist.network_thread.wire.classic_group import (
    Heartbeat,
    HeartbeatAnswer,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    SyncGroup,
    SyncGroupAnswer,
)
from prokurist.network_thread.wire.request import Request
from prokurist.types import Node

Response = TypeVar("Response")

SLACK: Final = 5.0
"""Seconds added to the rebalance timeout, for the answer to JoinGroup."""


@dataclass(frozen=True, slots=True)
class MemberGeneration:
    """The member id and the generation of a classic member.

    Attributes:
        member_id: Its id; empty before the coordinator has given one.
        generation: The generation it belongs to; −1 for none.
    """

    member_id: str = ""
    generation: int = -1


@dataclass(frozen=True, slots=True)
class GroupReply(Generic[Response]):
    """Answer to one request, with the action that it asks for.

    Attributes:
        action: The action to take.
        response: The coordinator's answer; None where there was none.
        error: The error; None with DONE.
    """

    action: Action
    response: Response | None
    error: KafkaException | None


class ClassicExchange:
    """Sends a classic member's requests to the coordinator, and explains refusals.

    Args:
        context: Context of the membership.
        session: `session.timeout.ms`, in seconds.
    """

    def __init__(self, context: MembershipContext, session: float) -> None:
        self._context = context
        self._session = session
        # Names of the assignors that the last JoinGroup has offered, and its protocol type.
        self._offered: tuple[str, str] = ("", "")
        # The answer to JoinGroup: the others may need all the time that a round has.
        self._patience = max(context.request_timeout, context.poll_interval + SLACK)

    async def join(
        self, call: Call, member_id: str, protocols: tuple[tuple[str, bytes], ...], reason: str
    ) -> GroupReply[JoinGroupAnswer]:
        """Send JoinGroup; it is answered when all members have joined."""
        context = self._context
        request = JoinGroup(
            context.group_id,
            protocols,
            self._session,
            context.poll_interval,
            member_id,
            context.instance_id,
            reason,
        )
        names = ", ".join(name for name, _ in protocols)
        self._offered = (names, request.protocol_type)
        look_ahead(context, await context.coordinator.find(call))
        return await self._ask(
            call, request, JOIN_GROUP, lane=Lane.JOIN, patience=self._patience
        )

    async def sync(
        self,
        call: Call,
        who: MemberGeneration,
        protocol: str,
        parts: tuple[tuple[str, bytes], ...],
    ) -> GroupReply[SyncGroupAnswer]:
        """Send SyncGroup; the leader's has the assignments of all members."""
        context = self._context
        request = SyncGroup(
            context.group_id,
            who.generation,
            who.member_id,
            protocol,
            parts,
            context.instance_id,
        )
        said: GroupReply[SyncGroupAnswer] = await self._ask(
            call, request, SYNC_GROUP, lane=Lane.JOIN
        )
        if said.action is Action.DONE:
            # Brokers may count connections, and this one is not needed until the next round.
            context.client.release(await context.coordinator.find(call), Lane.JOIN)
        return said

    async def beat(
        self, call: Call, who: MemberGeneration, patience: float
    ) -> GroupReply[HeartbeatAnswer]:
        """Send Heartbeat.

        Args:
            call: The call, for entries in its ledger.
            who: The member.
            patience: How long the answer may take before the coordinator is suspect.
        """
        context = self._context
        request = Heartbeat(
            context.group_id, who.generation, who.member_id, context.instance_id
        )
        return await self._ask(
            call, request, HEARTBEAT, lane=Lane.COORDINATOR, patience=patience
        )

    async def leave(self, call: Call, who: MemberGeneration, reason: str) -> None:
        """Send LeaveGroup, once.

        Raises:
            KafkaException: LeaveGroup did not arrive: the session expires at the coordinator.
        """
        context = self._context
        node = await context.coordinator.find(call, last=True)
        request = LeaveGroup(context.group_id, who.member_id, context.instance_id, reason)
        await context.client.send(node, request, call=call, lane=Lane.COORDINATOR)

    async def _ask(
        self,
        call: Call,
        request: Request[Any],
        table: ErrorTable,
        *,
        lane: Lane,
        patience: float | None = None,
    ) -> GroupReply[Any]:
        """Send one request to the coordinator.

        Raises:
            KafkaException: It is fatal to the membership.
        """
        node = await self._context.coordinator.find(call)
        call.wait_begins(self._context.client.awaited(lane, node), self._context.timer.now)
        try:
            answer = await self._context.client.send(
                node, request, call=call, lane=lane, patience=patience
            )
        except Withdrawn:
            raise
        except KafkaException as error:
            call.met(self._context.coordinator.note_failure(node, error))
            return GroupReply(Action.REDISCOVER, None, error)
        return self._judged(node, table, answer.response)

    def _judged(self, node: Node, table: ErrorTable, response: Any) -> GroupReply[Any]:
        action, beat = table.of(response.error), table is HEARTBEAT
        if action is Action.DONE:
            self._context.coordinator.served(node, wrote=table is SYNC_GROUP, beat=beat)
            return GroupReply(action, response, None)
        error = table.error(response.error)
        if action is Action.REDISCOVER:
            self._context.coordinator.forget(node, error, beat=beat)
        else:
            self._context.coordinator.served(node)
        if action is Action.FATAL:
            raise self._explained(error)
        return GroupReply(action, response, error)

    def judged_as_heartbeat(self, code: int) -> tuple[Action, KafkaException]:
        """Judge a heartbeat's error code in another answer."""
        action, error = HEARTBEAT.of(code), HEARTBEAT.error(code)
        return action, self._explained(error) if action is Action.FATAL else error

    def _explained(self, error: KafkaException) -> KafkaException:
        """Add the way out to an error's text."""
        context = self._context
        said: KafkaException
        match error:
            case GroupAuthorizationException():
                said = GroupAuthorizationException(
                    f"not allowed in group {context.group_id}: the right to read the group is "
                    f"missing",
                    group_id=context.group_id,
                )
            case FencedInstanceIdException():
                said = FencedInstanceIdException(
                    f"another client has joined group {context.group_id} as "
                    f"group.instance.id={context.instance_id}: each instance needs a name of "
                    f"its own"
                )
            case GroupMaxSizeReachedException():
                said = GroupMaxSizeReachedException(
                    f"group {context.group_id} has as many members as the broker's "
                    f"group.max.size allows: let one leave first, or raise that limit"
                )
            case InconsistentGroupProtocolException():
                names, kind = self._offered
                said = InconsistentGroupProtocolException(
                    f"group {context.group_id} does not take this member, which offers "
                    f"partition.assignment.strategy={names} and protocol type {kind}: the "
                    f"other members have no assignor of these in common, or it is no classic "
                    f"group of consumers. Add one here that all of them have, or set their "
                    f"group.protocol; another kind of group needs another group.id"
                )
            case InvalidSessionTimeoutException():
                said = InvalidSessionTimeoutException(
                    f"session.timeout.ms={self._session * 1000:.0f} lies outside what the "
                    f"broker allows: see its group.min.session.timeout.ms and "
                    f"group.max.session.timeout.ms"
                )
            case _:
                return error
        said.__cause__ = error
        return said

    def __repr__(self) -> str:
        return f"ClassicExchange({self._context.group_id})"
