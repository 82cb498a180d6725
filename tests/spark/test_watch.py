"""`watch` and its listener without a session: what is refused, and what never gets out."""

import logging
import re
import socket
from typing import Any

import pytest

from prokurist import ConfigException

pytest.importorskip("pyspark", reason="PySpark is not installed")

from prokurist.spark import CommitListener, Query
from prokurist.spark.watcher.group_consumers import GroupConsumers
from prokurist.spark.watcher.listener import OPEN, group_of

UNUSED_ADDRESS = "127.0.0.1:1"
QUERY = Query("id-1", "run-1", "bills")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"group_id": "g"}, "group.id is not for `watch`: its argument `group` names"),
        ({"enable_auto_commit": True}, "enable.auto.commit is not for `watch`"),
        ({"sample_intervall": 1}, "sample.interval"),
        ({"session_timeout_ms": "soon"}, "session.timeout.ms='soon'"),
        ({"sample_interval": 0}, "sample_interval is more than 0 seconds"),
        ({"commit_deadline": 0}, "commit_deadline is more than 0 seconds"),
        ({"queries": {"bills": {"group.id": "g"}}}, "group.id is not for `watch`"),
        ({"queries": {"bills": {"fetch.min.byts": 1}}}, "fetch.min.bytes"),
    ],
)
def test_what_cannot_be_used_is_refused_when_the_listener_is_made(
    given: dict[str, Any], said: str
) -> None:
    """And not when a query runs."""
    with pytest.raises((ConfigException, TypeError), match=re.escape(said)):
        CommitListener(UNUSED_ADDRESS, **given)


def test_a_port_that_is_taken_is_told_at_once() -> None:
    """It must not seem that metrics are served."""
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))  # noqa: S104 - where metrics are served
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            CommitListener(UNUSED_ADDRESS, metrics_port=taken.getsockname()[1])


def test_nothing_gets_out_of_a_callback(caplog: pytest.LogCaptureFixture) -> None:
    """An unreadable event is passed over, and one line of the log a minute says so."""
    listener = CommitListener(UNUSED_ADDRESS)
    nothing: Any = object()
    with caplog.at_level(logging.WARNING, "prokurist.spark"):
        for _ in range(10):
            listener.onQueryStarted(nothing)
            listener.onQueryProgress(nothing)
            listener.onQueryIdle(nothing)
            listener.onQueryTerminated(nothing)
    (line,) = (each.message for each in caplog.records)
    assert "an event was passed over" in line
    listener.close(0)
    assert listener not in OPEN
    listener.close()


def test_groups_are_named_by_the_query() -> None:
    """By its name, or by its id, which a restart keeps."""
    assert group_of(QUERY) == "spark.bills"
    assert group_of(Query("id-1", "run-1")) == "spark.id-1"


def test_queries_have_keys_of_their_own_and_others_are_left_alone() -> None:
    """By name or id; each client is in its query's group and commits nothing by itself."""
    clients = GroupConsumers(
        {"bootstrap.servers": UNUSED_ADDRESS, "request_timeout_ms": 5000},
        {"bills": {"bootstrap.servers": "127.0.0.1:2"}, "id-2": {}},
    )
    assert clients.connect(Query("id-3", "run-3", "others"), "g") is None
    for query, port in ((QUERY, 2), (Query("id-2", "run-2"), 1)):
        consumer = clients.connect(query, "g")
        assert consumer is not None
        with consumer:
            config = consumer._config
            assert config.bootstrap_servers[0].port == port
            assert (config.group_id, config.enable_auto_commit) == ("g", False)
            assert config.client_id == f"prokurist-spark-{query.label}"
            assert config.request_timeout_ms == 5000
            assert not config.allow_auto_create_topics
