"""The samples of several processes behind one port."""

import json
import os
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Metric, generate_latest

from prokurist.metrics.prometheus import of_workers, register
from prokurist.metrics.workers import STALE, Samples, WorkerFiles, of_process

PARENT = os.getppid()
"""A process that lives, and is not this one."""
NAME = "prokurist_consumer_partitions"
SAMPLES: Samples = {NAME: [(NAME, {"client_id": "orders"}, 2.0)]}


def none() -> Samples:
    """This process has no clients."""
    return {}


def test_a_file_is_written_whole_and_taken_away(tmp_path: Path) -> None:
    """Under the process's number; the directory is made."""
    files = WorkerFiles(tmp_path / "a" / "b", lambda: SAMPLES)
    files.write()
    (file,) = files.directory.iterdir()
    assert file.name == f"prokurist_{os.getpid()}.json"
    assert json.loads(file.read_text("utf-8"))[NAME] == [[NAME, {"client_id": "orders"}, 2.0]]
    assert list(files.others()) == []
    files.close()
    assert not list(files.directory.iterdir())


def test_those_that_live_and_write_are_read(tmp_path: Path) -> None:
    """Not this process's own, and nothing else that lies there."""
    files = WorkerFiles(tmp_path, none)
    (tmp_path / f"prokurist_{PARENT}.json").write_text(json.dumps(SAMPLES), "utf-8")
    (tmp_path / "counter_77.db").write_bytes(b"of prometheus_client")
    (tmp_path / "prokurist_x.json").write_text("{}", "utf-8")
    files.write()
    ((pid, samples),) = files.others()
    assert (pid, samples[NAME][0][2]) == (PARENT, 2.0)


def test_one_that_has_ended_is_forgotten(tmp_path: Path) -> None:
    """Its file goes, too."""
    child = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(child, 0)
    file = tmp_path / f"prokurist_{child}.json"
    file.write_text(json.dumps(SAMPLES), "utf-8")
    assert list(WorkerFiles(tmp_path, none).others()) == []
    assert not file.exists()


def test_one_that_writes_no_more_is_left_out(tmp_path: Path) -> None:
    """Old numbers look as good as new ones."""
    file = tmp_path / f"prokurist_{PARENT}.json"
    file.write_text(json.dumps(SAMPLES), "utf-8")
    written = file.stat().st_mtime
    moment = [written + STALE]
    files = WorkerFiles(tmp_path, none, lambda: moment[0])
    assert len(list(files.others())) == 1
    moment[0] += 1
    assert list(files.others()) == []


def test_a_damaged_file_is_passed_over(tmp_path: Path) -> None:
    """A scrape is not refused for its sake."""
    (tmp_path / f"prokurist_{PARENT}.json").write_text("{", "utf-8")
    assert list(WorkerFiles(tmp_path, none).others()) == []


def test_it_writes_by_itself_until_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a thread, of which nothing is left."""
    written = threading.Semaphore(0)

    def samples() -> Samples:
        written.release()
        return SAMPLES

    files = WorkerFiles(tmp_path, samples)
    with monkeypatch.context() as patched:
        patched.setattr("prokurist.metrics.workers.EVERY", 0.01)
        files._start()
        assert all(written.acquire(timeout=10) for _ in range(3))
    # For as long as usual between two, its end is waited for.
    files.close()
    assert not [each for each in threading.enumerate() if each.name == "prokurist-metrics"]
    assert not list(tmp_path.iterdir())


def test_what_one_scrape_has_told_another_workers_tells_no_less_of(tmp_path: Path) -> None:
    """B376: to Prometheus a counter that goes back is a restart: all counts once more."""
    told = [0.0]

    def samples() -> Samples:
        told[0] += 1.0
        return {NAME: [(NAME, {"client_id": "orders"}, told[0])]}

    def value(families: Iterable[Metric]) -> list[float]:
        return [each.value for family in families for each in family.samples]

    files = WorkerFiles(tmp_path, samples)
    files.write()
    assert value(of_workers(files)) == [2.0]
    written = (tmp_path / f"prokurist_{os.getpid()}.json").read_text("utf-8")
    # As another worker finds it.
    (tmp_path / f"prokurist_{PARENT}.json").write_text(written, "utf-8")
    assert value(of_workers(WorkerFiles(tmp_path, none))) == [2.0]


def test_a_disk_that_takes_nothing_refuses_no_scrape(tmp_path: Path) -> None:
    """This process's own are told all the same; a folder in the file's place stands for it."""
    (tmp_path / f"prokurist_{os.getpid()}.tmp").mkdir()
    assert WorkerFiles(tmp_path, lambda: SAMPLES).write() == SAMPLES


def test_a_worker_that_is_closed_leaves_no_file_to_a_late_scrape(tmp_path: Path) -> None:
    """A server may answer one more while the process ends."""
    files = WorkerFiles(tmp_path, lambda: SAMPLES)
    files.close()
    assert files.write() == SAMPLES
    assert not list(tmp_path.iterdir())


def test_clients_of_one_name_are_told_apart_by_their_process() -> None:
    """Unless the name does so already, as those do that are made up.

    B376: what has no client as well; a sum would go back when a worker ends.
    """
    lines = [
        ("a", {"client_id": "orders"}, 1.0),
        ("b", {"client_id": "prokurist-consumer-host-77-1"}, 2.0),
        ("c", {"phase": "leave"}, 3.0),
    ]
    assert [labels for _, labels, _ in of_process(77, lines)] == [
        {"client_id": "orders@77"},
        {"client_id": "prokurist-consumer-host-77-1"},
        {"phase": "leave", "pid": "77"},
    ]


def test_a_scrape_of_one_has_the_samples_of_all(tmp_path: Path) -> None:
    """B308: its own are of this moment."""
    (tmp_path / f"prokurist_{PARENT}.json").write_text(json.dumps(SAMPLES), "utf-8")
    own: Samples = {NAME: [(NAME, {"client_id": "orders"}, 5.0)]}
    files = WorkerFiles(tmp_path, lambda: own)

    class Collector:
        """One client of this process's own."""

        def collect(self) -> list[Metric]:
            """All rows."""
            return list(of_workers(files))

    registry = CollectorRegistry()
    registry.register(Collector())
    text = generate_latest(registry).decode()
    assert f'{NAME}{{client_id="orders@{os.getpid()}"}} 5.0' in text
    assert f'{NAME}{{client_id="orders@{PARENT}"}} 2.0' in text


def test_a_registry_shares_one_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later one begins it, the same one is nothing new, and another one is refused."""
    begun: list[Path] = []
    monkeypatch.setattr(WorkerFiles, "begin", lambda files: begun.append(files.directory))
    registry = CollectorRegistry()
    register(registry)
    for _ in range(2):
        register(registry, directory=tmp_path / "a")
    with pytest.raises(ValueError, match="already; register with one directory"):
        register(registry, directory=tmp_path / "b")
    assert begun == [tmp_path / "a"]
