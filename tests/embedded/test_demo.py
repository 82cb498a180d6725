"""What `make demo` and `make picture` run."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[2]


def run(script: str, where: Path) -> subprocess.CompletedProcess[str]:
    """Run a script of the documentation's in a folder."""
    return subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "docs" / script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=where,
        env={name: value for name, value in os.environ.items() if name != "KAFKA"},
    )


def test_the_demonstration_shows_what_it_says(tmp_path: Path) -> None:
    """Every step comes, what is promised on time is on time, and nothing is on stderr."""
    done = run("demo.py", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    out = done.stdout
    late = re.search(r"TimeoutException after (\d+\.\d+) s", out)
    assert late is not None
    assert 2.0 <= float(late[1]) < 3.0
    assert "commit_sync for orders-0, orders-1, orders-2 was given 2 s" in out
    assert 'prokurist_calls_timed_out_total{call="commit_sync"}: 0 -> 1\n' in out
    assert "prokurist_late_answers_total: 0 -> 1\n" in out
    closed = re.search(r"close\(1\.0\) took (\d+\.\d+) s", out)
    assert closed is not None
    assert float(closed[1]) < 2.0
    assert f"{'#' * 30}]  12000 records" in out
    ET.parse(tmp_path / "build" / "demo-timeline.svg")  # noqa: S314 - our own


@pytest.mark.slow
def test_the_picture_can_be_drawn(tmp_path: Path) -> None:
    """As it stands in the README, where it is legible in the dark as well."""
    drawn = run("frozen_commit.py", tmp_path)
    assert (drawn.returncode, drawn.stderr) == (0, "")
    kept = (ROOT / "docs" / "frozen_commit.svg").read_text(encoding="utf-8")
    for svg in (drawn.stdout, kept):
        assert "OffsetCommit to broker 1" in svg
        assert "TimeoutException after 2.0" in svg
        ET.fromstring(svg)  # noqa: S314 - our own
