"""When a Kafka counts as ready: it answers, everywhere, and every node sees every other.

Thread: the one that calls; no state.
"""

from collections.abc import Sequence
from typing import Final

from prokurist.events.clock import Clock, Deadline
from prokurist.testing.kafka.admin import Admin
from prokurist.testing.kafka.errors import AdminFailed, NotReady
from prokurist.testing.kafka.nodes import Nodes
from prokurist.testing.kafka.ports import Address

_PAUSE: Final = 0.05
_LOOK_WITHIN: Final = 2.0
"""Seconds for one question, so that a node which is silent does not hide one that died."""


def wait_until_ready(
    nodes: Nodes, admin: Admin, which: Sequence[int], deadline: Deadline, clock: Clock
) -> None:
    """Until each node answers on both its listeners and sees all that are waited for.

    Args:
        nodes: The cluster.
        admin: What asks them.
        which: The nodes that are waited for; the others may be down.
        deadline: When to give up.
        clock: What the deadline is read against.

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
        AdminFailed: None did by the deadline; what the last one said.
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
    """What a node still lacks; empty if nothing."""
    try:
        # Both listeners: a client that comes through the proxy must not come too early.
        admin.connect(nodes.upstream[node], deadline).close()
        seen = admin.brokers(nodes.direct[node], deadline)
    except AdminFailed as error:
        return error.reason
    unseen = sorted(which - seen.keys())
    return f"answers, but does not see node {unseen} yet" if unseen else ""
