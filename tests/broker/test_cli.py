"""The command line against a real Kafka: one happy run of each command, and a frozen one."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition
from prokurist.cli.entry import DONE, FAILURE, main
from prokurist.testing.kafka import RealKafka

pytestmark = pytest.mark.kafka

Command = Callable[..., tuple[int, list[dict[str, Any]], str]]


@pytest.fixture
def run(prokurist_kafka: RealKafka, capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    """Run a command: its exit code, what it wrote as JSON, and what it said."""

    def ended(name: str, *arguments: object) -> tuple[int, list[dict[str, Any]], str]:
        rest = map(str, arguments)
        code = main([name, *rest, "-b", prokurist_kafka.bootstrap, "-J"])
        told = capfdbinary.readouterr()
        return code, [json.loads(line) for line in told.out.splitlines()], told.err.decode()

    return ended


def committed(kafka: RealKafka, group: str, offset: int, topic: str) -> None:
    """Commit an offset from outside of the group."""
    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap, group_id=group, enable_auto_commit=False
    ) as consumer:
        consumer.commit_sync({TopicPartition(topic, 0): OffsetAndMetadata(offset)}, 20)


@pytest.fixture
def filled(
    prokurist_kafka: RealKafka, prokurist_topic: str, producer_of: Callable[..., Any]
) -> str:
    """A topic of one partition, with three records."""
    producer = producer_of(prokurist_kafka.bootstrap)
    for value in (b"a", b"b", b"c"):
        producer.produce(prokurist_topic, value, b"k")
    assert producer.flush(20) == 0
    return prokurist_topic


def test_each_command_does_its_work(run: Command, filled: str) -> None:
    """B683: from reading in a group to its offsets, moved and read again."""
    code, rows, _ = run("topics", "-t", filled)
    assert (code, rows[0]["end"], rows[0]["in_sync"]) == (DONE, 3, rows[0]["replicas"])
    assert filled in {row["topic"] for row in run("topics")[1]}

    code, records, err = run("consume", "-t", filled, "-e")
    assert (code, err) == (DONE, "3 records\n")
    assert [each["payload"] for each in records] == ["a", "b", "c"]

    group = f"group-of-{filled}"
    code, records, _ = run("consume", "-t", filled, "-G", group, "-o", "beginning", "-c", 2)
    assert (code, [each["payload"] for each in records]) == (DONE, ["a", "b"])
    code, rows, _ = run("offsets", "-G", group, "-t", filled)
    assert (code, rows[0]["committed"], rows[0]["lag"]) == (DONE, 2, 1)

    code, rows, _ = run("groups", "reset", group, "-t", filled, "--shift-by", -1, "--dry-run")
    assert (code, rows[0]["new"]) == (DONE, 1)
    assert run("offsets", "-G", group, "-t", filled)[1][0]["committed"] == 2
    assert run("groups", "reset", group, "--to-earliest", "--yes")[0] == DONE
    assert run("offsets", "-G", group, "-t", filled)[1][0]["committed"] == 0

    code, steps, err = run("doctor", "-G", group, "-t", filled, "--timeout", 20)
    assert (code, err) == (DONE, "no fault found\n"), steps
    assert {"DNS", "TCP", "ApiVersions", "Metadata", "Kind", "Coordinator", "Committed"} <= {
        each["step"] for each in steps if each["verdict"] == "ok"
    }


def test_ranges_groups_brokers_and_lag(
    run: Command, filled: str, prokurist_kafka: RealKafka
) -> None:
    """What no call of the client asks brokers for, and what reading ends by."""
    group = f"lagging-of-{filled}"
    committed(prokurist_kafka, group, 1, filled)
    code, rows, err = run("groups")
    assert (code, err) == (DONE, f"{len(rows)} group{'s' if len(rows) > 1 else ''}\n")
    (found,) = [row for row in rows if row["group"] == group]
    assert (found["state"], found["protocol"]) == ("Empty", "classic")
    code, rows, _ = run("brokers")
    assert (code, {row["address"] for row in rows}) == (
        DONE,
        set(prokurist_kafka.bootstrap.split(",")),
    )
    assert all(row["out_of_sync"] == 0 for row in rows)
    code, rows, _ = run("lag", "-G", group, "--fail-above", 2)
    assert (code, rows[0]["topic"], rows[0]["lag"]) == (DONE, filled, 2)
    assert run("lag", "-G", group, "--fail-above", 1)[0] == FAILURE

    stored = ("-X", f"group.id={group}", "-o", "stored")
    for where, payloads in (
        (("-o", "s@-1h", "-o", "e@2099-01-01"), ["a", "b", "c"]),
        (("-o", "e@-1h"), []),
        ((*stored, "-e"), ["b", "c"]),
        (("-n", 2), ["b", "c"]),
        (("-e", "--merge", "--grep", "[ac]"), ["a", "c"]),
    ):
        code, records, _ = run("consume", "-t", filled, *where)
        assert (code, [each["payload"] for each in records]) == (DONE, payloads), where
    code, _, err = run("consume", "-t", filled, "-o", 9, "-e")
    assert (code, "offset 9 of" in err, "from 0 to 3" in err) == (FAILURE, True, True)
    _, steps, _ = run("doctor", "-t", filled, "--timeout", 20)
    assert [each["finding"] for each in steps[-3:]] == [
        f"{filled}-0 was read at 2",
        "none is open",
        f"User:ANONYMOUS may read and write {filled}",
    ]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_live_members_is_not_reset(
    run: Command, filled: str, prokurist_kafka: RealKafka, protocol: str
) -> None:
    """B683: by either protocol the coordinator refuses a stranger's commit."""
    group = f"{protocol}-of-{filled}"
    with KafkaConsumer(
        bootstrap_servers=prokurist_kafka.bootstrap,
        group_id=group,
        group_protocol=protocol,
        auto_offset_reset="earliest",
    ) as member:
        member.subscribe([filled])
        while not member.poll(1.0):
            pass
        code, [row], _ = run("groups", "reset", group, "-t", filled, "--to-latest", "--yes")
    assert (code, row["ok"], row["may_have_happened"]) == (FAILURE, False, False)
    assert row["error"].startswith("GroupNotEmptyException: ")


def test_a_frozen_kafka_is_told_of_in_time(
    run: Command, filled: str, prokurist_kafka: RealKafka
) -> None:
    """Not a broker that errs on command, but one that was stopped."""
    committed(prokurist_kafka, "frozen", 1, filled)
    prokurist_kafka.freeze()
    for line in ("topics", "offsets -G frozen", f"consume -t {filled}"):
        code, rows, err = run(*line.split(), "--timeout", 1)
        assert (code, rows, err.count("\n")) == (FAILURE, [], 1)
    code, steps, _ = run("doctor", "-G", "frozen", "--timeout", 8)
    (failed,) = [each for each in steps if each["verdict"] == "failed"]
    assert (code, failed["step"]) == (FAILURE, "ApiVersions")
    assert "accepted and not answered" in failed["advice"]


def test_the_console_script_is_there(filled: str, prokurist_kafka: RealKafka) -> None:
    """As a user types it, with the brokers in the environment."""
    script = [sys.executable, "-m", "prokurist", "consume", "-t", filled, "-e", "-q"]
    done = subprocess.run(
        script,
        env={"PROKURIST_BOOTSTRAP": prokurist_kafka.bootstrap},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (DONE, b"a\nb\nc\n", b"")
