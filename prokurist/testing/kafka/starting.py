"""Starting nodes with their proxies, and when they count as ready.

Ready is a Kafka that answers on every listener, and whose every node sees every
other.

Thread: the one that calls; no state.
Invariants: a start that fails leaves nothing behind.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Final

from prokurist.events.clock import Clock, Deadline
from prokurist.testing.kafka.admin import Admin
from prokurist.testing.kafka.errors import AdminFailed, NotReady, PortTaken
from prokurist.testing.kafka.nodes import Nodes
from prokurist.testing.kafka.ports import Address
from prokurist.testing.proxy import FaultProxy

_PORT_ATTEMPTS: Final = 3
_PAUSE: Final = 0.05
_LOOK_WITHIN: Final = 2.0
"""Seconds for one question, so that a node which is silent does not hide one that died."""


def start_nodes(
    choose: Callable[[], Nodes], count: int, admin: Admin, deadline: Deadline, clock: Clock
) -> tuple[Nodes, tuple[FaultProxy, ...]]:
    """Start nodes that `choose` makes, and again if another program has taken a port first.

    Between our look at a port and the broker's bind another process can bind it: the
    broker then dies with a line that says so. With a port that the user chose, `choose`
    itself raises on the next round.

    Args:
        choose: Makes nodes on ports that look free.
        count: How many they are.
        admin: The admin client.
        deadline: When to give up.
        clock: Clock of the deadline, and of the proxies.

    Returns:
        The nodes, all of them ready, and the proxy of each.

    Raises:
        KafkaUnavailable: This rung of the ladder turns out not to be there.
        KafkaFailed: The nodes did not start.
    """
    for attempt in range(1, _PORT_ATTEMPTS + 1):
        nodes = choose()
        proxies: list[FaultProxy] = []
        try:
            for number, address in enumerate(nodes.upstream):
                proxies.append(FaultProxy(address, clock=clock, name=f"proxy-{number}"))
            nodes.launch(tuple(Address(*proxy.address) for proxy in proxies), deadline)
            wait_until_ready(nodes, admin, range(count), deadline, clock)
        except BaseException as error:
            stop_nodes(nodes, proxies, Deadline.after(clock.now(), 0.0))
            if isinstance(error, PortTaken) and attempt < _PORT_ATTEMPTS:
                continue
            raise
        return nodes, tuple(proxies)
    raise AssertionError("the last attempt returns or raises")


def stop_nodes(nodes: Nodes | None, proxies: Sequence[FaultProxy], deadline: Deadline) -> None:
    """End nodes and proxies, each of them even if another fails to end."""
    with contextlib.ExitStack() as ending:
        # From the last to the first: the proxies end while the nodes still answer.
        if nodes is not None:
            ending.callback(nodes.close, deadline)
        for proxy in proxies:
            ending.callback(proxy.close)


def wait_until_ready(
    nodes: Nodes, admin: Admin, which: Sequence[int], deadline: Deadline, clock: Clock
) -> None:
    """Wait until each node answers on both its listeners and sees all expected nodes.

    Args:
        nodes: The cluster.
        admin: The admin client.
        which: The expected nodes; the others may be down.
        deadline: When to give up.
        clock: Clock of the deadline.

    Raises:
        BrokerDied: A node's process ended.
        PortTaken: It ended since its port is taken.
        NotReady: The deadline came first.
    """
    missing = dict.fromkeys(which, "not asked yet")
    while True:
        for node in list(missing):
            nodes.check(node)
            look = Deadline.after(clock.now(), _LOOK_WITHIN).earlier(deadline)
            missing[node] = _what_is_missing(nodes, admin, node, set(which), look)
            if not missing[node]:
                del missing[node]
        if not missing:
            return
        if deadline.expired(clock.now()):
            answered = [node for node in which if node not in missing]
            raise NotReady(
                "Kafka was not ready by the deadline: "
                + "; ".join(f"node {node}: {why}" for node, why in missing.items())
                + (f"; ready: {answered}" if answered else ""),
                way_out="a busy machine needs a longer timeout; else the log says more",
                detail=nodes.log_tail(min(missing)),
            )
        clock.sleep(_PAUSE)


def wait_until_answered(
    addresses: Sequence[Address], admin: Admin, deadline: Deadline, clock: Clock
) -> None:
    """Until one of the addresses answers.

    Raises:
        AdminFailed: None did by the deadline, with the last one's error.
    """
    while True:
        for address in addresses:
            try:
                admin.brokers(address, deadline)
            except AdminFailed as error:
                if address == addresses[-1] and deadline.expired(clock.now() + _PAUSE):
                    raise AdminFailed(error.reason, code=error.code) from error
            else:
                return
        clock.sleep(_PAUSE)


def _what_is_missing(
    nodes: Nodes, admin: Admin, node: int, which: set[int], deadline: Deadline
) -> str:
    """Return what a node still lacks; empty if it is ready."""
    try:
        # Both listeners: a client that comes through the proxy must not come too early.
        if nodes.secured:
            admin.reach(nodes.upstream[node], deadline)
        else:
            admin.connect(nodes.upstream[node], deadline).close()
        seen = admin.brokers(nodes.direct[node], deadline)
    except AdminFailed as error:
        return error.reason
    unseen = sorted(which - seen.keys())
    return f"answers, but does not see node {unseen} yet" if unseen else ""
