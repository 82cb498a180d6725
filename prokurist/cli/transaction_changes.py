"""`prokurist transactions`: list, describe, find hanging ones, abort, fence.

Thread: the main one.
"""

from collections.abc import Sequence

from prokurist.admin import HangingTransaction
from prokurist.cli.changes import confirmed, reported
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed
from prokurist.cli.output import Column, Row, show
from prokurist.types import counted

LISTED = (
    Column("transactional_id", "bold"),
    Column("state"),
    Column("producer_id"),
    Column("coordinator"),
)
DESCRIBED = (
    Column("transactional_id", "bold"),
    Column("state"),
    Column("producer_id"),
    Column("epoch"),
    Column("timeout"),
    Column("started"),
    Column("partitions"),
)
HANGING = (
    Column("topic", "bold"),
    Column("partition"),
    Column("producer_id"),
    Column("epoch"),
    Column("start"),
    Column("last"),
    Column("transactional_id"),
)


def list_all(
    asked: CommandOptions, states: Sequence[str], running_for: float | None, *, as_json: bool
) -> None:
    """List transactional ids.

    Raises:
        Failed: A broker does not answer: the ids that it coordinates are missing.
        KafkaException: No broker is reached.
    """
    with asked.admin() as admin:
        found = admin.list_transactions(
            states=states, running_for=running_for, partial=True, timeout=asked.left() * 3 / 4
        )
    rows: list[Row] = [
        {
            "transactional_id": each.transactional_id,
            "state": each.state,
            "producer_id": each.producer_id,
            "coordinator": each.coordinator,
        }
        for each in sorted(found, key=lambda each: each.transactional_id)
    ]
    show(LISTED, rows, as_json=as_json)
    if found.errors:
        texts = (f"broker {number}: {error}" for number, error in found.errors.items())
        raise Failed(f"the list is not complete: {'; '.join(texts)}")
    asked.say(counted(len(rows), "transactional id"))


def describe(asked: CommandOptions, ids: Sequence[str], *, as_json: bool) -> None:
    """Show transactional ids, and the partitions of their transactions.

    Raises:
        Failed: An id cannot be described.
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        found = admin.describe_transactions(ids, timeout=asked.left())
    rows: list[Row] = [
        {
            "transactional_id": each.transactional_id,
            "state": each.state,
            "producer_id": each.producer_id,
            "epoch": each.epoch,
            "timeout": f"{each.timeout:g} s",
            "started": None
            if each.started is None
            else each.started.isoformat(timespec="seconds"),
            "partitions": ",".join(map(str, sorted(each.partitions))) or None,
        }
        for each in found.succeeded.values()
    ]
    show(DESCRIBED, rows, as_json=as_json)
    if found.errors:
        raise Failed("; ".join(str(error) for error in found.errors.values()))


def hanging(
    asked: CommandOptions,
    topics: Sequence[str],
    broker: int | None,
    older: float,
    *,
    as_json: bool,
) -> None:
    """Show transactions that are open, and that no coordinator will end.

    Raises:
        KafkaException: They cannot be looked for.
    """
    with asked.admin() as admin:
        found = admin.find_hanging(
            topics or None, broker=broker, older=older, timeout=asked.left()
        )
    show(HANGING, [row_of(each) for each in found], as_json=as_json)
    asked.say(counted(len(found), "hanging transaction"))


def row_of(each: HangingTransaction) -> Row:
    """A hanging transaction in one row."""
    last = each.producer.last_at
    return {
        "topic": each.partition.topic,
        "partition": each.partition.partition,
        "producer_id": each.producer.producer_id,
        "epoch": each.producer.epoch,
        "start": each.producer.transaction_start,
        "last": None if last is None else last.isoformat(timespec="seconds"),
        "transactional_id": each.transactional_id,
    }


def abort(
    asked: CommandOptions,
    topic: str,
    partition: int,
    producer_id: int,
    start: int,
    older: float,
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Abort a hanging transaction in its partition.

    Raises:
        Failed: It does not hang, or the abort is not confirmed.
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        found = [
            each
            for each in admin.find_hanging([topic], older=older, timeout=asked.left())
            if (each.partition.partition, each.producer.producer_id) == (partition, producer_id)
            and each.producer.transaction_start == start
        ]
        if not found:
            raise Failed(
                f"no transaction of producer {producer_id} hangs in {topic}-{partition} from "
                f"offset {start} on: `prokurist transactions hanging` shows those that do"
            )
        (wanted,) = found
        if not dry_run:
            asked = confirmed(asked, "abort", 1, "transaction", yes=yes)
            admin.abort_transaction(wanted, timeout=asked.left())
    return reported(asked, {wanted: None}, "aborted", as_json=as_json, dry_run=dry_run)


def fence(
    asked: CommandOptions, ids: Sequence[str], *, yes: bool, dry_run: bool, as_json: bool
) -> int:
    """Fence the producers of transactional ids, and abort their transactions.

    Raises:
        Failed: The fencing is not confirmed.
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        if dry_run:
            found = admin.describe_transactions(ids, timeout=asked.left())
            rows = {name: found.errors.get(name) for name in found}
            return reported(asked, rows, "fenced", as_json=as_json, dry_run=True)
        asked = confirmed(asked, "fence", len(ids), "transactional id", yes=yes)
        results = admin.fence_producers(ids, timeout=asked.left())
    return reported(
        asked, results, "fenced", as_json=as_json, described=lambda done: f"epoch {done.epoch}"
    )
