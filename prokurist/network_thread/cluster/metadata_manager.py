"""Fetches and publishes the cluster's metadata.

Thread: the network thread alone; the snapshot that it publishes is immutable.

One request at a time, to the least loaded broker. Code that needs fresh metadata awaits
`fresh()`, which returns the next answer to a request made after that; code that
needs any broker awaits `any_broker()`.

- A broker that did not answer such a request is suspect until another one does: it
  is asked again only when all others have failed too. Otherwise one that is gone
  would be tried for ever, since its backoff is over before our own is.
- When all brokers that are known are suspect, the bootstrap addresses are asked
  again (KIP-899), unless `metadata.recovery.strategy` is `none`. They are asked
  alone, and everything is forgotten, when a broker demands it or no broker has
  answered for too long (KIP-1102).
- An error that cannot be retried goes to all who wait, at once; a later
  caller has another request sent.
- Topics are asked for while the client reads them or a call asks about them. What is
  wrong with a topic that is read is told to the next poll, unless a call asks about
  it: then that hears of it.
- Answers that say the same again are asked for more and more seldom, unless another
  topic is wanted.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from prokurist.errors import AuthenticationException, KafkaException, RetriableException
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.cluster import ABSENT, Cluster, TopicView
from prokurist.events.log_events import LEADERS_CHANGED, METADATA_FAILED, REBOOTSTRAPPED
from prokurist.network_thread.broker_errors import topic_error
from prokurist.network_thread.cluster.topic_interest import TopicInterest
from prokurist.network_thread.cluster.topic_views import views_of
from prokurist.network_thread.connections.bootstrap import Bootstrap
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.outage import Outage
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.error_actions import METADATA, Action
from prokurist.network_thread.operations.interruptible import Interruptible
from prokurist.network_thread.operations.operation import Operation, Promise, Withdrawn
from prokurist.network_thread.operations.timer import Due, Timer
from prokurist.network_thread.wire.metadata import Metadata, MetadataAnswer
from prokurist.types import Node, TopicPartition

AUTHENTICATED_AGAIN: Final = 1.0
"""Seconds after a failed authentication until metadata are asked for again without a call."""


class MetadataManager:
    """Keeps the snapshot of the cluster up to date.

    Args:
        client: To ask with.
        interest: Which topics to ask for.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        bootstrap: The bootstrap addresses.
        max_age: `metadata.max.age.ms`, in seconds.
        rebootstrap: Whether to begin again at the bootstrap addresses.
        trigger: `metadata.recovery.rebootstrap.trigger.ms`, in seconds.
        create: Whether asking for a topic may make it.

    Attributes:
        cluster: The snapshot at hand.
        complete: Whether it holds every topic that there is, and that we may see.
        last_error: Why the question that is being asked is not answered yet.
        on_update: Called with each new snapshot.
        on_refused: Called with an error that belongs to no call, and the topics that
            it is about.
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
    ) -> None:
        self.cluster: Cluster = Cluster()
        self.complete: bool = False
        self.on_update: Callable[[Cluster], None] = unheard
        self.on_refused: Callable[[KafkaException, frozenset[str]], None] = unheard
        self._client = client
        self._interest = interest
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
        self._asked_for: frozenset[str] = frozenset()
        self._asked_for_all = False
        self._repeated = 0
        self._quiet_until = timer.now
        self._quiet: Due | None = None
        self._suspects: set[int] = set()
        self._attempt: tuple[Node, Interruptible[Answer[MetadataAnswer]]] | None = None
        self._interrupted: set[int] = set()
        self._outage = Outage(client.trace, bootstrap.servers)
        self.last_error: KafkaException | None = None

    # --- what others ask for ---------------------------------------------------------

    def fresh(self) -> Promise[Cluster]:
        """Await the answer to a request that is sent from now on."""
        self._wanted = True
        return self._next

    async def refreshed(self, call: Call, reason: str) -> Cluster:
        """The same for a call, whose ledger notes the wait and the errors.

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

    @property
    def interest(self) -> TopicInterest:
        """The topics that requests ask for."""
        return self._interest

    def request_update(self) -> None:
        """Have metadata fetched soon, since it may be stale; no caller waits for it."""
        self._wanted = True

    async def any_broker(self) -> Node:
        """Any broker that can be asked now; waits while all of them are backing off."""
        while True:
            await self._bootstrap.expand()
            nodes = self._candidates()
            node = self._client.least_loaded(nodes)
            if node is not None:
                return node
            pause = self._client.next_chance(nodes) - self._timer.now
            await self._timer.sleep(max(pause, 0.0), "no broker may be asked yet")

    def suspect(self, node: Node, error: KafkaException) -> KafkaException:
        """Ask other brokers first from now on: this one has failed.

        Returns:
            What to tell those who wait: the error, or one that tells of all bootstrap
            addresses, when each of them has failed by now.
        """
        self._suspects.add(node.id)
        told = self._bootstrap.failed(node, error)
        if all(each.id in self._suspects for group in self._groups() for each in group):
            self._outage.goes_on(self.cluster, told)
        return told

    def doubt(self, node: Node) -> None:
        """Ask other brokers before one whose answer is overdue, also this very question.

        Once for each broker and question: where all of them are slow, one has to be
        waited for.
        """
        if not self.cluster.nodes.keys() - self._suspects - {node.id}:
            return
        self._suspects.add(node.id)
        if self._attempt is None or node.id in self._interrupted:
            return
        asked, attempt = self._attempt
        if asked.id == node.id:
            self._interrupted.add(node.id)
            attempt.interrupt(
                RetriableException(f"{node} does not answer; another broker is asked")
            )

    def answered(self) -> None:
        """End the outage, if there is one: a broker has answered."""
        self._outage.ended(self.cluster)

    def _candidates(self) -> list[Node]:
        """The brokers to ask: known ones, then bootstrap addresses; no suspects."""
        groups = self._groups()
        for group in groups:
            fit = [node for node in group if node.id not in self._suspects]
            if fit:
                return fit
        # Each of them has failed once: each may be tried again.
        self._suspects.clear()
        return groups[0]

    def _groups(self) -> list[list[Node]]:
        """The brokers that are known, and the bootstrap addresses where they are of use."""
        known = list(self.cluster.nodes.values())
        groups = [known] if known else [list(self._bootstrap.nodes)]
        if known and self._rebootstrap:
            groups.append(list(self._bootstrap.nodes))
        return groups

    @property
    def all_have_refused(self) -> bool:
        """Whether every broker and every bootstrap address refuses connections.

        A broker that is silent has not refused: it may answer yet.
        """
        return all(self._client.has_refused(each) for group in self._groups() for each in group)

    # --- asking ----------------------------------------------------------------------

    def poll(self) -> None:
        """Send a request if one is wanted, none is in flight, and there may be news."""
        if not self._wanted or self._asking is not None:
            return
        if self._timer.now < self._quiet_until and not self._wants_more:
            if self._quiet is None:
                self._quiet = self._timer.at(
                    self._quiet_until, "backoff of metadata that stays the same", self._heard
                )
            return
        self._wanted = False
        self._now_asked, self._next = self._next, Promise()
        asking = Operation(self._ask(), "Metadata", self._asked)
        self._asking = None if asking.ended else asking

    @property
    def _wants_more(self) -> bool:
        """Whether topics are wanted that the last request did not ask for."""
        if self._interest.everything or self._asked_for_all:
            return self._interest.everything and not self._asked_for_all
        return not self._interest.topics <= self._asked_for

    def _heard(self) -> None:
        """End the pause, so that this turn may send a request."""
        self._quiet = None

    async def _ask(self) -> None:
        failures = 0
        since = self._timer.now
        while True:
            node = await self.any_broker()
            self._asked_for = self._interest.topics
            self._asked_for_all = self._interest.everything
            request = Metadata(
                None if self._asked_for_all else tuple(sorted(self._asked_for)),
                (),
                self._create and self._interest.may_create,
            )
            attempt = Interruptible(self._client.send(node, request, any_broker=True))
            self._attempt = node, attempt
            try:
                answer = (await attempt.outcome).response
            except KafkaException as error:
                if not error.retriable:
                    raise
                self._met(self.suspect(node, error))
            else:
                fault = self.fault_of(answer)
                if fault is None:
                    self._take(answer)
                    return
                self._met(self.suspect(node, fault))
            failures += 1
            if self._rebootstrap and self._timer.now - since >= self._trigger:
                since = self._timer.now
                self._begin_again()
            await self._timer.sleep(self._backoff.pause(failures), "metadata backoff")

    def fault_of(self, answer: MetadataAnswer) -> KafkaException | None:
        """Why a Metadata answer cannot be used; None if it can.

        Raises:
            KafkaException: The same, where asking again will not help.
        """
        if not answer.error:
            if answer.brokers:
                return None
            return RetriableException("the broker answered with an empty list of brokers")
        action = METADATA.of(answer.error)
        error = METADATA.error(answer.error)
        if action is Action.FATAL:
            raise error
        if action is Action.REBOOTSTRAP and self._rebootstrap:
            self._begin_again()
        return error

    def _begin_again(self) -> None:
        """Forget the cluster, and bootstrap again."""
        self._client.trace.emit(REBOOTSTRAPPED)
        self.cluster = replace(
            self.cluster,
            nodes={},
            controller=None,
            topics={},
            version=self.cluster.version + 1,
        )
        self.complete = False
        self._bootstrap.begin_again()
        self._suspects.clear()
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
        self.cluster = older.updated(
            cluster_id=answer.cluster_id,
            nodes=answer.brokers,
            controller=answer.controller_id,
            topics=(self._believed(view) for view in views_of(answer)),
            # Of an answer about all topics, what it passes over in silence is gone.
            keep=() if self._asked_for_all else self._interest.topics,
        )
        self.complete = self._asked_for_all
        self.last_error = None
        self._suspects.clear()
        self._bootstrap.answered()
        self.answered()
        self._client.forget({*self.cluster.nodes, *(each.id for each in self._bootstrap.nodes)})
        self._look_again(older)
        self._refuse()
        self._updated(older)

    def _believed(self, view: TopicView) -> TopicView:
        """The view to keep: one with a passing error keeps what was known before.

        An election is on its way, say: that makes no leader unknown that was known.
        """
        older = self.cluster.topics.get(view.name)
        passes = METADATA.of(view.error) is Action.RETRY and view.error not in ABSENT
        return replace(older, error=view.error) if passes and older is not None else view

    def _look_again(self, older: Cluster) -> None:
        """Ask again after a pause, while topics that are read have no leader."""
        same = self.cluster.says_the_same_as(older)
        self._repeated = self._repeated + 1 if same else 0
        troubled = any(self._troubles(name) for name in self._interest.of_background)
        if troubled:
            self.request_update()
        if same or troubled:
            self._quiet_until = self._timer.now + self._backoff.pause(self._repeated)

    def _troubles(self, name: str) -> bool:
        """Whether a topic that is read has an error that may pass by itself."""
        view = self.cluster.topics.get(name)
        if view is None or view.error:
            return view is None or METADATA.of(view.error) is Action.RETRY
        return any(
            self.cluster.leader(TopicPartition(name, number)) is None
            for number in view.partitions
        )

    def _refuse(self) -> None:
        """Post errors that belong to no call, one for each cause."""
        refused: dict[int, set[str]] = {}
        for name in self._interest.of_background:
            view = self.cluster.topics.get(name)
            if view is not None and METADATA.of(view.error) is Action.FATAL:
                refused.setdefault(view.error, set()).add(name)
        for code, names in sorted(refused.items()):
            self.on_refused(topic_error(METADATA, code, names), frozenset(names))

    def hint(
        self, leaders: Mapping[TopicPartition, tuple[int, int]], nodes: Iterable[Node]
    ) -> None:
        """Take a new leader that a broker has named in its answer (KIP-951)."""
        older, self.cluster = self.cluster, self.cluster.led_by(leaders, nodes)
        if self.cluster is not older:
            self._updated(older)

    def _updated(self, older: Cluster) -> None:
        moved = self.cluster.moved_since(older, self._interest.of_background)
        if moved:
            self._client.trace.emit(LEADERS_CHANGED, partitions=moved)
        self.on_update(self.cluster)

    def _watch_age(self, age: float) -> None:
        if self._age is not None:
            self._timer.cancel(self._age)
        self._age = self._timer.after(age, "metadata.max.age.ms", self.request_update)

    def _asked(self, _nothing: None, error: KafkaException | None) -> None:
        self._asking = self._attempt = None
        self._interrupted.clear()
        # After a fatal error too: what is known grows old all the same, and what was refused
        # may be accepted soon.
        unaccepted = isinstance(error, AuthenticationException)
        self._watch_age(AUTHENTICATED_AGAIN if unaccepted else self._max_age)
        promise, self._now_asked = self._now_asked, None
        if error is not None and not isinstance(error, Withdrawn) and not self._waiting:
            self.on_refused(error, self._interest.of_background)
        if promise is None:
            return
        if error is None:
            promise.keep(self.cluster)
        else:
            promise.break_(error)

    # --- what happens elsewhere ------------------------------------------------------

    def on_disconnect(self, _node: Node, _lane: Lane, error: KafkaException) -> None:
        """Request an update: the broker may be gone, and leaders may have moved."""
        self.last_error = error
        if self.cluster.version:
            self.request_update()

    def close(self) -> None:
        """Stop fetching metadata; the client is closing."""
        self._wanted = False
        if self._asking is not None:
            self._asking.throw(Withdrawn("the client is closing"))
        for due in (self._age, self._quiet):
            if due is not None:
                self._timer.cancel(due)

    def __repr__(self) -> str:
        state = "asking" if self._asking is not None else "idle"
        wanted = f"{len(self._interest.topics)} topics wanted, {len(self._waiting)} calls wait"
        return f"MetadataManager({state}, {wanted}, {self.cluster})"


def unheard(*_told: object) -> None:
    """Ignore a new snapshot: the assembly has set no listener yet."""
