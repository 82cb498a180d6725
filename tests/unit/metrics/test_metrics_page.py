"""The program of docs/metrics.md for several workers runs."""

import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


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
