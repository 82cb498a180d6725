"""What `make demo` and `make picture` run."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.stopwatch import MUCH

ROOT = Path(__file__).parents[2]
LATE = 1.0
LATE_ANSWER = "prokurist_late_answers_total: 0 -> 1\n"
WATCHED = """
import runpy, sys
from tests.stopwatch import Stopwatch
with Stopwatch() as took:
    try:
        runpy.run_path(sys.argv[1], run_name="__main__")
    except SystemExit as over:
        assert not over.code
with open("kept", "w") as told:
    print(took.kept, file=told)
"""


def run(script: str, where: Path) -> tuple[str, float]:
    """Run a script of the documentation's in a folder.

    Returns:
        What it wrote, and the seconds that the machine kept from it.
    """
    environment = {name: value for name, value in os.environ.items() if name != "KAFKA"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WATCHED, str(ROOT / "docs" / script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=where,
        env=environment | {"PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, float((where / "kept").read_text("utf-8"))


def test_the_demonstration_shows_what_it_says(tmp_path: Path) -> None:
    """Every step comes, what is promised on time is on time, and nothing is on stderr."""
    out, kept = run("demo.py", tmp_path)
    for _ in range(2):
        if LATE_ANSWER in out or kept < MUCH:
            break
        # Its network thread had no processor from the deadline to the thaw: not too late,
        # as far as that could see.
        out, kept = run("demo.py", tmp_path)
    assert LATE_ANSWER in out
    late = re.search(r"TimeoutException after (\d+\.\d+) s", out)
    assert late is not None
    assert 2.0 <= float(late[1]) < 2.0 + LATE + kept
    assert "commit_sync for orders-0, orders-1, orders-2 was given 2 s" in out
    assert 'prokurist_calls_timed_out_total{call="commit_sync"}: 0 -> 1\n' in out
    closed = re.search(r"close\(1\.0\) took (\d+\.\d+) s", out)
    assert closed is not None
    assert float(closed[1]) < 1.0 + LATE + kept
    assert f"{'#' * 30}]  12000 records" in out
    flushed = re.findall(r"TimeoutException after (\d+\.\d+) s", out)[1]
    assert 2.0 <= float(flushed) < 2.0 + LATE + kept
    assert re.search(r"\b1\s+record\s\(", out)
    given_up = re.search(r"close\(2\.0\) took (\d+\.\d+) s, and gave up 1 record", out)
    assert given_up is not None
    assert float(given_up[1]) < 2.0 + LATE + kept
    assert "may_have_happened is True" in out
    ET.parse(tmp_path / "build" / "demo-timeline.svg")  # noqa: S314 - our own


@pytest.mark.slow
def test_the_picture_can_be_drawn(tmp_path: Path) -> None:
    """As it stands in the README, where it is legible in the dark as well."""
    drawn, kept = run("frozen_commit.py", tmp_path)
    stands = (ROOT / "docs" / "frozen_commit.svg").read_text(encoding="utf-8")
    for svg, borne in ((drawn, kept + LATE), (stands, 0.1)):
        assert "OffsetCommit to broker 1" in svg
        late = re.search(r"TimeoutException after (\d+\.\d+)", svg)
        assert late is not None
        assert 2.0 <= float(late[1]) < 2.0 + borne
        ET.fromstring(svg)  # noqa: S314 - our own
