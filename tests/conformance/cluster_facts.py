"""Scenarios of ApiVersions, Metadata, FindCoordinator and DescribeCluster."""

import uuid
from typing import Any

from tests.conformance.stage import Stage


def who_asks(stage: Stage) -> None:
    """ApiVersions from clients with proper names, improper ones and none."""
    pairs = [
        ("prokurist", "1.0"),
        ("", "1.0"),
        ("prokurist", ""),
        ("-x", "1"),
        ("x-", "1"),
        ("a b", "1"),
        ("a", "1+local"),
        ("a.b-c", "1.0-rc1"),
        ("a", "1_0"),
        ("ä", "1"),
    ]
    for name, version in pairs:
        stage.ask(
            "a", "ApiVersions", client_software_name=name, client_software_version=version
        )


def topics_by_name(stage: Stage) -> None:
    """Topics that are there, that are not, that cannot be; one twice, none, all."""
    topic, other = stage.topic(3), stage.topic(1)
    for names in (
        [topic.name],
        [topic.name, other.name],
        [topic.name, topic.name],
        ["no-such-topic"],
        ["no-such-topic", topic.name, "no-such-topic"],
        [".", "a b", "", "x" * 250, "x" * 249],
        [],
    ):
        if names or stage.version("Metadata"):
            metadata(stage, [{"name": each} for each in names])
    metadata(stage, [{"name": topic.name}], include_topic_authorized_operations=True)
    metadata(stage, [{"name": topic.name}], include_cluster_authorized_operations=True)


def topics_by_id(stage: Stage) -> None:
    """Ids of topics that are there, that are gone, of nothing; and neither name nor id."""
    topic, gone = stage.topic(2), stage.topic()
    stage.side.delete_topic(gone.name)
    asked = [
        {"name": None, "topic_id": topic.id},
        {"name": None, "topic_id": gone.id},
        {"name": None, "topic_id": uuid.UUID(int=7)},
    ]
    for each in asked:
        by_id(stage, each)
    by_id(stage, *asked)
    by_id(stage, asked[0], asked[0])
    by_id(stage, asked[1], asked[1])
    by_id(stage, {"name": None, "topic_id": None})
    by_id(stage, {"name": topic.name, "topic_id": topic.id})
    by_id(stage, {"name": "no-such-topic", "topic_id": topic.id})
    by_id(stage, {"name": topic.name, "topic_id": None}, {"name": None, "topic_id": topic.id})


def coordinators(stage: Stage) -> None:
    """Groups, transactions, kinds of key that are none; several keys, none, one twice."""
    version = stage.version("FindCoordinator")
    for kind in (0, 1, 2, 3, -1):
        for key in (stage.name, ""):
            keys = {"key": key, "coordinator_keys": [key]}
            stage.ask("a", "FindCoordinator", version, key_type=kind, **keys)
    if version >= 4:
        for several in ([stage.name, f"{stage.name}-2"], [], [stage.name, stage.name]):
            stage.ask("a", "FindCoordinator", version, key_type=0, coordinator_keys=several)


def cluster_described(stage: Stage) -> None:
    """DescribeCluster, with authorized operations and kinds of endpoint."""
    for kind in (1, 2, 3):
        for operations in (False, True):
            stage.ask(
                "a",
                "DescribeCluster",
                endpoint_type=kind,
                include_cluster_authorized_operations=operations,
            )


def metadata(stage: Stage, topics: list[dict[str, Any]], **more: Any) -> None:
    """Ask for topics by name."""
    stage.ask("a", "Metadata", topics=topics, **{"allow_auto_topic_creation": False, **more})


def by_id(stage: Stage, *topics: dict[str, Any]) -> None:
    """Ask for topics in a version that knows ids."""
    version = stage.version("Metadata", least=10)
    if version < 12:
        topics = tuple({**each, "name": each["name"] or ""} for each in topics)
    stage.ask("a", "Metadata", version, topics=list(topics), allow_auto_topic_creation=False)
