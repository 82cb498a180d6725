"""One real node: it starts, answers, and is where it says."""

import pytest

from prokurist.testing.kafka import RealKafka

pytestmark = pytest.mark.kafka


def test_one_node_starts_and_leads_a_new_topic() -> None:
    """A node that is ready takes a topic, and knows who leads it."""
    with RealKafka(controls=True) as kafka:
        topic = kafka.unique_topic(partitions=2)
        assert kafka.leaders(topic) == [0, 0]
