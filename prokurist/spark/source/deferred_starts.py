"""Resolves where a stream begins without waiting for leaders that are away.

Thread: the one that asks the brokers.

A partition whose leader does not answer is deferred: what is to be looked up in its log is
kept as one number, and looked up when a leader answers. It stands in the stream's offset
until then, so it outlasts a restart of the query.

| the number | the start it stands for |
| --- | --- |
| −2 | the beginning of the log |
| a time, in milliseconds since the epoch | the first record at or after it, or the log's end |

`latest` is deferred as the time at which the query began: what was written since then is read.
"""

from collections.abc import Collection, Mapping

from prokurist.spark.offset_json import EARLIEST
from prokurist.spark.source.driver_queries import DriverQueries
from prokurist.spark.source.silent_leaders import AnswerT, Question, SilentLeaders
from prokurist.types import TopicPartition


class DeferringLogs:
    """An `OffsetLookup`; what is deferred is answered by 0, and to be left out.

    Args:
        brokers: Asks groups.
        leaders: Asks leaders.
        now_ms: When the query begins, in milliseconds since the epoch.
        defers_times: Whether a look-up by time may be deferred: not where it is an error
            that no record is as young, for that error belongs to the start of the query.

    Attributes:
        deferred: For each partition whose leader is silent the number that stands for its
            start.
    """

    def __init__(
        self, brokers: DriverQueries, leaders: SilentLeaders, now_ms: int, *, defers_times: bool
    ) -> None:
        self._brokers = brokers
        self._leaders = leaders
        self._now_ms = now_ms
        self._defers_times = defers_times
        self.deferred: dict[TopicPartition, int] = {}

    def beginnings(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        """See `OffsetLookup`."""
        return self._answers(self._brokers.beginnings, dict.fromkeys(partitions, EARLIEST))

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See `OffsetLookup`."""
        return self._answers(self._brokers.ends, dict.fromkeys(partitions, self._now_ms))

    def at_times(
        self, moments: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """See `OffsetLookup`."""
        if not self._defers_times:
            return self._brokers.at_times(moments)
        return self._answers(
            lambda asked: self._brokers.at_times({tp: moments[tp] for tp in asked}), moments
        )

    def committed(
        self, group: str | None, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int | None]:
        """See `OffsetLookup`."""
        return self._brokers.committed(group, partitions)

    def _answers(
        self, question: Question[AnswerT], otherwise: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, AnswerT | int]:
        found = self._leaders.answers(otherwise.keys(), question)
        self.deferred |= {tp: each for tp, each in otherwise.items() if tp not in found}
        return dict.fromkeys(otherwise, 0) | found


def resolved(
    deferred: Mapping[TopicPartition, int],
    first: Mapping[TopicPartition, int],
    last: Mapping[TopicPartition, int],
    brokers: DriverQueries,
    leaders: SilentLeaders,
) -> dict[TopicPartition, int]:
    """Return the starts of deferred partitions whose leaders answer by now.

    Args:
        deferred: The partitions, and what stands for their starts.
        first: Where the logs begin whose leaders answer.
        last: Where they end.
        brokers: Looks up times.
        leaders: Asks leaders.
    """
    answering = {tp: each for tp, each in deferred.items() if tp in last}
    moments = {tp: each for tp, each in answering.items() if each != EARLIEST}
    by_time = leaders.answers(
        moments.keys(), lambda asked: brokers.at_times({tp: moments[tp] for tp in asked})
    )
    found = {tp: first[tp] for tp in answering.keys() - moments.keys()}
    for tp, at in by_time.items():
        # A record that is as young may have been written after the log's end was asked for.
        found[tp] = last[tp] if at is None else min(at, last[tp])
    return found
