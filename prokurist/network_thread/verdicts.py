"""What an error code in an answer means for the operation that asked: data, not ifs.

One table per API, a row per code, each with its reason. A code outside its row is
judged by the class it has in `prokurist.errors`: retriable ones are tried again,
with fresh metadata where their class says so; all others are fatal to the call.
So a code that is newer than we are is fatal, with its number, and never a loop.

Thread: any; tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from prokurist.errors import CommitFailedException, KafkaException, error_for
from prokurist.errors.codes import NONE, by_code


class Verdict(Enum):
    """What to do next."""

    DONE = "done"
    RETRY = "try again after the backoff"
    REFRESH = "fetch metadata, then try again"
    REDISCOVER = "find the coordinator anew, then try again"
    REBOOTSTRAP = "begin again at the bootstrap addresses"
    NOTHING = "there is no such thing: the answer is None"
    COMMIT_FAILED = "the group no longer counts the member: CommitFailedException"
    FATAL = "raise it"


@dataclass(frozen=True, slots=True)
class Row:
    """One row."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The table of one API."""

    api: str
    rows: Mapping[int, Row]

    def of(self, code: int) -> Verdict:
        """What a code means here."""
        if code == NONE:
            return Verdict.DONE
        row = self.rows.get(code)
        if row is not None:
            return row.verdict
        cls = by_code().get(code)
        if cls is None or not cls.retriable:
            return Verdict.FATAL
        return Verdict.REFRESH if cls.refreshes_metadata else Verdict.RETRY

    def error(self, code: int, message: str | None = None) -> KafkaException:
        """The exception for a code that is no success."""
        error = error_for(code, message)
        if error is None:
            raise AssertionError("success has no exception")
        if self.of(code) is Verdict.COMMIT_FAILED:
            failed = CommitFailedException(
                f"the group no longer counts this member ({type(error).__name__}: {error}); "
                f"its partitions are another's by now, and the offsets were not committed"
            )
            failed.__cause__ = error
            return failed
        return error


def table(api: str, rows: Mapping[int, tuple[Verdict, str]]) -> Verdicts:
    """A table out of plain rows."""
    return Verdicts(api, MappingProxyType({code: Row(*row) for code, row in rows.items()}))


_RELOADING: Final = (Verdict.RETRY, "the coordinator is right, and reads its log yet")
_MOVED: Final = (Verdict.REDISCOVER, "another broker coordinates the group by now")
_ABSENT: Final = (Verdict.REDISCOVER, "nobody coordinates the group just now")

FIND_COORDINATOR: Final = table(
    "FindCoordinator",
    {
        15: (Verdict.RETRY, "an election is on its way"),
        14: (Verdict.RETRY, "the broker asked reads its log yet"),
        30: (Verdict.FATAL, "no rights on the group: only a person can mend that"),
    },
)

OFFSET_COMMIT: Final = table(
    "OffsetCommit",
    {
        3: (Verdict.RETRY, "the topic may be on its way to the coordinator's metadata"),
        7: (Verdict.REDISCOVER, "the coordinator could not replicate: it may be cut off"),
        14: _RELOADING,
        15: _ABSENT,
        16: _MOVED,
        100: (Verdict.REFRESH, "the topic was made anew, or the coordinator lags behind"),
        12: (Verdict.FATAL, "the note is too long, and will be the next time too"),
        22: (Verdict.COMMIT_FAILED, "the generation is over"),
        24: (Verdict.FATAL, "no such group"),
        25: (Verdict.COMMIT_FAILED, "the member is not counted any more"),
        27: (Verdict.FATAL, "classic: the member has to join first, by polling"),
        28: (Verdict.FATAL, "too large, and will be the next time too"),
        29: (Verdict.FATAL, "no rights on the topic"),
        30: (Verdict.FATAL, "no rights on the group"),
        69: (Verdict.FATAL, "no such group"),
        82: (Verdict.COMMIT_FAILED, "another has taken the instance id"),
        113: (Verdict.COMMIT_FAILED, "the epoch has moved on"),
    },
)

OFFSET_FETCH: Final = table(
    "OffsetFetch",
    {
        7: (Verdict.REDISCOVER, "the coordinator may be cut off"),
        14: _RELOADING,
        15: _ABSENT,
        16: _MOVED,
        29: (Verdict.FATAL, "no rights on the topic"),
        30: (Verdict.FATAL, "no rights on the group"),
        88: (Verdict.RETRY, "a transaction has yet to settle these offsets"),
    },
)

_UNKNOWN: Final = (Verdict.RETRY, "not there, or not yet known to the broker that was asked")

METADATA: Final = table(
    "Metadata",
    {
        3: _UNKNOWN,
        5: (Verdict.RETRY, "an election is on its way"),
        100: _UNKNOWN,
        129: (Verdict.REBOOTSTRAP, "the broker is not of our cluster any more (KIP-1102)"),
        17: (Verdict.FATAL, "no topic can bear that name"),
        29: (Verdict.FATAL, "no rights on the topic, for as long as nobody grants them"),
    },
)

_MOVED_ON: Final = (Verdict.REFRESH, "another broker leads the partition by now")
_OUT_OF_STEP: Final = (Verdict.REFRESH, "we and the leader know of different epochs")

LIST_OFFSETS: Final = table(
    "ListOffsets",
    {
        3: (Verdict.REFRESH, "not there, or not yet known to its leader"),
        5: (Verdict.REFRESH, "an election is on its way"),
        6: _MOVED_ON,
        9: _MOVED_ON,
        56: (Verdict.REFRESH, "the leader's disk has failed: another will lead"),
        74: _OUT_OF_STEP,
        75: _OUT_OF_STEP,
        78: (Verdict.REFRESH, "a new leader does not know its high watermark yet"),
        29: (Verdict.FATAL, "no rights on the topic"),
        43: (Verdict.NOTHING, "records this old have no timestamps to be found by"),
    },
)
