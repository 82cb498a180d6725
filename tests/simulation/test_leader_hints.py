"""Leaders that error answers name (KIP-951): a wrong one masks no true one for long."""

from itertools import count
from typing import Any

import pytest

from prokurist.testing.cluster.handlers import fetch
from tests.simulation.reading import A, B, drained, fetches, reader, written
from tests.simulation.test_fetch_redirections import metadata_requests

HIGH = 1_000_000


@pytest.mark.parametrize("named", [1, 2])
def test_a_hint_that_names_a_wrong_leader_once(
    named: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B106: with too high an epoch: metadata that contradict it repeatedly are believed."""
    world = written(3, nodes=3)
    wrong = {"current_leader": {"leader_id": named, "leader_epoch": HIGH}}
    with reader(world) as consumer:
        assert drained(consumer) == {A: [0, 1, 2]}
        monkeypatch.setattr(fetch, "leader_hint", lambda _where: wrong)
        world.control.fail("Fetch", 6, times=1)
        before, requests = len(fetches(world)), metadata_requests(world)
        consumer.poll(0.02)
        monkeypatch.undo()
        world.control.append(A, b"x")
        assert drained(consumer, 3.0) == {A: [3]}
        assert len(fetches(world)) - before <= 20
        assert metadata_requests(world) - requests <= 10


def test_hints_that_name_one_broker_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """B106: the first is followed at once, each further one after a back-off."""
    world = written(3, nodes=3)
    epochs = count(HIGH)

    def wrong(_where: Any) -> Any:
        epoch = next(epochs)
        return {"current_leader": {"leader_id": 1 + epoch % 3, "leader_epoch": epoch}}

    with reader(world) as consumer:
        assert drained(consumer) == {A: [0, 1, 2]}
        monkeypatch.setattr(fetch, "leader_hint", wrong)
        fault = world.control.fail("Fetch", 6, times=None)
        before, requests = len(fetches(world)), metadata_requests(world)
        assert not consumer.poll(5.0)
        assert 4 <= len(fetches(world)) - before <= 30
        # Those of the fetches, and those of the position that each new epoch makes unsure.
        assert metadata_requests(world) - requests <= 100
        fault.undo()
        monkeypatch.undo()
        world.control.append(A, b"x")
        assert drained(consumer, 4.0) == {A: [3]}


def test_a_true_hint_that_metadata_contradict_for_long() -> None:
    """B106: a broker that knows its successor is asked at back-offs while metadata lag."""
    world = written(3, 1, nodes=3)
    world.control.move_leader(B, 2)
    # The successor's next fetch is parked meanwhile.
    with reader(world, A, B, fetch_max_wait_ms=2_000) as consumer:
        assert drained(consumer, 3.0) == {A: [0, 1, 2], B: [0]}
        world.control.delay_metadata(3.0, 2)
        world.control.delay_metadata(3.0, 3)
        world.control.move_leader(A, 2)
        before = len(fetches(world))
        assert not consumer.poll(2.5)
        assert len(fetches(world)) - before <= 40
        world.control.append(A, b"x")
        assert drained(consumer, 4.0) == {A: [3]}
