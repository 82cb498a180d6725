"""The Grafana dashboard on real data, as one page: `python docs/ops/preview.py [OUT.html]`.

A Prometheus (the program `prometheus` on the path) scrapes three consumers of a group that
read from the embedded broker under load; the third comes later, so that the group is
rebalanced, and for some seconds the brokers freeze. Then every query of dashboard.json is
asked as Grafana asks it, and drawn where Grafana draws it. The page shows whether queries
find something, and units and legends make sense; it is no picture of Grafana.

Exit code 1 where a query is refused, finds nothing, or two lines have one name.
"""

import argparse
import json
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from charts import Line, page
from prometheus_client import CollectorRegistry, start_http_server

import prokurist.metrics
from prokurist import ConsumerRebalanceListener, KafkaConsumer, TimeoutException, TopicPartition
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.kafka.ports import free_ports

HERE = Path(__file__).parent
PARTITIONS = 6
CONFIG = """
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: billing
    static_configs: [{targets: ["127.0.0.1:%d"]}]
"""


class Listener(ConsumerRebalanceListener):
    """Takes a moment with what it is told, so that there is something to see."""

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """A moment."""
        time.sleep(0.02 * len(partitions))

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """A moment."""
        time.sleep(0.02 * len(partitions))


def work(name: str, bootstrap: str, over: threading.Event) -> None:
    """A member that reads, works and commits until it is over."""
    with KafkaConsumer(
        bootstrap_servers=bootstrap,
        client_id=name,
        group_id="billing",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=50,
        request_timeout_ms=2_000,
    ) as consumer:
        consumer.subscribe("orders", Listener())
        while not over.is_set():
            records = consumer.poll(0.5)
            time.sleep(0.001 * len(records))
            try:
                consumer.commit_sync(timeout=1.0)
            except TimeoutException:
                continue


def produce(broker: EmbeddedBroker, over: threading.Event) -> None:
    """Records that come a bit faster than they are read, then slower."""
    began = time.monotonic()
    while not over.wait(0.1):
        many = 40 if (time.monotonic() - began) % 20 < 8 else 8
        for partition in range(PARTITIONS):
            broker.append(TopicPartition("orders", partition), *[b"x" * 300] * many)


@contextmanager
def prometheus(port_of_metrics: int) -> Iterator[str]:
    """A Prometheus that scrapes once a second: its address."""
    program = shutil.which("prometheus")
    if program is None:
        sys.exit("preview: no prometheus on the path (Debian: apt-get install prometheus)")
    (port,) = free_ports(1)
    with TemporaryDirectory() as folder:
        config = Path(folder, "config.yml")
        config.write_text(CONFIG % port_of_metrics, "utf-8")
        run = subprocess.Popen(
            [
                program,
                f"--config.file={config}",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{port}",
                "--log.level=error",
            ]
        )
        try:
            yield f"http://127.0.0.1:{port}/api/v1"
        finally:
            run.kill()
            run.wait()


def live(seconds: float, broker: EmbeddedBroker) -> None:
    """Some members and their troubles; it ends when it is over."""
    over = threading.Event()
    names = ("billing-1", "billing-2", "billing-3")
    workers = [
        threading.Thread(target=work, args=(name, broker.bootstrap, over)) for name in names
    ]
    threads = [threading.Thread(target=produce, args=(broker, over)), *workers[:2]]
    for each in threads:
        each.start()
    time.sleep(0.3 * seconds)
    workers[2].start()  # A rebalance.
    time.sleep(0.3 * seconds)
    with broker.freeze():
        time.sleep(0.15 * seconds)
    time.sleep(0.25 * seconds)
    over.set()
    for each in (*threads, workers[2]):
        each.join()


def asked(api: str, expression: str, legend: str, begin: float, end: float) -> list[Line]:
    """What a query of a panel finds, in steps of a second."""
    for name, value in (("__rate_interval", "8s"), ("job", ".*"), ("instance", ".*")):
        expression = expression.replace(f"${name}", value)
    expression = expression.replace("$client_id", ".*").replace("$topic", ".*")
    expression = expression.replace("$group", ".*")
    query = {"query": expression, "start": begin, "end": end, "step": 1}
    address = f"{api}/query_range?{urllib.parse.urlencode(query)}"
    try:
        with urllib.request.urlopen(address, timeout=20) as answer:  # noqa: S310 - our own
            found = json.load(answer)["data"]["result"]
    except urllib.error.HTTPError as error:
        sys.exit(f"preview: {expression} is refused: {error.read().decode()}")
    return [
        Line(named(legend, each["metric"]), [(at, float(text)) for at, text in each["values"]])
        for each in found
    ]


def named(legend: str, labels: Mapping[str, str]) -> str:
    """A legend with the labels in it."""
    for label, value in labels.items():
        legend = legend.replace("{{" + label + "}}", value)
    return legend


def shown(dashboard: Mapping[str, Any], api: str, began: float) -> dict[str, list[Line]]:
    """The lines of each panel."""
    end = time.time()
    return {
        panel["title"]: [
            line
            for target in panel["targets"]
            for line in asked(api, target["expr"], target["legendFormat"], began, end)
        ]
        for panel in dashboard["panels"]
        if panel["type"] != "row"
    }


def main() -> int:
    """Live, ask, draw."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("out", nargs="?", type=Path, default=Path("build/dashboard.html"))
    parser.add_argument("--seconds", type=float, default=80.0, help="how long it is lived (80)")
    given = parser.parse_args()
    dashboard = json.loads((HERE / "dashboard.json").read_text("utf-8"))
    registry = CollectorRegistry()
    prokurist.metrics.register(registry)
    with ExitStack() as stack:
        server, _ = start_http_server(0, addr="127.0.0.1", registry=registry)
        stack.callback(server.server_close)
        stack.callback(server.shutdown)
        api = stack.enter_context(prometheus(server.server_port))
        broker = stack.enter_context(EmbeddedBroker(3, {"orders": PARTITIONS}))
        began = time.time()
        live(given.seconds, broker)
        lines = shown(dashboard, api, began)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(page(dashboard, lines), "utf-8")
    wrong = [f"no data: {title}" for title, found in lines.items() if not found]
    wrong += [
        f"two lines of one name: {title}"
        for title, found in lines.items()
        if len({line.name for line in found}) < len(found)
    ]
    sys.stdout.write("\n".join([str(given.out), *wrong, ""]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
