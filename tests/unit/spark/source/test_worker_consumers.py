"""Which clients a worker of Spark keeps from task to task, and which it closes."""

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from prokurist.errors import TimeoutException
from prokurist.spark.source import worker_consumers
from prokurist.spark.source.worker_consumers import WorkerConsumers
from prokurist.spark.worker_clients import MOST_CLIENTS


@dataclass
class PaperClient:
    """What is lent.

    Attributes:
        config: What it was made of.
        keys: What else.
        closed: How often it was closed.
    """

    config: Mapping[str, str]
    keys: Mapping[str, Any]
    closed: int = 0

    def close(self, _timeout: float, /) -> None:
        """It is needed no more."""
        self.closed += 1


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> list[PaperClient]:
    """All that are made, in their order."""
    found: list[PaperClient] = []

    def make(config: Mapping[str, str], **keys: Any) -> PaperClient:
        found.append(PaperClient(config, keys))
        return found[-1]

    monkeypatch.setattr(worker_consumers, "made", make)
    return found


def closings(made: list[PaperClient]) -> list[int]:
    """How often each was closed."""
    return [each.closed for each in made]


def test_a_client_goes_from_task_to_task(made: list[PaperClient]) -> None:
    """One that reads nothing but what it is told to; of another configuration, another."""
    clients = WorkerConsumers()
    for name in ("a", "b", "a"):
        with clients.lent({"client.id": name, "x": "y"}):
            pass
    assert [each.config["client.id"] for each in made] == ["a", "b"]
    assert [each.keys for each in made] == [{"auto_offset_reset": "none"}] * 2
    assert closings(made) == [0, 0]


def test_a_client_is_one_task_s_at_a_time(made: list[PaperClient]) -> None:
    """And of two alike one is kept, and the other closed."""
    clients = WorkerConsumers()
    with clients.lent({}) as one, clients.lent({}) as other:
        assert one is not other
        assert len(clients) == 0
    assert len(clients) == 1
    assert sorted(closings(made)) == [0, 1]
    with clients.lent({}):
        assert len(made) == 2


def fail() -> None:
    """The task fails for its client's sake."""
    raise TimeoutException("no broker answers")


def give_up() -> None:
    """The task is given up in between, as a LIMIT does."""
    raise GeneratorExit


@pytest.mark.parametrize(("end", "kept"), [(fail, 0), (give_up, 1)])
def test_a_client_whose_task_failed_is_closed(
    made: list[PaperClient], end: Callable[[], None], kept: int
) -> None:
    """And one whose task was given up is not."""
    clients = WorkerConsumers()
    with pytest.raises((TimeoutException, GeneratorExit)), clients.lent({}):
        end()
    assert len(clients) == kept
    assert closings(made) == [1 - kept]


def test_who_has_not_been_asked_for_the_longest_is_closed(made: list[PaperClient]) -> None:
    """Asked for again in between, it is none of those."""
    clients = WorkerConsumers()
    for nth in (*range(MOST_CLIENTS), 0, MOST_CLIENTS):
        with clients.lent({"client.id": str(nth)}):
            pass
    assert closings(made) == [0, 1, *[0] * (MOST_CLIENTS - 1)]
    assert len(clients) == MOST_CLIENTS


def test_copies_that_a_fork_has_made_are_left_alone(
    made: list[PaperClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither used nor closed, nor kept."""
    clients = WorkerConsumers()
    with clients.lent({}):
        pass
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with clients.lent({}):
        pass
    assert len(made) == 2
    assert len(clients) == 1
    clients.close()
    assert closings(made) == [0, 1]


def test_those_that_are_free_can_be_closed(made: list[PaperClient]) -> None:
    """All of them."""
    clients = WorkerConsumers()
    for name in ("a", "b"):
        with clients.lent({"client.id": name}):
            pass
    clients.close()
    assert closings(made) == [1, 1]
    assert len(clients) == 0


FAULTS = """
import resource, sys
from prokurist.spark.worker_clients import keep_memory

if sys.argv[1:]:
    keep_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    batch = [b"x" * (1 << 20) for _ in range(8)]
    del batch
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_what_a_batch_has_freed_serves_the_next() -> None:
    """Its pages are not given back to the system, and faulted in again."""

    def faults(*arguments: str) -> int:
        program = sys.executable, "-c", FAULTS, *arguments
        return int(subprocess.run(program, stdout=subprocess.PIPE, check=True).stdout)

    assert faults("kept") < faults() / 4


COLLECTS = """
import gc
from prokurist.spark.worker_clients import spare_what_stays

before = gc.get_freeze_count()
spare_what_stays()
spared = gc.get_freeze_count()
more = [[] for _ in range(1000)]
spare_what_stays()
print(before, spared > 10_000, gc.get_freeze_count() == spared, gc.isenabled())
"""


def test_what_was_imported_is_not_gone_through_after_each_task() -> None:
    """The collector passes over it, from once on; what comes later is collected."""
    program = sys.executable, "-c", COLLECTS
    said = subprocess.run(program, stdout=subprocess.PIPE, check=True).stdout
    assert said.split() == [b"0", b"True", b"True", b"True"]
