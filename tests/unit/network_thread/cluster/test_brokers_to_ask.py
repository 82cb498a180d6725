"""Which broker's refusal is told when no other broker is left to ask."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from prokurist.errors import DisconnectException, SslAuthenticationException
from prokurist.events.cluster import Cluster
from prokurist.events.reachability import Reachability
from prokurist.events.trace import UNREAD
from prokurist.network_thread.cluster.brokers_to_ask import BrokersToAsk
from prokurist.network_thread.operations.timer import Timer
from prokurist.types import Node

ONE, TWO = (Node(number, f"kafka-{number}", 9093) for number in (1, 2))


def brokers() -> BrokersToAsk:
    """Two that are known, and no connection that was refused lately."""
    client = SimpleNamespace(
        refusals=SimpleNamespace(has=lambda _node: False),
        trace=UNREAD,
        reachability=Reachability(),
    )
    bootstrap = SimpleNamespace(nodes=(), failed=lambda _node, error: error, servers="")
    cluster = Cluster(nodes={each.id: each for each in (ONE, TWO)})
    return BrokersToAsk(
        cast("Any", client),
        cast("Any", bootstrap),
        lambda: cluster,
        Timer(0.0),
        rebootstrap=False,
    )


def test_a_refusal_is_told_when_no_other_is_left() -> None:
    """B358: not before; and once."""
    asked = brokers()
    asked.failed(ONE, SslAuthenticationException("it has expired"))
    with pytest.raises(SslAuthenticationException, match="expired"):
        asked.failed(TWO, DisconnectException("gone"))
    asked.failed(TWO, DisconnectException("gone"))


def test_a_refusal_is_out_of_date_once_its_broker_fails_otherwise() -> None:
    """B371: a certificate that was renewed since is blamed for no outage."""
    asked = brokers()
    asked.failed(ONE, SslAuthenticationException("it has expired"))
    asked.failed(ONE, DisconnectException("killed"))
    asked.failed(TWO, DisconnectException("killed"))


def test_the_last_refusal_of_a_broker_is_told() -> None:
    """B371: what it says now, and not what it said first."""
    asked = brokers()
    asked.failed(ONE, SslAuthenticationException("it has expired"))
    asked.failed(ONE, SslAuthenticationException("it is for other names"))
    with pytest.raises(SslAuthenticationException, match="other names"):
        asked.failed(TWO, DisconnectException("gone"))
