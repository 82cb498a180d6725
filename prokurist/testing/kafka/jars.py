"""Kafka's jars, fetched once by Maven into the user's cache folder.

Thread: any, and any number of processes: the one that holds the lock file fetches,
the others wait for it and find the jars.
Invariants: a folder that bears the final name is complete, since it got that
name by one rename after the last jar was there.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from prokurist.events.clock import Clock, Deadline
from prokurist.testing.kafka.errors import MavenFailed, MavenMissing, tail

_GOAL: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
# kafka-tools is what the broker's own artifact leaves out: the topic, group and
# performance tools, which tests and benchmarks run from the same folder.
_ARTIFACTS: Final = ("kafka_2.13", "kafka-tools")
# Kafka 4 publishes log4j and leaves out what ties its log to it: without this, the
# broker says nothing at all. First in the pom, so that its own log4j comes with it.
_LOGGING: Final = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of all jars: below `XDG_CACHE_HOME`, else below `~/.cache`."""
    environ = os.environ if environ is None else environ
    given = environ.get("XDG_CACHE_HOME", "")
    # The rule of XDG: a relative path there is to be ignored.
    base = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return base / "prokurist"


def cached_jars(version: str, cache: Path | None = None) -> Path | None:
    """The folder of this version's jars, if they were fetched before."""
    folder = (cache_folder() if cache is None else cache) / f"kafka-{version}"
    return folder if folder.is_dir() else None


def find_maven(environ: Mapping[str, str] | None = None) -> Path:
    """Maven on the path.

    Raises:
        MavenMissing: There is none.
    """
    environ = os.environ if environ is None else environ
    found = shutil.which("mvn", path=environ.get("PATH"))
    if found is None:
        raise MavenMissing(
            "no Maven on the path",
            way_out="install Maven; it fetches Kafka's jars once, about 55 MB",
        )
    return Path(found)


def fetch_jars(
    version: str, deadline: Deadline, clock: Clock, cache: Path | None = None
) -> Path:
    """The folder of this version's jars, fetched now if need be.

    Args:
        version: A version of Apache Kafka on Maven Central.
        deadline: When to give up, the wait for another process's fetch included.
        clock: Clock of the deadline.
        cache: The cache folder; the user's own if None.

    Raises:
        MavenMissing: They must be fetched, and there is no Maven.
        MavenFailed: Maven failed, or was not done by the deadline.
    """
    cache = cache_folder() if cache is None else cache
    if (found := cached_jars(version, cache)) is not None:
        return found
    maven = find_maven()
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f"kafka-{version}.lock", deadline, clock):
        if (found := cached_jars(version, cache)) is not None:
            return found
        for stale in cache.glob(f"kafka-{version}.part-*"):
            # We hold the lock: the process that began this one was killed at it.
            shutil.rmtree(stale, ignore_errors=True)
        part = Path(tempfile.mkdtemp(prefix=f"kafka-{version}.part-", dir=cache))
        try:
            jars = part / "jars"
            _run_maven(maven, version, part, jars, deadline.remaining(clock.now()))
            return jars.rename(cache / f"kafka-{version}")
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _run_maven(maven: Path, version: str, part: Path, jars: Path, seconds: float) -> None:
    (part / "pom.xml").write_text(_pom(version), encoding="utf-8")
    argv = [str(maven), "-q", "-B", "-f", str(part / "pom.xml"), _GOAL]
    # A session of its own, so that at the deadline the JVM which the script `mvn`
    # starts ends with it.
    with subprocess.Popen(
        [*argv, f"-DoutputDirectory={jars}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise MavenFailed(
                f"Maven had not fetched Kafka {version} by the deadline",
                way_out="try again with more time, or fetch once on a faster network",
            ) from error
        finally:
            # The end of this wait (the deadline, Ctrl-C) ends Maven as well.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode != 0 or not any(jars.glob(f"kafka_2.13-{version}.jar")):
        raise MavenFailed(
            f"Maven could not fetch Kafka {version} (exit code {process.returncode})",
            way_out="is there a network, and does this version exist?",
            detail=tail(output.decode(errors="replace").splitlines(), 12),
        )


def _pom(version: str) -> str:
    artifacts = [("org.apache.kafka", artifact, version) for artifact in _ARTIFACTS]
    if int(version.split(".", maxsplit=1)[0]) >= 4:
        artifacts.insert(0, _LOGGING)
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{number}</version></dependency>"
        for group, artifact, number in artifacts
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0">'
        "<modelVersion>4.0.0</modelVersion><groupId>prokurist</groupId>"
        "<artifactId>kafka-for-tests</artifactId><version>1</version>"
        f"<packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>\n"
    )


@contextlib.contextmanager
def _locked(path: Path, deadline: Deadline, clock: Clock) -> Iterator[None]:
    """Hold a lock between processes, which the system gives back when one dies."""
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if deadline.expired(clock.now()):
                    raise MavenFailed(
                        f"another process was still fetching {path.stem} at the deadline",
                        way_out=f"it holds {path}; wait for it, or end it",
                    ) from None
                clock.sleep(0.1)
        yield
