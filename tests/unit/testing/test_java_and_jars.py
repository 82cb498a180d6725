"""Java and Maven: found, missing, too old, failing; with scripts in their place."""

import fcntl
import os
import threading
from pathlib import Path

import psutil
import pytest

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka import JavaMissing, JavaTooOld, MavenFailed, MavenMissing
from prokurist.testing.kafka.jars import cache_folder, cached_jars, fetch_jars
from prokurist.testing.kafka.java import find_java, needed_java

CLOCK = MonotonicClock()


def script(path: Path, body: str) -> Path:
    """An executable with this body."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def java(folder: Path, says: str, code: int = 0) -> Path:
    """A Java that says this about its version."""
    return script(folder / "java", f"echo '{says}' >&2; exit {code}")


def soon(seconds: float = 10.0) -> Deadline:
    """A deadline for something quick."""
    return Deadline.after(CLOCK.now(), seconds)


@pytest.mark.parametrize(
    ("says", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "21" 2023-09-19 LTS', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
    ],
)
def test_the_major_version_is_read(tmp_path: Path, says: str, major: int) -> None:
    """For any vendor and stage."""
    path = java(tmp_path, says)
    found = find_java("4.3.1", {"PATH": str(tmp_path)})
    assert (found.path, found.major) == (path, major)


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    """As other programs use it; and one that leads nowhere is told, not skipped."""
    java(tmp_path / "path", 'version "17.0.1"')
    java(tmp_path / "home" / "bin", 'version "21.0.1"')
    environ = {"PATH": str(tmp_path / "path"), "JAVA_HOME": str(tmp_path / "home")}
    assert find_java("4.3.1", environ).major == 21
    with pytest.raises(JavaMissing, match="JAVA_HOME has no bin/java"):
        find_java("4.3.1", environ | {"JAVA_HOME": str(tmp_path)})


def test_no_java_says_what_to_install(tmp_path: Path) -> None:
    """With the version that this Kafka needs."""
    with pytest.raises(JavaMissing, match="install Java 17 or newer") as missing:
        find_java("4.3.1", {"PATH": str(tmp_path)})
    assert missing.value.reason == "no Java on the path"


def test_a_java_that_does_not_run_is_as_good_as_none(tmp_path: Path) -> None:
    """What it said is shown."""
    java(tmp_path, "cannot find libjvm", 127)
    with pytest.raises(JavaMissing, match=r"exit code 127[^$]*cannot find libjvm"):
        find_java("4.3.1", {"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("says", "kafka", "found"),
    [('version "11.0.2"', "4.3.1", 11), ('version "1.8.0_402"', "3.9.2", 8)],
)
def test_an_old_java_says_found_and_needed(
    tmp_path: Path, says: str, kafka: str, found: int
) -> None:
    """Kafka 4 needs 17, Kafka 3 needs 11."""
    java(tmp_path, says)
    with pytest.raises(JavaTooOld) as old:
        find_java(kafka, {"PATH": str(tmp_path)})
    needed = needed_java(kafka)
    assert old.value.reason == f"Java {found} found, Kafka {kafka} needs {needed}"


def test_the_cache_follows_xdg() -> None:
    """A relative path there is to be ignored, says its specification."""
    assert cache_folder({"XDG_CACHE_HOME": "/there"}) == Path("/there/prokurist")
    for given in ("", "not/absolute"):
        found = cache_folder({"XDG_CACHE_HOME": given})
        assert found == Path.home() / ".cache" / "prokurist"


GOOD_MAVEN = """
echo run >> "$0.runs"
for argument in "$@"; do
  case "$argument" in -DoutputDirectory=*) out="${argument#*=}";; esac
done
mkdir -p "$out"; touch "$out/kafka_2.13-4.3.1.jar"; sleep 0.2
"""


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only Maven on the path; it does nothing yet."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return script(tmp_path / "bin" / "mvn", GOOD_MAVEN)


def test_jars_are_fetched_once_by_the_first_thread(tmp_path: Path, maven: Path) -> None:
    """Four at a time: one fetches, the others wait and find; nothing else stays."""
    cache = tmp_path / "cache"
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.append(fetch_jars("4.3.1", soon(), CLOCK, cache)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(15)
    assert found == [cache / "kafka-4.3.1"] * 4
    assert cached_jars("4.3.1", cache) == cache / "kafka-4.3.1"
    assert maven.with_name("mvn.runs").read_text().count("run") == 1
    assert sorted(path.name for path in cache.iterdir()) == ["kafka-4.3.1", "kafka-4.3.1.lock"]


def test_what_a_killed_fetch_left_is_removed(tmp_path: Path, maven: Path) -> None:
    """It is never taken for the whole."""
    del maven
    left = tmp_path / "cache" / "kafka-4.3.1.part-old"
    left.mkdir(parents=True)
    assert cached_jars("4.3.1", tmp_path / "cache") is None
    fetch_jars("4.3.1", soon(), CLOCK, tmp_path / "cache")
    assert not left.exists()


@pytest.mark.parametrize(
    ("body", "code"), [("echo could not resolve kafka; exit 1", 1), ("exit 0", 0)]
)
def test_a_maven_that_fails_shows_its_last_lines(
    tmp_path: Path, maven: Path, body: str, code: int
) -> None:
    """Also one that says it did well and brought nothing; the cache stays as it was."""
    script(maven, body)
    with pytest.raises(MavenFailed, match=rf"exit code {code}") as failed:
        fetch_jars("4.3.1", soon(), CLOCK, tmp_path / "cache")
    if code:
        assert "| could not resolve kafka" in str(failed.value)
    assert cached_jars("4.3.1", tmp_path / "cache") is None
    assert not list((tmp_path / "cache").glob("*.part-*"))


def test_a_maven_that_hangs_is_ended_at_the_deadline(tmp_path: Path, maven: Path) -> None:
    """With what it started itself: `mvn` is a script around a JVM."""
    script(maven, 'sleep 300 & echo $! > "$0.pid"; wait')
    with pytest.raises(MavenFailed, match="by the deadline"):
        # Time enough for the script to begin, on a busy machine, too.
        fetch_jars("4.3.1", soon(4), CLOCK, tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("*.part-*"))
    below = int(maven.with_name("mvn.pid").read_text())
    deadline = soon()
    while psutil.pid_exists(below) and psutil.Process(below).status() != "zombie":
        assert not deadline.expired(CLOCK.now())
        CLOCK.sleep(0.02)


def test_a_lock_that_is_held_is_waited_for_until_the_deadline(
    tmp_path: Path, maven: Path
) -> None:
    """And the message says which file it is."""
    del maven
    cache = tmp_path / "cache"
    cache.mkdir()
    with (cache / "kafka-4.3.1.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(MavenFailed, match=r"it holds .*kafka-4\.3\.1\.lock"):
            fetch_jars("4.3.1", soon(0.2), CLOCK, cache)


def test_no_maven_matters_only_if_there_are_no_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full cache needs neither Maven nor a network."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MavenMissing, match="install Maven"):
        fetch_jars("4.3.1", soon(), CLOCK, tmp_path)
    (tmp_path / "kafka-4.3.1").mkdir()
    assert fetch_jars("4.3.1", soon(), CLOCK, tmp_path) == tmp_path / "kafka-4.3.1"
