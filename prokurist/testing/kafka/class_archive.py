"""Archive of a broker's classes, mapped by its virtual machine at each start.

Without it a start spends two fifths of its work on reading and checking classes. It belongs
to one Java and one folder of jars, and lies beside that folder. A process makes it at its
second start: for a single Kafka making it would take longer than it saves.

Thread: any, and any number of processes: the one that holds the lock file makes it, and
the others start without.
Invariants: no start fails for it. A file that bears the final name is complete: it got
the name by one rename, and is as large as the name says, since Java dies of one that was
cut short. What else may be wrong with it Java finds out by itself; it then starts without,
and says nothing.
"""

import contextlib
import fcntl
import hashlib
import os
import signal
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

from prokurist.events.clock import Clock, Deadline
from prokurist.testing.kafka.admin import Admin
from prokurist.testing.kafka.broker_process import (
    BROKER,
    LOG,
    STORAGE,
    java_command,
    write_files,
)
from prokurist.testing.kafka.errors import HarnessError, NotReady
from prokurist.testing.kafka.guarded_process import GuardedProcess
from prokurist.testing.kafka.java import Java
from prokurist.testing.kafka.ports import LOOPBACK, Address, free_ports
from prokurist.testing.kafka.properties import (
    QUICK_JAVA,
    heap_option,
    listener_properties,
    new_cluster_id,
    quick_properties,
)

_OLDEST_JAVA: Final = 17
_MADE_WITHIN: Final = 60.0
_MUST_REMAIN: Final = 60.0
"""Seconds which the start that makes it has left for itself at least."""
_AT_START: Final = 2
_SETTLED: Final = 5.0
_BEGUN: Final = b"Kafka Server started"
# What Java says of an archive that it cannot use.
_SILENT: Final = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")

_starts: Counter[Path] = Counter()


def archive_options(archive: Path | None) -> tuple[str, ...]:
    """The options of the virtual machine that has this archive, or none."""
    return () if archive is None else (f"-XX:SharedArchiveFile={archive}", *_SILENT)


def find_archive(java: Java, jars: Path) -> Path | None:
    """The archive of this Java and these jars, if there is one."""
    with contextlib.suppress(OSError):
        for each in jars.parent.glob(f"{_prefix(java, jars)}-*.jsa"):
            if each.stat().st_size == int(each.stem.rpartition("-")[2]) > 0:
                return each
    return None


def class_archive(
    version: str, java: Java, jars: Path, deadline: Deadline, clock: Clock
) -> Path | None:
    """Return the class archive for brokers that start now; the second start makes it.

    Args:
        version: The Kafka that the jars are.
        java: The Java to run it.
        jars: The folder of the jars.
        deadline: That of the start: where little time remains, nothing is made.
        clock: Clock of the deadline.

    Returns:
        None where there is none, and none can be made.
    """
    if java.major < _OLDEST_JAVA:
        return None
    if (found := find_archive(java, jars)) is not None:
        return found
    _starts[jars] += 1
    remaining = deadline.remaining(clock.now())
    if _starts[jars] != _AT_START or remaining < _MADE_WITHIN + _MUST_REMAIN:
        return None
    with contextlib.suppress(OSError, HarnessError):
        return _make(version, java, jars, clock)
    return None


def _prefix(java: Java, jars: Path) -> str:
    """Return the prefix of an archive's name: a digest of all that the classes depend on."""
    told = [str(java.path.resolve()), java.told]
    for each in sorted(jars.iterdir()):
        stat = each.stat()
        told.append(f"{each} {stat.st_size} {stat.st_mtime_ns}")
    digest = hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]
    return f"{jars.name}-java{java.major}-{digest}"


def _make(version: str, java: Java, jars: Path, clock: Clock) -> Path | None:
    prefix = _prefix(java, jars)
    with (jars.parent / f"{jars.name}.jsa.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None  # Another process makes it.
        if (found := find_archive(java, jars)) is not None:
            return found
        # We hold the lock: what has another digest was made of other jars or by another Java.
        for stale in jars.parent.glob(f"{jars.name}-java{java.major}-*.jsa*"):
            stale.unlink(missing_ok=True)
        part = jars.parent / f"{prefix}.jsa.part"
        # A first `mkdtemp` may create the folder; the guard removes it with all that is in it.
        folder = Path(tempfile.mkdtemp(prefix="prokurist-kafka-")) / "node-0"
        folder.mkdir()
        process = GuardedProcess(folder, clock)
        try:
            _run_broker(version, java, jars, folder, process, part, clock)
        finally:
            process.close()
        with part.open("rb") as made:
            os.fsync(made)
        return part.rename(jars.parent / f"{prefix}-{part.stat().st_size}.jsa")


def _run_broker(
    version: str,
    java: Java,
    jars: Path,
    folder: Path,
    process: GuardedProcess,
    archive: Path,
    clock: Clock,
) -> None:
    """Start a broker, have it do what each does, and let it write the archive at its end."""
    deadline = Deadline.after(clock.now(), _MADE_WITHIN)
    direct, control = (Address(LOOPBACK, port) for port in free_ports(2))
    listeners = {"DIRECT": str(direct)}
    write_files(
        folder,
        quick_properties(1, version)
        | {"log.dirs": str(folder / "data")}
        | listener_properties(
            0,
            listeners=listeners | {"CONTROLLER": str(control)},
            advertised=listeners,
            voters=[str(control)],
            between_brokers="DIRECT",
        ),
    )
    options = [heap_option(1), *QUICK_JAVA]
    storage = ("format", "-t", new_cluster_id(), "-c")
    process.run(
        java_command(java.path, options, jars, folder, STORAGE, *storage), folder / "format.log"
    )
    process.wait(deadline)
    options.append(f"-XX:ArchiveClassesAtExit={archive}")
    process.run(java_command(java.path, options, jars, folder, BROKER), folder / "output.log")
    log = folder / LOG
    while not (log.exists() and _BEGUN in log.read_bytes()):
        if not process.running() or deadline.expired(clock.now()):
            raise NotReady("the broker whose classes are archived did not start")
        clock.sleep(0.1)
    admin = Admin(lambda: (direct,), clock)
    with contextlib.suppress(HarnessError):
        settled = Deadline.after(clock.now(), _SETTLED)
        admin.create_topic("classes", 1, 1, {}, settled)
        admin.coordinator("classes", settled)
    process.signal(signal.SIGTERM)
    if process.wait(deadline) is None:
        raise NotReady("the broker whose classes are archived did not end")
