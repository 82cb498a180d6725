"""Spark's source while topics come and go, brokers lag, and leaders are slow or silent."""

import logging

import pytest

from tests.simulation.spark_topics import play


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_each_row_is_planned_once(first: int, caplog: pytest.LogCaptureFixture) -> None:
    """Of each life of each topic; the query lives, and each look ends in its time."""
    caplog.set_level(logging.CRITICAL, "prokurist")
    clear = sum(
        not topic.is_muddled
        for seed in range(first, first + 20)
        for topic in play(seed).topics.values()
    )
    assert clear >= 30
