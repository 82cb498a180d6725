"""A poll that waits while nothing is written."""

import pytest

from prokurist import TopicPartition
from prokurist.events.background_events import BackgroundEvents
from tests.simulation.world import World

TP = TopicPartition("orders", 0)


def test_answers_without_records_wake_no_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """B393: two a second from each broker would change threads for nothing."""
    nudges: list[int] = []
    nudge = BackgroundEvents.nudge

    def counted(background: BackgroundEvents) -> None:
        nudges.append(1)
        nudge(background)

    monkeypatch.setattr(BackgroundEvents, "nudge", counted)
    world = World()
    with world.consumer(auto_offset_reset="earliest") as consumer:
        consumer.assign(TP)
        consumer.poll(2.0)
        nudges.clear()
        assert not consumer.poll(60.0)
        assert not nudges
        world.control.append(TP, b"x")
        assert [each.value for each in consumer.poll(60.0)] == [b"x"]
        assert nudges
