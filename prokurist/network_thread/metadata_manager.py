"""What the client knows of the cluster, and how it learns it.

Thread: the network thread alone; the snapshot that it publishes is immutable.

One request at a time, to whoever is least loaded. Who needs fresh metadata asks
for `fresh()` and waits for the next answer that was asked for after that; who
needs any broker asks for `somebody()`. When all brokers that are known cannot be
reached, the bootstrap addresses are asked again (KIP-899), unless
`metadata.recovery.strategy` is `none`.
"""

from collections.abc import Iterable

from prokurist.errors import KafkaException
from prokurist.events.backoff import Backoff
from prokurist.events.cluster import Cluster, PartitionView, TopicView
from prokurist.network_thread.client import NetworkClient
from prokurist.network_thread.operation import Operation, Promise, Withdrawn
from prokurist.network_thread.requests import Lane
from prokurist.network_thread.timer import Due, Timer
from prokurist.network_thread.wire.metadata import Metadata, MetadataAnswer, TopicMetadata
from prokurist.types import Node

REBOOTSTRAP_REQUIRED = 129


class MetadataManager:
    """See the module.

    Args:
        client: To ask with.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        bootstrap: The bootstrap addresses, as nodes with negative ids.
        max_age: `metadata.max.age.ms`, in seconds.
        rebootstrap: Whether to begin again at the bootstrap addresses.
    """

    def __init__(
        self,
        client: NetworkClient,
        timer: Timer,
        backoff: Backoff,
        bootstrap: tuple[Node, ...],
        *,
        max_age: float,
        rebootstrap: bool,
    ) -> None:
        self.cluster = Cluster()
        self.topics: set[str] = set()
        self._client = client
        self._timer = timer
        self._backoff = backoff
        self._bootstrap = bootstrap
        self._max_age = max_age
        self._rebootstrap = rebootstrap
        self._asking: Operation[None] | None = None
        self._now_asked: Promise[Cluster] | None = None
        self._next: Promise[Cluster] = Promise()
        self._wanted = False
        self._age: Due | None = None
        self._begin_again = False
        self.last_error: KafkaException | None = None

    # --- what others ask for ---------------------------------------------------------

    def fresh(self) -> Promise[Cluster]:
        """The next snapshot that is asked for from now on."""
        self._wanted = True
        return self._next

    def request_update(self) -> None:
        """Something that is known may be stale; nobody waits for it."""
        self._wanted = True

    async def somebody(self) -> Node:
        """Any broker that can be asked now; waits while all of them have to be left alone."""
        while True:
            nodes = self._nodes()
            node = self._client.least_loaded(nodes)
            if node is not None:
                return node
            pause = self._client.next_chance(nodes) - self._timer.now
            await self._timer.sleep(max(pause, 0.0), "no broker may be asked yet")

    def _nodes(self) -> list[Node]:
        """Whom to ask: the brokers that are known, or the bootstrap addresses."""
        known = list(self.cluster.nodes.values())
        if not known or self._begin_again:
            return list(self._bootstrap)
        if self._rebootstrap and self._client.least_loaded(known) is None:
            return known + list(self._bootstrap)
        return known

    # --- asking ----------------------------------------------------------------------

    def poll(self) -> None:
        """Ask, if somebody wants it and nobody is asking."""
        if self._wanted and self._asking is None:
            self._wanted = False
            self._now_asked, self._next = self._next, Promise()
            asking = Operation(self._ask(), "Metadata", self._asked)
            self._asking = None if asking.ended else asking

    async def _ask(self) -> None:
        failures = 0
        while True:
            try:
                node = await self.somebody()
                request = Metadata(names=tuple(sorted(self.topics)))
                answer = (await self._client.send(node, request)).response
            except Withdrawn:
                raise
            except KafkaException as error:
                self.last_error = error
            else:
                if self._took(answer):
                    return
            failures += 1
            await self._timer.sleep(self._backoff.pause(failures), "metadata backoff")

    def _took(self, answer: MetadataAnswer) -> bool:
        """Whether an answer is worth anything."""
        if answer.error == REBOOTSTRAP_REQUIRED and self._rebootstrap:
            self._begin_again = True
            return False
        if answer.error or not answer.brokers:
            self.last_error = KafkaException(
                "the broker answered with an empty list of brokers"
            )
            return False
        self._begin_again = False
        self.last_error = None
        self.take(answer, keep=self.topics)
        return True

    def take(self, answer: MetadataAnswer, keep: Iterable[str]) -> None:
        """Merge an answer into the snapshot ."""
        self.cluster = self.cluster.updated(
            cluster_id=answer.cluster_id,
            nodes=answer.brokers,
            controller=answer.controller_id,
            topics=(view_of(topic) for topic in answer.topics if topic.name is not None),
            keep=keep,
        )
        self._watch_age()

    def _watch_age(self) -> None:
        if self._age is not None:
            self._timer.cancel(self._age)
        self._age = self._timer.after(self._max_age, "metadata.max.age.ms", self.request_update)

    def _asked(self, _nothing: None, error: KafkaException | None) -> None:
        self._asking = None
        promise, self._now_asked = self._now_asked, None
        if promise is None:
            return
        if error is None:
            promise.keep(self.cluster)
        else:
            promise.break_(error)

    # --- what happens elsewhere ------------------------------------------------------

    def on_disconnect(self, _node: Node, _lane: Lane, error: KafkaException) -> None:
        """A connection went down: its broker may be gone, and leaders have moved."""
        self.last_error = error
        if self.cluster.version:
            self.request_update()

    def close(self) -> None:
        """Stop asking."""
        self._wanted = False
        if self._age is not None:
            self._timer.cancel(self._age)
        if self._asking is not None:
            self._asking.throw(Withdrawn("the client is closing"))

    def __repr__(self) -> str:
        state = "asking" if self._asking is not None else "idle"
        return f"MetadataManager({state}, {self.cluster})"


def view_of(topic: TopicMetadata) -> TopicView:
    """A topic of an answer as the snapshot keeps it."""
    return TopicView(
        name=topic.name or "",
        error=topic.error,
        id=topic.topic_id,
        internal=topic.internal,
        partitions={
            each.partition: PartitionView(
                each.partition,
                each.error,
                each.leader_id,
                each.leader_epoch,
                each.replicas,
                each.in_sync_replicas,
                each.offline_replicas,
            )
            for each in topic.partitions
        },
    )
