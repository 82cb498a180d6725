"""The dashboard on real data: a Prometheus that has scraped real consumers in trouble."""

import json
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path

import pytest

from tests.documents import ROOT

OPS = ROOT / "docs" / "ops"


@pytest.mark.slow
def test_every_panel_has_something_to_show(tmp_path: Path) -> None:
    """No query is refused, none finds nothing, and no two lines of a panel have one name."""
    if shutil.which("prometheus") is None:
        pytest.skip("prometheus is not installed (Debian: apt-get install prometheus)")
    out = tmp_path / "preview.html"
    run = subprocess.run(
        [sys.executable, OPS / "preview.py", out, "--seconds", "30"],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, f"{out}\n", "")
    drawn = out.read_text("utf-8")
    dashboard = json.loads((OPS / "dashboard.json").read_text("utf-8"))
    assert all(f"{escape(each['title'])}</text>" in drawn for each in dashboard["panels"])
    assert "No data" not in drawn
