"""Commit metadata of streaming queries, and the rejection of commits that conflict with it.

Thread: any; pure functions.
Invariants: a note of ours is a JSON object with the first letters of a query's id and the
number of its batch. Any other note is of another program, and ignored.
"""

import json
from collections.abc import Mapping

from prokurist.spark.errors import CommitBackwardsException
from prokurist.types import OffsetAndMetadata, TopicPartition, named, require_int


def note_of(query: str, batch: int) -> str:
    """The commit metadata of a streaming query's batch."""
    require_int("batch", batch)
    return json.dumps({"q": query[:8], "b": batch}, separators=(",", ":"))


def is_later(before: OffsetAndMetadata | None, query: str | None, batch: int | None) -> bool:
    """Return True if committed metadata are of a later batch of the same query."""
    if before is None or query is None or batch is None:
        return False
    try:
        note = json.loads(before.metadata)
    except ValueError:
        return False
    if not isinstance(note, dict) or note.get("q") != query[:8]:
        return False
    noted = note.get("b")
    return isinstance(noted, int) and noted > batch


def refuse_backwards(
    group: str,
    before: Mapping[TopicPartition, OffsetAndMetadata | None],
    wanted: Mapping[TopicPartition, OffsetAndMetadata],
) -> None:
    """Raise if an offset is before the committed one.

    Raises:
        CommitBackwardsException: One is.
    """
    committed = {
        tp: kept.offset
        for tp, at in wanted.items()
        if (kept := before[tp]) is not None and kept.offset > at.offset
    }
    if committed:
        first = min(committed)
        raise CommitBackwardsException(
            f"the group {group!r} would go back for {named(committed)} ({first} from "
            f"{committed[first]} to {wanted[first].offset}), and read again what is done; "
            "nothing was committed. If that is meant, pass force=True",
            committed=committed,
            wanted={tp: wanted[tp].offset for tp in committed},
        )
