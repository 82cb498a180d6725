"""Links that are too slow for an answer as large as was asked for."""

import pytest

from prokurist.errors import TimeoutException
from tests.simulation.producing import failure, made
from tests.simulation.reading import A, B, C, drained, offsets, reader, written
from tests.simulation.world import World


def asked_for(world: World) -> list[int]:
    """How many bytes each fetch asks for at most."""
    return [entry.body.max_bytes for entry in world.cluster.journal.entries("Fetch")]


def test_what_is_too_long_for_its_time_is_asked_for_in_smaller_parts() -> None:
    """B414: a backlog that no answer brings in time as a whole is read to its end."""
    world = written(40, 40, 40, size=1000)
    with reader(world, A, B, C, request_timeout_ms=5_000) as consumer:
        world.members[0].network.slow(30_000)
        assert not consumer.poll(5.0), "a third of it came, of which none may be returned"
        got = drained(consumer, timeout=8.0)
        assert {tp: len(each) for tp, each in got.items()} == {A: 40, B: 40, C: 40}
        assert asked_for(world)[1] == 15_000


def test_more_is_asked_for_again_where_answers_come_soon() -> None:
    """B414: it doubles with each full answer that takes less than a quarter of its time."""
    world = written(200, size=1000)
    with reader(world, A, request_timeout_ms=5_000, max_poll_records=10) as consumer:
        world.members[0].network.slow(30_000)
        consumer.poll(5.0)
        consumer.poll(2.0)
        world.members[0].network.slow(10_000_000)
        assert len(drained(consumer)[A]) == 190
        world.control.append(A, b"more")
        assert len(drained(consumer)[A]) == 1
        assert asked_for(world)[1:6] == [15_000, 30_000, 60_000, 120_000, 240_000]


def test_an_answer_that_is_not_whole_in_time_is_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B415: how much of it had come, and what to turn; a warning a minute for its broker."""
    world = written(1, size=100_000)
    with reader(world, A, request_timeout_ms=2_000) as consumer:
        world.members[0].network.slow(30_000)
        assert not consumer.poll(20.0)
        warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
        assert len([each for each in warnings if "had come from broker 1" in each]) == 1
        said = str(consumer.health().last_error)
        assert said.startswith("30000 of 100")
        assert "bytes of the answer to Fetch had come from broker 1 (" in said
        assert "raise request.timeout.ms, or lower fetch.max.bytes and max.partition" in said


def test_another_request_is_not_told_to_fetch_less() -> None:
    """B415: and the error of a call has the same text."""
    world = written(1)
    with reader(world, A, request_timeout_ms=2_000) as consumer:
        assert offsets(consumer.poll(1.0)) == {A: [0]}
        world.members[0].network.slow(20)
        with pytest.raises(TimeoutException) as caught:
            consumer.end_offsets([A], timeout=3.0)
        said = str(caught.value)
        assert "20 of" in said
        assert "bytes of the answer to ListOffsets had come from broker 1" in said
        assert "Over a slow link, raise request.timeout.ms" in said
        assert "fetch.max.bytes" not in said


def test_a_large_request_may_have_needed_its_time_for_its_own_way() -> None:
    """B421: its size, and what to turn; the error of a small one speaks of no link."""
    for size in (900_000, 5):
        world = World()
        producer, _ = made(world, request_timeout_ms=2_000, delivery_timeout_ms=3_000)
        with producer:
            world.control.freeze()
            delivery = producer.send("orders", bytes(size), partition=0)
            world.clock.sleep(3.5)
            said = str(failure(delivery))
        large = "did not answer Produce of 900" in said
        assert large == (size == 900_000), said
        advised = "Over a slow link, raise request.timeout.ms, or lower batch.size" in said
        assert advised == large
        assert "within request.timeout.ms (2 s)" in said
