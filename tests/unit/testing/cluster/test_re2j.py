"""Regular expressions of subscriptions, as the model's brokers read them."""

import re

import pytest

from prokurist.testing.cluster.re2j import PatternRefused, compiled
from tests.unit.testing.cluster.patterns import REFUSED, TAKEN


@pytest.mark.parametrize("pattern", TAKEN)
def test_what_a_broker_takes(pattern: str) -> None:
    """It is translated into a pattern of Python's."""
    assert isinstance(compiled(pattern), re.Pattern)


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_a_broker_refuses(pattern: str) -> None:
    """It is refused with a reason."""
    with pytest.raises(PatternRefused, match=r"\w"):
        compiled(pattern)


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("a.b", "a.b a-b"),
        (r"\Qa.b\E", "a.b"),
        (r"\pL\p{Common}[[:lower:]]", "a.b a-b"),
        ("(?i)A[.]B|z{2}", "a.b zz"),
        (r"[^\pL-]+", "1"),
        (r"(?i:Z)z\z", "zz"),
        (r"\x61.*|(?P<n>\061)", "a.b a-b 1"),
    ],
)
def test_what_is_matched(pattern: str, matched: str) -> None:
    """The whole name of a topic has to match."""
    names = ("a.b", "a-b", "zz", "1", "Z.b.")
    assert " ".join(each for each in names if compiled(pattern).fullmatch(each)) == matched
