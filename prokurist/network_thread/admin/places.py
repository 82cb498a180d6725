"""The brokers that administrative requests go to, by the reason why they are asked.

Thread: the network thread alone. A place returns the items of a job by route:

    any_broker        any broker, for a question
    controller        any broker that has just answered, for a change
    by_broker         the broker with an id; without one, as `any_broker` or `controller`
    every_broker      all brokers of fresh metadata, each an item
    by_leader         the leaders of partitions
    by_coordinator    the coordinators of groups or transactional ids

The last two look brokers up for each round of requests, since items that one broker has
refused may belong to different ones by then.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Final

from prokurist.errors import KafkaException
from prokurist.events.call import Call
from prokurist.network_thread.admin.job import AdminJob, Again, Groups, Place
from prokurist.network_thread.admin.patience import AnsweringBroker, ask_any
from prokurist.network_thread.broker_errors import (
    LEADER_NOT_AVAILABLE,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from prokurist.network_thread.cluster.attempts import Verdict
from prokurist.network_thread.cluster.coordinators import Coordinator
from prokurist.network_thread.cluster.routes import AnyBroker, Broker
from prokurist.network_thread.connections.requests import Lane
from prokurist.network_thread.error_actions import METADATA, Action
from prokurist.network_thread.wire.metadata import CoordinatorOf, Metadata
from prokurist.types import Node, TopicPartition

UNKNOWN_FOR: Final = 2.0
"""Seconds of a call in which a partition that no broker knows is asked for again: it may be
new."""


class Placed:
    """The route of one attempt, to a broker that was looked up for it.

    Args:
        node: The broker.
        lane: The lane of the request.
        refute: Called when the broker has not answered, or is the wrong one.

    Attributes:
        node: The same.
        lane: The same.
        is_used: True once an attempt has ended.
    """

    is_any: Final = False

    def __init__(
        self,
        node: Node,
        lane: Lane = Lane.GENERAL,
        refute: Callable[[Node, KafkaException], None] = lambda _node, _error: None,
    ) -> None:
        self.lane: Lane = lane
        self.is_used: bool = False
        self.node: Final = node
        self._refute = refute

    def again(self) -> "Placed":
        """The route of another attempt to the same broker."""
        return Placed(self.node, self.lane, self._refute)

    async def find(self, call: Call) -> Node | None:
        """See `Route`."""
        del call
        return self.node

    def note_failure(self, node: Node, error: KafkaException) -> KafkaException:
        """See `Route`."""
        self.is_used = True
        self._refute(node, error)
        if not error.retriable:
            raise error
        return error

    def note_answer(self, node: Node, verdict: Verdict) -> KafkaException | None:
        """See `Route`."""
        self.is_used = True
        wrong = verdict.action in (Action.REFRESH, Action.REDISCOVER)
        if wrong and verdict.error is not None:
            self._refute(node, verdict.error)
        return None

    def __repr__(self) -> str:
        return f"Placed({self.node})"


def in_requests(job: AdminJob, items: Sequence[Hashable]) -> Iterator[list[Hashable]]:
    """Cut items into the parts of single requests."""
    most = job.operation.most
    for start in range(0, len(items), most):
        yield list(items[start : start + most])


async def any_broker(job: AdminJob, items: Sequence[Hashable]) -> Groups:
    """Ask any broker."""
    brokers = job.tools.metadata.brokers
    return [(AnyBroker(brokers), part) for part in in_requests(job, items)]


async def controller(job: AdminJob, items: Sequence[Hashable]) -> Groups:
    """Ask the controller, through a broker that has just answered."""
    return [(AnsweringBroker(job.tools, job.call), part) for part in in_requests(job, items)]


def by_broker(number_of: Callable[[Any], int | None]) -> Place:
    """Ask the broker of each item's id; another one where it has none."""

    async def place(job: AdminJob, items: Sequence[Hashable]) -> Groups:
        parts: dict[int | None, list[Hashable]] = {}
        for item in items:
            parts.setdefault(number_of(item), []).append(item)
        anywhere = parts.pop(None, [])
        question = job.operation.again is Again.QUESTION
        groups = await (any_broker if question else controller)(job, anywhere)
        for number, part in parts.items():
            if number is not None:
                groups += [
                    (Broker(job.tools.metadata, number), each)
                    for each in in_requests(job, part)
                ]
        return groups

    return place


async def every_broker(job: AdminJob, items: Sequence[Hashable]) -> Groups:
    """Ask all brokers, each an item; those that leave meanwhile are taken out."""
    metadata = job.tools.metadata
    numbers: list[Any] = list(items)
    if not numbers:
        answer = await ask_any(job, Metadata(()), METADATA)
        numbers = sorted(each.id for each in answer.brokers)
        for number in numbers:
            job.call.add(number)
    return [(Broker(metadata, number, may_leave=True), [number]) for number in numbers]


def by_leader(partition_of: Callable[[Any], TopicPartition]) -> Place:
    """Ask the leader of each item's partition."""

    async def place(job: AdminJob, items: Sequence[Hashable]) -> Groups:
        metadata, timer = job.tools.metadata, job.tools.timer
        partitions = {item: partition_of(item) for item in items}
        cluster = metadata.cluster
        is_stale = any(
            item in job.stale or cluster.leader(tp) is None for item, tp in partitions.items()
        )
        if is_stale:
            with metadata.interest.tracking({tp.topic for tp in partitions.values()}):
                cluster = await metadata.refreshed(job.call, "the leaders of the partitions")
            job.stale.difference_update(items)
        parts: dict[int, list[Hashable]] = {}
        for item, tp in partitions.items():
            leader = cluster.leader(tp)
            if leader is not None:
                parts.setdefault(leader.id, []).append(item)
                continue
            view = cluster.topics.get(tp.topic)
            code = UNKNOWN_TOPIC_OR_PARTITION if view is None else view.error
            if view is not None and not code:
                there = tp.partition in view.partitions
                code = LEADER_NOT_AVAILABLE if there else UNKNOWN_TOPIC_OR_PARTITION
            late = timer.now >= job.call.began + UNKNOWN_FOR
            unknown = code == UNKNOWN_TOPIC_OR_PARTITION and late
            error = job.error(tp, code, table=METADATA)
            if unknown or METADATA.of(code) is Action.FATAL:
                job.call.refuse(item, error)
            else:
                job.stale.add(item)
                job.call.met(error)
        return [
            (Placed(cluster.nodes[number]), each)
            for number, part in parts.items()
            for each in in_requests(job, part)
        ]

    return place


def by_coordinator(kind: CoordinatorOf, key_of: Callable[[Any], str] = str) -> Place:
    """Ask the coordinator of each item's key."""

    async def place(job: AdminJob, items: Sequence[Hashable]) -> Groups:
        keys = {item: key_of(item) for item in items}
        if kind not in job.notes and len(job.tools.metadata.cluster.nodes) > 1:
            # A broker that is silent would keep the look-up waiting.
            await ask_any(job, Metadata(()), METADATA)
        found = await job.tools.coordinators.find_all(job.call, kind, keys.values())
        # Kept for as long as the job lasts: a coordinator is forgotten with its last user.
        known: dict[str, Coordinator] = job.notes.setdefault(kind, {})
        nodes: dict[str, Node | KafkaException] = {}
        for coordinator, outcome in found.items():
            known[coordinator.key] = coordinator
            nodes[coordinator.key] = outcome
        parts: dict[Node, list[Hashable]] = {}
        for item, key in keys.items():
            outcome = nodes[key]
            if isinstance(outcome, KafkaException):
                job.refuse_all([item], outcome)
            else:
                parts.setdefault(outcome, []).append(item)
        groups: Groups = []
        for node, part in parts.items():
            for each in in_requests(job, part):
                mine = {known[keys[item]] for item in each}

                def refute(
                    at: Node, error: KafkaException, mine: set[Coordinator] = mine
                ) -> None:
                    for coordinator in mine:
                        coordinator.forget(at, error)

                groups.append((Placed(node, Lane.COORDINATOR, refute), each))
        return groups

    return place
