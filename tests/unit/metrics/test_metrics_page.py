"""What is generated is current."""

import subprocess
import sys
from pathlib import Path

import pytest

from prokurist.metrics.__main__ import main

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_the_page_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    """A change of the catalogue that is not written out fails here, with the command."""
    assert main(["docs"]) == 0
    current = capsys.readouterr().out == PAGE.read_text(encoding="utf-8")
    assert current, "refresh it: python -m prokurist.metrics docs > docs/metrics.md"


@pytest.mark.parametrize("arguments", [[], ["poem"], ["docs", "docs"]])
def test_usage(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """Anything but one known page is answered with the usage."""
    assert main(arguments) == 2
    assert "usage: python -m prokurist.metrics docs" in capsys.readouterr().err


WORKERS = """
import re, sys, urllib.request
import psutil
page = open(sys.argv[1], encoding="utf-8").read()
block = re.search(r"# gunicorn.conf.py\\n(.*?)```", page, re.DOTALL).group(1)
names = {}
exec(block, names)
import socket
free = socket.socket(); free.bind(("", 0)); first = free.getsockname()[1]; free.close()
names["PORTS"] = range(first, min(first + 50, 65536))
names["post_fork"](None, None)
names["post_fork"](None, None)
# This process's own: others may listen in the same range.
there = psutil.Process().net_connections()
ports = {each.laddr.port for each in there if each.status == psutil.CONN_LISTEN}
assert ports <= set(names["PORTS"]), ports
for port in ports:
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read()
    assert b"prokurist_consumer_records_total" in text
print(len(ports))
"""


def test_the_example_for_several_processes_works() -> None:
    """Two workers, two ports, and our metrics at both; here in one process."""
    run = subprocess.run(
        [sys.executable, "-c", WORKERS, str(PAGE)], capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == "2", run.stderr
