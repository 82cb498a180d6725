"""Recordings of what both threads do: what is in them, and the forms that they take."""

import json
from xml.etree import ElementTree as ET

import pytest

from prokurist import timeline
from prokurist.errors import IllegalStateException, TimeoutException
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.recorded_events import check
from tests.simulation.world import World

TP = TopicPartition("orders", 0)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def frozen() -> timeline.Recording:
    """A commit with two seconds, to a frozen broker; a request may take 0.9."""
    world = World()
    with world.consumer(request_timeout_ms=900) as consumer:
        world.members[-1].side.trace.read_by(check, fine=True)
        consumer.commit_sync({TP: OffsetAndMetadata(1)})
        with (
            world.control.freeze(1),
            timeline.record(consumer) as recording,
            pytest.raises(TimeoutException),
        ):
            consumer.commit_sync({TP: OffsetAndMetadata(2)}, timeout=2.0)
    return recording


def test_both_threads_tell_what_they_do_for_a_call(frozen: timeline.Recording) -> None:
    """Posted, taken up, tried, waited, given up: in this order, and by whom."""
    steps = [(each.thread, each.event) for each in frozen.entries if each.call == 2]
    assert steps[:4] == [
        ("application", "call_began"),
        ("application", "call_posted"),
        ("application", "caller_waiting"),
        ("network", "call_received"),
    ]
    assert ("network", "attempt_began") in steps
    assert ("network", "attempt_ended") in steps
    waits = [each.keys["reason"] for each in frozen.entries if each.event == "call_waiting"]
    assert waits[-2:] == ["retry backoff", "the group's coordinator"]
    (end,) = [
        each for each in frozen.entries if each.event in ("call_abandoned", "call_finished")
    ]
    assert end.keys["outcome"] == "TimeoutException"
    assert end.at == pytest.approx(2.0)


def test_a_recording_makes_no_log_louder(caplog: pytest.LogCaptureFixture) -> None:
    """Single calls are logged for clients that were built at DEBUG, recorded or not."""
    consumer = World().consumer()
    caplog.set_level("DEBUG", "prokurist")
    with consumer, timeline.record(consumer) as recording:
        consumer.committed(TP)
    assert "call_began" in {each.event for each in recording.entries}
    assert not [each for each in caplog.records if each.name == "prokurist.call"]


def test_turns_of_the_loop_are_in_it(frozen: timeline.Recording) -> None:
    """So that one sees a loop that spins; one that waits turns but a few times."""
    woke = [each for each in frozen.entries if each.event == "loop_woke"]
    assert 3 < len(woke) < 12
    assert all(each.thread == "network" for each in woke)


def test_it_stops_where_it_was_told_to(frozen: timeline.Recording) -> None:
    """What closing does is not in it: the recording ended before."""
    assert not [each for each in frozen.entries if each.event == "client_closed"]


def test_it_can_be_read_as_text(frozen: timeline.Recording) -> None:
    """A line an entry: when, which thread, which call, and what."""
    lines = frozen.text().splitlines()
    assert len(lines) == len(frozen) == len(frozen.entries)
    words = ["0.000000", "application", "#2", "commit_sync", "began,", "with", "2.000", "s"]
    assert lines[0].split() == words
    assert not [each for each in frozen.text(call=7).splitlines() if "#" in each[:40]]


def test_perfetto_can_read_it(frozen: timeline.Recording) -> None:
    """Every stretch that begins ends, and times are microseconds."""
    events = json.loads(frozen.chrome())["traceEvents"]
    begun = [(each["name"], each["id"]) for each in events if each["ph"] == "b"]
    ended = [(each["name"], each["id"]) for each in events if each["ph"] == "e"]
    assert ("commit_sync #2", 2) in begun
    assert begun == ended
    (call,) = [each["ts"] for each in events if each["name"] == "commit_sync #2"][1:]
    assert call == pytest.approx(2e6)
    assert {each["args"]["name"] for each in events if each["ph"] == "M"} == {
        "application thread",
        "network thread",
    }


def test_the_picture_shows_it(frozen: timeline.Recording) -> None:
    """Well-formed, nothing fetched, legible in the dark; the bars are where time went."""
    text = frozen.svg(title="frozen <&>")
    drawn = ET.fromstring(text)  # noqa: S314 - our own
    bars = {
        each.get("class"): float(each.get("width", "0"))
        for each in drawn.iter(f"{SVG}rect")
        if each.find(f"{SVG}title") is not None
    }
    assert bars["lost"] / bars["call"] == pytest.approx(0.45, abs=0.02)
    assert "prefers-color-scheme: dark" in text
    assert "frozen &lt;&amp;&gt;" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_it_keeps_the_newest() -> None:
    """A ring: what is older is dropped, and a call without its beginning is none."""
    world = World()
    with world.consumer() as consumer, timeline.record(consumer, entries=5) as recording:
        for _ in range(3):
            consumer.commit_sync({TP: OffsetAndMetadata(1)})
        assert len(recording) == 5
        assert recording.entries[-1].event in ("caller_woke", "call_finished", "loop_woke")
        with pytest.raises(ValueError, match=r"no call was recorded; there are: none"):
            recording.svg()


def test_a_call_that_was_not_recorded_is_named() -> None:
    """With those that were."""
    world = World()
    with world.consumer() as consumer, timeline.record(consumer) as recording:
        consumer.commit_sync({TP: OffsetAndMetadata(1)})
        with pytest.raises(ValueError, match=r"a call 9 was recorded; there are: 1 \(commit"):
            recording.svg(9)


def test_several_recordings_at_once_are_each_whole() -> None:
    """And when the last has ended, calls are told of no more."""
    world = World()
    with world.consumer() as consumer:
        with timeline.record(consumer) as outer:
            with timeline.record(consumer) as inner:
                consumer.commit_sync({TP: OffsetAndMetadata(1)})
            consumer.commit_sync({TP: OffsetAndMetadata(2)})
        consumer.commit_sync({TP: OffsetAndMetadata(3)})
    assert sum(each.event == "call_began" for each in outer.entries) == 2
    assert sum(each.event == "call_began" for each in inner.entries) == 1


def test_of_a_closed_consumer_there_is_nothing_to_record() -> None:
    """A clear error; and one that was begun before holds the end, and can be read."""
    world = World()
    consumer = world.consumer()
    recording = timeline.record(consumer)
    consumer.close()
    assert "client_closed" in [each.event for each in recording.entries]
    assert "close" in recording.svg()
    with pytest.raises(IllegalStateException, match="begin before close"):
        timeline.record(consumer)


@pytest.mark.parametrize(
    ("entries", "error"), [(0, ValueError), (-1, ValueError), ("9", TypeError)]
)
def test_a_size_that_is_none(entries: int, error: type[Exception]) -> None:
    """Refused, with the value."""
    world = World()
    with world.consumer() as consumer, pytest.raises(error, match=str(entries)):
        timeline.record(consumer, entries)


def test_errors_are_kept_as_text() -> None:
    """One that is kept would hold the frames that it came through, and their calls."""
    world = World()
    with world.consumer() as consumer, timeline.record(consumer) as recording:
        world.control.kill(1)
        with pytest.raises(TimeoutException):
            consumer.commit_sync({TP: OffsetAndMetadata(1)}, timeout=1.0)
    told = [value for each in recording.entries for value in each.keys.values()]
    assert told
    assert not [each for each in told if isinstance(each, BaseException)]
