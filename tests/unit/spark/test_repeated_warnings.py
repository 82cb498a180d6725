"""One line when a trouble begins, one a minute, and one at its end."""

import logging

import pytest

from prokurist.spark.repeated_warnings import RepeatedWarnings


def test_a_trouble_is_a_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """However often it is met; its end is told, and the next one is another."""
    troubles = RepeatedWarnings()
    with caplog.at_level(logging.WARNING, "prokurist.spark"):
        for second in range(150):
            troubles.met("bills", "it works", "no", float(second))
        troubles.over("bills", "it works", 150.0)
        troubles.over("bills", "it works", 151.0)
    assert [each.message for each in caplog.records] == [
        "bills: no",
        "bills: for 60 s now: no",
        "bills: for 120 s now: no",
        "bills: it works again after 150 s",
    ]


def test_queries_and_kinds_are_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    """And what is forgotten has no end to tell of."""
    troubles = RepeatedWarnings()
    with caplog.at_level(logging.WARNING, "prokurist.spark"):
        troubles.met("a", "it works", "no", 0.0)
        troubles.met("b", "it works", "no", 0.0)
        troubles.met("a", "it reads", "no", 0.0)
        troubles.forget("a")
        troubles.over("a", "it works", 1.0)
        troubles.given_up("b", "it works", 1.0)
        troubles.given_up("b", "it works", 1.0)
    assert len(caplog.records) == 4
    assert caplog.records[-1].message == "b has ended: given up after 1 s: it works"
    assert repr(troubles) == "RepeatedWarnings(0)"
