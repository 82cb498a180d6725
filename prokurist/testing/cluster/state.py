"""Shared state of the brokers of one cluster, without connections.

Handlers read and change this; sessions, faults and delivery stand in `cluster`.

Thread: the one that drives the model; there is no lock in here.
"""

import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from zlib import crc32

from kio.schema.errors import ErrorCode

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.acls import Acls
from prokurist.testing.cluster.agenda import Agenda
from prokurist.testing.cluster.batches import RecordBatch
from prokurist.testing.cluster.brokers import Broker
from prokurist.testing.cluster.classic_group import ClassicGroup
from prokurist.testing.cluster.configs import Configs
from prokurist.testing.cluster.consumer_group import Listed
from prokurist.testing.cluster.group_settings import GroupSettings
from prokurist.testing.cluster.groups import Group
from prokurist.testing.cluster.images import Images, Lag
from prokurist.testing.cluster.replication import ReplicationDelays
from prokurist.testing.cluster.share_group import ShareGroup
from prokurist.testing.cluster.share_sessions import Holder
from prokurist.testing.cluster.share_settings import ShareSettings
from prokurist.testing.cluster.telemetry import TelemetryReceiver
from prokurist.testing.cluster.tokens import Tokens
from prokurist.testing.cluster.topic_config import TopicConfig
from prokurist.testing.cluster.topics import (
    TOPIC_IDS,
    Partition,
    Topic,
    add_partitions,
    assign,
    make_topic,
)
from prokurist.testing.cluster.transactions import (
    EPOCHS_GROW_FROM,
    FEATURE,
    OFFSETS_TOPIC,
    Transactions,
    java_hash,
)
from prokurist.types import Node, TopicPartition


@dataclass(slots=True, repr=False)
class State:
    """The cluster's state.

    Attributes:
        brokers: By node id.
        topics: By name.
        groups: By id; one is made when it is first spoken of.
        share_groups: Share groups by id.
        share_settings: The configuration of new share groups.
        denied_topics: Topics that no client is authorized for.
        denied_groups: Groups likewise.
        denied_transactions: Transactional ids likewise.
        missing_logs: The coordinators' logs that do not exist yet.
        auto_create: True if Metadata requests create missing topics.
        group_settings: The brokers' configuration of groups.
        transactions: The transactional ids, and the brokers' configuration of them.
        configs: The configurations that an administrator may change.
        acls: Access control lists; they are kept, and not enforced.
        tokens: Delegation tokens; no listener takes one.
        scram_users: Iterations by mechanism, of each user with SCRAM credentials.
        quotas: Quotas by key, of each entity; they are kept, and not enforced.
        followers_serve: True if consumers may read from followers, and get a preferred replica
            in their rack.
        default_partitions: How many partitions a topic has by default.
        cluster_id: The cluster's own id.
        features: Finalised features, with their levels.
        features_epoch: Grows with each change of that.
        replication: How long followers take to follow.
        coordinator_lag: How late group coordinators learn of topics, beside their broker.
        images: Past images, for lagging brokers.
        source: The state that this one is an older view of; None for the state itself.
        now: Up to when everything that was due has happened.
        wall_ahead: By how many seconds the brokers' wall clock is ahead of the model's time.
        producer_id_expiration: After how many seconds brokers forget a producer
            (`producer.id.expiration.ms`).
        telemetry: The receiver of clients' metrics; None for brokers without it.
        agenda: Planned actions.
        version: Counts changes that a parked request may be waiting for.
        changed_at: When the last of them was.
    """

    brokers: dict[int, Broker]
    topics: dict[str, Topic] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    share_groups: dict[str, ShareGroup] = field(default_factory=dict)
    share_settings: ShareSettings = field(default_factory=ShareSettings)
    denied_topics: set[str] = field(default_factory=set)
    denied_groups: set[str] = field(default_factory=set)
    denied_transactions: set[str] = field(default_factory=set)
    missing_logs: set[str] = field(default_factory=set)
    auto_create: bool = False
    group_settings: GroupSettings = field(default_factory=GroupSettings)
    transactions: Transactions = field(default_factory=Transactions)
    configs: Configs = field(default_factory=Configs)
    acls: Acls = field(default_factory=Acls)
    tokens: Tokens = field(default_factory=Tokens)
    scram_users: dict[str, dict[int, int]] = field(default_factory=dict)
    quotas: dict[frozenset[tuple[str, str | None]], dict[str, float]] = field(
        default_factory=dict
    )
    followers_serve: bool = False
    default_partitions: int = 1
    cluster_id: str = "prokurist-embedded-clu"
    features: dict[str, int] = field(default_factory=dict)
    features_epoch: int = 0
    replication: ReplicationDelays = field(default_factory=ReplicationDelays)
    coordinator_lag: Lag = field(default_factory=Lag)
    images: Images = field(default_factory=Images)
    source: "State | None" = None
    now: float = 0.0
    wall_ahead: float = 0.0
    producer_id_expiration: float = 86_400.0
    telemetry: TelemetryReceiver | None = None
    agenda: Agenda = field(default_factory=Agenda)
    version: int = 0
    changed_at: float = 0.0
    _incarnations: dict[str, int] = field(default_factory=dict)
    _producer_ids: int = 999
    _member_names: int = 0
    _commits: int = 0

    def __repr__(self) -> str:
        counts = f"{len(self.topics)} topics, {len(self.groups)} groups"
        return f"State({len(self.brokers)} brokers, {counts}, version {self.version})"

    def changed(self, now: float) -> None:
        """Something happened that a parked request may be waiting for."""
        if self.source is not None:
            self.source.changed(now)
            return
        self.version += 1
        self.changed_at = now
        self._note_image(now)

    def wall_clock(self, now: float) -> int:
        """Return the brokers' timestamp at a moment, in milliseconds since the epoch."""
        return int((now + self.wall_ahead) * 1000)

    # --- what each broker knows -------------------------------------------------------

    @property
    def latest(self) -> "State":
        """Return the state itself, also for an older view of it."""
        return self if self.source is None else self.source

    def seen_by(self, broker: Broker) -> "State":
        """The state as a broker knows it: itself, or an older view of topics and brokers."""
        if not broker.lag.seconds or self.images.is_latest(broker.lag.moment(self.now)):
            return self
        image = self.images.at(broker.lag.moment(self.now))
        brokers = {
            number: replace(each, registered=number in image.registered)
            for number, each in self.brokers.items()
        }
        return replace(self, brokers=brokers, topics=image.topics, source=self)

    def delay_metadata(self, broker: Broker, seconds: float) -> None:
        """Have a broker learn of changes so much later; 0 for at once."""
        self.begin_images()
        broker.lag = Lag(seconds, self.now)
        self._catch_up(self.now)

    def delay_coordinators(self, seconds: float) -> None:
        """Have the group coordinators learn of topics so much later; 0 for at once."""
        self.begin_images()
        self.coordinator_lag = Lag(seconds, self.now)

    def begin_images(self) -> None:
        """Keep an image of the present, for a broker that lags from now on."""
        self.images.note(self.now, self.topics, self._registered_ids())

    def _registered_ids(self) -> list[int]:
        return [broker.node.id for broker in self.registered()]

    def _lags(self) -> list[Lag]:
        lags = [self.coordinator_lag, *(each.lag for each in self.brokers.values())]
        return [each for each in lags if each.seconds]

    def _note_image(self, now: float) -> None:
        lags = self._lags()
        if not lags:
            return
        at = self.images.note(now, self.topics, self._registered_ids())
        if at is not None:
            for seconds in {each.seconds for each in lags} - {math.inf}:
                self.agenda.plan(at + seconds, self._catch_up)
        self.images.forget(min(each.moment(now) for each in lags))

    def _catch_up(self, now: float) -> None:
        """A broker has learned of a change: it follows leaders it did not know before."""
        for topic in self.topics.values():
            for partition in topic.partitions:
                self.follow(partition)
        self.changed(now)

    def _behind(self) -> frozenset[int]:
        """The brokers that follow no leader, or none that they do not know of yet."""
        return frozenset(
            number
            for number, each in self.brokers.items()
            if not each.follows
            or (each.lag.seconds and not self.images.is_latest(each.lag.moment(self.now)))
        )

    # --- brokers ----------------------------------------------------------------

    def broker(self, node_id: int) -> Broker:
        """The broker of an id.

        Raises:
            ValueError: There is none.
        """
        broker = self.brokers.get(node_id)
        if broker is None:
            raise ValueError(f"there is no broker {node_id}: there are {sorted(self.brokers)}")
        return broker

    def registered(self) -> list[Broker]:
        """The brokers that metadata names, by id."""
        return [each for _, each in sorted(self.brokers.items()) if each.registered]

    def controller(self) -> int:
        """The node that metadata calls the controller; −1 if there is none."""
        return next((each.node.id for each in self.registered()), -1)

    def miss(self, node_id: int) -> None:
        """The others notice that a broker is gone: its work goes to them."""
        self.lose_coordination(node_id)
        self.broker(node_id).registered = False
        for topic in self.topics.values():
            for partition in topic.partitions:
                before = partition.epoch
                partition.lose(node_id)
                self.follow(partition, elected=partition.epoch != before)

    def welcome_back(self, node_id: int) -> None:
        """Bring a broker back: its copies catch up, and it leads leaderless partitions."""
        broker = self.broker(node_id)
        if broker.registered and not broker.running:
            # A new process is let in only after the old one's session is over.
            self.miss(node_id)
        broker.running = broker.registered = True
        # It has read all metadata, its own registration included.
        broker.lag.since = self.now + 0.001
        for topic in self.topics.values():
            for partition in topic.partitions:
                before = partition.epoch
                partition.take_back(node_id)
                # With a leader again the other copies that run can catch up with it.
                for other in self.registered():
                    partition.take_back(other.node.id)
                self.follow(partition, elected=partition.epoch != before)

    # --- replication ------------------------------------------------------------------

    def append(self, partition: Partition, batch: RecordBatch) -> RecordBatch:
        """Put a batch into a partition; it gets its offsets here."""
        kept = partition.append(batch)
        self.follow(partition)
        return kept

    def elect(self, partition: Partition, node: int, epoch: int | None = None) -> None:
        """Have a broker lead a partition, in the next epoch or a given one."""
        partition.elect(node, epoch)
        self.follow(partition, elected=True)

    def follow(self, partition: Partition, *, elected: bool = False) -> None:
        """Have the copies follow after an append, an election or a change of the ISR."""
        delays = self.replication
        if not delays.any:
            behind = self._behind()
            partition.fetch(partition.log.end, behind)
            partition.hear(behind)
            return
        partition.raise_watermark()
        at = self.now + (delays.election if elected else delays.fetch)
        if elected:
            partition.followed_from = at
        epoch, upto = partition.epoch, partition.log.end

        def hear(_: float) -> None:
            if partition.epoch == epoch:
                partition.hear(self._behind())

        def fetch(at: float) -> None:
            if partition.epoch == epoch:
                partition.fetch(upto, self._behind())
                self.changed(at)
                self.agenda.plan(at + delays.watermark, hear)

        self.agenda.plan(max(at, partition.followed_from), fetch)

    def follow_at_once(self, partition: Partition) -> None:
        """Have the copies in sync catch up wholly, in no time."""
        partition.fetch(partition.log.end)
        partition.hear()

    # --- topics -----------------------------------------------------------------

    def topic_by_id(self, topic_id: uuid.UUID | None) -> Topic | None:
        """The topic of an id, if there is one."""
        return next((each for each in self.topics.values() if each.id == topic_id), None)

    def next_topic_id(self, name: str) -> uuid.UUID:
        """An id that no topic has had, for a topic or a look whether it could be made."""
        nth = self._incarnations.get(name, 0)
        self._incarnations[name] = nth + 1
        return uuid.uuid5(TOPIC_IDS, f"{name}/{nth}")

    def create_topic(
        self,
        name: str,
        partitions: int,
        replication: int | None = None,
        assigned: Sequence[Sequence[int]] = (),
        given: Mapping[str, str] | None = None,
    ) -> Topic:
        """Create a topic, already checked by the caller.

        Args:
            name: Its name.
            partitions: How many.
            replication: How many copies of each; three, or as many as there are brokers,
                without it.
            assigned: The brokers of each partition, where they are given.
            given: Its properties.
        """
        nodes = sorted(self.brokers)
        copies = min(3, len(nodes)) if replication is None else replication
        topic = make_topic(name, self.next_topic_id(name), partitions, copies, nodes)
        assign(topic.partitions, assigned)
        topic.given = dict(given or {})
        self.topics[name] = topic
        self._place(topic.partitions)
        self.configure(topic)
        return topic

    def grow_topic(
        self, topic: Topic, total: int, assigned: Sequence[Sequence[int]] = ()
    ) -> None:
        """Add partitions up to a number; their brokers may be given."""
        copies = len(topic.partitions[0].replicas) if topic.partitions else 1
        there = len(topic.partitions)
        add_partitions(topic, total, copies, sorted(self.brokers))
        assign(topic.partitions[there:], assigned)
        self._place(topic.partitions[there:])
        self.configure(topic)

    def configure(self, topic: Topic) -> None:
        """Have a topic heed the properties in force."""
        values = self.configs.topic_values(topic.given)
        topic.configure(TopicConfig().with_given(values))

    def configs_changed(self, *topics: Topic) -> None:
        """Have topics, or all, heed properties that an administrator has changed."""
        for topic in topics or self.topics.values():
            self.configure(topic)
            for partition in topic.partitions:
                self.follow(partition)

    def _place(self, partitions: Sequence[Partition]) -> None:
        live = [broker.node.id for broker in self.registered()]
        for partition in partitions:
            partition.place(live)

    def delete_topic(self, name: str) -> None:
        """Forget a topic, with its committed offsets."""
        del self.topics[name]
        for group in self.groups.values():
            group.forget_offsets(name)

    # --- groups and producers ---------------------------------------------------

    def group(self, name: str) -> Group:
        """The group of an id, made if it was not spoken of before."""
        found = self.groups.get(name)
        if found is None:
            found = self.groups[name] = Group(name, ClassicGroup(self.group_settings))
        return found

    def group_now(self, name: str, now: float) -> Group:
        """Return a group as its coordinator has it now, with due events applied."""
        group = self.group(name)
        if group.moved:
            group.moved = False
            group.membership.fail_over(now)
        if group.membership.advance(now):
            self.changed(now)
        return group

    def end_share_sessions(self, broker: Broker, connection: int, now: float) -> None:
        """End the share sessions of a connection: what was acquired in them is available."""
        sessions = broker.share_sessions
        for holder in sessions.of_connection(connection):
            self.end_share_session(broker, holder, now)

    def end_share_session(self, broker: Broker, holder: Holder, now: float) -> None:
        """End a share session: what its member has acquired of its partitions is available.

        What was acquired of partitions that have left it stays locked.
        """
        session = broker.share_sessions.kept.pop(holder)
        group = self.share_groups.get(holder.group)
        if group is None:
            return
        led = [
            each
            for part, each in group.partitions.items()
            if part in session.parts and each.leader == broker.node.id
        ]
        released = [each.let_go(group.settings, holder.member) for each in led]
        if any(released):
            self.changed(now)

    def offsets_partition_of(self, group: str) -> TopicPartition:
        """The partition of `__consumer_offsets` that holds a group."""
        return TopicPartition(
            OFFSETS_TOPIC, java_hash(group) % self.group_settings.offsets_partitions
        )

    def lose_coordination(self, node_id: int) -> None:
        """End a broker: the next coordinator of what it coordinates begins with the log."""
        for group in self.groups.values():
            if self.coordinator(group.name) == node_id:
                group.moved = True
        for transaction in self.transactions.entries(self.now):
            if self.transaction_coordinator(transaction.name) == node_id:
                transaction.fail_over()

    def listed_topics(self) -> dict[str, Listed]:
        """The topics that a group may be assigned."""
        topics = self.topics
        if self.coordinator_lag.seconds:
            topics = self.images.at(self.coordinator_lag.moment(self.now)).topics
        return {
            name: Listed(topic.id, len(topic.partitions))
            for name, topic in topics.items()
            if name not in self.denied_topics
        }

    def next_member_name(self) -> str:
        """Return a unique string for a new member id."""
        self._member_names += 1
        return str(self._member_names)

    def next_commit_number(self) -> int:
        """Return the place of a commit among all commits."""
        self._commits += 1
        return self._commits

    def coordinator(self, name: str) -> int | None:
        """The broker that coordinates a group; None if none can."""
        group = self.groups.get(name)
        return self._seated(name, None if group is None else group.coordinator)

    def transaction_coordinator(self, name: str) -> int | None:
        """The broker that coordinates a transactional id; None if none can."""
        return self._seated(name, self.transactions.moved_to(name))

    def _seated(self, name: str, moved_to: int | None) -> int | None:
        """The broker that a name belongs to.

        The name decides, as in Kafka; when its broker is missed, the next one has it.
        """
        ring = sorted(self.brokers)
        first = crc32(name.encode()) % len(ring)
        turn = ring[first:] + ring[:first]
        if moved_to is not None:
            turn.insert(0, moved_to)
        return next((each for each in turn if self.brokers[each].registered), None)

    def group_refusal(self, name: str, node_id: int, now: float) -> ErrorCode:
        """Return the error code of a broker that cannot serve a group; `none` if it can."""
        if name in self.denied_groups:
            return ErrorCode.group_authorization_failed
        if self.coordinator(name) != node_id:
            return ErrorCode.not_coordinator
        if self.group(name).loading(now):
            return ErrorCode.coordinator_load_in_progress
        return ErrorCode.none

    def transaction_refusal(self, name: str, node_id: int, now: float) -> ErrorCode:
        """Return the error code of a broker that cannot serve a transactional id, or `none`."""
        if self.transaction_coordinator(name) != node_id:
            return ErrorCode.not_coordinator
        if self.transactions.loading(name, now):
            return ErrorCode.coordinator_load_in_progress
        return ErrorCode.none

    @property
    def epochs_grow(self) -> bool:
        """True if each end of a transaction raises the epoch, by the finalised feature."""
        return self.features.get(FEATURE, 0) >= EPOCHS_GROW_FROM

    def next_producer_id(self) -> int:
        """A producer id that was never given out."""
        self._producer_ids += 1
        return self._producer_ids


def make_state(nodes: int | Sequence[Node], topics: Mapping[str, int]) -> State:
    """A cluster that has just started.

    Args:
        nodes: How many brokers, or each with the address it advertises.
        topics: Names, and how many partitions each has.

    Raises:
        ValueError: There is no broker, or two have one id.
    """
    if isinstance(nodes, int):
        nodes = [Node(each, f"broker-{each}", 9092) for each in range(1, nodes + 1)]
    brokers = {node.id: Broker(node) for node in nodes}
    if not brokers or len(brokers) != len(nodes):
        raise ValueError(f"a cluster has brokers with ids of their own: {nodes}")
    state = State(brokers)
    for name, partitions in topics.items():
        state.create_topic(name, partitions)
    return state
