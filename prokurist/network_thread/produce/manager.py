"""Sends due batches to brokers that can take them.

Thread: the network thread alone.

- A batch is taken when a request for it can be written in this very turn, and not before: so
  it takes records for as long as it can. What a request carries: see `drafting`.
- A broker has at most `max.in.flight.requests.per.connection` requests.
- One entry of the Timer stands for everything: what lingers, what grows old, what expires.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from prokurist.errors import (
    DeliveryAbortedException,
    IllegalStateException,
    KafkaException,
    LeaderNotAvailableException,
    RecordTooLargeException,
    ThrottlingQuotaExceededException,
    Wait,
)
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.batch import Batch
from prokurist.events.accumulator.partition_queue import PartitionQueue
from prokurist.events.accumulator.sticky_partitioner import StickyPartitioner
from prokurist.events.application_events import DeliverAndEnd, GiveUp, Purge
from prokurist.events.backoff import Backoff
from prokurist.events.cluster import Cluster
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.operations.timer import Due, Timer
from prokurist.network_thread.produce.attempts import RequestLedger
from prokurist.network_thread.produce.destinations import NOT_WAITING, Destination
from prokurist.network_thread.produce.drafting import Drafting
from prokurist.network_thread.produce.endings import Endings
from prokurist.network_thread.produce.partition_sending import PartitionSending
from prokurist.network_thread.produce.producer_ids import NumberingIds
from prokurist.network_thread.produce.response_handler import ProduceResponseHandler, Sent
from prokurist.network_thread.produce.sealing import Codec, sealed
from prokurist.network_thread.produce.topics import ProducerTopics, shortage
from prokurist.network_thread.produce.transactions.writes import TransactionWrites
from prokurist.network_thread.wire.apis import PRODUCE
from prokurist.network_thread.wire.produce import Produce, ProduceAnswer
from prokurist.records.compression import Compression
from prokurist.records.headers import TRANSACTIONAL
from prokurist.types import Node, TopicPartition


@dataclass(frozen=True, slots=True)
class ProduceTerms:
    """The configuration of a producer's requests.

    Attributes:
        acks: −1 for all replicas in sync, 1 for the leader, 0 for none.
        timeout: `request.timeout.ms`, in seconds.
        in_flight: `max.in.flight.requests.per.connection`.
        largest: `max.request.size`.
        codec: How batches are compressed.
        retries: `retries`.
        availability: `partitioner.availability.timeout.ms`, in seconds; 0 for never.
        rack: The rack whose brokers are preferred for records without a key.
    """

    acks: int
    timeout: float
    in_flight: int
    largest: int
    codec: Codec
    retries: int
    availability: float
    rack: str | None


class ProduceManager:
    """Sends what is due.

    Args:
        client: To send with.
        metadata: Knows the leaders.
        accumulator: What is to be sent.
        endings: How batches end.
        producer_ids: Numbers batches; None without idempotence.
        writes: The requests of the present transaction; None without transactions.
        topics: The topics that are written to.
        partitioner: Chooses partitions by the brokers that can take records.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        terms: What requests say.
        end: Ends the network thread in the present turn.
    """

    def __init__(
        self,
        client: NetworkClient,
        metadata: MetadataManager,
        accumulator: RecordAccumulator,
        endings: Endings,
        producer_ids: NumberingIds | None,
        writes: TransactionWrites | None,
        topics: ProducerTopics,
        partitioner: StickyPartitioner,
        timer: Timer,
        backoff: Backoff,
        terms: ProduceTerms,
        end: Callable[[], None],
    ) -> None:
        self._client = client
        self._metadata = metadata
        self._accumulator = accumulator
        self._endings = endings
        self._ids = producer_ids
        self._writes = writes
        self._topics = topics
        self._partitioner = partitioner
        self._timer = timer
        self._terms = terms
        self._end = end
        self._handler = ProduceResponseHandler(
            accumulator,
            endings,
            metadata,
            producer_ids,
            timer,
            backoff,
            terms.retries,
            self.stir,
            client.trace,
            is_transactional=writes is not None,
        )
        self._drafting = Drafting(
            accumulator, endings, producer_ids, writes, timer, terms.largest, self.stir
        )
        self._sendings: dict[TopicPartition, PartitionSending] = {}
        self._destinations: dict[int, Destination] = {}
        self._leaderless: dict[PartitionSending, None] = {}
        self._due: Due | None = None
        self._retry: Due | None = None
        self._unavailable: frozenset[int] = frozenset()
        self._ends = False
        metadata.updated.connect(self._on_metadata)
        metadata.refused.connect(self._on_refused)
        if producer_ids is not None:
            producer_ids.refused.connect(lambda error: self.purge(error, everything=True))

    def handlers(self) -> Handlers:
        """Return the events that end records before their time, or the producer after it."""
        return {Purge: self._purge, GiveUp: self._give_up, DeliverAndEnd: self._deliver_and_end}

    def _purge(self, event: Purge) -> None:
        # Once its caller has left, what was sent since is not to be taken back.
        if event.call.is_open:
            event.call.finish(self.purge_unsent())

    def _give_up(self, event: GiveUp) -> None:
        error = DeliveryAbortedException(
            "the producer was closed before the record was delivered"
        )
        event.call.finish(self.purge(error, everything=True))

    def _deliver_and_end(self, _event: DeliverAndEnd) -> None:
        """Take no more records, and end the thread once those that there are have ended.

        That comes at `delivery.timeout.ms` at the latest.
        """
        self._accumulator.close()
        # Nothing lingers from now on.
        self._accumulator.flushing.add(self)
        self._ends = True

    # --- each turn -----------------------------------------------------------------------

    def poll(self) -> None:
        """Send what can be sent now."""
        now = self._timer.now
        after_growth = self._accumulator.close_old(now)
        for queue in self._accumulator.due(now):
            if queue.tp.topic in self._accumulator.directory.leaderless:
                # Records without a key pass by a partition that may have a leader by now.
                self._metadata.request_update()
            self._arrange(self.sending(queue))
        expired, after_expiry = self._accumulator.expired(now)
        for batch in expired:
            self._endings.expire(
                batch, self._sending_of(batch), self._why_unsent(batch), self._silent(batch)
            )
        for destination in [each for each in self._destinations.values() if each.partitions]:
            self._serve(destination)
        self._watch_availability()
        moments = (after_growth, after_expiry, self._accumulator.next_due())
        self._set_timer(min((each for each in moments if each is not None), default=None))
        if self._ends and not self._accumulator.snapshot():
            self._ends = False
            self._end()

    def _why_unsent(self, batch: Batch) -> KafkaException | None:
        """Return the obstacle of a batch without any error of an attempt."""
        view = self._metadata.cluster.topics.get(batch.topic)
        leader = self._metadata.cluster.leader(batch.tp)
        if view is not None:
            lacks_leader = leader is None and view.error
            if lacks_leader or batch.partition not in view.partitions:
                count = len(view.partitions)
                return shortage(batch.topic, view.error, count, batch.partition)
        if leader is None:
            return self._metadata.last_error or LeaderNotAvailableException(
                f"{batch.name} has no leader"
            )
        if self._ids is not None and self._ids.current is None:
            return self._ids.last_error
        failure = self._client.reachability.last_failure
        if failure is not None and failure[1] >= batch.created:
            return failure[0]
        if self._client.ready_at(leader, Lane.PRODUCE) > self._timer.now:
            return ThrottlingQuotaExceededException(
                f"{leader} throttles this client, which is over a quota (producer_byte_rate or "
                f"request_percentage)"
            )
        limits = self._accumulator.limits
        if limits.is_lowered(batch.topic):
            return RecordTooLargeException(
                f"the broker refuses batches for {batch.topic} of more than about "
                f"{limits.of(batch.topic)} bytes, so that each takes few records: raise "
                f"max.message.bytes of the topic"
            )
        return None

    def _silent(self, batch: Batch) -> Sequence[Wait]:
        """The silence that its leader has asked for, as a wait of a batch."""
        leader = self._metadata.cluster.leader(batch.tp)
        if leader is None:
            return ()
        return self._client.reachability.silent(batch.created, self._timer.now, leader)

    def _set_timer(self, moment: float | None) -> None:
        if self._due is not None and self._due.live:
            if self._due.at == moment:
                return
            self._timer.cancel(self._due)
        self._due = None
        if moment is not None:
            self._due = self._timer.at(moment, "batches that linger or expire", nothing)

    def sending(self, queue: PartitionQueue) -> PartitionSending:
        """Return the sending state of a partition."""
        found: PartitionSending | None = queue.sending
        if found is None:
            found = queue.sending = self._sendings[queue.tp] = PartitionSending(queue)
        return found

    def _sending_of(self, batch: Batch) -> PartitionSending | None:
        queue = self._accumulator.queue_of(batch)
        return None if queue is None else self.sending(queue)

    def stir(self, partition: PartitionSending) -> None:
        """Something has changed for a partition: it may have something to send."""
        if partition.retries or self._accumulator.has_due(partition.queue):
            self._arrange(partition)

    def _arrange(self, partition: PartitionSending) -> None:
        """Have a partition wait for its leader."""
        partition.queue.is_due = False
        if partition.is_listed or partition.pause is not None or partition in self._leaderless:
            return
        leader = self._metadata.cluster.leader(partition.queue.tp)
        if leader is None:
            self._leaderless[partition] = None
            self._metadata.request_update()
            return
        self._destination(leader).add(partition)

    def _destination(self, node: Node) -> Destination:
        found = self._destinations.get(node.id)
        if found is None:
            found = self._destinations[node.id] = Destination(node)
        found.node = node
        return found

    # --- one broker ----------------------------------------------------------------------

    def _serve(self, destination: Destination) -> None:
        """Send a broker as many requests as it may have."""
        node = destination.node
        while destination.partitions and destination.in_flight < self._terms.in_flight:
            if self._ids is not None and self._ids.current is None:
                self._ids.want()
                return
            if not self._client.takes(node, Lane.PRODUCE):
                self._connect(destination)
                return
            batches = self._drafting.draft(destination, self._metadata.cluster)
            if not batches:
                return
            destination.stuck_since = NOT_WAITING
            self._send(destination, batches)
            self._client.flush()
        if destination.partitions and destination.stuck_since < 0:
            destination.stuck_since = self._timer.now

    def _connect(self, destination: Destination) -> None:
        """Have a connection come up, now or after its backoff."""
        node = destination.node
        if destination.stuck_since < 0:
            destination.stuck_since = self._timer.now
        self._client.prepare(node, Lane.PRODUCE, (PRODUCE,))
        at = self._client.ready_at(node, Lane.PRODUCE)
        if at > self._timer.now and (self._retry is None or not self._retry.live):
            self._retry = self._timer.at(at, f"{node} may be tried again", nothing)

    def _send(self, destination: Destination, taken: dict[PartitionSending, Batch]) -> None:
        """Send a request."""
        cluster, terms, writes = self._metadata.cluster, self._terms, self._writes
        flags = 0 if writes is None else TRANSACTIONAL
        topics = {batch.topic for batch in taken.values()}
        ids = cluster.ids_of(topics)
        request = Produce(
            terms.acks,
            terms.timeout,
            {
                partition.queue.tp: sealed(each, terms.codec, flags)
                for partition, each in taken.items()
            },
            ids if len(ids) == len(topics) else {},
            zstd=terms.codec.kind is Compression.ZSTD,
            transactional_id=None if writes is None else writes.transactional_id,
            adds_partitions=writes is not None and writes.implicit,
        )
        ledger = RequestLedger(tuple(taken.values()))
        epochs = {
            partition.queue.tp: cluster.leader_epoch(partition.queue.tp) for partition in taken
        }
        sent = Sent(destination, taken, epochs, ledger, self._timer.now)
        destination.in_flight += 1
        promise = self._client.send(
            destination.node,
            request,
            call=ledger,
            lane=Lane.PRODUCE,
            effect=True,
            answered=terms.acks != 0,
        )
        self._endings.counters.sent(taken.values(), self._timer.now)
        if promise.is_kept:
            self._answered(sent, promise)
        else:
            promise.add(partial(self._answered, sent, promise))

    def _answered(self, sent: Sent, promise: Promise[Answer[ProduceAnswer]]) -> None:
        """A request is over: each of its batches is delivered, sent again, or fails."""
        sent.destination.in_flight -= 1
        error = promise.error
        if error is None:
            answer: ProduceAnswer | None = promise.value.response
            if answer is not None:
                node = sent.destination.node
                self._client.reachability.throttled(node, answer.throttle, self._timer.now)
            self._handler.answered(sent, answer)
        elif isinstance(error, KafkaException):
            self._handler.lost(sent, error)
        else:
            raise error

    # --- what happens elsewhere ------------------------------------------------------------

    def _on_metadata(self, cluster: Cluster) -> None:
        """Send what waits for a leader to the one that there is now."""
        self._topics.forget_idle()
        self._accumulator.directory.update(cluster, self._topics.names())
        self._partitioner.preferred = nodes_in(cluster, self._terms.rack)
        waiting, self._leaderless = self._leaderless, {}
        moved = [
            partition
            for destination in self._destinations.values()
            for partition in destination.partitions
            if cluster.leader(partition.queue.tp) != destination.node
        ]
        for destination in self._destinations.values():
            stay = [each for each in destination.clear() if each not in moved]
            for each in stay:
                destination.add(each)
        for partition in (*waiting, *moved):
            # What it had may have expired: then nothing asks for its leader any more.
            self.stir(partition)
        gone = [
            number
            for number, each in self._destinations.items()
            if number not in cluster.nodes and not each.partitions and not each.in_flight
        ]
        for number in gone:
            del self._destinations[number]
        self._drop_partitions()

    def _drop_partitions(self) -> None:
        """Drop what is kept of partitions that are gone, once nothing of them is on its way.

        Numbers go with that. Where they were of the present epoch, another one begins: under
        the same one a broker would take the next batches for those that it has had. Where only
        the end of a transaction brings another epoch, they stay until then.
        """
        ids = self._ids
        current = None if ids is None else ids.current
        were_numbered = False
        for queue in list(self._accumulator.directory.gone.values()):
            sending = self._sendings.get(queue.tp)
            if sending is not None and not (
                sending.is_idle and sending not in self._leaderless
            ):
                continue
            is_numbered = (
                sending is not None and current is not None and sending.producer == current
            )
            if is_numbered and ids is not None and not ids.can_begin_again:
                continue
            if not self._accumulator.drop(queue) or sending is None:
                continue
            del self._sendings[queue.tp]
            were_numbered |= is_numbered
        if were_numbered and ids is not None:
            ids.begin_again()

    def _on_refused(self, error: KafkaException, topics: frozenset[str]) -> None:
        """The cluster refuses topics: what was not sent of them fails at once."""
        for batch in self._accumulator.snapshot():
            if batch.topic in topics:
                sending = self._sending_of(batch)
                if sending is None or batch not in sending.in_flight:
                    self._endings.fail(batch, sending, error)

    def purge_unsent(self) -> int:
        """Fail what is not on the wire, since the application takes it back.

        Returns:
            How many records have failed.
        """
        error = DeliveryAbortedException("purged: the record was not sent")
        return self.purge(error, everything=False)

    def purge(
        self, error: KafkaException, *, everything: bool, among: Iterable[Batch] | None = None
    ) -> int:
        """Fail what is not on the wire, or everything.

        Args:
            error: Their error.
            everything: True to fail also what is on the wire.
            among: The batches in question; None for all.

        Returns:
            How many records have failed.
        """
        records = 0
        for batch in self._accumulator.snapshot() if among is None else among:
            sending = self._sending_of(batch)
            on_the_wire = sending is not None and batch in sending.in_flight
            if batch.ended or (on_the_wire and not everything):
                continue
            records += batch.count
            self._endings.give_up(batch, sending, error)
        return records

    def _watch_availability(self) -> None:
        limit = self._terms.availability
        if not limit:
            return
        late = frozenset(
            number
            for number, each in self._destinations.items()
            if each.stuck_since >= 0 and self._timer.now - each.stuck_since >= limit
        )
        if late != self._unavailable:
            self._unavailable = self._partitioner.unavailable = late
            for topic in self._accumulator.appender.topics.values():
                self._partitioner.draw_again(topic)

    @property
    def is_idle(self) -> bool:
        """True if no record is on its way, and no request has yet to be answered."""
        return self._accumulator.is_empty and not self.in_flight

    @property
    def in_flight(self) -> int:
        """Requests that have no answer yet; for any thread."""
        return sum(each.in_flight for each in list(self._destinations.values()))

    @property
    def unresolved(self) -> int:
        """Partitions in which it is not known what became of a batch; for any thread."""
        return sum(
            queue.sending is not None and queue.sending.is_unresolved
            for queue in self._accumulator.queues()
        )

    def close(self) -> None:
        """Fail what is left, and send nothing more."""
        self._accumulator.close()
        if self._ids is not None:
            self._ids.close()
        for due in (self._due, self._retry):
            if due is not None:
                self._timer.cancel(due)
        self.purge(IllegalStateException("the producer is closed"), everything=True)

    def __repr__(self) -> str:
        return f"ProduceManager({list(self._destinations.values())}, {self._accumulator})"


def nothing() -> None:
    """Only wake the loop: `poll` looks at what is due in each turn."""


def nodes_in(cluster: Cluster, rack: str | None) -> frozenset[int]:
    """The brokers in a rack."""
    if rack is None:
        return frozenset()
    return frozenset(node.id for node in cluster.nodes.values() if node.rack == rack)
