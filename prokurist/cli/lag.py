"""`prokurist lag`: how far groups lag, a row for each topic; an exit code for cron.

Thread: the main one.
"""

from collections.abc import Sequence

from prokurist.admin import GroupLags, KafkaAdmin
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed
from prokurist.cli.groups import listed, missing
from prokurist.cli.open_transactions import find
from prokurist.cli.output import Column, Row, show
from prokurist.errors import GroupIdNotFoundException, KafkaException

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
        Failed: A named group has committed nothing, a broker does not tell its groups, or no
            group is there to compare.
        KafkaException: The brokers do not tell.
    """
    failures = ""
    with asked.admin() as admin:
        wanted = list(groups)
        if not groups:
            found = listed(admin, asked)
            failures = missing(found)
            wanted = sorted(each.group_id for each in found if each.protocol_type in READING)
            if not wanted and not failures and fail_above is not None:
                raise Failed(
                    "there is no group, or none that this user may see: nothing was compared"
                )
        lags = admin.lag(wanted, timeout=asked.left() * 3 / 4)
        rows, without, unknown = told(lags, topics)
        if rows or not (without or unknown):
            show(COLUMNS, rows, as_json=as_json)
        if without and not groups and not topics:
            # Stuck before its first commit, or with offsets elsewhere: a reader has to say.
            asked.say(f"without a lag, as nothing is committed: {', '.join(without)}")
        report_open(admin, asked, rows)
    behind = [row for row in rows if is_behind(row, fail_above)]
    for row in behind:
        asked.say(f"{row['group']} lags by more than {fail_above} in {row['topic']}")
    if failures:
        raise Failed(f"groups are missing: {failures}")
    if unknown:
        raise Failed(f"the lag is not known: {'; '.join(unknown)}")
    if without and groups:
        raise Failed(f"{'; '.join(without.values())}")
    return TOO_MUCH if behind else 0


def told(lags: GroupLags, topics: Sequence[str]) -> tuple[list[Row], dict[str, str], list[str]]:
    """The rows of groups, why others have none, and what is not known.

    Args:
        lags: The lag of groups.
        topics: The topics; none for all.
    """
    rows: list[Row] = []
    without: dict[str, str] = {}
    unknown: dict[str, None] = {}
    for group, error in lags.errors.items():
        if isinstance(error, GroupIdNotFoundException):
            without[group] = f"there is no group {group!r}: is its name right?"
        else:
            unknown[str(error)] = None
    for group, partitions in lags.succeeded.items():
        found: dict[str, list[int]] = {}
        for tp, lag in partitions.succeeded.items():
            if lag.committed is not None and (not topics or tp.topic in topics):
                found.setdefault(tp.topic, []).append(lag.lag)
        errors = [
            error for tp, error in partitions.errors.items() if not topics or tp.topic in topics
        ]
        unknown |= dict.fromkeys(f"{group}: {error}" for error in errors)
        if not found and not errors:
            where = f" in {', '.join(topics)}" if topics else ""
            without[group] = (
                f"the group {group!r} has committed nothing{where}: is its name right?"
            )
        rows += [
            {
                "group": group,
                "topic": topic,
                "partitions": len(each),
                "lag": sum(each),
                "most": max(each),
            }
            for topic, each in sorted(found.items())
        ]
    return rows, without, list(unknown)


def report_open(admin: KafkaAdmin, asked: CommandOptions, rows: Sequence[Row]) -> None:
    """Tell of transactions that are open for long where groups lag."""
    topics = {str(row["topic"]) for row in rows if row["lag"]}
    if not topics or asked.left() <= 0:
        return
    try:
        found = find(admin, topics, asked.left())
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
