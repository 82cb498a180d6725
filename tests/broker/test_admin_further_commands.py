"""Further commands that administer, on a real Kafka: share groups, tokens, plans, voters."""

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from prokurist.testing.kafka import RealKafka
from prokurist.types import TopicPartition
from tests.broker.test_admin import started
from tests.broker.test_admin_faces import command, rows

pytestmark = pytest.mark.kafka

ONE_COPY = {
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
}


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    """A node of Kafka 4.3, with a topic of five records."""
    with started(RealKafka(controls=True, properties=ONE_COPY)) as kafka:
        yield kafka


def test_share_groups_by_hand(kafka: RealKafka, tmp_path: Path) -> None:
    """B684: listed, their offsets shown, reset and deleted; a group of another kind stays."""
    rows(kafka, "topics", "create", "packed", "-n", 2, "--wait")
    lines = tmp_path / "lines"
    lines.write_text("one\ntwo\nthree\n", "utf-8")
    assert command(kafka, "produce", "-t", "packed", "-p", 0, "-l", lines)[0] == 0
    reset = ("share-groups", "reset", "packing", "-t", "packed")
    assert all(row["ok"] for row in rows(kafka, *reset, "--to-earliest", "--yes"))
    assert [row["group"] for row in rows(kafka, "share-groups")] == ["packing"]
    shown = rows(kafka, "share-groups", "offsets", "packing")
    assert {(row["partition"], row["start"], row["lag"]) for row in shown} == {
        (0, 0, 3),
        (1, 0, 0),
    }
    plan = rows(kafka, "share-groups", "reset", "packing", "--shift-by", 2, "--dry-run")
    assert {(row["partition"], row["committed"], row["new"]) for row in plan} == {
        (0, 0, 2),
        (1, 0, 0),
    }
    rows(kafka, *reset, "-p", 0, "--to-latest", "--yes")
    assert rows(kafka, "share-groups", "offsets", "packing")[0]["start"] == 3
    words = ("consume", "-t", "packed", "-G", "reading", "-o", "beginning", "-c", 1)
    assert command(kafka, *words)[0] == 0
    assert command(kafka, "share-groups", "delete", "reading", "--yes")[0] == 1
    assert rows(kafka, "share-groups", "delete", "packing", "--yes")[0]["ok"]
    assert [row["group"] for row in rows(kafka, "groups")] == ["reading"]


def test_a_plan_by_hand(kafka: RealKafka, tmp_path: Path) -> None:
    """B687: of one broker there is nothing to move, and a plan of that is refused."""
    rows(kafka, "topics", "create", "planned", "--wait")
    plan = tmp_path / "plan"
    [row] = rows(kafka, "topics", "describe", "planned")
    assert isinstance(row["replicas"], list)
    assert rows(kafka, "reassign", "plan", "-t", "planned", "--broker", row["leader"]) == []
    plan.touch()
    assert command(kafka, "reassign", "verify", plan)[0] == 2
    where = row["replicas"]
    moved = {"topic": "planned", "partition": 0, "before": where, "after": where}
    plan.write_text(json.dumps(moved), "utf-8")
    done = rows(kafka, "reassign", "start", "--plan", plan, "--throttle", 1000, "--yes")
    assert done[0]["item"] == str(TopicPartition("planned", 0))
    assert rows(kafka, "reassign", "verify", plan)[0]["state"] == "done"


def test_voters_by_hand(kafka: RealKafka) -> None:
    """B688: one that is not there is told before anything is changed."""
    nobody = str(uuid4())
    code, _out, told = command(kafka, "quorum", "remove", 77, nobody, "--yes")
    assert (code, "is no voter" in told) == (1, True)
    code, _out, told = command(kafka, "quorum", "add", 77, nobody, "C=127.0.0.1:9", "--dry-run")
    assert (code, "is no observer" in told) == (1, True)
