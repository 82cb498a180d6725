"""Brokers that answer wrongly for minutes: a line a minute at most, and no lost partition."""

import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from prokurist import OffsetAndMetadata
from prokurist.errors import ReassignmentInProgressException
from prokurist.network_thread.fetch.response_handler import FetchResponseHandler
from prokurist.network_thread.wire.fetch import FetchAnswer
from prokurist.testing.cluster.handlers import fetch
from prokurist.types import Node
from tests.simulation.reading import A, drained, fetches, reader
from tests.simulation.test_fetch_redirections import in_racks, metadata_requests
from tests.simulation.world import World

MINUTES = 3
HIGH = 1_000_000
REFUSED = 60
"""An error code that no Fetch has."""
A_BACKOFF = 1.0
"""Seconds: a pause that has grown."""


def names(replica: int) -> Callable[[World, pytest.MonkeyPatch], None]:
    """A leader that sends no records, and names a replica for each partition."""

    def plant(_world: World, patch: pytest.MonkeyPatch) -> None:
        judge = FetchResponseHandler.judge

        def wrong(self: Any, sent: Any, answer: FetchAnswer, asked: Any, node: Node) -> Any:
            rows = tuple(
                replace(row, records=row.records[:0], preferred_replica=replica)
                for row in answer.partitions
            )
            return judge(self, sent, replace(answer, partitions=rows), asked, node)

        patch.setattr(FetchResponseHandler, "judge", wrong)

    return plant


def hints(leader: Callable[[int], int]) -> Callable[[World, pytest.MonkeyPatch], None]:
    """A leader that refuses each fetch, and names another one in an epoch that none knows."""

    def plant(world: World, patch: pytest.MonkeyPatch) -> None:
        epochs = count(HIGH)

        def wrong(_where: Any) -> Any:
            epoch = next(epochs)
            return {"current_leader": {"leader_id": leader(epoch), "leader_epoch": epoch}}

        patch.setattr(fetch, "leader_hint", wrong)
        world.control.fail("Fetch", 6, times=None)

    return plant


def refuses(code: int) -> Callable[[World, pytest.MonkeyPatch], None]:
    """A leader that refuses each fetch, and names no other."""

    def plant(world: World, _patch: pytest.MonkeyPatch) -> None:
        world.control.fail("Fetch", code, times=None)

    return plant


WRONG = {
    "a replica that is none": names(77),
    "a replica that is the leader": names(1),
    "a replica that names the leader": names(2),
    "leaders in turns": hints(lambda epoch: 1 + epoch % 3),
    "a leader that is none": hints(lambda _: 77),
    "itself, refused": hints(lambda _: 1),
    "no leader": refuses(6),
    "an unknown epoch": refuses(75),
    "an old epoch": refuses(74),
    "an offset that is not available": refuses(78),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_answer_for_minutes(
    what: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B357: a back-off for each round trip, a line a minute at most, and then it is read on."""
    caplog.set_level(logging.INFO)
    world = in_racks()
    with reader(world, client_rack="east") as consumer:
        assert drained(consumer) == {A: [0, 1, 2]}
        with monkeypatch.context() as patch:
            WRONG[what](world, patch)
            consumer.poll(5.0)
            before = len(fetches(world)), metadata_requests(world), len(caplog.records)
            assert not consumer.poll(60.0 * MINUTES)
            most = 60 * MINUTES / A_BACKOFF
            told = [each.getMessage() for each in caplog.records[before[2] :]]
            assert len(fetches(world)) - before[0] <= 3 * most
            # One of the fetch, and those of a position that each new epoch makes unsure.
            assert metadata_requests(world) - before[1] <= 4 * most
            assert len(told) <= MINUTES, told[:8]
        world.control.heal()
        world.control.append(A, b"x")
        assert drained(consumer, 5.0) == {A: [3]}


def test_a_partition_that_is_refused_many_times_in_one_answer_is_told_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B480: a poll raises the first of its rows, and the next one returns records."""
    world = in_racks()
    judge = FetchResponseHandler.judge

    def wrong(self: Any, sent: Any, answer: FetchAnswer, asked: Any, node: Node) -> Any:
        rows = [replace(row, error=REFUSED) for row in answer.partitions] * 300
        return judge(self, sent, replace(answer, partitions=tuple(rows)), asked, node)

    with reader(world) as consumer:
        with monkeypatch.context() as patch:
            patch.setattr(FetchResponseHandler, "judge", wrong)
            with pytest.raises(ReassignmentInProgressException):
                consumer.poll(5.0)
        assert drained(consumer, 5.0) == {A: [0, 1, 2]}


def test_an_epoch_that_metadata_told_once_and_no_leader_has_is_given_up() -> None:
    """B479: brokers that all tell an older one are believed after ten answers."""
    world = in_racks()
    with reader(world, metadata_max_age_ms=1_000) as consumer:
        assert drained(consumer) == {A: [0, 1, 2]}
        _, epoch = world.control.leader(A)
        world.control.set_epoch(A, HIGH)
        consumer.poll(2.0)
        world.control.set_epoch(A, epoch)
        consumer.poll(60.0)
        world.control.append(A, b"x")
        assert drained(consumer, 5.0) == {A: [3]}


def test_a_committed_epoch_that_no_log_knows_is_asked_about_in_pauses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B357: leaders that know no such epoch for minutes: no line a round trip."""
    caplog.set_level(logging.INFO)
    world = in_racks()
    with reader(world, group_id="g") as consumer:
        consumer.commit_sync({A: OffsetAndMetadata(3, leader_epoch=HIGH)})
    with reader(world, group_id="g") as consumer:
        fault = world.control.fail("OffsetForLeaderEpoch", 75, times=None)
        consumer.poll(5.0)
        before = len(caplog.records), len(world.cluster.journal.entries("OffsetForLeaderEpoch"))
        consumer.poll(60.0 * MINUTES)
        asked = len(world.cluster.journal.entries("OffsetForLeaderEpoch")) - before[1]
        assert asked <= 3 * 60 * MINUTES / A_BACKOFF
        told = [each.getMessage() for each in caplog.records[before[0] :]]
        assert len(told) <= MINUTES, told[:8]
        fault.undo()
        world.control.append(A, b"x")
        assert 3 in drained(consumer, 8.0)[A]
