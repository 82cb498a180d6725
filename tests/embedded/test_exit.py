"""Programs that end with a consumer open: in time, in silence, and with their offsets kept."""

import math
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from prokurist.testing.broker import EmbeddedBroker
from prokurist.types import TopicPartition

TP = TopicPartition("orders", 0)
LATE = 8.0
"""Far above anything measured, on a machine that is shared."""

READING = """
import os, sys, threading, time
from prokurist import KafkaConsumer, TopicPartition
tp = TopicPartition("orders", 0)
def reading():
    consumer = KafkaConsumer(bootstrap_servers=sys.argv[1], group_id="exit")
    consumer.assign(tp)
    consumer.seek(tp, 5)
    consumer.poll(0)
    return consumer
"""


@pytest.fixture
def kafka() -> Iterator[EmbeddedBroker]:
    """One broker, and one topic whose end is where the programs read."""
    with EmbeddedBroker(1, {"orders": 1}) as serving:
        serving.append(TP, *[b"read before"] * 5)
        yield serving


LAST_LINE = "\nprint(time.monotonic())"


def ended(kafka: EmbeddedBroker, code: str) -> tuple[int, str, float]:
    """Run a program to its end.

    Returns:
        Its code, what it wrote to stderr, and how long it took from `LAST_LINE` on: neither
        the interpreter nor its imports are in question.
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", READING + code,
         kafka.bootstrap],
        capture_output=True, text=True, timeout=25, check=False,
    )  # fmt: skip
    last = float(done.stdout) if LAST_LINE in code else math.nan
    return done.returncode, done.stderr, time.monotonic() - last


def committed(kafka: EmbeddedBroker) -> int | None:
    """What the broker has."""
    kept = kafka.committed("exit").get(TP)
    return None if kept is None else kept.offset


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "other = reading()"])
def test_a_program_that_ends_commits(kafka: EmbeddedBroker, end: str) -> None:
    """CONTRACT, rule 11: as `close` would, and says nothing; several consumers likewise."""
    code, said, _ = ended(kafka, f"consumer = reading()\n{end}")
    assert (code, said) == (0, "")
    assert committed(kafka) == 5


def test_a_program_that_fails_does_not(kafka: EmbeddedBroker) -> None:
    """CONTRACT §5: what was returned last may not have been worked on."""
    code, said, _ = ended(kafka, "consumer = reading()\n1 / 0")
    assert code == 1
    assert said.rstrip().endswith("ZeroDivisionError: division by zero")
    assert committed(kafka) is None


def test_without_auto_commit_there_is_nothing_to_commit(kafka: EmbeddedBroker) -> None:
    """B56: it is off at the end, too."""
    code, said, _ = ended(
        kafka,
        'consumer = KafkaConsumer(bootstrap_servers=sys.argv[1], group_id="exit",\n'
        "    enable_auto_commit=False)\n"
        "consumer.assign(tp); consumer.seek(tp, 5); consumer.poll(0)",
    )
    assert (code, said) == (0, "")
    assert committed(kafka) is None


def test_a_silent_broker_holds_no_program_up(kafka: EmbeddedBroker) -> None:
    """CONTRACT, rule 11: bounded, for all consumers together; the log says what is lost."""
    with kafka.freeze():
        program = "consumers = [reading() for _ in range(3)]" + LAST_LINE
        code, said, took = ended(kafka, program)
    assert code == 0
    assert said.count("before the last offsets were known to be committed") == 3
    assert took < 5.0 + LATE


def test_another_thread_that_is_inside_holds_no_program_up(kafka: EmbeddedBroker) -> None:
    """A daemon thread waits in poll: it is left where it is."""
    code, said, took = ended(
        kafka,
        "consumer = reading()\n"
        "threading.Thread(target=consumer.poll, args=(600,), daemon=True).start()\n"
        "time.sleep(0.2)" + LAST_LINE,
    )
    assert (code, said) == (0, "")
    assert took < LATE


def test_a_child_that_ends_touches_nothing_of_its_parent(kafka: EmbeddedBroker) -> None:
    """A fork: the child runs the hooks of its parent, whose consumer works on."""
    code, said, _ = ended(
        kafka,
        "consumer = reading()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    sys.exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
        "assert consumer.committed(tp) == {tp: None}\n",
    )
    assert (code, said) == (0, "")
    assert committed(kafka) == 5


@pytest.mark.parametrize("end", ["", "asyncio.run(admin.close())"])
def test_an_admin_client_of_coroutines_that_is_left_is_closed_in_silence(
    kafka: EmbeddedBroker, end: str
) -> None:
    """B855: as that of threads; nothing is left over that was never awaited."""
    code, said, _ = ended(
        kafka,
        "import asyncio\n"
        "from prokurist.aio import KafkaAdmin\n"
        "admin = KafkaAdmin(bootstrap_servers=sys.argv[1])\n"
        f"asyncio.run(admin.list_topics())\n{end}",
    )
    assert (code, said) == (0, "")
