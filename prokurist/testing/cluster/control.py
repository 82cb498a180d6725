"""A test's controls of a cluster: faults, and changes that brokers make themselves.

`Controls` is the same for a model in virtual time (`Control`) and for one served over sockets
(`prokurist.testing.broker.EmbeddedBroker`); they differ in the source of the time, and in locks
and wake-ups.

A method that makes a fault gives back a `Fault`: leaving it as a context, or its
`undo()`, ends the fault. APIs are called as Kafka calls them: `"OffsetCommit"`.

Thread: any for a served cluster; the driver's for a model.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prokurist.testing.cluster.broker_controls import BrokerControls
from prokurist.testing.cluster.cluster import Cluster
from prokurist.testing.cluster.group_controls import GroupControls
from prokurist.testing.cluster.membership_controls import MembershipControls
from prokurist.testing.cluster.producer_controls import ProducerControls
from prokurist.testing.cluster.request_controls import RequestControls
from prokurist.testing.cluster.share_controls import ShareControls
from prokurist.testing.cluster.steering import Change
from prokurist.testing.cluster.telemetry_controls import TelemetryControls
from prokurist.testing.cluster.topic_controls import TopicControls
from prokurist.testing.cluster.transaction_controls import TransactionControls

if TYPE_CHECKING:
    from prokurist.events.clock import Clock


class Controls(
    BrokerControls,
    RequestControls,
    TopicControls,
    ProducerControls,
    GroupControls,
    MembershipControls,
    TransactionControls,
    TelemetryControls,
    ShareControls,
):
    """All controls."""

    __slots__ = ()


class Control(Controls):
    """Controls of a model with a driver that has a clock of its own."""

    __slots__ = ("_clock", "_cluster")

    def __init__(self, cluster: Cluster, clock: "Clock") -> None:
        self._cluster = cluster
        self._clock = clock

    def __repr__(self) -> str:
        return f"Control({self._cluster!r})"

    @contextmanager
    def _change(self) -> Iterator[Change]:
        now = self._clock.now()
        self._cluster.catch_up(now)
        yield Change(self._cluster, now)
