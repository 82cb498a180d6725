"""Sends fetches to each broker, while the application polls.

Thread: the network thread alone.

- One fetch at a time is in flight to each broker, on a lane of its own; `FetchRequests` chooses
  its partitions and sizes.
- Who has not polled for a while is not fetched for, and the next poll asks
  (`Prefetch`): a client that is left alone is idle.
- A poll that waits is woken by every answer, an empty or failed one too.
"""

from functools import partial
from typing import Any, Final

from prokurist.errors import KafkaException
from prokurist.events.application_events import Attend, Prefetch
from prokurist.events.background_events import BackgroundError, BackgroundEvents
from prokurist.events.backoff import Backoff
from prokurist.events.cluster import Cluster
from prokurist.events.fetch_buffer import Chunk, Failure, FetchBuffer
from prokurist.events.fetching import Use
from prokurist.events.subscription import Subscription
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.cluster.overdue_responses import OverdueResponse
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Lane
from prokurist.network_thread.counters import FetchCounters
from prokurist.network_thread.error_actions import FETCH, Action
from prokurist.network_thread.fetch.fetch_progress import FetchProgress
from prokurist.network_thread.fetch.fetch_requests import FetchLimits, FetchRequests
from prokurist.network_thread.fetch.out_of_range import OutOfRangeCheck
from prokurist.network_thread.fetch.plan import FetchPlan, Part
from prokurist.network_thread.fetch.refused_leaders import still_leads
from prokurist.network_thread.fetch.response_handler import FetchOutcome, FetchResponseHandler
from prokurist.network_thread.fetch.sources import (
    FetchSource,
    PartitionBackoff,
    Replicas,
    leadership,
)
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.operations.operation import Operation, Withdrawn
from prokurist.network_thread.operations.rounds import Rounds
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.fetch import Fetch, FetchAnswer
from prokurist.types import Node, TopicPartition

ATTENTION: Final = 5.0
"""Seconds after the last poll for which records are fetched ahead."""

UNSEEN: Final = -1
"""No generation of an assignment: the next look forgets what is not assigned any more."""


class FetchManager:
    """Keeps one fetch in flight to each broker that leads a fetchable partition.

    Args:
        client: To ask with.
        metadata: Knows the leaders.
        subscription: The subscription, with its positions.
        buffer: Where records go.
        background: The poll that waits, and errors that are about no partition.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        limits: How much may be fetched.
        replica_lifetime: Seconds for which a replica is preferred to the leader.

    Attributes:
        counters: Counters of its answers.
        attending: The fetches in the ledger of a waiting call.
    """

    def __init__(
        self,
        client: NetworkClient,
        metadata: MetadataManager,
        subscription: Subscription,
        buffer: FetchBuffer[Any],
        background: BackgroundEvents,
        timer: Timer,
        backoff: Backoff,
        limits: FetchLimits,
        *,
        replica_lifetime: float,
    ) -> None:
        self._client = client
        self._metadata = metadata
        self._subscription = subscription
        self._buffer = buffer
        self._background = background
        self._timer = timer
        self._backoff = backoff
        self._limits = limits
        self._replicas = Replicas(timer, replica_lifetime)
        self._backoffs = PartitionBackoff(timer, backoff, self.stir)
        self._response_handler = FetchResponseHandler(
            subscription,
            self._replicas,
            read_committed=limits.terms.read_committed,
            credentials=background.credentials,
        )
        self._out_of_range = OutOfRangeCheck(
            metadata, subscription, timer, client.trace, self._confirmed_out_of_range
        )
        self._requests = FetchRequests(metadata, subscription, buffer, self._replicas, limits)
        self._plan = FetchPlan(metadata, subscription, self._replicas, self._backoffs)
        self._generation = UNSEEN
        self._sources: dict[int, FetchSource] = {}
        self.counters: FetchCounters = FetchCounters()
        self.attending: FetchProgress = FetchProgress(metadata, background, timer, self._asked)
        self._seen = (-1, -1)
        self._stirred = False
        self._closed = False

    def handlers(self) -> Handlers:
        """Return the events of polls that wait for records, and of other calls that do."""
        return {
            Prefetch: lambda _: self.stir(),
            Attend: lambda event: self.attending.attend(event.call, event.partition),
        }

    def stir(self) -> None:
        """Look for partitions to fetch in this turn, or the next."""
        self._stirred = True

    def poll(self) -> None:
        """Send fetches for which there is room, if anything has changed."""
        rounds = Rounds(self._timer, "the look for partitions to fetch")
        while not self._closed:
            rounds.count()
            seen = (self._metadata.cluster.version, self._subscription.settled)
            if not self._stirred and seen == self._seen:
                return
            self._stirred, self._seen = False, seen
            self._look()

    # --- what is asked of whom -------------------------------------------------------

    def _look(self) -> None:
        generation = self._subscription.generation
        if generation != self._generation:
            self._generation = generation
            assigned = self._subscription.assigned()
            self._replicas.keep(assigned)
            self._backoffs.keep(assigned)
            self._out_of_range.keep(assigned)
            self._requests.keep(assigned)
        self._buffer.purge(lambda tp, ticket: self._subscription.use_of(tp, ticket) is Use.DROP)
        if not self._is_polled:
            self._buffer.rest(below=None, idle=True)
            # A poll that has begun just now may have looked before that was said: it
            # will not ask, so its wish is looked for here.
            self._stirred = self._is_polled
            return
        full, emptied = False, self._buffer.emptied
        parts = self._plan.parts()
        for part in parts:
            source = self._sources.get(part.node.id)
            if source is None:
                source = self._sources[part.node.id] = FetchSource(part.node)
            source.node = part.node
            if source.operation is None and not self._begin(source, part, len(parts)):
                full = True
        self._buffer.rest(below=self._low_water if full else None, idle=False, emptied=emptied)
        changed = self._buffer.emptied != emptied or self._buffer.held <= self._low_water
        if full and changed:
            self._stirred = True  # The same: a poll has made room meanwhile.

    @property
    def _is_polled(self) -> bool:
        """True if the application has polled lately."""
        waits = self._background.awaiting is not None
        return waits or self._timer.now - self._buffer.polled_at < ATTENTION

    @property
    def _low_water(self) -> int:
        return self._limits.buffer // 4

    def _begin(self, source: FetchSource, part: Part, brokers: int) -> bool:
        """Send a fetch within the free memory; return True if that is everything."""
        request, is_everything = self._requests.next(source, part, brokers)
        if request is not None:
            self._send(source, request)
        if is_everything:
            part.taken()
        return is_everything

    def _send(self, source: FetchSource, request: Fetch) -> None:

        def ended(_nothing: None, error: KafkaException | None) -> None:
            source.operation = None
            self._stirred = True
            if error is not None and not isinstance(error, Withdrawn):
                raise AssertionError("a fetch handles its own errors") from error

        operation = Operation(self._fetch(source, request), f"Fetch from {source.node}", ended)
        source.operation = None if operation.ended else operation

    # --- one fetch -------------------------------------------------------------------

    async def _fetch(self, source: FetchSource, request: Fetch) -> None:
        began, generation = self._timer.now, self._generation
        self.attending.sent(source.node, connected=self._is_connected(source))
        overdue = OverdueResponse(
            self._metadata,
            self._timer,
            source.node,
            wait=request.max_wait,
            on_overdue=partial(self._is_overdue, source.node),
        )
        try:
            answer = await self._client.send(
                source.node,
                request,
                lane=Lane.FETCH,
                patience=request.max_wait + self._limits.request,
            )
        except Withdrawn:
            raise
        except KafkaException as error:
            self.attending.answered(source.node, error)
            well = await self._lost(source, error)
            self._background.nudge()
        else:
            self.attending.answered(source.node)
            well = self._take(source, answer.response, request, self._timer.now - began)
        finally:
            overdue.end()
            self._replicas.silent.discard(source.node.id)
            if self._generation != generation:
                # Partitions were given up after it was sent, and forgotten; what its answer
                # said of them is noted by now, and would stay.
                self._generation = UNSEEN
        if not well:
            # Not by `Attempts`: a fetch is no question that ends. The next one, for whatever is
            # wanted then, begins in the turn of an answer; a failure holds up one broker alone.
            await self._timer.sleep(
                self._backoff.pause(max(1, source.failures)), "retry backoff of Fetch"
            )

    def _is_overdue(self, node: Node) -> None:
        """Go back to the leaders when a replica does not answer."""
        if self._replicas.is_read_from(node.id):
            self._replicas.silent.add(node.id)
            self.stir()

    def _asked(self) -> list[tuple[Node, bool]]:
        """Yield the brokers with a fetch in flight, each with its connected flag."""
        return [
            (source.node, self._is_connected(source))
            for source in self._sources.values()
            if source.operation is not None
        ]

    def _is_connected(self, source: FetchSource) -> bool:
        return self._client.is_ready(source.node, Lane.FETCH)

    async def _lost(self, source: FetchSource, error: KafkaException) -> bool:
        """Handle a fetch without an answer: the broker is asked again after a pause."""
        source.lost(error)
        asked = tuple(source.session.asked)
        is_replica = self._replicas.is_read_from(source.node.id)
        for tp in asked:
            self._replicas.forget(tp)
        source.session.lost()
        if not error.retriable and (
            is_replica or await still_leads(self._metadata, source.node, asked, error)
        ):
            self._background.post(BackgroundError(error))
        return False

    def _take(
        self, source: FetchSource, answer: FetchAnswer, request: Fetch, took: float
    ) -> bool:
        """Handle an answer; return True if the broker may be asked again at once.

        Args:
            source: The broker of the answer.
            answer: The answer.
            request: The request.
            took: Seconds since the request.
        """
        self._client.reachability.throttled(source.node, answer.throttle, self._timer.now)
        if answer.error:
            return self._refused(source, answer.error)
        outcome = self._response_handler.judge(
            source.wishes, answer, source.session.asked, source.node
        )
        source.session.answered(answer.session_id)
        size = self._settle(outcome, answer)
        source.answered(size, took / (request.max_wait + self._limits.request))
        for wish, epoch in outcome.out_of_range:
            self._out_of_range.check(source.node, wish, epoch)
        # Without records it should have taken its time. One that does not (nor has
        # to: fetch.min.bytes=0) would be asked as fast as it can answer. What is in
        # trouble is left out next time, and does not hold up the others.
        is_slow = took >= request.max_wait / 2
        is_new = outcome.moved or bool(outcome.troubled or outcome.out_of_range)
        return is_new or is_slow

    def _refused(self, source: FetchSource, code: int) -> bool:
        """The same, for an answer that refuses the whole request."""
        source.failures += 1
        action = FETCH.of(code)
        source.session.lost(unknown=action is Action.NEW_SESSION)
        if action is Action.REFRESH:
            self._metadata.request_update()
        elif action is Action.FATAL:
            self._background.post(BackgroundError(FETCH.error(code)))
        return action is Action.NEW_SESSION and source.failures == 1

    def _settle(self, outcome: FetchOutcome, answer: FetchAnswer) -> int:
        """Put records and errors into the buffer; return the bytes of records."""
        cluster = self._metadata.cluster
        self._requests.served(entry.partition for entry in outcome.entries)
        size = sum(len(each.records) for each in outcome.entries if isinstance(each, Chunk))
        self.counters.sizes.observe(size)
        for tp in outcome.well:
            self._backoffs.end(tp)
        if outcome.leaders:
            self._metadata.hint(outcome.leaders, answer.nodes)
        for tp in outcome.troubled:
            # Another leader than the one that failed is asked at once, but if that one was
            # named in an answer that was no good either.
            led, hinted = (leadership(each, tp) for each in (cluster, self._metadata.cluster))
            self._backoffs.meet(tp, *((hinted, led) if self._backoffs.has(tp) else (led,)))
        for tp in outcome.behind:
            self._backoffs.pass_on(tp, leadership(cluster, tp))
        for tp in outcome.redirected:
            self._redirected(tp, cluster)
        if outcome.stale:
            self._metadata.request_update()
        if outcome.entries:
            # Not for an answer without records: where nothing is written, that would be a
            # change of threads for each of them.
            self._buffer.put(outcome.entries)
            self._background.nudge()
        return size

    def _confirmed_out_of_range(self, failures: list[Failure]) -> None:
        """Post confirmed out-of-range offsets to a poll; the others are fetched again."""
        self._buffer.put(failures)
        self._background.nudge()
        self.stir()

    def _redirected(self, tp: TopicPartition, cluster: Cluster) -> None:
        """Fetch from a replica that was named, at once unless that failed before.

        It is in vain where metadata lack it, as after its restart, and where the
        partition has been passed on before and nothing has been fetched since.
        """
        led = leadership(cluster, tp)
        if self._replicas.preferred(tp) not in cluster.nodes:
            self._metadata.request_update()
            self._backoffs.meet(tp, led)
        elif self._backoffs.has(tp):
            self._backoffs.meet(tp, led)
        else:
            self._backoffs.pass_on(tp, led)

    # --- the end ---------------------------------------------------------------------

    def close(self) -> None:
        """Stop fetching, and close sessions at the brokers without awaiting answers.

        The connection that a fetch is parked on would hold the news back: it goes
        over the one for everything else, where that stands.
        """
        self._closed = True
        self._backoffs.close()
        self._out_of_range.close()
        for source in self._sources.values():
            end = source.session.end()
            if source.operation is not None:
                source.operation.throw(Withdrawn("the client is closing"))
            if end is not None:
                ready = self._client.is_ready(source.node, Lane.GENERAL)
                self._client.send(source.node, end, lane=Lane.GENERAL if ready else Lane.FETCH)
        self._client.flush()

    def __repr__(self) -> str:
        busy = sum(source.operation is not None for source in self._sources.values())
        return f"FetchManager({busy} of {len(self._sources)} brokers fetching, {self._buffer})"
