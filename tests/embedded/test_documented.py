"""The examples of docs/testing.md and docs/timeline.md, run as they are printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def examples(page: str, having: str) -> list[str]:
    """The blocks of Python of a page that hold some words."""
    blocks = re.findall(
        r"^```python\n(.*?)^```$", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    return [block for block in blocks if having in block]


@pytest.mark.timeout(60)
def test_the_examples_for_users_tests_pass(tmp_path: Path) -> None:
    """A poison record, a freeze and a rebalance, with the plugin as a user has it."""
    found = examples("testing.md", "(prokurist_broker)")
    assert len(found) == 3
    for number, block in enumerate(found):
        (tmp_path / f"test_example_{number}.py").write_text(block, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_the_example_of_a_time_line_runs(tmp_path: Path) -> None:
    """It prints a line an entry, and writes both files."""
    (block,) = examples("timeline.md", "timeline.record(")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "OffsetCommit to broker 1" in done.stdout
    assert {each.name for each in tmp_path.iterdir()} >= {"commit.json", "commit.svg"}
