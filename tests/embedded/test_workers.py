"""Several worker processes behind one port, by fork and by spawn, each with a consumer."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from prokurist.testing.broker import EmbeddedBroker

WORKER = """
import asyncio, os, sys
from prometheus_client import CollectorRegistry, make_asgi_app
import prokurist.metrics
from prokurist import KafkaConsumer, TopicPartition

directory, bootstrap, client_id, forked = sys.argv[1:]
registry = CollectorRegistry()
prokurist.metrics.register(registry, directory=directory)
if forked == "fork" and (child := os.fork()):
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
with KafkaConsumer(bootstrap_servers=bootstrap, client_id=client_id, group_id="g") as consumer:
    consumer.assign(TopicPartition("orders", 0))
    consumer.poll(0.1)
    print("ready", os.getpid(), flush=True)
    for _ in sys.stdin:
        told = []

        async def receive():
            return {"type": "http.request", "body": b""}

        async def send(message):
            told.append(message)

        scope = {"type": "http", "method": "GET", "path": "/metrics", "query_string": b"",
                 "headers": []}
        asyncio.run(make_asgi_app(registry)(scope, receive, send))
        print(told[1]["body"].decode() + "END", flush=True)
"""


def scraped(process: "subprocess.Popen[str]") -> str:
    """What the worker answers to a scrape."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("scrape\n")
    process.stdin.flush()
    lines = iter(process.stdout.readline, "END\n")
    return "".join(lines)


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_whichever_is_scraped_answers_for_all(tmp_path: Path, how: str) -> None:
    """B308: clients of one name are told apart; those of a worker that has ended are gone."""
    with EmbeddedBroker(1, {"orders": 2}) as broker:
        command = [sys.executable, "-c", textwrap.dedent(WORKER), str(tmp_path)]
        workers = [
            subprocess.Popen(
                [*command, broker.bootstrap, "orders", how],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        try:
            pids = []
            for each in workers:
                assert each.stdout is not None
                word, pid = each.stdout.readline().split()
                assert word == "ready"
                pids.append(pid)
            wanted = {f"orders@{pid}" for pid in pids}
            for each in workers:
                while clients_in(scraped(each)) != wanted:
                    pass
            workers[1].communicate(timeout=20)
            while clients_in(scraped(workers[0])) != {f"orders@{pids[0]}"}:
                pass
        finally:
            for each in workers:
                each.communicate(timeout=20)
    assert not list(tmp_path.iterdir())


def clients_in(text: str) -> set[str]:
    """The clients that an exposition has."""
    return set(re.findall(r'^prokurist_client_info\{.*?client_id="(.*?)"', text, re.MULTILINE))
