"""`prokurist share-groups offsets`: start offsets of share groups, and their lag.

Thread: the main one.
"""

from collections.abc import Sequence

from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed
from prokurist.cli.output import Column, Row, show
from prokurist.types import counted

COLUMNS = (
    Column("group", "bold"),
    Column("topic"),
    Column("partition"),
    Column("start"),
    Column("lag", "yellow"),
)


def run(
    asked: CommandOptions, groups: Sequence[str], topics: Sequence[str], *, as_json: bool
) -> None:
    """Show the start offsets of share groups.

    Args:
        asked: Options of every command.
        groups: The share groups.
        topics: The topics; none for all.
        as_json: See `output.show`.

    Raises:
        Failed: A partition's offset is not known, or no group has any.
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        found = admin.share_offsets(groups, timeout=asked.left())
    errors = list(found.errors.values())
    rows: list[Row] = []
    for group, places in found.succeeded.items():
        wanted = [tp for tp in sorted(places) if not topics or tp.topic in topics]
        errors += [places.errors[tp] for tp in wanted if tp in places.errors]
        rows += [
            {
                "group": group,
                "topic": tp.topic,
                "partition": tp.partition,
                "start": place.start,
                "lag": place.lag,
            }
            for tp in wanted
            if (place := places.succeeded.get(tp)) is not None
        ]
    show(COLUMNS, rows, as_json=as_json)
    if errors:
        raise Failed("; ".join(str(error) for error in errors))
    if not rows:
        raise Failed(f"no start offset of {', '.join(groups)}: is it a share group?")
    lags = [row["lag"] for row in rows]
    if all(isinstance(lag, int) for lag in lags):
        lag = sum(lag for lag in lags if isinstance(lag, int))
        asked.say(f"{counted(lag, 'record')} to share in {counted(len(rows), 'partition')}")
