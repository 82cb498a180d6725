"""What has to hold when a test is over and its faults are undone.

Everything that a call, a request or a connection has put anywhere is gone again:
first in a client that is left to itself for a while, then in one that is closed.
"""

from typing import Final

from prokurist.assembly.consumer import ConsumerSide
from prokurist.assembly.producer import ProducerSide
from prokurist.config.clients import ProducerConfig
from prokurist.events.application_events import Close
from prokurist.network_thread.thread import Life
from tests.oracles.bounds import Settings
from tests.oracles.thrift_of_producers import Work, requests_by_kind, wasted
from tests.simulation.world import Member, Sender, World

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
    for each in world.clients:
        each.network.unjam()
        each.names.silent = False
    world.clock.sleep(LONG)
    reachable = all(each.running for each in world.cluster.state.brokers.values())
    members: list[Member | Sender] = [*world.members, *world.senders]
    for member in members:
        if member.thread.died_of is not None and not mortal:
            raise AssertionError(f"{member.thread!r} died") from member.thread.died_of
        if member.thread.life is Life.RUNNING:
            until = world.clock.time + 1.0
            client = member.side.client
            while reachable and (client.in_flight or client.waiting):
                world.clock.sleep(0.01)  # Metadata has come of age just now.
                assert world.clock.time < until, "something stays in flight"
            check_idle(member, reachable=reachable and not member.network.unreachable)
            turns = member.network.turns
            look = look_at(member)
            world.clock.sleep(60.0)
            if reachable and not member.network.unreachable:
                check_thrift(member, look)
            assert member.network.turns - turns < MOST_TURNS, "it spins"
            close = Close(world.call("close", 5.0))
            member.thread.mailbox.post(close)
            world.clock.wait(close.call.waiter, close.call.deadline.at)
            assert not close.call.is_open
        check_closed(member)
    assert not world.cluster.failures, "the client sent what a broker cannot read"


Look = tuple[Work, dict[str, int]]
"""What a producer had done at a moment, and the requests that it had sent."""


def look_at(member: Member | Sender) -> Look | None:
    """What a producer has done so far; None for a consumer, which others judge."""
    if isinstance(member.side, ProducerSide):
        return Work.of(member.side), requests_by_kind(member.side)
    return None


def check_thrift(member: Member | Sender, before: Look | None) -> None:
    """A producer has sent nothing in the last minute, in which it had nothing to do."""
    after = look_at(member)
    if after is None or before is None or not isinstance(member.config, ProducerConfig):
        return
    settings = Settings.of_producer(member.config)
    lately = {kind: count - before[1].get(kind, 0) for kind, count in after[1].items()}
    wrongs = wasted(settings, 60.0, lately, after[0].since(before[0]), "of an idle producer")
    assert not wrongs, "\n".join(wrongs)


def check_produced(side: ProducerSide) -> None:
    """Each batch was sent once, and once more for each retry."""
    produced = {"Produce": requests_by_kind(side).get("Produce", 0)}
    wrongs = wasted(Settings(), 0.0, produced, Work.of(side))
    assert not wrongs, "\n".join(wrongs)


def check_idle(member: Member | Sender, *, reachable: bool) -> None:
    """Nothing is left of any call."""
    calls = member.side.calls
    assert not len(calls), f"{calls!r} has calls left"
    if isinstance(member.side, ConsumerSide):
        positions = member.side.lookups
        assert not positions._outcomes.searches, f"{positions!r}"
        if member.side.coordinator is not None:
            assert not member.side.coordinator._waiting
    if not reachable:
        return  # Brokers may still be looked for, unasked.
    if isinstance(member.side, ProducerSide):
        check_delivered(member.side)
    check_connections(member)


def check_delivered(side: ProducerSide) -> None:
    """Nothing is left of any record."""
    accumulator = side.accumulator
    assert not accumulator.incomplete, f"{accumulator!r}"
    assert not accumulator._parts
    assert accumulator.memory.free == accumulator.memory.total, f"{accumulator.memory!r}"
    assert not side.endings.last_errors
    for queue in accumulator.queues():
        sending = queue.sending
        assert queue.open_batch is None, f"{queue!r}"
        assert not queue.closed, f"{queue!r}"
        if sending is not None:
            assert not sending.in_flight, f"{sending!r}"
            assert not sending.retries, f"{sending!r}"
            assert not sending._orders, f"{sending!r}"
            assert not sending.is_listed, f"{sending!r}"


def check_connections(member: Member | Sender) -> None:
    """Nothing is left of any request, and only what an idle client has is in the Timer."""
    client = member.side.client
    assert not client.in_flight, f"{client!r} waits for answers"
    assert not client.waiting, f"{client!r} has unsent requests"
    assert not client._lookups._settle
    assert not client._lookups._of
    open_now = {each for each in client._connections.values() if each.number >= 0}
    assert set(client._by_number.values()) == open_now
    assert len(client._by_number) == len(open_now) == member.network.open
    timer = member.side.timer
    left = {due.reason for _, _, due in timer._heap if due.live}
    strange = [each for each in left if not each.startswith(OF_AN_IDLE_CLIENT)]
    assert not strange, f"left in the Timer: {strange}"
    dead = sum(not due.live for _, _, due in timer._heap)
    assert dead == timer._dead, "the Timer has lost count"


def check_closed(member: Member | Sender) -> None:
    """Nothing is left of anything."""
    client = member.side.client
    assert not len(member.side.calls)
    if isinstance(member.side, ConsumerSide):
        assert not member.side.lookups._outcomes.searches
        assert "a poll waits" not in repr(member.side.background)
    else:
        assert not member.side.accumulator.incomplete
        check_produced(member.side)
    assert not client._connections
    assert not client._by_number
    assert not client._lookups._settle
    assert not client._lookups._of
    assert not client._pressing
    assert not member.network.open
    assert not member.names.waiting
    assert member.names.closed
