"""A Prometheus scrapes clients of a real Kafka: what alerts and dashboards tell of them."""

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, start_http_server

import prokurist.metrics
from prokurist import (
    KafkaConsumer,
    KafkaProducer,
    OffsetAndMetadata,
    TimeoutException,
    TopicPartition,
)
from prokurist.testing.kafka import RealKafka
from prokurist.testing.kafka.ports import free_ports
from tests.processes_watch import ProcessesWatch

pytestmark = pytest.mark.kafka

OPS = Path(__file__).parents[2] / "docs" / "ops"
NO_PROMETHEUS = "prometheus is not installed (Debian: apt-get install prometheus)"
CLIENT = "alerts-under-test"
TP = TopicPartition("orders", 0)

CONFIG = """
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
  - job_name: app
    static_configs: [{targets: ["127.0.0.1:%d"]}]
"""


class Prometheus:
    """One that scrapes, and tells which alerts fire."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, path: str) -> Any:
        """Its API's answer; None while it begins or is busy; raises for what is no query."""
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}/api/v1/{path}", timeout=5
            ) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refused:
            if refused.code == HTTPStatus.BAD_REQUEST:
                raise
            return None
        except OSError:
            return None

    def value(self, query: str) -> float | None:
        """What a query of one series comes to."""
        data = self.ask(f"query?query={urllib.parse.quote(query)}")
        if not data or not data["result"]:
            return None
        return float(data["result"][0]["value"][1])

    def draws(self, query: str) -> bool:
        """Whether a panel's query has anything to draw; an error where it is none."""
        data = self.ask(f"query?query={urllib.parse.quote(query)}")
        return bool(data and data["result"])

    def firing(self) -> dict[str, dict[str, str]]:
        """The alerts that fire, with their labels."""
        data = self.ask("alerts") or {"alerts": []}
        return {
            each["labels"]["alertname"]: each["labels"]
            for each in data["alerts"]
            if each["state"] == "firing"
        }


@pytest.fixture
def prometheus(tmp_path: Path, asking_registry: CollectorRegistry) -> Iterator[Prometheus]:
    """A Prometheus with our rules, which wait for nothing, and this process as its target."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip(NO_PROMETHEUS)
    server, thread = start_http_server(0, addr="127.0.0.1", registry=asking_registry)
    rules = (OPS / "prokurist.rules.yml").read_text("utf-8")
    quick = "\n".join(
        "        for: 1s" if line.startswith("        for: ") else line
        for line in rules.splitlines()
    )
    (tmp_path / "rules.yml").write_text(quick, "utf-8")
    (tmp_path / "config.yml").write_text(CONFIG % server.server_port, "utf-8")
    (port,) = free_ports(1)
    run = subprocess.Popen(
        [
            program,
            f"--config.file={tmp_path / 'config.yml'}",
            f"--storage.tsdb.path={tmp_path / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=error",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield Prometheus(port)
    finally:
        run.kill()
        run.wait()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def asking_registry() -> CollectorRegistry:
    """A registry that all clients of this process are registered with."""
    registry = CollectorRegistry()
    prokurist.metrics.register(registry)
    return registry


def late_calls(registry: CollectorRegistry) -> float:
    """How many calls have ended more than a tenth of a second late, by what is scraped."""
    buckets = {"+Inf": 0.0, "0.1": 0.0}
    for each in registry.collect():
        for sample in each.samples:
            bound = sample.labels.get("le")
            if (
                sample.name == "prokurist_deadline_overshoot_seconds_bucket"
                and bound in buckets
            ):
                buckets[bound] += sample.value
    return buckets["+Inf"] - buckets["0.1"]


def test_a_frozen_broker_makes_the_alerts_fire(
    prometheus: Prometheus,
    asking_registry: CollectorRegistry,
    orders: RealKafka,
    eventually: Callable[..., Any],
) -> None:
    """Calls that time out, and heartbeats that are late; before that, nothing.

    That no call ends late is the point: ProkuristCallsLate keeps quiet, unless this machine
    has made one late.
    """
    stopwatch = ProcessesWatch()
    with KafkaConsumer(
        {"bootstrap.servers": orders.bootstrap, "group.id": CLIENT, "client.id": CLIENT},
        enable_auto_commit=False,
        request_timeout_ms=60_000,
    ) as consumer:
        consumer.subscribe(["orders"])
        eventually(lambda: (consumer.poll(0.2), consumer.assignment())[1])
        consumer.commit_sync({TP: OffsetAndMetadata(0)}, timeout=60)
        member = f'prokurist_consumer_member{{client_id="{CLIENT}"}}'
        eventually(lambda: prometheus.value(member) == 1, 60)
        # A first call has made the series, so that `increase` has where to begin.
        timed_out = f'prokurist_calls_timed_out_total{{client_id="{CLIENT}"}}'
        eventually(lambda: prometheus.value(timed_out) == 0)
        firing = prometheus.firing()
        assert "ProkuristCallsTimedOut" not in firing
        assert "ProkuristHeartbeatsLate" not in firing
        # A client that is short of processors is told of, as it should be.
        assert not firing or stopwatch.elapsed() - stopwatch.fair() > 1.0
        orders.freeze()
        try:
            with pytest.raises(TimeoutException):
                consumer.commit_sync({TP: OffsetAndMetadata(0)}, timeout=1.0)
            eventually(lambda: "ProkuristCallsTimedOut" in prometheus.firing())
            eventually(lambda: "ProkuristHeartbeatsLate" in prometheus.firing(), 60)
            firing = prometheus.firing()
        finally:
            orders.thaw()
        assert firing["ProkuristCallsTimedOut"]["call"] == "commit_sync"
        assert firing["ProkuristHeartbeatsLate"]["client_id"] == CLIENT
        assert "ProkuristCallsLate" not in firing or late_calls(asking_registry)
        late = f'prokurist_consumer_heartbeat_age_seconds{{client_id="{CLIENT}"}} < 10'
        eventually(lambda: (consumer.poll(0.2), prometheus.value(late))[1] is not None, 60)
    # Its series are gone with it.
    eventually(lambda: prometheus.value(member) is None)


NOT_MET = ("prokurist_consumer_callback_seconds", "prokurist_producer_record_errors_total")
"""What clients without callbacks, whose records all arrive, have nothing of."""


def queries(name: str) -> dict[str, str]:
    """What each panel of a dashboard asks, with every job, client and topic chosen."""
    dashboard = json.loads((OPS / name).read_text("utf-8"))
    found = [each["expr"] for panel in dashboard["panels"] for each in panel.get("targets", ())]
    filled = {}
    for expression in found:
        text = expression.replace("$__rate_interval", "10s")
        filled[expression] = re.sub(r"\$(job|instance|client_id|topic)", ".*", text)
    return filled


@pytest.mark.parametrize("name", ["dashboard.json", "dashboard_producers.json"])
def test_the_dashboards_draw_what_clients_do(
    prometheus: Prometheus, orders: RealKafka, eventually: Callable[..., Any], name: str
) -> None:
    """Every query of a panel has something to draw, but for those of what does not happen."""
    topic = orders.unique_topic("dashboard")
    with (
        KafkaProducer(bootstrap_servers=orders.bootstrap, client_id="writer") as producer,
        KafkaConsumer(
            bootstrap_servers=orders.bootstrap,
            group_id="dashboards",
            client_id="reader",
            auto_offset_reset="earliest",
        ) as consumer,
    ):
        consumer.subscribe(topic)

        def draws() -> bool:
            producer.send(topic, b"v", b"k").result(20)
            consumer.poll(1.0)
            consumer.commit_sync(timeout=20)
            return all(
                prometheus.draws(query)
                for expression, query in queries(name).items()
                if not any(each in expression for each in NOT_MET)
            )

        eventually(draws, 60)
