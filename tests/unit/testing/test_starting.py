"""When nodes count as ready, and what a start that fails leaves: nothing."""

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from prokurist.events.clock import Deadline
from prokurist.testing.kafka import AdminFailed, BrokerDied, NotReady, PortTaken
from prokurist.testing.kafka.admin import Admin
from prokurist.testing.kafka.nodes import Nodes
from prokurist.testing.kafka.ports import Address
from prokurist.testing.kafka.starting import start_nodes, wait_until_ready


class _Clock:
    """A clock that goes on only by sleeping."""

    time = 0.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class _Cluster:
    """Nodes and their admin client in one: what each node sees changes as time goes by."""

    secured = False

    def __init__(self, clock: _Clock, sees: Callable[[int, float], set[int] | str]) -> None:
        self.clock = clock
        self.sees = sees
        self.direct = self.upstream = (Address("127.0.0.1", 1), Address("127.0.0.1", 2))
        self.error: Exception | None = None
        self.closed = False
        self.launched: tuple[Address, ...] = ()

    def launch(self, advertised: tuple[Address, ...], deadline: Deadline) -> None:
        del deadline
        self.launched = advertised
        if self.error is not None:
            raise self.error

    def check(self, node: int) -> None:
        if self.error is not None:
            raise self.error
        assert node in {0, 1}

    def log_tail(self, node: int) -> str:
        return f"  | log of node {node}"

    def close(self, deadline: Deadline | None = None) -> None:
        del deadline
        self.closed = True

    def connect(self, address: Address, deadline: Deadline) -> "_Cluster":
        del address, deadline
        return self

    def brokers(self, address: Address, deadline: Deadline) -> dict[int, Address]:
        del deadline
        seen = self.sees(self.direct.index(address), self.clock.now())
        if isinstance(seen, str):
            raise AdminFailed(seen)
        return dict.fromkeys(seen, address)


def _wait(cluster: _Cluster, within: float) -> None:
    wait_until_ready(
        cast("Nodes", cluster),
        cast("Admin", cluster),
        (0, 1),
        Deadline.after(cluster.clock.now(), within),
        cluster.clock,
    )


def _start(choose: Callable[[], _Cluster], clock: _Clock) -> Any:
    return start_nodes(
        cast("Callable[[], Nodes]", choose),
        2,
        cast("Admin", choose()),
        Deadline.after(clock.now(), 10),
        clock,
    )


def test_ready_is_when_every_node_sees_every_node() -> None:
    """One that answers and is still alone is not ready."""
    clock = _Clock()
    cluster = _Cluster(clock, lambda node, now: {0, 1} if now >= 3 + node else {node})
    _wait(cluster, 10)
    assert 4 <= clock.now() < 4.5


def test_the_deadline_says_what_answered_and_what_did_not() -> None:
    """With the log of the first that is missing."""

    def sees(node: int, now: float) -> set[int] | str:
        del now
        return {0, 1} if node == 0 else "node 1 cannot be reached"

    with pytest.raises(NotReady) as late:
        _wait(_Cluster(_Clock(), sees), 2)
    assert late.value.reason == (
        "Kafka was not ready by the deadline: node 1: node 1 cannot be reached; ready: [0]"
    )
    assert "| log of node 1" in str(late.value)


def test_a_node_that_died_is_not_waited_for() -> None:
    """Its own error comes at once."""
    clock = _Clock()
    cluster = _Cluster(clock, lambda *_: "silence")
    cluster.error = BrokerDied("node 0 died")
    with pytest.raises(BrokerDied):
        _wait(cluster, 100)
    assert clock.now() == 0


def test_each_node_is_told_of_its_own_proxy() -> None:
    """It advertises that address; the proxies come with the nodes."""
    clock = _Clock()
    cluster = _Cluster(clock, lambda *_: {0, 1})
    nodes, proxies = _start(lambda: cluster, clock)
    assert nodes is cluster
    assert [tuple(address) for address in cluster.launched] == [p.address for p in proxies]
    for proxy in proxies:
        proxy.close()


@pytest.mark.parametrize(
    ("error", "attempts"),
    [(PortTaken("taken"), 3), (BrokerDied("died"), 1), (KeyboardInterrupt(), 1)],
    ids=["port", "broker", "ctrl-c"],
)
def test_a_start_that_fails_leaves_nothing(error: BaseException, attempts: int) -> None:
    """No node, no proxy; with other ports it is tried again, but not for ever."""
    clock = _Clock()
    before = threading.active_count()
    made: list[_Cluster] = []

    def choose() -> _Cluster:
        made.append(_Cluster(clock, lambda *_: {0, 1}))
        made[-1].error = cast("Exception", error)
        return made[-1]

    with pytest.raises(type(error)):
        _start(choose, clock)
    # The first one stands for the admin client only.
    assert len(made) - 1 == attempts
    assert all(cluster.closed for cluster in made[1:])
    assert threading.active_count() == before
