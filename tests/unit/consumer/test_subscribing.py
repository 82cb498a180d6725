"""What `subscribe` takes, and what it refuses before anything happens."""

import re
from typing import Any

import pytest

from prokurist import ConsumerRebalanceListener, SubscriptionPattern, TopicPartition
from prokurist.consumer.arguments import subscription_in
from prokurist.consumer.listeners import FunctionListener, listener_in

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


def test_bytes_are_named_as_they_were_given() -> None:
    """They are an iterable of numbers, of which the first is no help to who reads the error."""
    with pytest.raises(TypeError, match="a topic is a str, not b'orders'"):
        subscription_in(b"orders")  # type: ignore[arg-type]


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
    """And may have a third; an object of any class."""
    whole = Whole()
    assert isinstance(whole, ConsumerRebalanceListener)
    assert listener_in(whole) is whole
    assert listener_in(None) is None
    with pytest.raises(TypeError, match="on_partitions_assigned"):
        listener_in(Half())


def test_a_listener_of_functions() -> None:
    """Each may be missing; what is lost goes to the one for what is revoked, if need be."""
    heard: list[tuple[str, frozenset[TopicPartition]]] = []
    some = frozenset({TopicPartition("orders", 0)})

    def hears(what: str) -> Any:
        return lambda partitions: heard.append((what, partitions))

    whole = listener_in(None, hears("assigned"), hears("revoked"), hears("lost"))
    part = listener_in(None, on_revoked=hears("revoked instead"))
    for each in (whole, part):
        assert isinstance(each, FunctionListener)
        each.on_partitions_assigned(some)
        each.on_partitions_revoked(some)
        each.on_partitions_lost(some)
    told = ["assigned", "revoked", "lost", "revoked instead", "revoked instead"]
    assert heard == [(what, some) for what in told]
    only = listener_in(None, on_assigned=hears("came"))
    assert isinstance(only, FunctionListener)
    only.on_partitions_lost(some)
    assert heard[-1][0] == "revoked instead"


def test_a_listener_is_of_one_kind() -> None:
    """An object or functions; and a function can be called."""
    with pytest.raises(TypeError, match="on_lost as well: give one kind"):
        listener_in(Whole(), on_lost=print)
    with pytest.raises(TypeError, match="on_revoked is a function of the partitions, not 3"):
        listener_in(None, on_revoked=3)  # type: ignore[arg-type]
