"""CONTRACT 4 for classic groups, in virtual time: each code of each request, once and for ever.

What a code comes to is written out here by rule, and not read from `verdicts`.
"""

from typing import Final

import pytest

from prokurist.errors import KafkaException
from prokurist.errors.codes import by_code
from prokurist.testing.cluster.apis import ApiName
from tests.simulation.classic_members import (
    asked,
    consumer_in,
    joined,
    live,
    orders,
)
from tests.simulation.world import World

UNHEARD_OF: Final = 32000
CODES: Final = (*sorted(by_code()), UNHEARD_OF)
RECOVERED: Final = {
    "JoinGroup": {14, 15, 16, 22, 25, 27, 79},
    "SyncGroup": {14, 15, 16, 22, 25, 27},
    "Heartbeat": {14, 15, 16, 22, 25, 27},
}
REDISCOVERED: Final = {15, 16}
LOST: Final = {22, 25}
PASSING: Final = {33, 34, 58}
"""What is wrong with credentials is raised once; they may be mended by the next poll, or by
the next heartbeat."""


def is_recovered(api: str, code: int) -> bool:
    """Whether a member goes on after a code."""
    known = by_code().get(code)
    return code in RECOVERED[api] or (known is not None and known.retriable)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup"])
def test_a_code_in_a_round(api: ApiName, code: int) -> None:
    """CONTRACT 4: gone round again within a second or so, or raised by each poll."""
    world = World()
    consumer = consumer_in(world, "c", fetches=False)
    consumer.subscribe("orders")
    world.control.fail(api, code, times=1)
    if is_recovered(api, code):
        # A part is not waited for when a generation or an id was given up in vain: the
        # model counts the member that it was told of until then for a while.
        live(world, consumer, seconds=60.0, until=lambda: bool(consumer.assignment()))
        assert consumer.assignment() == orders(0, 1, 2)
        looked = len(asked(world, "FindCoordinator"))
        assert (looked > 1) is (code in REDISCOVERED)
        return
    for _ in range(1 if code in PASSING else 2):
        with pytest.raises(KafkaException) as caught:
            live(world, consumer, seconds=5.0)
        assert caught.value.error_code == code
    assert not consumer.assignment()
    if code not in PASSING:
        consumer.unsubscribe()
        consumer.subscribe("orders")
    live(world, consumer, seconds=60.0, until=lambda: bool(consumer.assignment()))
    assert consumer.assignment() == orders(0, 1, 2)


@pytest.mark.parametrize("code", [*CODES])
def test_a_code_for_a_heartbeat(code: int) -> None:
    """CONTRACT 4: heard and gone on, a round, everything lost, or raised by each poll."""
    world = World()
    (consumer,) = joined(world, heartbeat_interval_ms=1000, fetches=False)
    place = consumer._member_identity.identity
    world.control.fail("Heartbeat", code, times=1)
    if not is_recovered("Heartbeat", code):
        for _ in range(1 if code in PASSING else 2):
            with pytest.raises(KafkaException) as caught:
                live(world, consumer, seconds=5.0)
            assert caught.value.error_code == code
        is_member = consumer._member_identity.identity == place
        assert is_member is (code in PASSING), "only the coordinator ends a membership"
        return
    world.clock.sleep(1.5)
    now = consumer._member_identity.identity
    is_in = (now.member_id, now.epoch) == (place.member_id, place.epoch)
    assert is_in is (code not in LOST)
    if code in LOST:
        live(world, consumer, seconds=60.0)
    elif code == 27:
        live(world, consumer, seconds=2.0)
        assert consumer.group_metadata().generation_id == place.epoch + 1
    assert consumer.assignment() == orders(0, 1, 2)


@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup", "Heartbeat"])
@pytest.mark.parametrize("code", [14, 15, 16, 22, 25, 27])
def test_a_code_that_comes_for_ever_makes_no_storm(api: ApiName, code: int) -> None:
    """CONTRACT 7f: with backoff however often it comes, and every poll is on time."""
    world = World()
    consumer = consumer_in(world, "c", heartbeat_interval_ms=1000, fetches=False)
    consumer.subscribe("orders")
    consumer.poll(0.5)
    with world.control.fail(api, code, times=None):
        consumer.enforce_rebalance()
        began, before = world.clock.time, len(asked(world, api))
        live(world, consumer, seconds=30.0)
        assert len(asked(world, api)) - before < 60
        assert world.clock.time - began < 31.0
