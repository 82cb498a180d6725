"""Requests asked by routes, as any manager asks them: a message, a table and a route."""

from collections.abc import Coroutine
from typing import Any, Final

from prokurist.errors import KafkaException
from prokurist.network_thread.cluster.attempts import Route
from prokurist.network_thread.error_actions import Action, ErrorTable, table
from prokurist.network_thread.wire.group_listing import ListGroups
from tests.simulation.world import Member, World

LIST_GROUPS: Final = table(
    "ListGroups",
    {
        6: (Action.REFRESH, "another broker leads by now"),
        14: (Action.RETRY, "the broker is still loading its log"),
        15: (Action.REDISCOVER, "there is no coordinator at present"),
        16: (Action.REDISCOVER, "another broker is the coordinator now"),
        29: (Action.FATAL, "no rights"),
        41: (Action.RETRY, "another broker is the controller"),
    },
)
"""The table of a request that any broker answers, and that no client here sends otherwise."""


class Worked:
    """Work on the network thread for a call of its own, and its outcome."""

    def __init__(self, world: World, member: Member, timeout: float) -> None:
        self.call = world.call("ask", timeout)
        self._world = world
        self._member = member

    def start(self, work: Coroutine[Any, Any, Any]) -> "Worked":
        """Start the work, as the loop does."""
        self._member.side.timer.now = self._world.clock.time
        self._member.side.calls.start(self.call, work)
        self._member.network.wake()
        return self

    def result(self) -> Any:
        """Wait for the outcome; raises the call's error."""
        if not self._world.clock.wait(self.call.waiter, self.call.deadline.at):
            self.call.leave(self._world.clock.time)
        return self.call.result()

    def error(self) -> KafkaException:
        """Wait for the error of the call."""
        try:
            value = self.result()
        except KafkaException as error:
            return error
        raise AssertionError(f"{value} came, and no error")


def asked(
    world: World,
    member: Member,
    route: Route,
    *,
    timeout: float = 10.0,
    codes: ErrorTable = LIST_GROUPS,
) -> Worked:
    """Ask by a route; the outcome is awaited by `result` or `error`."""
    worked = Worked(world, member, timeout)
    attempts = member.side.attempts
    return worked.start(attempts.request(route, ListGroups(), codes, worked.call))


def answered_by(world: World) -> list[int]:
    """The brokers that were asked, in order."""
    return [each.node for each in world.cluster.journal.entries("ListGroups")]
