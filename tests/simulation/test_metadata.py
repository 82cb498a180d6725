"""Fresh metadata in virtual time: whom to ask, when to begin again, what to give up."""

import pytest

from prokurist import errors
from prokurist.events.application_events import (
    ApplicationEvent,
    ListTopics,
    LookUpCommitted,
    LookUpOffsets,
)
from prokurist.testing.cluster.journal import Entry
from tests.simulation.looking_up import END, ORDERS, TP, look_up
from tests.simulation.world import World


def questions(world: World) -> list[Entry]:
    """The requests for metadata that reached a broker."""
    return world.cluster.journal.entries("Metadata")


@pytest.mark.parametrize("dead", [1, 2])
def test_a_dead_broker_is_not_asked_for_ever(dead: int) -> None:
    """CONTRACT 4: after a failure it is the next broker's turn, known or bootstrap."""
    world = World(nodes=3)
    member = world.client()
    for node in range(1, dead + 1):
        world.control.kill(node, missed=False)
    world.control.move_leader(TP, 3)
    began = world.clock.time
    assert look_up(world, member) == {TP: 0}
    assert world.clock.time - began < 1.0
    # The connection ends, and all are tried in turn; what failed last time is forgiven.
    version = member.side.metadata.cluster.version
    world.control.disconnect(3)
    world.clock.sleep(1.0)
    assert member.side.metadata.cluster.version > version


@pytest.mark.parametrize("operation", ["end_offsets", "list_topics", "committed"])
def test_an_unreachable_broker_is_not_asked_for_ever(operation: str) -> None:
    """CONTRACT 4: who is connected to in vain for 10 s is followed by the next."""
    world = World(nodes=2)
    member = world.client()
    member.network.block("10.0.0.1", 9092)
    world.control.move_leader(TP, 2)
    world.control.move_coordinator("g", 2)
    call = world.call(operation, 60.0)
    event: ApplicationEvent = LookUpOffsets(call, {TP: END})
    if operation != "end_offsets":
        listing = operation == "list_topics"
        event = ListTopics(call) if listing else LookUpCommitted(call, (TP,))
    began = world.clock.time
    world.ask(member, event)
    assert world.clock.time - began < 13.0


def test_what_failed_once_is_forgiven() -> None:
    """B203: all brokers have failed, but not in a row: no bootstrap address is asked for it."""
    world = World(nodes=3)
    member = world.client(bootstrap_servers=[world.address(3)])
    look_up(world, member, {TP: END, ORDERS[1]: END})
    world.control.kill(3)
    world.clock.sleep(5.0)
    connects = member.network.connects
    for _ in range(2):
        with world.control.cut("Metadata", times=1) as fault:
            member.side.metadata.request_update()
            member.network.wake()
            world.clock.sleep(5.0)
            assert fault.used == 1
    # The first that was cut off has been connected to again, as the second's heir.
    assert {entry.node for entry in questions(world)[-4:]} == {1, 2}
    assert member.network.connects == connects + 1


@pytest.mark.parametrize("strategy", ["rebootstrap", "none"])
def test_all_known_brokers_are_gone(strategy: str) -> None:
    """B203: new ones behind the bootstrap addresses are found; without the strategy never."""
    world = World(nodes=3)
    world.control.kill(3)
    member = world.client(
        metadata_recovery_strategy=strategy,
        bootstrap_servers=[world.address(1), world.address(3)],
    )
    look_up(world, member)
    assert set(member.side.metadata.cluster.nodes) == {1, 2}
    world.control.restart(3)
    world.control.kill(1)
    world.control.kill(2)
    began = world.clock.time
    if strategy == "rebootstrap":
        assert look_up(world, member, timeout=20.0) == {TP: 0}
        assert world.clock.time - began < 3.0
    else:
        with pytest.raises(errors.TimeoutException):
            look_up(world, member, timeout=20.0)


def test_brokers_that_come_back_are_found_without_a_strategy() -> None:
    """B203: none keeps trying the known ones, each in its turn."""
    world = World(nodes=3)
    member = world.client(metadata_recovery_strategy="none")
    look_up(world, member)
    for node in (1, 2, 3):
        world.control.kill(node, missed=False)
    world.clock.sleep(30.0)
    world.control.restart(3)
    world.control.move_leader(TP, 3)
    began = world.clock.time
    assert look_up(world, member, timeout=20.0) == {TP: 0}
    assert world.clock.time - began < 5.0


def test_a_broker_that_asks_for_quiet_is_not_asked_by_another_way() -> None:
    """KIP-219: throttled is not unreachable; its bootstrap address is left alone too."""
    world = World()
    member = world.client()
    look_up(world, member)
    world.control.throttle("Metadata", 5.0, times=1)
    world.control.fail("ListOffsets", 6, times=2)
    connects = member.network.connects
    began = world.clock.time
    assert look_up(world, member, timeout=20.0) == {TP: 0}
    assert world.clock.time - began > 5.0
    assert member.network.connects == connects


def test_a_broker_that_sends_us_away() -> None:
    """KIP-1102: everything is forgotten, and the bootstrap addresses are connected to again."""
    world = World(nodes=2)
    member = world.client(bootstrap_servers=[world.address(1)])
    look_up(world, member)
    before = {entry.session for entry in questions(world)}
    world.control.fail("Metadata", 129, times=1, whole=True)
    world.control.fail("ListOffsets", 6, times=1)
    world.control.forget_requests()
    began = world.clock.time
    assert look_up(world, member) == {TP: 0}
    assert world.clock.time - began < 0.5
    refused, answered = questions(world)
    assert answered.session not in before | {refused.session}
    assert answered.node == 1


def test_being_sent_away_in_an_answer_of_a_calls_own() -> None:
    """KIP-1102: what was known is forgotten, and learnt again by itself."""
    world = World()
    member = world.client()
    metadata = member.side.metadata
    member.side.assigned.assign([TP])
    look_up(world, member)
    world.control.fail("Metadata", 129, times=1, whole=True)
    world.ask(member, ListTopics(world.call("list_topics", 5.0)))
    world.clock.sleep(0.5)
    assert len(metadata.cluster.partitions_of("orders")) == 3


def test_a_bootstrap_broker_that_sends_us_away() -> None:
    """KIP-1102: for as long as it does, and each time over a new connection."""
    world = World()
    member = world.client()
    world.control.fail("Metadata", 129, times=3, whole=True)
    assert look_up(world, member) == {TP: 0}
    sessions = [entry.session for entry in questions(world)]
    assert len(set(sessions)) == 4


def test_being_sent_away_without_the_strategy() -> None:
    """B203: with none the same brokers are asked on, until the deadline says why."""
    world = World()
    member = world.client(metadata_recovery_strategy="none")
    fault = world.control.fail("Metadata", 129, times=None, whole=True)
    with pytest.raises(errors.TimeoutException) as caught:
        look_up(world, member, timeout=2.0)
    assert type(caught.value.last_error) is errors.RebootstrapRequiredException
    assert len({entry.session for entry in questions(world)}) == 1
    fault.undo()
    assert look_up(world, member) == {TP: 0}


@pytest.mark.parametrize("strategy", ["rebootstrap", "none"])
def test_answers_that_are_worth_nothing_for_too_long(strategy: str) -> None:
    """KIP-1102: after metadata.recovery.rebootstrap.trigger.ms the client begins again."""
    world = World()
    member = world.client(
        metadata_recovery_strategy=strategy, metadata_recovery_rebootstrap_trigger_ms=5000
    )
    look_up(world, member)
    connects = member.network.connects
    world.cluster.state.broker(1).registered = False
    with pytest.raises(errors.TimeoutException):
        look_up(world, member, {TP._replace(topic="other"): END}, timeout=9.0)
    # For a second opinion, and then again: the connection there was is the broker's own.
    assert member.network.connects == connects + 2 * (strategy == "rebootstrap")
    world.cluster.state.broker(1).registered = True
    assert look_up(world, member) == {TP: 0}


def test_a_question_that_no_broker_understands() -> None:
    """B199: UnsupportedVersion goes to who waits at once, and not to his deadline."""
    world = World()
    world.control.offer("Metadata", 0, 3)
    member = world.client(allow_auto_create_topics=False)
    began = world.clock.time
    with pytest.raises(errors.UnsupportedVersionException, match="without creating topics"):
        look_up(world, member, timeout=60.0)
    assert world.clock.time - began < 0.1


def test_every_waiting_call_hears_of_a_fatal_error() -> None:
    """B199, B201: all at once; who asks later has the question asked again."""
    world = World()
    member = world.client()
    world.control.fail("Metadata", -1, times=1, whole=True)
    calls = [world.call("end_offsets", 60.0) for _ in range(3)]
    for call in calls:
        member.thread.mailbox.post(LookUpOffsets(call, {TP: END}))
    world.clock.sleep(0.1)
    for call in calls:
        with pytest.raises(errors.UnknownServerException):
            call.result()
    assert look_up(world, member) == {TP: 0}
    assert len(questions(world)) == 2


def test_one_bad_topic_spoils_nothing_for_the_others() -> None:
    """B200: its error names it, the rest of the answer is kept."""
    world = World()
    member = world.client()
    wanted = {TP: END, TP._replace(topic="no such name!"): END}
    with pytest.raises(errors.InvalidTopicException) as caught:
        look_up(world, member, wanted)
    assert caught.value.topics == ("no such name!",)
    assert len(member.side.metadata.cluster.topics["orders"].partitions) == 3


def test_a_new_partition_is_known_when_metadata_grows_old() -> None:
    """B202: after metadata.max.age.ms, by itself; after a fatal error too."""
    world = World()
    member = world.client(metadata_max_age_ms=10_000)
    metadata = member.side.metadata
    member.side.assigned.assign([TP])
    look_up(world, member)
    world.control.add_partitions("orders", 5)
    with world.control.fail("Metadata", -1, times=1, whole=True):
        world.clock.sleep(11.0)
        assert len(metadata.cluster.partitions_of("orders")) == 3
    world.clock.sleep(10.0)
    assert len(metadata.cluster.partitions_of("orders")) == 5


def test_a_dead_cluster_is_asked_patiently() -> None:
    """B197, B265: one attempt a second at most, and turns to match."""
    world = World(nodes=3)
    member = world.client()
    look_up(world, member)
    for node in (1, 2, 3):
        world.control.kill(node, missed=False)
    world.clock.sleep(30.0)
    connects, turns = member.network.connects, member.network.turns
    world.clock.sleep(60.0)
    assert member.network.connects - connects <= 80
    assert member.network.turns - turns < 600
