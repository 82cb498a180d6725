"""What `subscribe` takes, and what it refuses before anything happens."""

import re
from typing import Any

import pytest

from prokurist import ConsumerRebalanceListener, SubscriptionPattern
from prokurist.consumer.arguments import subscription_in
from prokurist.consumer.listeners import listener_in

PATTERN = re.compile("a.*")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("orders", {"orders"}),
        (["a", "b", "a"], {"a", "b"}),
        (iter(["a"]), {"a"}),
        ((), set()),
        (PATTERN, PATTERN),
        (SubscriptionPattern("a.*"), SubscriptionPattern("a.*")),
    ],
)
def test_what_can_be_subscribed_to(given: Any, wanted: object) -> None:
    """One topic, several, or a pattern."""
    assert subscription_in(given) == wanted


@pytest.mark.parametrize("given", [3, None, [3], re.compile(b"a"), ["a", None]])
def test_what_is_no_topic(given: Any) -> None:
    """CONTRACT, rule 3: a TypeError, before anything."""
    with pytest.raises(TypeError):
        subscription_in(given)


def test_a_topic_without_a_name() -> None:
    """A ValueError."""
    with pytest.raises(ValueError, match="empty"):
        subscription_in(["a", ""])


class Whole:
    """Hears what comes and goes."""

    def on_partitions_revoked(self, partitions: object) -> None:
        """Hear."""

    def on_partitions_assigned(self, partitions: object) -> None:
        """Hear."""


class Half:
    """Hears only what goes."""

    def on_partitions_revoked(self, partitions: object) -> None:
        """Hear."""


def test_a_listener_has_two_methods_at_least() -> None:
    """And may have a third; whatever class it is of."""
    whole = Whole()
    assert isinstance(whole, ConsumerRebalanceListener)
    assert listener_in(whole) is whole
    assert listener_in(None) is None
    with pytest.raises(TypeError, match="on_partitions_assigned"):
        listener_in(Half())
