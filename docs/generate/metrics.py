"""Writes `docs/metrics.md` from the catalogue.

Invariants: the output depends on nothing but the catalogue and the table of Java's
names, and two runs give the same text.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from docs.generate.java_metrics import JAVA, Answer
from prokurist.metrics.catalogue import every_metric
from prokurist.metrics.metric import Metric

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Calls and deadlines": ("call", "deadline", "application", "attempts", "late", "close"),
    "Reading": ("consumer",),
    "Sending": ("producer",),
    "Share groups": ("share",),
    "Workers": ("workers",),
    "The network thread": ("network", "loop", "event", "events", "background"),
    "Brokers": ("request", "requests", "throttle", "node", "connections"),
    "The client": ("client",),
    "Spark's queries": ("spark",),
}
"""By the first word after the prefix."""

_INTRO = """\
# Metrics

% Written by `make generated`. Change the catalogue in prokurist/metrics.

Every client counts, always; that costs about twenty nanoseconds for a number as for a
histogram (a tenth of a microsecond for the latter where no C compiler was at hand), per call,
request, turn, answer or batch and never per record.
There are two ways to see it.

**Prometheus.** With the extra `prokurist[prometheus]`, once in a process, at any time:

```python
import prokurist.metrics
from prometheus_client import start_http_server

prokurist.metrics.register()
start_http_server(9108)
```

One collector reads all clients of the process, those that are made later included. Each
series has the label `client_id`; of two open clients with one id the younger goes by
`orders (2)`. The series of a client are gone when it is closed, but for
`prokurist_close_phase_seconds`, which is kept for the process. Another registry than the
default one: `register(registry)`. The library's metrics of the process itself stay what
they are.

**A mapping.** `metrics()` of each client gives the same numbers of that client,
from any thread and after `close` too, by the names that an exposition has:

```python excerpt
lag = consumer.metrics()['prokurist_consumer_records_lag{topic="orders",partition="2"}']
```

**Spark.** Streaming queries that `prokurist.spark.watch` looks after have series of their
own, for as long as they run; each has the labels `query` and `group` in place of
`client_id`. `watch(…, metrics_port=9108)` serves them, and all the others, from the driver.

## By group

`prokurist_client_info` has the group, its protocol, the rack, and whether records are read by
native code or by `pure` Python. Joined, it tells any other series by group:

```text
sum by (group_id) (
  prokurist_consumer_committed_lag_sum
  * on (job, instance, client_id) group_left (group_id) prokurist_client_info
)
```

Two lags: `…_records_lag_sum` is of what was returned, `…_committed_lag_sum` of what is
committed, and thus of what would be read again after a crash. `…_lag_seconds_max` is how old
the oldest record is that was not read. It is found out from where the logs ended at earlier
readings: scrape at least every 15 s.

## Pushed to brokers

With `enable.metrics.push=true` a client asks brokers which metrics they want (KIP-714), and
pushes those, at the interval that the cluster's operator has set (`kafka-client-metrics.sh`),
to a broker whose `metric.reporters` has a receiver. Other brokers do not offer the question,
and cost nothing.

What is pushed has Java's names, `org.apache.kafka.consumer.fetch.manager.fetch.latency.avg`
say, those of KIP-714 and of KIP-1068 among them, so one dashboard shows clients of both
languages; the `client.rack`, the group, its instance id and member id go along. They are made
of the metrics on this page: a mean and a rate are of the time since the last push, and a
maximum is read off the buckets: exact for one value, else never too small and too large by
less than a bucket. Not pushed is what is not counted here: `produce.throttle.time.max`,
`record.size.max`, series of single partitions, and the rows that say "none" at the end of
this page. If the broker's `telemetry.max.bytes` is too low, the metrics that KIP-714 wants of
every client are left out last.

`client_instance_id(timeout)` tells the id under which the metrics of a client come. Nothing
of this is in the way: pushes take connections that stand, errors are logged at level debug
(`telemetry_not_pushed`), and `close` waits a second at most for its last push. Reading the
metrics takes the network thread about as long as a scrape, without those of single
partitions.

## How many series

Calls, request kinds and phases are a few dozen names. Brokers and callbacks have at most
200 labels of a kind, topics 1 000; what comes later is counted under `(others)`. Of the
partitions that a client reads, 1 000 have series of their own, in the order of the
assignment: `register(most_partitions=…)` changes that, and 0 leaves them out. The sums and
extremes (`…_lag_sum`, `…_lag_max`, `…_lead_min`) cover all of them,
`prokurist_consumer_partitions_unlisted` says how many are left out, and the log says it
once for each client. The same holds for the partitions of a Spark query; of queries 200
have series.

## More than one process

A collector reads the process that it is in. Two ways let several workers be scraped.

**One port for all**, as Kubernetes and uvicorn's `--workers` want it: each worker writes its
samples to a directory every five seconds, and whichever of them is scraped answers for all.

```python
import prokurist.metrics
from prometheus_client import CollectorRegistry, make_asgi_app

registry = CollectorRegistry()
prokurist.metrics.register(registry, directory="run/metrics")
metrics_app = make_asgi_app(registry)  # FastAPI, Starlette: app.mount("/metrics", metrics_app)
```

`make_wsgi_app(registry)` is the same for Flask and Django. The directory has to be empty when
the service starts, and on no network file system; that of `PROMETHEUS_MULTIPROC_DIR` will do,
and then `multiprocess.MultiProcessCollector(registry)` adds the instruments of
`prometheus_client` itself. Clients of one name are told apart as `orders@PID`, unless the name
has the process in it, as it has by default; what has no client has the label `pid`. A worker
that has ended, or has written nothing for 15 s, is left out. It works with fork, `--preload`
included, and with spawn. A scrape writes as well, so that no counter goes back where another
worker answers the next one.

**A port for each worker**, with gunicorn, and Prometheus scrapes all of them:

```python
# gunicorn.conf.py
from prometheus_client import start_http_server

import prokurist.metrics

PORTS = range(9108, 9124)


def post_fork(server, worker):
    \"\"\"After the fork, which threads and sockets do not survive.\"\"\"
    prokurist.metrics.register()
    for port in PORTS:
        try:
            start_http_server(port)
        except OSError:
            continue  # Another worker's.
        return
    raise RuntimeError(f"none of the ports {PORTS} is free")
```

A worker takes the first port that is free, so a restarted one has the port of the
one that it replaces. Have more ports than workers: during a reload there are both.
Clients have to be made after the fork as well: a copy of one says so with
`ForkedClientError`.

## Alerts and a dashboard

In docs/ops of the repository: `prokurist.rules.yml`, with a case for each alert in
`prokurist.test.yml` (`promtool test rules`), and `dashboard.json` for Grafana; `make dashboard`
draws its panels on real data of a minute, where `prometheus` is installed. Producers and
Spark's queries have dashboards of their own, `dashboard_producers.json` and
`dashboard_spark.json`. What a threshold should be depends on the service; these are where to
begin, and [a runbook](howto/alerts.md) says for each what to look at. That calls time out
is a broker's doing or the network's; that they end *late* never is: then the process is
short of CPU, or something holds the GIL.

## The catalogue

Counters end in `_total`; the rate of one is Java's `…-rate`. Histograms have buckets: the
rate of `_sum` by that of `_count` is Java's `…-avg`, and `histogram_quantile` stands in for
its `…-max`.
"""


def document() -> str:
    """Write the page.

    Returns:
        The text of `docs/metrics.md`.
    """
    lines = [_INTRO]
    for title, words in GROUPS.items():
        lines += [f"### {title}", "", "| metric | type | labels | what it means |"]
        lines += ["| --- | --- | --- | --- |"]
        lines += [row(each) for each in every_metric() if group_of(each) in words]
        lines.append("")
    lines += ["## Java's names", "", "| Java | here | |", "| --- | --- | --- |"]
    lines += [java_row(name, answer) for name, answer in sorted(JAVA.items())]
    return "\n".join(lines) + "\n"


def group_of(metric: Metric[Any]) -> str:
    """The word that a metric is grouped by."""
    words = metric.name.removeprefix("prokurist_").split("_")
    return "call" if words[0] == "calls" else words[0]


def row(metric: Metric[Any]) -> str:
    """The page's line of a metric."""
    labels = ", ".join(f"`{each}`" for each in metric.labels)
    return f"| `{metric.name}` | {metric.kind.value} | {labels} | {metric.help} |"


def java_row(name: str, answer: Answer) -> str:
    """The page's line of a Java metric."""
    names = ", ".join(f"`{each}`" for each in answer.ours) or "none"
    note = answer.note.replace("|", r"\|")
    return f"| `{name}` | {names} | {note} |"


def ungrouped() -> Iterator[str]:
    """The metrics that no group lists; a test sees that there are none."""
    known = {word for words in GROUPS.values() for word in words}
    return (each.name for each in every_metric() if group_of(each) not in known)
