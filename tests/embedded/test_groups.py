"""Other people's clients are members of groups in the embedded broker."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster import GroupSettings
from prokurist.types import TopicPartition
from tests.embedded.members import (
    GROUP,
    MEMBERS,
    TOPIC,
    LibrdkafkaConsumer,
    LibrdkafkaCooperative,
    Member,
)

WITHIN = 15.0
CLOCK = MonotonicClock()


class Team:
    """Members of one group, polled in turn by one thread."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self.broker = broker
        self.members: list[Member] = []

    def join(self, kind: type[Member]) -> Member:
        """One more."""
        made = kind(self.broker.bootstrap)
        self.members.append(made)
        return made

    def leave(self, member: Member) -> None:
        """One less."""
        self.members.remove(member)
        member.close()

    def poll(self, done: Callable[[list[bytes]], bool]) -> list[bytes]:
        """Poll all members until a condition holds; what they returned."""
        deadline = Deadline.after(CLOCK.now(), WITHIN)
        came: list[bytes] = []
        while not done(came):
            owned = [each.owned() for each in self.members]
            late = deadline.expired(CLOCK.now())
            assert not late, (owned, self.broker.describe_group(GROUP))
            for each in self.members:
                came += each.poll()
        return came

    def settle(self, *spread: int) -> list[bytes]:
        """Poll until members and broker agree on who has how many partitions."""

        def settled(_: list[bytes]) -> bool:
            group = self.broker.describe_group(GROUP)
            given = sorted(len(each.assignment) for each in group.members)
            taken = sorted(each.owned() for each in self.members)
            return group.state == "Stable" and given == taken == sorted(spread)

        return self.poll(settled)


@pytest.fixture
def team(broker: EmbeddedBroker) -> Iterator[Team]:
    """No members yet; those left at the end leave then."""
    broker.configure_groups(GroupSettings(consumer_heartbeat_interval=0.1))
    made = Team(broker)
    with ExitStack() as stack:
        yield made
        for each in made.members:
            stack.callback(each.close)


def append(broker: EmbeddedBroker, count: int) -> None:
    """Put so many records into each partition."""
    for partition in range(3):
        broker.append(TopicPartition(TOPIC, partition), *[b"v"] * count)


@pytest.mark.parametrize("kind", MEMBERS, ids=lambda kind: kind.__name__)
def test_members_share_a_topic_and_take_over_from_who_leaves(
    broker: EmbeddedBroker, team: Team, kind: type[Member]
) -> None:
    """One, two and three members; then two; what was committed is not read again."""
    append(broker, 5)
    first = team.join(kind)
    came = team.settle(3)
    came += team.poll(lambda more: len(came) + len(more) >= 15)
    assert len(came) == 15
    first.commit()
    assert {each.offset for each in broker.committed(GROUP).values()} == {5}
    team.join(kind)
    assert team.settle(2, 1) == []
    team.join(kind)
    assert team.settle(1, 1, 1) == []
    team.leave(first)
    assert team.settle(2, 1) == []
    append(broker, 2)
    assert len(team.poll(lambda more: len(more) >= 6)) == 6


@pytest.mark.parametrize("kind", MEMBERS, ids=lambda kind: kind.__name__)
def test_an_expired_member_comes_back(
    broker: EmbeddedBroker, team: Team, kind: type[Member]
) -> None:
    """It hears that it is unknown, and joins again."""
    team.join(kind)
    team.settle(3)
    [member] = broker.describe_group(GROUP).members
    with broker.hold():  # Else it may be back before the test looks.
        broker.expire_member(GROUP, member.member_id)
        assert broker.describe_group(GROUP).members == ()
    team.settle(3)


@pytest.mark.parametrize("kind", [LibrdkafkaCooperative, LibrdkafkaConsumer])
def test_a_group_goes_on_when_its_coordinator_dies(
    broker: EmbeddedBroker, team: Team, kind: type[Member]
) -> None:
    """The members find the new one, which knows them; they keep what they have."""
    team.join(kind)
    team.join(kind)
    team.settle(2, 1)
    before = broker.describe_group(GROUP)
    coordinator = broker.coordinator(GROUP)
    assert coordinator is not None
    broker.kill(coordinator)
    append(broker, 1)
    assert len(team.poll(lambda more: len(more) >= 3)) == 3
    team.settle(2, 1)
    assert broker.describe_group(GROUP) == before
