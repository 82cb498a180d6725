"""Which broker's refusal is told when no other broker is left to ask."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from prokurist.errors import DisconnectException, SslAuthenticationException
from prokurist.events.cluster import Cluster
from prokurist.network_thread.cluster.brokers_to_ask import BrokersToAsk
from prokurist.types import Node

ONE, TWO = (Node(number, f"kafka-{number}", 9093) for number in (1, 2))


def brokers() -> BrokersToAsk:
    """Two that are known, and no connection that was refused lately."""
    client = SimpleNamespace(refusals=SimpleNamespace(has=lambda _node: False))
    bootstrap = SimpleNamespace(nodes=(), failed=lambda _node, error: error)
    cluster = Cluster(nodes={each.id: each for each in (ONE, TWO)})
    return BrokersToAsk(
        cast("Any", client), cast("Any", bootstrap), lambda: cluster, rebootstrap=False
    )


def failed(asked: BrokersToAsk, node: Node, error: Any) -> None:
    """What is done about each broker that has failed."""
    asked.judge(node, error)
    asked.suspect(node, error)
    asked.check()


def test_a_refusal_is_told_when_no_other_is_left() -> None:
    """B358: not before; and once."""
    asked = brokers()
    failed(asked, ONE, SslAuthenticationException("it has expired"))
    with pytest.raises(SslAuthenticationException, match="expired"):
        failed(asked, TWO, DisconnectException("gone"))
    asked.check()


def test_a_refusal_is_out_of_date_once_its_broker_fails_otherwise() -> None:
    """B371: a certificate that was renewed since is blamed for no outage."""
    asked = brokers()
    failed(asked, ONE, SslAuthenticationException("it has expired"))
    failed(asked, ONE, DisconnectException("killed"))
    failed(asked, TWO, DisconnectException("killed"))


def test_the_last_refusal_of_a_broker_is_told() -> None:
    """B371: what it says now, and not what it said first."""
    asked = brokers()
    failed(asked, ONE, SslAuthenticationException("it has expired"))
    failed(asked, ONE, SslAuthenticationException("it is for other names"))
    with pytest.raises(SslAuthenticationException, match="other names"):
        failed(asked, TWO, DisconnectException("gone"))
