"""Scripts that do not look at the futures of an administrator."""

import subprocess
import sys
import time
from pathlib import Path

from prokurist.testing.broker import EmbeddedBroker
from prokurist.types import TopicPartition

PROGRAM = """
from prokurist.compat.confluent_kafka.admin import AdminClient, NewTopic

AdminClient({"bootstrap.servers": "%s"}).create_topics([NewTopic("made", 1)])
"""
STARTING = 25.0
"""For an interpreter and its imports."""


def ended(broker: EmbeddedBroker, folder: Path) -> tuple[int, str, float]:
    """Run the script."""
    program = folder / "program.py"
    program.write_text(PROGRAM % broker.bootstrap, "utf-8")
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stderr, time.monotonic() - began


def test_a_future_that_nobody_reads_is_done(tmp_path: Path) -> None:
    """B674: the topic is made before the interpreter ends; nothing warns."""
    with EmbeddedBroker(1, {"orders": 1}) as broker:
        broker.delay("CreateTopics", 0.5)
        assert ended(broker, tmp_path)[:2] == (0, "")
        assert broker.offsets(TopicPartition("made", 0)) == (0, 0)


def test_an_interpreter_waits_five_seconds_at_most(tmp_path: Path) -> None:
    """B674: where brokers are silent."""
    with EmbeddedBroker(1, {"orders": 1}) as broker, broker.freeze():
        code, _text, seconds = ended(broker, tmp_path)
        assert code == 0
        assert 5 < seconds < 12 + STARTING
