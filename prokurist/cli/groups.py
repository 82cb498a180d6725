"""`prokurist groups`: all groups, from every broker.

Thread: the main one.
"""

from collections.abc import Sequence

from prokurist.cli.broker_queries import queries
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed
from prokurist.cli.output import Column, Row, show
from prokurist.errors import KafkaException, error_for
from prokurist.network_thread.wire.group_listing import ListedGroup, ListGroups
from prokurist.types import Node, counted

COLUMNS = (
    Column("group", "bold"),
    Column("state"),
    Column("protocol"),
    Column("kind", "dim"),
    Column("coordinator"),
)


def run(asked: CommandOptions, *, as_json: bool) -> None:
    """List all groups.

    Raises:
        Failed: A broker does not answer: the groups that it coordinates are missing.
        KafkaException: No broker is reached.
    """
    groups, failures = listed(asked)
    rows = [row(group, node) for group, node in groups]
    show(COLUMNS, rows, as_json=as_json)
    if failures:
        raise Failed(f"the list is not complete: {'; '.join(failures)}")
    asked.say(counted(len(rows), "group"))


def listed(asked: CommandOptions) -> tuple[list[tuple[ListedGroup, Node]], list[str]]:
    """Return every group with its coordinator, and the errors of brokers without an answer.

    Raises:
        KafkaException: No broker is reached.
    """
    found: list[tuple[ListedGroup, Node]] = []
    failures: list[str] = []
    with queries(asked) as ask:
        brokers = ask.cluster(()).brokers
        for nth, node in enumerate(brokers):
            try:
                answer = ask.ask(node.host, node.port, ListGroups(), len(brokers) - nth)
                if (refusal := error_for(answer.error)) is not None:
                    raise refusal
            except KafkaException as error:
                failures.append(f"{node}: {error}")
                continue
            found.extend((group, node) for group in answer.groups)
    return sorted(found, key=lambda each: each[0].group_id), failures


def row(group: ListedGroup, node: Node) -> Row:
    """One group; brokers before 2.6 do not tell the state, those before 3.8 the protocol."""
    return {
        "group": group.group_id,
        "state": group.state,
        "protocol": group.group_type,
        "kind": group.protocol_type or None,
        "coordinator": node.id,
    }


def names(groups: Sequence[tuple[ListedGroup, Node]]) -> list[str]:
    """The groups of consumers, by name; those without members among them."""
    return [group.group_id for group, _ in groups if group.protocol_type in {"consumer", ""}]
