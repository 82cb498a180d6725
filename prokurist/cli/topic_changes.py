"""`prokurist topics create`, `alter`, `delete`, `describe`.

Thread: the main one.
"""

import re
from collections.abc import Mapping, Sequence

from prokurist.admin import CreatedTopic, KafkaAdmin, NewTopic
from prokurist.cli.changes import confirmed, reported
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.output import Column, Row, show
from prokurist.cli.topics import ids
from prokurist.errors import (
    KafkaException,
    TopicExistsException,
    UnknownTopicOrPartitionException,
)

DESCRIBED = (
    Column("topic", "bold"),
    Column("partition"),
    Column("leader"),
    Column("replicas"),
    Column("in_sync"),
    Column("offline", "yellow"),
    Column("topic_id", "dim"),
)


def create(
    asked: CommandOptions,
    names: Sequence[str],
    *,
    partitions: int | None,
    replication_factor: int | None,
    configs: Mapping[str, str],
    if_not_exists: bool,
    wait: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Create topics.

    Raises:
        KafkaException: Nothing could be asked.
        Misused: A number is out of range.
    """
    try:
        new = NewTopic(partitions, replication_factor, dict(configs))
    except ValueError as error:
        raise Misused(str(error)) from None
    with asked.admin() as admin:
        results = admin.create_topics(
            dict.fromkeys(names, new), validate_only=dry_run, wait=wait, timeout=asked.left()
        )
        outcomes: dict[str, KafkaException | None] = {
            name: results.errors.get(name) for name in results
        }
        words: dict[str, str] = {}
        if if_not_exists:
            there = [
                name
                for name, error in outcomes.items()
                if isinstance(error, TopicExistsException)
            ]
            outcomes.update(compared(admin, asked, there, partitions))
            words = dict.fromkeys(there, "exists already")
    if not words:
        return reported(
            asked, results, "created", as_json=as_json, dry_run=dry_run, described=size_of
        )
    return reported(asked, outcomes, "created", as_json=as_json, dry_run=dry_run, words=words)


def compared(
    admin: KafkaAdmin, asked: CommandOptions, names: Sequence[str], partitions: int | None
) -> dict[str, KafkaException | None]:
    """Errors of topics that are there already: only of those with other partitions."""
    if not names:
        return {}
    found = admin.describe_topics(names, timeout=asked.left())
    outcomes: dict[str, KafkaException | None] = {}
    for name in names:
        outcomes[name] = found.errors.get(name)
        if name in found.succeeded:
            number = len(found.succeeded[name].partitions)
            if partitions not in (None, number):
                outcomes[name] = TopicExistsException(
                    f"it exists with {number} partitions, and not {partitions}"
                )
    return outcomes


def size_of(made: CreatedTopic) -> str:
    """The partitions and copies of a topic, where brokers tell them."""
    if made.partitions is None or made.replication_factor is None:
        return ""
    return f"partitions {made.partitions}, copies {made.replication_factor}"


def alter(
    asked: CommandOptions,
    names: Sequence[str],
    *,
    partitions: int,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Give topics more partitions.

    Raises:
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        results = admin.create_partitions(
            dict.fromkeys(names, partitions), validate_only=dry_run, timeout=asked.left()
        )
    done = f"given {partitions} partitions"
    return reported(asked, results, done, as_json=as_json, dry_run=dry_run)


def delete(
    asked: CommandOptions,
    names: Sequence[str],
    *,
    matching: str | None,
    internal: bool,
    if_exists: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Delete topics, with their records.

    Raises:
        Failed: No topic has such a name.
        KafkaException: Nothing could be asked.
        Misused: Nothing is named, or an internal topic is.
    """
    if bool(names) == (matching is not None):
        raise Misused("name topics, or give --matching REGEX")
    with asked.admin() as admin:
        found = admin.list_topics(internal=True, timeout=asked.left())
        wanted = list(names)
        if matching is not None:
            wanted = matched(matching, [name for name in found if not found[name].internal])
        kept = [name for name in wanted if name in found and found[name].internal]
        if kept and not internal:
            raise Misused(f"{', '.join(kept)}: to delete internal topics, give --internal")
        missing = [name for name in wanted if name not in found]
        absent: dict[str, KafkaException | None] = {
            name: None
            if if_exists
            else UnknownTopicOrPartitionException("there is no such topic")
            for name in missing
        }
        words = {name: "does not exist" for name, error in absent.items() if error is None}
        there = [name for name in wanted if name in found]
        if dry_run:
            rows = {**dict.fromkeys(there), **absent}
            return reported(asked, rows, "deleted", as_json=as_json, dry_run=True, words=words)
        if there:
            asked.say(f"topics: {', '.join(there)}")
            asked = confirmed(asked, "delete", len(there), "topic", yes=yes)
        results = admin.delete_topics(there, timeout=asked.left())
    outcomes = {str(name): results.errors.get(name) for name in results}
    return reported(asked, {**outcomes, **absent}, "deleted", as_json=as_json, words=words)


def matched(regex: str, names: Sequence[str]) -> list[str]:
    """The names that a regular expression fits as a whole.

    Raises:
        Failed: It fits none.
        Misused: It is none.
    """
    try:
        found = [name for name in sorted(names) if re.fullmatch(regex, name)]
    except re.error as error:
        raise Misused(f"--matching {regex!r}: {error}") from None
    if not found:
        raise Failed(f"--matching {regex!r} fits none of {len(names)} names")
    return found


def describe(asked: CommandOptions, names: Sequence[str], *, as_json: bool) -> int:
    """Describe topics, partition by partition.

    Raises:
        Failed: One of them does not exist.
        KafkaException: Nothing could be asked.
    """
    with asked.admin() as admin:
        found = admin.describe_topics(names, timeout=asked.left())
    rows: list[Row] = [
        {
            "topic": info.topic,
            "partition": info.partition,
            "leader": None if info.leader is None else info.leader.id,
            "replicas": ids(info.replicas),
            "in_sync": ids(info.in_sync_replicas),
            "offline": ids(info.offline_replicas),
            "topic_id": None if each.topic_id is None else str(each.topic_id),
        }
        for each in found.succeeded.values()
        for info in each.partitions
    ]
    show(DESCRIBED, rows, as_json=as_json)
    if found.errors:
        raise Failed("; ".join(str(error) for error in found.errors.values()))
    return 0
