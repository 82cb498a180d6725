"""Programs as other clients' documentation has them, changed by one import, beside the peers.

Each runs twice against a real Kafka, over topics of its own: with the other client, and with
the face. Both print the same.
"""

import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from prokurist.testing.kafka import RealKafka
from tests.documents import Block, blocks

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(320)]

PAGE = [each for each in blocks() if each.page == "docs/howto/drop_in.md"]
PROGRAMS = [each for each in PAGE if each.language == "python"]
CHANGES = [each for each in PAGE if each.language == "diff"]
HERE = Path(__file__).parent / "compat_programs"
ENDS = 140
"""Seconds within which a program ends: it takes one of the processor, and 12 of waits."""
QUIET = ["-W", "ignore::DeprecationWarning"]
"""kafka-python reads its own schemas in a way that Python 3.11 deprecates."""


def lines(change: Block, sign: str) -> str:
    """One side of a change."""
    return "".join(re.findall(rf"^\{sign}(.*\n)", change.text, re.MULTILINE))


def printed(text: str, kafka: RealKafka, folder: Path, *, peer: bool = False) -> list[str]:
    """What a program prints, over topics and in a group of its own; which it does not print.

    A peer may write on stderr what it likes.
    """
    own = f"t{secrets.token_hex(4)}"
    if '"invoices"' in text and "NewTopic(OTHER" not in text and "created([OTHER" not in text:
        kafka.create_topic(f"invoices-{own}", partitions=1)
    kafka.create_topic(f"parts-{own}", partitions=2)
    text = text.replace("localhost:9092", kafka.bootstrap)
    text = re.sub(r'"(invoices|parts|billing|shipping)"', rf'"\1-{own}"', text)
    # One that does not end says where it stands: on a busy machine it may lack the processor.
    begins = f"import faulthandler\nfaulthandler.dump_traceback_later({ENDS - 10}, exit=True)\n"
    (folder / "program.py").write_text(begins + text, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-W", "error", *QUIET, "program.py"],
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        timeout=ENDS,
        check=False,
    )
    stderr = "" if peer else ended.stderr
    assert (ended.returncode, stderr) == (0, ""), ended.stdout + ended.stderr
    return ended.stdout.replace(f"-{own}", "").splitlines()


@pytest.mark.parametrize(
    ("block", "change"), list(zip(PROGRAMS, CHANGES, strict=True)), ids=str
)
def test_the_pages_programs_print_what_the_peers_do(
    block: Block, change: Block, prokurist_kafka: RealKafka, tmp_path: Path
) -> None:
    """B331, B332, B670, B716: programs of docs/howto/drop_in.md, before and after a change."""
    ours, theirs = lines(change, "+"), lines(change, "-")
    assert ours in block.text
    text = block.text.replace(ours, theirs).replace("prokurist.compat.", "")
    before = printed(text, prokurist_kafka, tmp_path, peer=True)
    assert len(before) > 10
    assert printed(block.text, prokurist_kafka, tmp_path) == before


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("aiokafka", "calls"),
        ("aiokafka_admin", "calls"),
        ("confluent_kafka", "calls"),
        ("confluent_kafka", "admin"),
        ("confluent_kafka_aio", "calls"),
        ("kafka", "calls"),
        ("kafka", "admin"),
    ],
)
def test_every_call_prints_what_the_peers_do(
    name: str, calls: str, prokurist_kafka: RealKafka, tmp_path: Path
) -> None:
    """A walk through all calls, by both.

    B331, B332, B361, B363, B364, B365, B450, B451, B670, B673, B716, B733, B736.
    """
    text = (HERE / f"{name}_{calls}.py").read_text("utf-8")
    theirs = text.replace("prokurist.compat.", "")
    before = printed(theirs, prokurist_kafka, tmp_path, peer=True)
    assert len(before) > (12 if name == "aiokafka_admin" else 20)
    assert printed(text, prokurist_kafka, tmp_path) == before
