"""Administrators of other clients' names, and commands that administer, on a real Kafka."""

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from prokurist.cli.entry import main
from prokurist.compat.confluent_kafka import KafkaException
from prokurist.compat.confluent_kafka.admin import AdminClient, NewTopic
from prokurist.testing.kafka import RealKafka
from tests.broker.watching import LATE
from tests.stopwatch import Stopwatch

pytestmark = pytest.mark.kafka

UNREAD = """
from prokurist.compat.confluent_kafka.admin import AdminClient, NewTopic

AdminClient({"bootstrap.servers": "%s"}).create_topics([NewTopic("unread", 1)])
"""


def command(kafka: RealKafka, *words: object, text: str = "") -> tuple[int, str, str]:
    """Run a command in this process: its exit code, and its two outputs."""
    out, told = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    given, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(told):
            code = main([*map(str, words), "-b", kafka.bootstrap, "--timeout", "40"])
    finally:
        sys.stdin = given
    for each in (out, told):
        each.seek(0)
    return code, out.read(), told.read()


def rows(kafka: RealKafka, *words: object, text: str = "") -> list[dict[str, object]]:
    """The objects that a command writes."""
    code, out, told = command(kafka, *words, "-J", text=text)
    assert code == 0, told + out
    return [json.loads(line) for line in out.splitlines()]


def test_no_operation_timeout_makes_the_topic(prokurist_kafka: RealKafka) -> None:
    """B671: librdkafka tells a success of a topic that does not exist."""
    with AdminClient({"bootstrap.servers": prokurist_kafka.bootstrap}) as admin:
        made = admin.create_topics([NewTopic("at-once", 1)], operation_timeout=0)
        assert made["at-once"].result(20) is None
        assert "at-once" in admin.list_topics(timeout=20).topics


def test_futures_end_before_a_frozen_broker(prokurist_kafka: RealKafka) -> None:
    """B671: by `request_timeout`."""
    with AdminClient({"bootstrap.servers": prokurist_kafka.bootstrap}) as admin:
        admin.cluster_id(20)
        prokurist_kafka.freeze()
        try:
            with Stopwatch() as took:
                made = admin.create_topics([NewTopic("frozen", 1)], request_timeout=2)
                error = made["frozen"].exception(20)
            assert took.seconds >= 2
            assert took.own < 2 + LATE
        finally:
            prokurist_kafka.thaw()
    assert isinstance(error, KafkaException)
    assert error.args[0].name() == "_TIMED_OUT"


def test_a_future_that_nobody_reads_is_done(prokurist_kafka: RealKafka, tmp_path: Path) -> None:
    """B674: before the interpreter ends."""
    program = tmp_path / "program.py"
    program.write_text(UNREAD % prokurist_kafka.bootstrap, "utf-8")
    done = subprocess.run([sys.executable, str(program)], timeout=60, check=False)
    assert done.returncode == 0
    assert "unread" in {row["topic"] for row in rows(prokurist_kafka, "topics")}


def test_commands_change_topics_and_records(prokurist_kafka: RealKafka, tmp_path: Path) -> None:
    """B675, B676, B677, B679, B680: on a cluster of one node."""
    kafka = prokurist_kafka
    [made] = rows(kafka, "topics", "create", "by-hand", "-n", 2, "-c", "retention.ms=60000")
    assert made["ok"]
    assert rows(kafka, "topics", "create", "by-hand", "-n", 2, "--if-not-exists")[0]["ok"]
    code, _out, told = command(kafka, "topics", "create", "by-hand", "-J")
    assert (code, told) == (1, "")
    rows(kafka, "topics", "alter", "by-hand", "-n", 3, "--dry-run")
    assert len(rows(kafka, "topics", "describe", "by-hand")) == 2
    rows(kafka, "topics", "alter", "by-hand", "-n", 3)
    rows(
        kafka, "configs", "set", "topic:by-hand", "cleanup.policy+=compact", "segment.ms=60000"
    )
    rows(kafka, "configs", "unset", "topic:by-hand", "retention.ms")
    found = rows(kafka, "configs", "show", "topic:by-hand")
    assert {str(each["key"]): each["value"] for each in found if each["source"] == "topic"} == {
        "cleanup.policy": "delete,compact",
        "segment.ms": "60000",
    }
    lines = tmp_path / "lines"
    lines.write_text("one\ntwo\nthree\n", "utf-8")
    command(kafka, "produce", "-t", "by-hand", "-p", 0, "-k", "key", "-l", lines)
    rows(kafka, "records", "delete", "-t", "by-hand", "-p", 0, "--before", 2, "--yes")
    assert rows(kafka, "topics", "-t", "by-hand")[0]["beginning"] == 2
    assert command(kafka, "elect", "-t", "by-hand")[0] == 0
    assert rows(kafka, "reassign") == []
    assert rows(kafka, "log-dirs")
    assert {row["feature"] for row in rows(kafka, "features")} >= {"metadata.version"}
    [controller, *_observers] = rows(kafka, "quorum")
    assert controller["role"] == "leader"
    code, _out, told = command(kafka, "topics", "delete", "by-hand")
    assert (code, "give --yes" in told) == (2, True)
    rows(kafka, "topics", "delete", "by-hand", "--yes")
    assert "by-hand" not in {row["transactional_id"] for row in rows(kafka, "transactions")}


def test_commands_administer_groups_and_access(
    prokurist_kafka: RealKafka, tmp_path: Path
) -> None:
    """B681, B682: offsets and groups, users and quotas; no authorizer is there for ACLs."""
    kafka = prokurist_kafka
    kafka.create_topic("grouped", partitions=1)
    lines = tmp_path / "lines"
    lines.write_text("one\ntwo\n", "utf-8")
    command(kafka, "produce", "-t", "grouped", "-l", lines)
    words = ("consume", "-t", "grouped", "-G", "hands", "-o", "beginning", "-c", 1)
    assert command(kafka, *words)[0] == 0
    assert "hands" in {row["group"] for row in rows(kafka, "groups")}
    assert "Empty" in command(kafka, "groups", "describe", "hands")[2]
    assert rows(kafka, "lag", "-G", "hands")[0]["lag"] == 1
    rows(kafka, "groups", "delete-offsets", "hands", "-t", "grouped", "--yes")
    command(kafka, "groups", "delete", "hands", "--yes")
    assert "hands" not in {row["group"] for row in rows(kafka, "groups")}
    rows(kafka, "users", "set", "anna", text="hush-hush\n")
    assert rows(kafka, "users") == [
        {"user": "anna", "mechanism": "SCRAM-SHA-512", "iterations": 8192}
    ]
    rows(kafka, "users", "delete", "anna", "--yes")
    rows(kafka, "quotas", "set", "producer_byte_rate=1e6", "--user", "anna")
    [quota] = rows(kafka, "quotas")
    assert quota == {"entity": "user anna", "key": "producer_byte_rate", "value": "1000000"}
    rows(kafka, "quotas", "unset", "producer_byte_rate", "--user", "anna")
    code, _out, told = command(kafka, "acls")
    assert (code, "uthorizer" in told) == (1, True)
