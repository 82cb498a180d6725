"""Notices what is gone of the logs that a stream reads, before Spark writes an end down.

Thread: the one that asks the brokers.
"""

import logging
from collections.abc import Collection, Mapping
from typing import Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.errors import DataLossException, Loss
from prokurist.spark.offset_json import SourceOffset
from prokurist.types import TopicPartition

Offsets = Mapping[TopicPartition, int]

log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LogBounds:
    """The beginnings and ends of logs whose leaders have answered, as looked up once."""

    first: Offsets
    last: Offsets


def notice_losses(
    given: SourceOffset,
    begun: Offsets,
    logs: LogBounds,
    recreated: Collection[str],
    missing: Collection[TopicPartition],
    *,
    fails: bool,
) -> None:
    """Log what is gone, or raise it.

    Args:
        given: How far the stream has come.
        begun: The same, with the starts of topics that were created again.
        logs: What the logs have now.
        recreated: Topics that were created again.
        missing: Partitions that do not exist; where that is borne, they are no loss yet.
        fails: `failOnDataLoss`.

    Raises:
        DataLossException: It is not to be borne.
    """
    told = [
        f"{tp} is there no more: brokers do not know it"
        + (f" (it was read up to {given.ends[tp]})" if tp in given.ends else "")
        for tp in (sorted(missing) if fails else ())
    ]
    told += [
        f"the topic {name!r} was created again"
        + ("" if fails else ", and is read from its beginning")
        for name in recreated
    ]
    losses = [
        Loss(tp, at, logs.first[tp], logs.last[tp])
        for tp, at in sorted({**dict.fromkeys(logs.last, 0), **begun}.items())
        if tp in logs.last and not logs.first[tp] <= at <= logs.last[tp]
    ]
    told += map(str, losses)
    if not told:
        return
    if fails:
        gone = ", or take what is gone off the selection" if missing else ""
        raise DataLossException(
            f"records are gone that this stream was to read: {'; '.join(told)}. Set "
            f"failOnDataLoss to false to read what is left{gone}",
            losses=losses,
        )
    log.warning(
        "records may be gone, and the stream goes on with what its logs have now: %s",
        "; ".join(told),
    )
