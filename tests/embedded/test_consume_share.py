"""`consume --share` against the embedded broker."""

from collections.abc import Iterator

import pytest

from prokurist.testing.broker import EmbeddedBroker
from prokurist.types import TopicPartition
from tests.embedded.commands import Command

ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def sharing() -> Iterator[EmbeddedBroker]:
    """A broker whose share groups begin at the first record."""
    with EmbeddedBroker(1, {"orders": 1}) as broker:
        broker.configure_share_groups(from_earliest=True)
        for nth in range(5):
            broker.append(ORDERS, b"record %d" % nth)
        yield broker


def test_what_is_written_is_accepted(sharing: EmbeddedBroker, run: Command) -> None:
    """The rest of a poll is released, and comes the next time."""
    read = ["consume", "-b", sharing.bootstrap, "-t", "orders", "-G", "s", "--share"]
    first = run(*read, "-c", "2", "--timeout", "20")
    assert (first.code, first.out) == (0, b"record 0\nrecord 1\n")
    assert list(sharing.share_states("s", ORDERS).values()).count("acknowledged") == 2
    rest = run(*read, "-e", "--timeout", "20")
    assert (rest.code, rest.out) == (0, b"record 2\nrecord 3\nrecord 4\n")
    assert set(sharing.share_states("s", ORDERS).values()) == {"acknowledged"}


@pytest.mark.parametrize("option", [["-o", "end"], ["-p", "0"], ["--grep", "x"], ["-n", "1"]])
def test_options_without_meaning_are_refused(
    sharing: EmbeddedBroker, run: Command, option: list[str]
) -> None:
    """A record that is left out would be taken from the others."""
    read = ["consume", "-b", sharing.bootstrap, "-t", "orders", "-G", "s", "--share"]
    refused = run(*read, *option)
    assert refused.code == 2
    assert option[0] in refused.err


def test_a_share_group_needs_a_name(sharing: EmbeddedBroker, run: Command) -> None:
    """The error says how it is given."""
    refused = run("consume", "-b", sharing.bootstrap, "-t", "orders", "--share")
    assert refused.code == 2
    assert "-G GROUP" in refused.err


def test_an_end_that_is_not_reached_fails(sharing: EmbeddedBroker, run: Command) -> None:
    """The reason is told: here there is no such topic."""
    read = ["consume", "-b", sharing.bootstrap, "-t", "no-such", "-G", "s", "--share"]
    failed = run(*read, "-e", "--timeout", "3")
    assert failed.code == 1
    assert "no-such does not exist" in failed.err
