"""What the client knows of the cluster, and how it learns it.

Thread: the network thread alone; the snapshot that it publishes is immutable.

One request at a time, to whoever is least loaded. Who needs fresh metadata asks
for `fresh()` and waits for the next answer that was asked for after that; who
needs any broker asks for `somebody()`.

- A broker that did not answer such a question is suspect until somebody does: it
  is asked again only when all others have failed too. Otherwise one that is gone
  would be tried for ever, since its backoff is over before our own is.
- When all brokers that are known are suspect, the bootstrap addresses are asked
  again (KIP-899), unless `metadata.recovery.strategy` is `none`. They are asked
  alone, and everything is forgotten, when a broker demands it or nobody has
  answered for too long (KIP-1102).
- An error that no patience mends goes to all who wait, at once; whoever asks
  later has the question asked anew.
- Topics are asked for while somebody is interested in them, and no longer.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from prokurist.errors import InvalidTopicException, KafkaException, RetriableException
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.cluster import Cluster, PartitionView, TopicView
from prokurist.network_thread.client import NetworkClient
from prokurist.network_thread.operation import Operation, Promise, Withdrawn
from prokurist.network_thread.requests import Lane
from prokurist.network_thread.timer import Due, Timer
from prokurist.network_thread.verdicts import METADATA, Verdict
from prokurist.network_thread.wire.metadata import Metadata, MetadataAnswer, TopicMetadata
from prokurist.types import Node

LONGEST_NAME = 32767
"""Bytes that the protocol has room for; Kafka's own limit, 249, is the broker's to say."""


class MetadataManager:
    """See the module.

    Args:
        client: To ask with.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        bootstrap: The bootstrap addresses, as nodes with negative ids.
        max_age: `metadata.max.age.ms`, in seconds.
        rebootstrap: Whether to begin again at the bootstrap addresses.
        trigger: `metadata.recovery.rebootstrap.trigger.ms`, in seconds.
        create: Whether asking for a topic may make it.

    Attributes:
        cluster: The snapshot at hand.
        topics: The topics that somebody is interested in until he says otherwise.
        last_error: Why the question that is being asked is not answered yet.
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
        trigger: float,
        create: bool,
    ) -> None:
        self.cluster: Cluster = Cluster()
        self.topics: set[str] = set()
        self._tracked: Counter[str] = Counter()
        self._client = client
        self._timer = timer
        self._backoff = backoff
        self._bootstrap = bootstrap
        self._max_age = max_age
        self._rebootstrap = rebootstrap
        self._trigger = trigger
        self._create = create
        self._asking: Operation[None] | None = None
        self._now_asked: Promise[Cluster] | None = None
        self._next: Promise[Cluster] = Promise()
        self._wanted = False
        self._waiting: list[Call] = []
        self._age: Due | None = None
        self._suspects: set[int] = set()
        self.last_error: KafkaException | None = None

    # --- what others ask for ---------------------------------------------------------

    def fresh(self) -> Promise[Cluster]:
        """The next snapshot that is asked for from now on."""
        self._wanted = True
        return self._next

    async def refreshed(self, call: Call, reason: str) -> Cluster:
        """The same for a call, whose ledger tells of the wait and of what it met.

        Args:
            call: Who waits.
            reason: What for, to be read after "waited for".

        Raises:
            KafkaException: The question met an error that no patience mends.
        """
        if self.last_error is not None:
            call.met(self.last_error)
        call.wait_begins(reason, self._timer.now)
        self._waiting.append(call)
        try:
            return await self.fresh()
        finally:
            self._waiting.remove(call)
            call.wait_ends(self._timer.now)

    @contextmanager
    def tracking(self, topics: Iterable[str]) -> Iterator[None]:
        """Be interested in topics for as long as this lasts.

        Raises:
            InvalidTopicException: The protocol has no room for such names. They
                are refused here because they would spoil the question for all others.
        """
        names = frozenset(topics)
        check_names(names)
        self._tracked.update(names)
        try:
            yield
        finally:
            self._tracked.subtract(names)
            self._tracked = +self._tracked

    @property
    def interest(self) -> set[str]:
        """The topics that somebody is interested in at the moment."""
        return self.topics | self._tracked.keys()

    def request_update(self) -> None:
        """Something that is known may be stale; nobody waits for it."""
        self._wanted = True

    async def somebody(self) -> Node:
        """Any broker that can be asked now; waits while all of them have to be left alone."""
        while True:
            nodes = self._candidates()
            node = self._client.least_loaded(nodes)
            if node is not None:
                return node
            pause = self._client.next_chance(nodes) - self._timer.now
            await self._timer.sleep(max(pause, 0.0), "no broker may be asked yet")

    def suspect(self, node: Node) -> None:
        """Asking this one came to nothing: the next to be asked is another."""
        self._suspects.add(node.id)

    def _candidates(self) -> list[Node]:
        """Whom to ask: brokers that are known, then bootstrap addresses; no suspects."""
        known = list(self.cluster.nodes.values())
        groups = [known] if known else [list(self._bootstrap)]
        if known and self._rebootstrap:
            groups.append(list(self._bootstrap))
        for group in groups:
            fit = [node for node in group if node.id not in self._suspects]
            if fit:
                return fit
        # Each of them has failed once: it is everybody's turn again.
        self._suspects.clear()
        return groups[0]

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
        since = self._timer.now
        while True:
            node = await self.somebody()
            request = Metadata(tuple(sorted(self.interest)), (), self._create)
            try:
                answer = (await self._client.send(node, request)).response
            except KafkaException as error:
                if not error.retriable:
                    raise
                self.suspect(node)
                self._met(error)
            else:
                fault = self.fault_of(answer)
                if fault is None:
                    self.take(answer, keep=self.interest)
                    return
                self.suspect(node)
                self._met(fault)
            failures += 1
            if self._rebootstrap and self._timer.now - since >= self._trigger:
                since = self._timer.now
                self._begin_again()
            await self._timer.sleep(self._backoff.pause(failures), "metadata backoff")

    def fault_of(self, answer: MetadataAnswer) -> KafkaException | None:
        """Why an answer, of whomever's question, is worth nothing; None if it is.

        Raises:
            KafkaException: The same, where asking again will not help.
        """
        if not answer.error:
            if answer.brokers:
                return None
            return RetriableException("the broker answered with an empty list of brokers")
        verdict = METADATA.of(answer.error)
        error = METADATA.error(answer.error)
        if verdict is Verdict.FATAL:
            raise error
        if verdict is Verdict.REBOOTSTRAP and self._rebootstrap:
            self._begin_again()
        return error

    def _begin_again(self) -> None:
        """Forget the cluster, and ask the bootstrap addresses as if for the first time."""
        self.cluster = replace(
            self.cluster,
            nodes={},
            controller=None,
            topics={},
            version=self.cluster.version + 1,
        )
        # New numbers, hence new connections: those there are may lead to the very
        # brokers that sent us away, while the names stand for others by now.
        lowest = min(node.id for node in self._bootstrap)
        self._bootstrap = tuple(
            replace(node, id=lowest - 1 - nth) for nth, node in enumerate(self._bootstrap)
        )
        self._suspects.clear()
        if self._asking is None:
            self.request_update()

    def _met(self, error: KafkaException) -> None:
        """It goes on; whoever gives up waiting for it can say what it met."""
        self.last_error = error
        for call in self._waiting:
            call.met(error)

    def take(self, answer: MetadataAnswer, keep: Iterable[str]) -> None:
        """Merge an answer into the snapshot."""
        self.cluster = self.cluster.updated(
            cluster_id=answer.cluster_id,
            nodes=answer.brokers,
            controller=answer.controller_id,
            topics=views_of(answer),
            keep=keep,
        )
        self.last_error = None
        self._suspects.clear()

    def _watch_age(self) -> None:
        if self._age is not None:
            self._timer.cancel(self._age)
        self._age = self._timer.after(self._max_age, "metadata.max.age.ms", self.request_update)

    def _asked(self, _nothing: None, error: KafkaException | None) -> None:
        self._asking = None
        # After a fatal error too: what is known grows old all the same.
        self._watch_age()
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
        if self._asking is not None:
            self._asking.throw(Withdrawn("the client is closing"))
        if self._age is not None:
            self._timer.cancel(self._age)

    def __repr__(self) -> str:
        state = "asking" if self._asking is not None else "idle"
        wanted = f"{len(self.interest)} topics wanted, {len(self._waiting)} calls wait"
        return f"MetadataManager({state}, {wanted}, {self.cluster})"


def check_names(names: Iterable[str]) -> None:
    """See that the protocol has room for some names.

    Raises:
        InvalidTopicException: It has none for these.
    """
    bad = tuple(sorted(name for name in names if not can_be_sent(name)))
    if bad:
        shown = ", ".join(map(ascii, bad))
        raise InvalidTopicException(f"no topic can be called {shown[:200]}", topics=bad)


def can_be_sent(name: str) -> bool:
    """Whether the protocol can carry a name, whatever brokers think of it."""
    try:
        return len(name.encode()) <= LONGEST_NAME
    except UnicodeEncodeError:
        return False


def views_of(answer: MetadataAnswer) -> Iterator[TopicView]:
    """The topics of an answer as the snapshot keeps them."""
    return (view_of(topic.name, topic) for topic in answer.topics if topic.name is not None)


def view_of(name: str, topic: TopicMetadata) -> TopicView:
    """One of them."""
    return TopicView(
        name=name,
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
