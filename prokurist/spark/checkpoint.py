"""Progress of a streaming query, from its checkpoint.

Thread: any. Files are read, nothing is written.
Invariants: a batch counts when Spark has noted its end (`commits/<n>`). One that was only
planned (`offsets/<n>`) is used only where it is named.

A file of `offsets` has a version, a line about the batch, and a line for each source: its
offset (v1, by its place among the sources) or its name and its offset (v2). Kafka's are
recognised by their form: no other source writes an object of objects.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from prokurist.errors import ConfigException
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.errors import CheckpointException
from prokurist.spark.offset_json import SourceOffset
from prokurist.types import TopicPartition, named


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The offsets of a query at the end of a batch.

    Attributes:
        path: The checkpoint's folder.
        query: The query's id, the same over restarts.
        batch: The batch's number.
        ends: For each partition the offset after the last record of the batch.
    """

    path: str
    query: str
    batch: int
    ends: Mapping[TopicPartition, int]


class Files(Protocol):
    """The files of a checkpoint, on any file system that Spark reads."""

    def numbers(self, folder: str) -> list[int]:
        """The names in a folder that are numbers; empty if the folder does not exist."""
        ...

    def text(self, name: str) -> str:
        """Read a file.

        Raises:
            CheckpointException: It cannot be read.
        """
        ...


class LocalFiles:
    """The files of a checkpoint on a local or mounted file system."""

    def __init__(self, path: str) -> None:
        self._folder = Path(path)

    def numbers(self, folder: str) -> list[int]:
        """See `Files.numbers`."""
        try:
            names = [each.name for each in (self._folder / folder).iterdir()]
        except FileNotFoundError:
            return []
        return [int(name) for name in names if name.isdecimal()]

    def text(self, name: str) -> str:
        """See `Files.text`."""
        try:
            return (self._folder / name).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CheckpointException(
                f"{self._folder / name} cannot be read: {error}"
            ) from error


def read_checkpoint(
    path: str | os.PathLike[str],
    *,
    source: int | str | None = None,
    batch: int | None = None,
    spark: Any = None,
) -> Checkpoint:
    """Read the offsets of a streaming query from its checkpoint.

    Args:
        path: The checkpoint's folder.
        source: The place or name of one of the query's sources; None for all of Kafka's.
        batch: A batch by its number, even if Spark has not noted its end: for a caller that
            knows that it is done. None for the last one that is.
        spark: A session, for folders that are not on this machine.

    Raises:
        CheckpointException: It is no checkpoint, no batch is done, or none of its sources is
            Kafka's.
    """
    where = os.fspath(path)
    files = files_of(where, spark)
    if batch is None:
        done = files.numbers("commits")
        if not done:
            planned = files.numbers("offsets")
            raise CheckpointException(
                f"{where}: no batch is done"
                + (
                    f"; {max(planned)} is only planned, and may be read again"
                    if planned
                    else ": is this the folder that was given as checkpointLocation?"
                )
            )
        batch = max(done)
    offsets = _merged(
        where, batch, _chosen(where, batch, files.text(f"offsets/{batch}"), source)
    )
    return Checkpoint(where, _query(where, files.text("metadata")), batch, offsets)


def files_of(path: str, spark: Any) -> Files:
    """Choose how to read the files of a folder: locally, or by a session.

    Raises:
        CheckpointException: The folder is not on this machine, and there is no session.
    """
    if spark is not None:
        # Here, because it needs pyspark, and only who has a session has that for certain.
        from prokurist.spark.session_files import SessionFiles  # noqa: PLC0415

        return SessionFiles(spark, path)
    scheme, colon, rest = path.partition(":")
    if not colon or "/" in scheme:
        return LocalFiles(path)
    if scheme == "file":
        return LocalFiles("/" + rest.lstrip("/"))
    raise CheckpointException(
        f"{path} is not on this machine: pass spark=, a session that can read it"
    )


def _query(where: str, text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    query = found.get("id") if isinstance(found, dict) else None
    if not isinstance(query, str):
        raise CheckpointException(f"{where}/metadata has no query's id: {text[:60]!r}")
    return query


def _chosen(
    where: str, batch: int, text: str, source: int | str | None
) -> dict[str, SourceOffset]:
    """The offsets of the wanted sources, by their names."""
    name = f"{where}/offsets/{batch}"
    lines = dict(_sources(name, text))
    if source is not None:
        if str(source) not in lines:
            raise CheckpointException(
                f"{name} has no source {source}: there are {', '.join(lines) or 'none'}"
            )
        lines = {str(source): lines[str(source)]}
    found = {
        key: _offset(f"{name}, source {key}", line)
        for key, line in lines.items()
        if _looks_like_kafka(line)
    }
    if not found:
        which = "none of the sources is" if source is None else f"source {source} is not"
        raise CheckpointException(f"{name}: {which} Kafka's, or it has given nothing yet")
    return found


def _sources(name: str, text: str) -> Iterator[tuple[str, str]]:
    version, *lines = text.strip().split("\n")
    given = lines[1:]
    if version == "v1":
        yield from ((str(place), line) for place, line in enumerate(given))
    elif version == "v2":
        # A name has no colon, and an offset may.
        yield from ((line.partition(":")[0], line.partition(":")[2]) for line in given)
    else:
        raise CheckpointException(
            f"{name} begins with {version[:20]!r}, and only v1 and v2 are known: is it of a "
            "newer Spark?"
        )


def _looks_like_kafka(line: str) -> bool:
    try:
        found = json.loads(line)
    except ValueError:
        # A dash, too: the source has given nothing yet.
        return False
    return (
        isinstance(found, dict)
        and bool(found)
        and all(isinstance(each, dict) for each in found.values())
    )


def _offset(name: str, line: str) -> SourceOffset:
    try:
        return SourceOffset.of(line, name)
    except ConfigException as error:
        raise CheckpointException(str(error)) from None


def _merged(
    where: str, batch: int, found: Mapping[str, SourceOffset]
) -> dict[TopicPartition, int]:
    """Merge the offsets of all sources; raises if two read one partition."""
    ends: dict[TopicPartition, int] = {}
    for offset in found.values():
        if twice := ends.keys() & offset.ends.keys():
            raise CheckpointException(
                f"{where}/offsets/{batch}: several sources ({', '.join(found)}) read "
                f"{named(twice)}: pass source=, the one that is meant"
            )
        ends.update(offset.ends)
    return ends
