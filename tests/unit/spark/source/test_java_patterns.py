"""`subscribePattern`: what Java and Python read alike, and what is refused."""

import pytest

from prokurist.errors import ConfigException
from prokurist.spark.source.java_patterns import java_pattern


@pytest.mark.parametrize(
    ("pattern", "topics"),
    [
        ("orders", {"orders", "orders-eu", "old.orders"}),
        ("^orders$", {"orders"}),
        ("orders-.*", {"orders-eu"}),
        (r"orders\.?$|eu", {"orders", "orders-eu", "old.orders"}),
        (r"(?<name>old)\.", {"old.orders"}),
        (r"^[^.]+$", {"orders", "orders-eu", "p4y"}),
        (r"\d", {"p4y"}),
        (r"[\d]y", {"p4y"}),
        ("[&]|&&|p4", {"p4y"}),
        ("(?i)ORDERS$", {"orders", "old.orders"}),
    ],
)
def test_a_pattern_is_searched_for(pattern: str, topics: set[str]) -> None:
    """Anywhere in the name, as Spark does it."""
    names = {"orders", "orders-eu", "old.orders", "p4y"}
    found = java_pattern(pattern, "subscribePattern")
    assert {name for name in names if found.search(name)} == topics


@pytest.mark.parametrize(
    "pattern",
    [r"\p{Alpha}+", r"\Qa.b\E", "[a-z&&[^b]]", "[a[bc]]", r"\h", r"(?<n>a)\k<n>", r"[\p{L}]"],
)
def test_what_python_reads_otherwise_is_refused(pattern: str) -> None:
    """It would match other topics than it did, and without notice."""
    with pytest.raises(ConfigException, match="Java knows and Python does not"):
        java_pattern(pattern, "subscribePattern")


@pytest.mark.parametrize("pattern", ["(", "*", "[a", "a{2,1}"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    """With what is wrong with it."""
    with pytest.raises(ConfigException, match="is no regular expression"):
        java_pattern(pattern, "subscribePattern")
