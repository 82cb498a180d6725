"""What a program sees of our log, over real sockets: logging, structlog, or neither.

Each program is a process of its own, for logging and structlog are the process's.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from prokurist.testing.broker import EmbeddedBroker

PROGRAM = """
import sys
from prokurist import KafkaConsumer, TopicPartition
{configure}
with KafkaConsumer(
    bootstrap_servers=sys.argv[1], group_id="billing", client_id="bill-1",
    group_protocol="consumer", auto_offset_reset="earliest",
) as consumer:
    consumer.subscribe(["orders"])
    while not consumer.assignment():
        consumer.poll(1.0)
    for tp in consumer.assignment():
        consumer.position(tp, timeout=10.0)
    consumer.commit_sync(timeout=10.0)
"""

FAILING = """
import sys
from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition
{configure}
with KafkaConsumer(bootstrap_servers=sys.argv[1], group_id="billing", client_id="bill-1") as c:
    c.commit_async({{TopicPartition("orders", 0): OffsetAndMetadata(1)}})
"""

LOGGING = "import logging; logging.basicConfig(level=logging.INFO)"
STRUCTLOG = (
    "import structlog; structlog.configure(processors=["
    "structlog.processors.add_log_level, structlog.processors.JSONRenderer()])"
)


def run(program: str, configure: str, broker: EmbeddedBroker) -> tuple[list[str], list[str]]:
    """What a program wrote to stdout and to stderr."""
    code = program.format(configure=configure)
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, broker.bootstrap],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines(), ended.stderr.splitlines()


@pytest.mark.parametrize("configure", ["", "import structlog"], ids=["neither", "imported"])
def test_a_healthy_run_is_silent(configure: str, broker: EmbeddedBroker) -> None:
    """Who has configured nothing sees nothing; that structlog is installed changes nothing."""
    assert run(PROGRAM, configure, broker) == ([], [])


def test_at_info_there_is_a_line_for_each_change_of_state(broker: EmbeddedBroker) -> None:
    """With plain logging: what an operator wants of a healthy run, and no more."""
    out, err = run(PROGRAM, LOGGING, broker)
    assert not out
    assert all("[client_id=bill-1 group=billing] " in line for line in err)
    told = [line.split("] ", 1)[1] for line in err]
    beginnings = [
        "prokurist ",
        "broker ",  # is the group's coordinator
        "member ",
        "partitions assigned: orders-0",
        "reset to earliest: orders-0 at 0",
        "partitions revoked: orders-0",
        "closed, in ",
    ]
    assert [any(line.startswith(each) for line in told) for each in beginnings] == [True] * 7
    assert len(told) <= len(beginnings) + 2
    assert all(line.startswith("INFO:prokurist.") for line in err)


def test_structlog_gets_the_same_as_events(broker: EmbeddedBroker) -> None:
    """Through the application's own processors: here as JSON on stdout."""
    out, err = run(PROGRAM, STRUCTLOG, broker)
    assert not err
    events = [json.loads(line) for line in out]
    names = [each["event"] for each in events]
    for name in ("client_started", "coordinator_found", "partitions_assigned", "client_closed"):
        assert names.count(name) == 1
    assert {each["client_id"] for each in events} == {"bill-1"}
    assert {each["level"] for each in events} == {"info"}


@pytest.mark.parametrize("configure", ["", STRUCTLOG], ids=["neither", "structlog"])
def test_a_failure_is_logged_with_any_configuration(
    configure: str, broker: EmbeddedBroker
) -> None:
    """A commit without a callback: on stderr as a sentence, or as an event."""
    with broker.fail("OffsetCommit", 12, times=None):  # OFFSET_METADATA_TOO_LARGE
        out, err = run(FAILING, configure, broker)
    if configure:
        (failed,) = [each for each in map(json.loads, out) if each["level"] == "warning"]
        assert failed["event"] == "async_commit_failed"
        assert failed["error_type"] == "OffsetMetadataTooLarge"
        assert not err
    else:
        (line,) = err
        assert line.startswith("[client_id=bill-1 group=billing] asynchronous commit failed: ")
        assert not out


def test_calls_are_logged_where_debug_was_on_before(broker: EmbeddedBroker) -> None:
    """With their numbers, attempts and waits, and without a turn of the loop."""
    configure = "import logging; logging.basicConfig(level=logging.DEBUG)"
    _, err = run(PROGRAM, configure, broker)
    told = [line.split("] ", 1)[-1] for line in err if ":prokurist.call:" in line]
    assert any(line.startswith("commit_sync began, with 10.000 s") for line in told)
    assert any(line.startswith("commit_sync: OffsetCommit to broker ") for line in told)
    assert "commit_sync ended: answered" in told
    assert not any("prokurist.loop" in line for line in err)
