"""`on_committed`: the user's function that hears how automatic commits have ended."""

from collections.abc import Callable
from typing import Any

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata
from prokurist.errors import (
    CommitFailedException,
    DisconnectException,
    KafkaException,
    TimeoutException,
)
from tests.simulation.reading import A, written
from tests.simulation.returning import TP, commits, reading, returns
from tests.simulation.test_stored_offsets import storing
from tests.simulation.world import World

UNAUTHORIZED = 30


class Heard:
    """Writes down what it is called with, and does what it is told to."""

    def __init__(self, does: Callable[[], object] | None = None) -> None:
        self.told: list[tuple[dict[Any, OffsetAndMetadata], KafkaException | None]] = []
        self._does = does

    def __call__(
        self, offsets: dict[Any, OffsetAndMetadata], error: KafkaException | None
    ) -> None:
        """One more."""
        self.told.append((offsets, error))
        if self._does is not None:
            self._does()

    @property
    def offsets(self) -> list[tuple[int, type[Exception] | None]]:
        """The offset of each call, and the class of its error."""
        return [
            (offsets[TP].offset, None if error is None else type(error))
            for offsets, error in self.told
        ]


def test_it_hears_of_each_automatic_commit() -> None:
    """B327: in a later poll, and in close of the last; with no error where it went well."""
    world, heard = World(), Heard()
    consumer = reading(world, on_committed=heard)
    world.clock.sleep(5.0)
    consumer.poll(0)
    world.clock.sleep(1.0)
    assert heard.told == []
    consumer.poll(0)
    assert heard.told == [({TP: OffsetAndMetadata(3)}, None)]
    returns(consumer, 7)
    consumer.close()
    assert heard.offsets == [(3, None), (7, None)]


@pytest.mark.parametrize("through", ["poll", "commit_sync", "commit_async"])
def test_it_hears_of_a_failure(through: str) -> None:
    """B327: with the offsets that were not committed; the log tells it, too."""
    world, heard = World(), Heard()
    consumer = reading(world, on_committed=heard)
    world.control.fail("OffsetCommit", UNAUTHORIZED)
    world.clock.sleep(5.0)
    consumer.poll(0)
    world.clock.sleep(1.0)
    getattr(consumer, through)(0 if through == "poll" else {})
    ((offsets, error),) = heard.told
    assert offsets == {TP: OffsetAndMetadata(3)}
    assert isinstance(error, KafkaException)
    assert error.__traceback__ is None
    consumer.close()
    assert heard.offsets[1:] == [(3, None)]


def test_commits_that_go_on_failing_are_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B419: and it hears of each."""
    world, heard = World(), Heard()
    consumer = reading(world, on_committed=heard)
    world.control.fail("OffsetCommit", UNAUTHORIZED, times=None)
    for _ in range(100):
        world.clock.sleep(1.0)
        consumer.poll(0)
    lines = [each for each in caplog.records if "automatic commit failed" in each.getMessage()]
    assert len(lines) == 2
    assert len(heard.told) > 15
    consumer.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_log_does_not_promise_a_next_commit_to_a_member_that_was_put_out(
    protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B419: it joins again, and reads from what was committed before."""
    world, heard = World(), Heard()
    world.control.append(TP, b"x")
    consumer = world.consumer(
        group_protocol=protocol, auto_offset_reset="earliest", on_committed=heard
    )
    consumer.subscribe("orders")
    while not consumer.poll(1.0):
        pass
    world.control.fail("OffsetCommit", 25, times=1)
    consumer.poll(6.0)
    consumer.poll(6.0)
    assert isinstance(heard.told[0][1], CommitFailedException)
    (line,) = (each for each in caplog.records if "automatic commit" in each.getMessage())
    said = line.getMessage()
    assert (
        "failed, and no other one replaces it, so that its records may be read again: " in said
    )
    consumer.close()


def test_it_hears_of_stored_offsets() -> None:
    """B327: what was stored and committed, with its metadata."""
    world, heard = written(10), Heard()
    with storing(world, A, on_committed=heard) as consumer:
        consumer.poll(1.0)
        consumer.poll(10.0)
        assert heard.told == []
        consumer.store_offsets({A: OffsetAndMetadata(7, "so far")})
        consumer.poll(5.0)
        consumer.poll(0)
        assert heard.told == [({A: OffsetAndMetadata(7, "so far")}, None)]


def test_it_hears_that_the_last_commit_was_late() -> None:
    """B327: in close, which may not know what became of it."""
    world, heard = World(), Heard()
    consumer = reading(world, on_committed=heard)
    world.control.fail("OffsetCommit", 14, times=None)
    consumer.close(timeout=2.0)
    assert heard.offsets == [(3, TimeoutException)]


def test_it_hears_that_nothing_was_committed_for_one_that_was_put_out() -> None:
    """B327: the group does not count this member, and no request is made."""
    world, heard = World(), Heard()
    consumer = world.consumer(
        group_protocol="consumer", auto_offset_reset="earliest", on_committed=heard
    )
    consumer.subscribe("orders")
    consumer.poll(5.0)
    world.control.append(TP, b"x")
    assert consumer.poll(5.0)
    before = len(commits(world))
    consumer._member_identity.put_out()
    consumer.close()
    assert len(commits(world)) == before
    assert heard.offsets[-1] == (1, CommitFailedException)


def test_it_is_the_callback_of_asynchronous_commits_without_one() -> None:
    """B327: those that have one go there; of a `commit_sync` its caller hears."""
    world, heard, own = World(), Heard(), Heard()
    consumer = reading(world, on_committed=heard, enable_auto_commit=False)
    consumer.commit_async({TP: OffsetAndMetadata(4)})
    consumer.commit_async({TP: OffsetAndMetadata(5)}, own)
    consumer.commit_async({})
    consumer.commit_sync({TP: OffsetAndMetadata(6)})
    assert heard.offsets == [(4, None)]
    assert own.offsets == [(5, None)]
    consumer.close()


def test_what_it_raises_comes_out_of_the_call_and_costs_no_commit() -> None:
    """B328: as it is; the commit that is due then is made by the next."""

    def bad() -> None:
        raise ZeroDivisionError("of the user")

    world, heard = World(), Heard(bad)
    consumer = reading(world, on_committed=heard)
    world.clock.sleep(5.0)
    consumer.poll(0)
    world.clock.sleep(5.0)
    returns(consumer, 5)
    with pytest.raises(ZeroDivisionError):
        consumer.poll(0)
    consumer.poll(0)
    world.clock.sleep(1.0)
    assert [offsets[TP] for _, offsets in commits(world)] == [3, 5]
    returns(consumer, 7)
    with pytest.raises(KafkaException, match="of the user") as raised:
        consumer.close()
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert heard.offsets == [(3, None), (5, None), (7, None)]


def test_what_it_raises_while_a_poll_waits_costs_no_commit() -> None:
    """B328: the commit whose time has come goes out before the last one is told of."""

    def bad() -> None:
        raise ZeroDivisionError("of the user")

    world, heard = World(), Heard(bad)
    consumer = reading(world, on_committed=heard)
    began = world.clock.time
    with pytest.raises(ZeroDivisionError):
        consumer.poll(20.0)
    assert world.clock.time - began == pytest.approx(10.0, abs=0.1)
    world.clock.sleep(1.0)
    assert [offsets[TP] for _, offsets in commits(world)] == [3, 3]
    with pytest.raises(KafkaException, match="of the user"):
        consumer.close()


def test_it_may_call_the_consumer() -> None:
    """B328: as the callback of `commit_async` may."""
    world = World()
    consumers: list[KafkaConsumer] = []
    heard = Heard(lambda: consumers[0].committed(TP))
    consumers.append(reading(world, on_committed=heard))
    world.clock.sleep(5.0)
    consumers[0].poll(0)
    world.clock.sleep(1.0)
    consumers[0].poll(0)
    assert heard.offsets == [(3, None)]
    consumers[0].close()


def test_a_commit_that_close_gives_up_is_told_of() -> None:
    """B328: one is under way when a block is left by an error, and nothing waits for it."""
    world, heard = World(), Heard()
    consumer = reading(world, on_committed=heard)
    world.clock.sleep(5.0)
    consumer.poll(0)
    world.control.fail("OffsetCommit", 14, times=None)
    with pytest.raises(ValueError, match="work"), consumer:
        raise ValueError("work has failed")
    ((_, error),) = heard.told
    assert isinstance(error, KafkaException)
    assert not isinstance(error, DisconnectException)
