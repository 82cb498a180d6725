"""What a heartbeat says, and what it leaves out."""

from typing import Any, cast
from uuid import UUID

import pytest

from prokurist import SubscriptionPattern
from prokurist.events.assigned import Subscribed
from prokurist.network_thread.membership.consumer.heartbeat_terms import HeartbeatTerms
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.wire.consumer_group import (
    ConsumerGroupHeartbeat,
    TopicIdPartitions,
)

TOPIC = UUID(int=1)
OWNED = (TopicIdPartitions(TOPIC, (0, 1)),)


class StaticMember:
    """Who we are: all of a `MembershipContext` that is asked here."""

    def __init__(self, instance_id: str | None = None) -> None:
        self.group_id = "g"
        self.instance_id = instance_id
        self.rack = "r"
        self.poll_interval = 300.0


def terms(instance_id: str | None = None) -> HeartbeatTerms:
    """Those of a member that the coordinator does not know yet."""
    return HeartbeatTerms(cast("MembershipContext", StaticMember(instance_id)), "m", "uniform")


def wanting(*topics: str, pattern: Any = None) -> Subscribed:
    """A subscription."""
    return Subscribed(0, 1, frozenset(topics), pattern, listens=False)


def ask(
    said: HeartbeatTerms,
    epoch: int,
    subscribed: Subscribed,
    owned: tuple[TopicIdPartitions, ...],
) -> ConsumerGroupHeartbeat:
    """The next heartbeat, while nothing comes."""
    return said.request(epoch, subscribed, owned, owned)


def test_everything_until_it_is_answered() -> None:
    """B135: an unanswered heartbeat may not have arrived."""
    said = terms()
    for _ in range(2):
        request = ask(said, 0, wanting("b", "a"), ())
        assert (request.topics, request.rack_id, request.assignor) == (
            ("a", "b"),
            "r",
            "uniform",
        )
        assert (request.rebalance_timeout, request.owned) == (300.0, ())
    said.answered()
    request = ask(said, 1, wanting("b", "a"), ())
    assert (request.topics, request.rack_id, request.assignor) == (None, None, None)
    assert (request.rebalance_timeout, request.owned) == (None, None)
    said.forget()
    assert ask(said, 1, wanting("b", "a"), OWNED).owned == OWNED


def test_what_has_changed() -> None:
    """B135, B146: and nothing else; until that is answered."""
    said = terms()
    ask(said, 0, wanting("a"), ())
    said.answered()
    for _ in range(2):
        assert ask(said, 1, wanting("a"), OWNED).owned == OWNED
    said.answered()
    assert said.has_said(OWNED)
    request = ask(said, 1, wanting("c"), OWNED)
    assert (request.topics, request.owned, request.pattern) == (("c",), None, None)


def test_what_comes_is_in_a_list_and_no_reason_for_one() -> None:
    """B135, B146: it is acknowledged when it is owned."""
    said, none = terms(), tuple[TopicIdPartitions, ...]()
    assert said.request(1, wanting("a"), none, OWNED).owned == OWNED
    said.answered()
    assert said.has_said(none)
    assert said.request(1, wanting("a"), none, OWNED).owned is None
    assert said.request(1, wanting("a"), OWNED, OWNED).owned == OWNED


def test_what_is_owed_is_said_again_once() -> None:
    """B146: the coordinator may have wanted something else since it heard just this."""
    said = terms()
    ask(said, 0, wanting("a"), ())
    said.answered()
    ask(said, 1, wanting("a"), OWNED)
    said.answered()
    said.owe()
    assert not said.has_said(OWNED)
    assert ask(said, 1, wanting("a"), OWNED).owned == OWNED
    said.answered()
    assert said.has_said(OWNED)
    assert ask(said, 1, wanting("a"), OWNED).owned is None


def test_a_pattern_comes_and_goes() -> None:
    """B155: an empty one takes it back."""
    said = terms()
    request = ask(said, 0, wanting(pattern=SubscriptionPattern("x")), ())
    assert (request.pattern, request.topics) == ("x", ())
    said.answered()
    assert ask(said, 1, wanting(pattern=SubscriptionPattern("x")), ()).pattern is None
    request = ask(said, 1, wanting("a"), ())
    assert (request.pattern, request.topics) == ("", ("a",))


def test_a_static_member_says_its_name_each_time() -> None:
    """Otherwise a second one of its name would not be told from it."""
    said = terms("i")
    ask(said, 0, wanting("a"), ())
    said.answered()
    assert ask(said, 1, wanting("a"), ()).instance_id == "i"


@pytest.mark.parametrize(
    ("instance", "for_good", "epoch"),
    [(None, False, -1), (None, True, -1), ("i", False, -2), ("i", True, -1)],
)
def test_the_last_word(
    instance: str | None,
    for_good: bool,  # noqa: FBT001 - a parameter of the test
    epoch: int,
) -> None:
    """B153, B192, B193."""
    assert terms(instance).farewell(for_good=for_good).member_epoch == epoch
