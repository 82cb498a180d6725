"""What has to hold when a test is over and its faults are undone.

Everything that a call, a request or a connection has put anywhere is gone again:
first in a client that is left to itself for a while, then in one that is closed.
"""

from typing import Final

from prokurist.events.application_events import Close
from prokurist.network_thread.thread import Life
from tests.simulation.world import Member, World

LONG: Final = 90.0
"""Longer than any request, setup or backoff of a test lasts."""

OF_AN_IDLE_CLIENT: Final = (
    "metadata.max.age.ms",
    "connections.max.idle.ms",
    "heartbeat",
    "max.poll.interval.ms",
)
"""The only entries of the Timer that may outlive all work."""


MOST_TURNS: Final = 1500
"""In the last minute of a test. That is metadata once a second, each time on a connection
that has to be created again; or a search for brokers that are gone for good."""


def check_at_rest(world: World, *, mortal: bool = False) -> None:
    """Let a world come to rest, and see that it has.

    Args:
        world: The world.
        mortal: Whether its threads may have died.
    """
    world.control.heal()
    world.control.thaw()
    for member in world.members:
        member.network.unjam()
        member.names.silent = False
    world.clock.sleep(LONG)
    reachable = all(each.running for each in world.cluster.state.brokers.values())
    for member in world.members:
        if member.thread.died_of is not None and not mortal:
            raise AssertionError(f"{member.thread!r} died") from member.thread.died_of
        if member.thread.life is Life.RUNNING:
            until = world.clock.time + 1.0
            client = member.machinery.client
            while reachable and (client.in_flight or client.waiting):
                world.clock.sleep(0.01)  # Metadata has come of age just now.
                assert world.clock.time < until, "something stays in flight"
            check_idle(member, reachable=reachable and not member.network.unreachable)
            turns = member.network.turns
            world.clock.sleep(60.0)
            assert member.network.turns - turns < MOST_TURNS, "it spins"
            world.ask(member, Close(world.call("close", 5.0)))
        check_closed(member)
    assert not world.cluster.failures, "the client sent what a broker cannot read"


def check_idle(member: Member, *, reachable: bool) -> None:
    """Nothing is left of any call."""
    client, calls = member.machinery.client, member.machinery.calls
    assert not len(calls), f"{calls!r} has calls left"
    positions = member.machinery.positions
    assert not positions._outcomes.searches, f"{positions!r}"
    if member.machinery.coordinator is not None:
        assert not member.machinery.coordinator._waiting
    if not reachable:
        return  # Somebody may still be looking for brokers, unasked.
    assert not client.in_flight, f"{client!r} waits for answers"
    assert not client.waiting, f"{client!r} has unsent requests"
    assert not client._lookups._settle
    assert not client._lookups._of
    open_now = {each for each in client._connections.values() if each.number >= 0}
    assert set(client._by_number.values()) == open_now
    assert len(client._by_number) == len(open_now) == member.network.open
    timer = member.machinery.timer
    left = {due.reason for _, _, due in timer._heap if due.live}
    strange = [each for each in left if not each.startswith(OF_AN_IDLE_CLIENT)]
    assert not strange, f"left in the Timer: {strange}"
    dead = sum(not due.live for _, _, due in timer._heap)
    assert dead == timer._dead, "the Timer has lost count"


def check_closed(member: Member) -> None:
    """Nothing is left of anything."""
    client = member.machinery.client
    assert not len(member.machinery.calls)
    assert not member.machinery.positions._outcomes.searches
    assert "a poll waits" not in repr(member.machinery.background)
    assert not client._connections
    assert not client._by_number
    assert not client._lookups._settle
    assert not client._lookups._of
    assert not client._pressing
    assert not member.network.open
    assert not member.names.waiting
    assert member.names.closed
