"""Fetches and publishes the cluster's metadata.

Thread: the network thread alone; the snapshot that it publishes is immutable.

One request at a time, to the least loaded broker (`BrokersToAsk`). Code that needs fresh
metadata awaits `fresh()`, the next answer to a request made after that.

- The bootstrap addresses are asked alone, and everything is forgotten, when a broker demands
  it or no broker has answered for too long (KIP-1102).
- An error that cannot be retried goes to all who wait, at once; a later
  caller has another request sent.
- Topics are asked for while the client reads them or a call asks about them. What is
  wrong with a topic that is read is told to the next poll, unless a call asks about
  it: then that hears of it.
- A producer's new topic is requested alone, without renewal of the others: all topics are
  requested when the last answer about all is `metadata.max.age.ms` old.
"""

from typing import Final

from prokurist.errors import AuthenticationException, KafkaException, RetriableException
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.cluster import Cluster
from prokurist.events.log_events import METADATA_FAILED, REBOOTSTRAPPED
from prokurist.network_thread.cluster.brokers_to_ask import BrokersToAsk
from prokurist.network_thread.cluster.cluster_snapshot import ClusterSnapshot
from prokurist.network_thread.cluster.topic_interest import TopicInterest
from prokurist.network_thread.cluster.wanted_metadata import WantedMetadata
from prokurist.network_thread.connections.bootstrap import Bootstrap
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.error_actions import METADATA, Action, ErrorTable
from prokurist.network_thread.operations.interruptible import Interruptible
from prokurist.network_thread.operations.operation import Operation, Promise, Withdrawn
from prokurist.network_thread.operations.retries import Retries
from prokurist.network_thread.operations.timer import Due, Timer
from prokurist.network_thread.wire.metadata import Metadata, MetadataAnswer
from prokurist.types import Node

AUTHENTICATED_AGAIN: Final = 1.0
"""Seconds after a failed authentication until metadata are asked for again without a call."""


class MetadataManager(ClusterSnapshot):
    """Keeps the snapshot of the cluster up to date.

    Args:
        client: To ask with.
        interest: The topics to request.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        bootstrap: The bootstrap addresses.
        max_age: `metadata.max.age.ms`, in seconds.
        rebootstrap: True to begin again at the bootstrap addresses.
        trigger: `metadata.recovery.rebootstrap.trigger.ms`, in seconds.
        create: Whether asking for a topic may make it.
        codes: The error codes of answers and of topics in them.

    Attributes:
        brokers: The brokers that a request for any of them may go to.
        last_error: Why the question that is being asked is not answered yet.
    """

    def __init__(
        self,
        client: NetworkClient,
        interest: TopicInterest,
        timer: Timer,
        backoff: Backoff,
        bootstrap: Bootstrap,
        *,
        max_age: float,
        rebootstrap: bool,
        trigger: float,
        create: bool,
        codes: ErrorTable = METADATA,
    ) -> None:
        super().__init__(interest, client.trace, codes)
        self._client = client
        self._timer = timer
        self._backoff = backoff
        self._bootstrap = bootstrap
        self._max_age = max_age
        self._rebootstrap = rebootstrap
        self._trigger = trigger
        self._create = create
        self._asking: Operation[None] | None = None
        self._next: Promise[Cluster] = Promise()
        self._next_of_topic: Promise[Cluster] = Promise()
        self._kept_by_answer: list[Promise[Cluster]] = []
        self._wanted = WantedMetadata(interest, timer, backoff)
        self._waiting: list[Call] = []
        self._age: Due | None = None
        self._quiet: Due | None = None
        self.brokers: BrokersToAsk = BrokersToAsk(
            client, bootstrap, lambda: self.cluster, timer, rebootstrap=rebootstrap
        )
        self._attempt: tuple[Node, Interruptible[Answer[MetadataAnswer]]] | None = None
        self._interrupted: set[int] = set()
        self.last_error: KafkaException | None = None
        client.disconnected.connect(self._on_disconnect)

    # --- what others ask for ---------------------------------------------------------

    def fresh(self) -> Promise[Cluster]:
        """Await the answer to a request that is sent from now on."""
        self._wanted.all = True
        return self._next

    async def refreshed(self, call: Call, reason: str, topic: str | None = None) -> Cluster:
        """Return fresh metadata for a call; its ledger notes the wait and the errors.

        Args:
            call: Who waits.
            reason: The purpose, to be read after "waited for".
            topic: The only topic that the call has to know of; None for all of interest.

        Raises:
            KafkaException: The question met an error that no patience mends.
        """
        if self.last_error is not None:
            call.met(self.last_error)
        call.wait_begins(reason, self._timer.now)
        self._waiting.append(call)
        try:
            if topic is None:
                return await self.fresh()
            self._wanted.add(topic)
            return await self._next_of_topic
        finally:
            self._waiting.remove(call)
            call.wait_ends(self._timer.now)

    def request_update(self) -> None:
        """Have metadata fetched soon, since it may be stale; no caller waits for it."""
        self._wanted.all = True

    def dispute(self) -> None:
        """Have metadata fetched again after a back-off: they contradict earlier ones."""
        self._wanted.dispute()

    def doubt(self, node: Node) -> None:
        """Ask other brokers before one with an overdue answer, also for this request.

        Once for each broker and question: where all of them are slow, one has to be
        waited for.
        """
        if not self.cluster.nodes.keys() - self.brokers.suspects - {node.id}:
            return
        self.brokers.suspects.add(node.id)
        if self._attempt is None or node.id in self._interrupted:
            return
        asked, attempt = self._attempt
        if asked.id == node.id:
            self._interrupted.add(node.id)
            attempt.interrupt(
                RetriableException(f"{node} does not answer; another broker is asked")
            )

    # --- asking ----------------------------------------------------------------------

    def poll(self) -> None:
        """Send a request if one is wanted, none is in flight, and there may be news."""
        wanted = self._wanted
        if wanted.is_empty or self._asking is not None:
            return
        if wanted.must_wait:
            if self._quiet is None:
                self._quiet = self._timer.at(
                    wanted.quiet_until, "backoff of metadata that stays the same", self._heard
                )
            return
        wanted.begin()
        self._kept_by_answer = [self._next_of_topic]
        self._next_of_topic = Promise()
        if wanted.asks_all:
            self._kept_by_answer.append(self._next)
            self._next = Promise()
        asking = Operation(self._ask(), "Metadata", self._asked)
        self._asking = None if asking.ended else asking

    def _heard(self) -> None:
        """End the pause, so that this turn may send a request."""
        self._quiet = None

    async def _ask(self) -> None:
        # Not by `Attempts`: an attempt can be interrupted, and the topics change between two of
        # them; after too long without an answer all of it begins again.
        retries = Retries(self._timer, self._backoff, reason="metadata backoff")
        since = self._timer.now
        while True:
            node = await self.brokers.next()
            request = Metadata(
                self._wanted.names(), (), self._create and self._interest.may_create
            )
            attempt = Interruptible(self._client.send(node, request, any_broker=True))
            self._attempt = node, attempt
            try:
                answer = (await attempt.outcome).response
            except KafkaException as error:
                self._met(self.brokers.failed(node, error))
            else:
                fault = self.fault_of(answer)
                if fault is None:
                    self._take(answer)
                    return
                self._met(self.brokers.suspect(node, fault))
            if self._rebootstrap and self._timer.now - since >= self._trigger:
                since = self._timer.now
                self._begin_again()
            await retries.pause()

    def fault_of(self, answer: MetadataAnswer) -> KafkaException | None:
        """Return the fault of an unusable Metadata answer; None for a usable one.

        Raises:
            KafkaException: The same, where asking again will not help.
        """
        if not answer.error:
            if answer.brokers:
                return None
            return RetriableException("the broker answered with an empty list of brokers")
        action = self.codes.of(answer.error)
        error = self.codes.error(answer.error)
        if action is Action.FATAL:
            raise error
        if action is Action.REBOOTSTRAP and self._rebootstrap:
            self._begin_again()
        return error

    def _begin_again(self) -> None:
        """Forget the cluster, and bootstrap again."""
        self._client.trace.emit(REBOOTSTRAPPED)
        self._forget()
        self._bootstrap.begin_again()
        self.brokers.suspects.clear()
        if self._asking is None:
            self.request_update()

    def _met(self, error: KafkaException) -> None:
        """Note an error: the request is repeated, and a call that gives up waiting names it."""
        self.last_error = error
        self._client.trace.emit(METADATA_FAILED, error=error)
        for call in self._waiting:
            call.met(error)

    def _take(self, answer: MetadataAnswer) -> None:
        """Merge an answer into the snapshot, and report errors of topics that are read."""
        older = self.cluster
        self._merge(answer, of_everything=self._wanted.asked_for_everything)
        self.last_error = None
        self.brokers.suspects.clear()
        self._bootstrap.answered()
        self.brokers.answered()
        bootstrap, known = {each.id for each in self._bootstrap.nodes}, self.cluster.nodes
        self._client.forget({*known, *bootstrap}, known or bootstrap)
        self._look_again(older)
        if self._wanted.asks_all:
            self._refuse(older if self._wanted.is_second_look else None)
        self._updated(older)

    def _look_again(self, older: Cluster) -> None:
        """Ask again after a pause, while topics that are needed have no leader, or are refused.

        A refusal may be over in a moment, too: a right is granted, and one broker may answer
        with an error that the next one does not have. Where a group shares out its partitions
        by metadata alone, nothing else would ask before `metadata.max.age.ms`.
        """
        asked = self._interest.needing_leaders if self._wanted.asks_all else frozenset[str]()
        troubled = any(map(self._troubles, asked))
        refused = any(map(self._is_refused, asked))
        if troubled:
            self.request_update()
        if self._wanted.asks_all:
            self._wanted.again = refused
        same = self.cluster.says_the_same_as(older)
        self._wanted.answered(same=same, again=troubled or refused)

    def _watch_age(self, age: float) -> None:
        if self._age is not None:
            self._timer.cancel(self._age)
        self._age = self._timer.after(age, "metadata.max.age.ms", self.request_update)

    def _asked(self, _nothing: None, error: KafkaException | None) -> None:
        self._asking = self._attempt = None
        self._interrupted.clear()
        # After a fatal error too: what is known grows old all the same, and what was refused
        # may be accepted soon.
        if isinstance(error, AuthenticationException):
            self._watch_age(AUTHENTICATED_AGAIN)
        elif self._wanted.asks_all or self._age is None:
            self._watch_age(self._max_age)
        promises, self._kept_by_answer = self._kept_by_answer, []
        if error is not None and not isinstance(error, Withdrawn) and not self._waiting:
            self.refused.emit(error, self._interest.of_background)
        for promise in promises:
            if error is None:
                promise.keep(self.cluster)
            else:
                promise.break_(error)
        if isinstance(error, AuthenticationException) and not self._waiting:
            # The timer has it asked again. Begun now, it would be refused a second later, and
            # the call that comes meanwhile would wait for the question behind it.
            self._wanted.all = False

    # --- what happens elsewhere ------------------------------------------------------

    def _on_disconnect(
        self, _node: Node, _lane: Lane, error: KafkaException, _since: float
    ) -> None:
        """Request an update: the broker may be gone, and leaders may have moved."""
        self.last_error = error
        if self.cluster.version:
            self.request_update()

    def close(self) -> None:
        """Stop fetching metadata; the client is closing."""
        self._wanted.clear()
        if self._asking is not None:
            self._asking.throw(Withdrawn("the client is closing"))
        for due in (self._age, self._quiet):
            if due is not None:
                self._timer.cancel(due)

    def __repr__(self) -> str:
        state = "asking" if self._asking is not None else "idle"
        wanted = f"{len(self._interest.topics)} topics wanted, {len(self._waiting)} calls wait"
        return f"MetadataManager({state}, {wanted}, {self.cluster})"
