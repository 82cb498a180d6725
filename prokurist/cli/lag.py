"""`prokurist lag`: how far groups lag, a row for each topic; an exit code for cron.

Thread: the main one.
"""

from collections.abc import Sequence

from prokurist.cli.broker_queries import queries
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed
from prokurist.cli.groups import listed, missing
from prokurist.cli.offsets import offsets
from prokurist.cli.open_transactions import find
from prokurist.cli.output import Column, Row, show
from prokurist.errors import KafkaException
from prokurist.events.clock import epoch_milliseconds

COLUMNS = (
    Column("group", "bold"),
    Column("topic"),
    Column("partitions"),
    Column("lag", "yellow"),
    Column("most", "dim"),
)
TOO_MUCH = 1
READING = {"consumer", ""}
"""Types of protocol of groups of consumers; empty of those without members."""


def run(
    asked: CommandOptions,
    groups: Sequence[str],
    topics: Sequence[str],
    *,
    fail_above: int | None,
    as_json: bool,
) -> int:
    """Show the lag of groups.

    Args:
        asked: Options of every command.
        groups: The groups; none for all that have committed something.
        topics: The topics; none for all.
        fail_above: The exit code is 1 if a group lags by more records in one topic.
        as_json: See `output.show`.

    Returns:
        The exit code.

    Raises:
        Failed: A named group has committed nothing, or a broker does not tell its groups.
        KafkaException: The brokers do not tell.
    """
    failures = ""
    wanted = list(groups)
    if not groups:
        with asked.admin() as admin:
            found = listed(admin, asked)
        failures = missing(found)
        wanted = sorted(each.group_id for each in found if each.protocol_type in READING)
    rows: list[Row] = []
    without: dict[str, str] = {}
    for group in wanted:
        try:
            rows += of_group(asked, group, topics)
        except Failed as nothing:
            without[group] = str(nothing)
    if rows or not without:
        show(COLUMNS, rows, as_json=as_json)
    if without and not groups and not topics:
        # Stuck before its first commit, or with offsets elsewhere: that is for a reader to say.
        asked.say(f"without a lag, as nothing is committed: {', '.join(without)}")
    report_open(asked, rows)
    behind = [row for row in rows if is_behind(row, fail_above)]
    for row in behind:
        asked.say(f"{row['group']} lags by more than {fail_above} in {row['topic']}")
    if failures:
        raise Failed(f"groups are missing: {failures}")
    if without and groups:
        raise Failed("; ".join(dict.fromkeys(without.values())))
    return TOO_MUCH if behind else 0


def report_open(asked: CommandOptions, rows: Sequence[Row]) -> None:
    """Tell of transactions that are open for long where groups lag."""
    topics = {str(row["topic"]) for row in rows if row["lag"]}
    if not topics or asked.left() <= 0:
        return
    try:
        with queries(asked) as ask:
            found = find(ask, topics, epoch_milliseconds())
    except KafkaException as error:
        asked.say(f"open transactions are not known: {error}")
        return
    for each in found.found:
        if each.is_long:
            asked.say(f"readers of committed records wait for a transaction: {each}")


def is_behind(row: Row, fail_above: int | None) -> bool:
    """True if a group lags by more records than allowed."""
    lag = row["lag"]
    return fail_above is not None and isinstance(lag, int) and lag > fail_above


def of_group(asked: CommandOptions, group: str, topics: Sequence[str]) -> list[Row]:
    """Yield a row for each topic with committed offsets of a group.

    Raises:
        Failed: It has committed nothing.
        KafkaException: The brokers do not tell.
    """
    with asked.consumer(group_id=group) as consumer:
        found = offsets(consumer, asked, group, topics)
    lags: dict[str, list[int]] = {}
    for row in found:
        if isinstance(row["lag"], int):
            lags.setdefault(str(row["topic"]), []).append(row["lag"])
    return [
        {
            "group": group,
            "topic": topic,
            "partitions": len(each),
            "lag": sum(each),
            "most": max(each),
        }
        for topic, each in lags.items()
    ]
