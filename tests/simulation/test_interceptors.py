"""`interceptor.classes`: objects that are told of each commit that succeeded."""

import pytest

from prokurist import errors
from prokurist.types import OffsetAndMetadata
from tests.simulation.returning import TP, reading
from tests.simulation.world import World

OFFSETS = {TP: OffsetAndMetadata(7)}


class Recorder:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def on_commit(self, offsets: dict[object, OffsetAndMetadata]) -> None:
        """One more."""
        self.told.append(offsets[TP].offset)

    def close(self) -> None:
        """The end."""
        self.told.append("close")


def test_each_kind_of_commit_is_told_of() -> None:
    """B62: synchronous, asynchronous before its callback, automatic, and the last in close."""
    world, one, two = World(), Recorder(), Recorder()
    consumer = reading(world, interceptor_classes=[one, object(), two])
    consumer.commit_sync(OFFSETS)
    assert one.told == [7]
    consumer.commit_async({TP: OffsetAndMetadata(8)}, lambda *_: one.told.append("callback"))
    world.clock.sleep(1.0)
    assert one.told == [7]
    consumer.commit_sync({})
    assert one.told == [7, 8, "callback"]
    consumer.poll(4.5)
    world.clock.sleep(1.0)
    assert one.told == [7, 8, "callback"]
    consumer.poll(0)
    assert one.told == [7, 8, "callback", 3]
    consumer.close()
    assert one.told == [7, 8, "callback", 3, 3, "close"]
    assert two.told == [7, 8, 3, 3, "close"]


@pytest.mark.parametrize("through", ["poll", "commit_sync", "commit_async", "close"])
def test_an_automatic_commit_is_told_of_by_the_next_call_that_runs_callbacks(
    through: str,
) -> None:
    """B62: whichever that is."""
    world, recorder = World(), Recorder()
    consumer = reading(world, interceptor_classes=[recorder])
    world.clock.sleep(5.0)
    consumer.poll(0)
    world.clock.sleep(1.0)
    assert not recorder.told
    if through == "poll":
        consumer.poll(0)
    elif through == "close":
        consumer.close()
    else:
        getattr(consumer, through)({})
    assert recorder.told[0] == 3
    consumer.close()


@pytest.mark.parametrize("code", [12, 14])
def test_failed_commits_are_not_reported(code: int) -> None:
    """B62: after success only; and with nothing to commit there is no success."""
    world, recorder = World(), Recorder()
    consumer = reading(world, interceptor_classes=[recorder], enable_auto_commit=False)
    world.control.fail("OffsetCommit", code, times=None)
    consumer.commit_async(OFFSETS)
    with pytest.raises(errors.KafkaException):
        consumer.commit_sync(OFFSETS, timeout=0.5)
    consumer.commit_sync({})
    consumer.commit_async({})
    world.control.heal()
    consumer.close()
    assert recorder.told == ["close"]


def test_what_one_raises_is_logged_and_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """B62: neither the call, nor the next interceptor, nor close."""

    class Bad:
        def on_commit(self, _: object) -> None:
            raise ZeroDivisionError("on_commit of a user")

        def close(self) -> None:
            raise ZeroDivisionError("close of a user")

    world, recorder = World(), Recorder()
    consumer = world.consumer(fetches=False, interceptor_classes=[Bad(), recorder])
    consumer.commit_sync(OFFSETS)
    consumer.close()
    assert recorder.told == [7, "close"]
    assert "on_commit of a user" in caplog.text
    assert "close of a user" in caplog.text


def test_what_one_does_to_the_offsets_is_its_own() -> None:
    """Each is handed a mapping of its own."""

    class Greedy:
        def on_commit(self, offsets: dict[object, object]) -> None:
            offsets.clear()

    world, recorder = World(), Recorder()
    with world.consumer(fetches=False, interceptor_classes=[Greedy(), recorder]) as consumer:
        consumer.commit_sync(OFFSETS)
        assert recorder.told == [7]
