"""Requests sent to the network client itself, with no manager in between."""

from typing import Any

from prokurist.errors import KafkaException
from prokurist.events.call import Call
from prokurist.network_thread.connections.connection import Connection
from prokurist.network_thread.connections.connection_state import ConnectionState
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.operations.operation import Operation, Withdrawn
from prokurist.network_thread.wire.metadata import CoordinatorOf, FindCoordinator
from prokurist.network_thread.wire.request import Request
from prokurist.types import Node
from tests.simulation.world import Member, World

ASK = FindCoordinator("g", CoordinatorOf.GROUP)
"""A request that any broker answers, and no test of this kind sends otherwise."""


class Asked:
    """A request and what becomes of it.

    Attributes:
        answer: The answer, once it has come.
        error: The error, once it has failed.
        at: When either came.
    """

    def __init__(
        self,
        world: World,
        member: Member,
        node: Node,
        *,
        request: Request[Any] = ASK,
        call: Call | None = None,
        lane: Lane = Lane.GENERAL,
        effect: bool = False,
        patience: float | None = None,
        ends: "list[Asked] | None" = None,
    ) -> None:
        self.answer: Answer[Any] | None = None
        self.error: KafkaException | None = None
        self.at: float | None = None
        self._world = world
        self._member = member
        self._ends = ends

        async def work() -> Answer[Any]:
            return await member.side.client.send(
                node, request, call=call, lane=lane, effect=effect, patience=patience
            )

        # Between two turns; all that is sent in one finds the time set.
        member.side.timer.now = world.clock.time
        self.operation = Operation(work(), "a test's request", self._ended)
        member.network.wake()

    def _ended(self, answer: Answer[Any] | None, error: KafkaException | None) -> None:
        self.answer, self.error, self.at = answer, error, self._world.clock.time
        if self._ends is not None:
            self._ends.append(self)

    def leave(self) -> None:
        """Its caller goes."""
        self._member.side.timer.now = self._world.clock.time
        self.operation.throw(Withdrawn("gone"))

    @property
    def ended(self) -> bool:
        """Whether it has."""
        return self.operation.ended


def node(world: World, number: int = 1) -> Node:
    """A broker as it is advertised now."""
    return world.cluster.state.broker(number).node


def warm(world: World, member: Member, number: int = 1) -> Connection:
    """A connection to a broker that is ready and idle."""
    asked = Asked(world, member, node(world, number))
    world.clock.sleep(1.0)
    assert asked.answer is not None, asked.error
    return general(member, number)


def ready(connection: Connection) -> bool:
    """Whether requests may be written to it."""
    return connection.state is ConnectionState.READY


def down(connection: Connection) -> bool:
    """Whether it has no socket."""
    return connection.state is ConnectionState.DOWN


def general(member: Member, number: int = 1) -> Connection:
    """The general connection to a broker."""
    return member.side.client._connections[number, Lane.GENERAL]
