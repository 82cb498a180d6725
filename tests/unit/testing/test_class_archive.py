"""The archive of a broker's classes: when it is made, when it serves, and no start needs it."""

import fcntl
from pathlib import Path

import pytest

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka import class_archive
from prokurist.testing.kafka.class_archive import archive_options, find_archive
from prokurist.testing.kafka.java import Java

CLOCK = MonotonicClock()
BROKER = """#!/bin/sh
for each; do
  case "$each" in -XX:ArchiveClassesAtExit=*) archive="${each#*=}";; esac
  last="$each"
done
[ -z "$archive" ] && exit 0
trap 'printf classes > "$archive"; exit 143' TERM
echo "Kafka Server started" > "$(dirname "$last")/broker.log"
while :; do sleep 0.02; done
"""
"""A Java that formats without a word, and as a broker writes an archive at its end."""


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    """A folder of jars, in a cache of its own."""
    folder = tmp_path / "cache" / "kafka-4.3.1"
    folder.mkdir(parents=True)
    (folder / "kafka.jar").write_bytes(b"jar")
    return folder


def java(tmp_path: Path, program: str = BROKER, major: int = 17, told: str = "17.0.1") -> Java:
    """A script in Java's place."""
    path = tmp_path / "java"
    path.write_text(program)
    path.chmod(0o755)
    return Java(path, major, told)


def asked(jars: Path, by: Java, seconds: float = 180.0) -> Path | None:
    """What a start of a Kafka is given."""
    deadline = Deadline.after(CLOCK.now(), seconds)
    return class_archive.class_archive("4.3.1", by, jars, deadline, CLOCK)


def files(jars: Path) -> list[str]:
    """What lies beside the jars, but for locks."""
    return sorted(each.name for each in jars.parent.iterdir() if each.suffix != ".lock")


def test_the_second_start_makes_it_and_all_later_ones_have_it(
    tmp_path: Path, jars: Path
) -> None:
    """A process that starts a single Kafka does not wait for it."""
    one = java(tmp_path)
    assert asked(jars, one) is None
    made = asked(jars, one)
    assert made is not None
    assert made.read_text() == "classes"
    assert asked(jars, one) == made == find_archive(one, jars)
    assert files(jars) == ["kafka-4.3.1", made.name]
    assert archive_options(made)[0] == f"-XX:SharedArchiveFile={made}"
    assert archive_options(None) == ()


def test_it_serves_the_java_and_the_jars_that_it_was_made_of(
    tmp_path: Path, jars: Path
) -> None:
    """Of any other Java said more, and one of other jars is replaced."""
    one = java(tmp_path)
    asked(jars, one)
    first = asked(jars, one)
    assert find_archive(Java(one.path, 17, "17.0.2"), jars) is None
    (jars / "kafka.jar").write_bytes(b"another")
    assert find_archive(one, jars) is None
    class_archive._starts.clear()
    asked(jars, one)
    second = asked(jars, one)
    assert second != first
    assert second is not None
    assert files(jars) == ["kafka-4.3.1", second.name]


def test_one_that_was_cut_short_is_none(tmp_path: Path, jars: Path) -> None:
    """Java would die of it."""
    one = java(tmp_path)
    asked(jars, one)
    made = asked(jars, one)
    assert made is not None
    made.write_text("class")
    assert find_archive(one, jars) is None
    made.write_text("")
    assert find_archive(one, jars) is None


def test_a_start_goes_on_without(tmp_path: Path, jars: Path) -> None:
    """With an old Java, little time, another that makes it, and a Java that makes none."""
    one = java(tmp_path)
    old = java(tmp_path, major=11)
    assert [asked(jars, old) for _ in range(3)] == [None] * 3
    assert [asked(jars, one, seconds=100.0) for _ in range(3)] == [None] * 3
    class_archive._starts.clear()
    with (jars.parent / "kafka-4.3.1.jsa.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert [asked(jars, one) for _ in range(3)] == [None] * 3
    class_archive._starts.clear()
    broken = java(tmp_path, "#!/bin/sh\nexit 1\n")
    assert [asked(jars, broken) for _ in range(3)] == [None] * 3
    assert files(jars) == ["kafka-4.3.1"]
