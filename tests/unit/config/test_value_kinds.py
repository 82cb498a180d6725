"""The general kinds of value."""

from datetime import timedelta

import pytest

from prokurist.config.kinds import (
    INT_MAX,
    LONG_MAX,
    Acknowledgements,
    Boolean,
    Choice,
    Integer,
    Names,
    Real,
    Rejected,
    Text,
    ValueKind,
    millis,
)


@pytest.mark.parametrize(
    ("kind", "given", "read"),
    [
        (Boolean(), True, True),
        (Boolean(), "TRUE", True),
        (Boolean(), " false ", False),
        (Integer(1), 5, 5),
        (Integer(1), "5", 5),
        (Integer(-1), " -1 ", -1),
        (Integer(1), 5.0, 5),
        (Integer(1, 9, besides=-1), -1, -1),
        (Integer(0), INT_MAX, INT_MAX),
        (millis(), LONG_MAX, LONG_MAX),
        (millis(), timedelta(seconds=1.5), 1500),
        (millis(), timedelta(microseconds=1), 1),
        (Real(0.0, 1.0), "0.25", 0.25),
        (Real(0.0, 1.0), 1, 1.0),
        (Text(), " as it is ", " as it is "),
        (Choice(("INFO", "DEBUG")), "debug", "DEBUG"),
        (Choice(("https", "none"), also=(("", "none"),)), "", "none"),
        (Acknowledgements(), -1, "all"),
        (Acknowledgements(), "ALL", "all"),
        (Acknowledgements(), 1, "1"),
        (Acknowledgements(), "0", "0"),
        (Names(), "a, b", ("a", "b")),
        (Names(), ["a", "b"], ("a", "b")),
        (Names(), "", ()),
    ],
)
def test_reads(kind: ValueKind, given: object, read: object) -> None:
    """Each spelling that property files and Python programs use becomes one value."""
    value = kind.read(given)
    assert value == read
    assert type(value) is type(read)


@pytest.mark.parametrize(
    ("kind", "given", "rule"),
    [
        (Boolean(), 1, "True or False"),
        (Boolean(), "yes", "True or False"),
        (Integer(1), 0, "from 1 to 2147483647"),
        (Integer(0), INT_MAX + 1, "from 0 to 2147483647"),
        (Integer(0), True, "whole number"),
        (Integer(0), 1.5, "whole number"),
        (Integer(0), float("inf"), "whole number"),
        (Integer(0), float("nan"), "whole number"),
        (Integer(0), "1_000", "whole number"),
        (Integer(0), "٣", "whole number"),
        (Integer(0), "9" * 5000, "whole number"),
        (Integer(0), "", "whole number"),
        (Integer(0), b"1", "whole number"),
        (Integer(0, unit="bytes"), timedelta(1), r"from 0 to 2147483647 \(bytes\)$"),
        (Integer(1, 9, besides=-1), 0, "from 1 to 9, or -1"),
        (millis(), timedelta(microseconds=-1), "or a timedelta"),
        (Real(0.5, 1.0), 0.4, "from 0.5 to 1.0"),
        (Real(0.0, 1.0), "nan", "number from"),
        (Real(0.0, 1.0), True, "number from"),
        (Real(0.0, 1.0), "x", "number from"),
        (Real(0.0, 1.0), 10**400, "number from"),
        (Text(), b"bytes", "a string"),
        (Text(blank=False), "  ", "not blank"),
        (Choice(("a", "b")), "c", "one of a, b"),
        (Choice(("a", "b")), 1, "one of a, b"),
        (Acknowledgements(), 2, "all"),
        (Acknowledgements(), True, "all"),
        (Names(), 3, "list"),
        (Names(), ["a", 3], "list of strings"),
        (Names(), "a,,b", "none of them empty"),
    ],
)
def test_rejects_with_the_rule(kind: ValueKind, given: object, rule: str) -> None:
    """What is not taken is rejected with the rule, which the error text is made of."""
    with pytest.raises(Rejected, match=rule):
        kind.read(given)
