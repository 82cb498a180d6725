"""Wires the network side of a consumer.

Thread: the application's, while a client is being built. Parts of the network thread belong to
that thread alone once it runs.
"""

from collections.abc import Collection
from typing import Any

from prokurist.assembly.network_side import NetworkSide, System, open_system, trace_of
from prokurist.assembly.security import warn_of_security
from prokurist.config import ConsumerConfig
from prokurist.events.assigned import Assigned
from prokurist.events.clock import CallersClock
from prokurist.events.committable import Committable, CommittableState
from prokurist.events.fetch_buffer import FetchBuffer
from prokurist.events.fetching import Fetching
from prokurist.events.log_event_queue import LogEventQueue
from prokurist.events.member_identity import MemberIdentity, PollActivity
from prokurist.events.positions import Positions
from prokurist.events.topic_ids import TopicIds
from prokurist.events.trace import Trace
from prokurist.logs.event_reader import EventReader
from prokurist.network_thread.cluster.coordinators import Coordinator
from prokurist.network_thread.cluster.leader_queries import LeaderQueries
from prokurist.network_thread.cluster.missing_topics import MissingTopics
from prokurist.network_thread.cluster.refused_topics import RefusedTopics
from prokurist.network_thread.connections.pipeline import LARGEST_INT32
from prokurist.network_thread.fetch.fetch_requests import FetchLimits
from prokurist.network_thread.fetch.manager import FetchManager
from prokurist.network_thread.fetch.session import Terms
from prokurist.network_thread.group import GroupCommits, GroupMembership
from prokurist.network_thread.io.selector import LARGEST_FRAME_BYTES
from prokurist.network_thread.membership.membership import Membership
from prokurist.network_thread.offsets.lag_manager import LagManager
from prokurist.network_thread.offsets.offsets_manager import OffsetsManager
from prokurist.network_thread.offsets.open_transactions import OpenTransactionManager
from prokurist.network_thread.offsets.positions_manager import PositionsManager
from prokurist.network_thread.offsets.validation_manager import ValidationManager
from prokurist.network_thread.operations.dispatch import WithoutGroup
from prokurist.network_thread.operations.signal import Signal
from prokurist.types import TopicPartition


class ConsumerSide(NetworkSide):
    """The network side of a consumer, wired and not started.

    Args:
        config: The configuration.
        trace: The client's trace.
        system: Sockets, clock and chance of the client.

    Attributes:
        assigned: The subscription and the assigned partitions; both threads use them.
        positions: Their positions; both threads use them.
        topic_ids: The ids of their topics.
        fetching: Moves the positions; both threads use it.
        committable: Their offsets to commit; both threads use it.
        member_identity: Who the consumer is in its group; both threads use it.
        poll_activity: When it polls; both threads use it.
        log_events: The queue of `on_event`; None where there is none.
        buffer: The fetch buffer, for both threads.
        commits: The group's commits; None without a group.
        membership: The place in the group; None without one.
        lookups: Looks positions up.
        fetches: Fetches records.
    """

    def __init__(self, config: ConsumerConfig, trace: Trace, system: System) -> None:
        create = config.allow_auto_create_topics
        super().__init__(config, trace, system, create_topics=create)
        self.assigned: Assigned[CommittableState] = Assigned(CommittableState)
        self.positions: Positions = Positions(self.assigned, config.auto_offset_reset)
        self.topic_ids: TopicIds = TopicIds(self.positions)
        self.fetching: Fetching = Fetching(self.positions)
        self.committable: Committable = Committable(
            self.assigned, self.topic_ids, stores=not config.enable_auto_offset_store
        )
        assigned, metadata = self.assigned, self.metadata
        metadata.interest.add(assigned.topics, follows_pattern=assigned.follows_pattern)
        MissingTopics(metadata, assigned.topics, assigned.partitions, trace)
        RefusedTopics(metadata, assigned, self.background)
        self.member_identity: MemberIdentity = MemberIdentity()
        self.poll_activity: PollActivity = PollActivity()
        self.log_events: LogEventQueue | None = None
        if config.on_event is not None:
            self.log_events = LogEventQueue(self.poll_activity, self.background)
            trace.read_by(EventReader(self.log_events), fine=False)
        self.commits: GroupCommits | None = None
        if config.group_id is not None:
            self.commits = GroupCommits(
                config.group_id,
                client=self.client,
                coordinators=self.coordinators,
                metadata=metadata,
                attempts=self.attempts,
                timer=self.timer,
                committable=self.committable,
                member_identity=self.member_identity,
                background=self.background,
            )
        self._wire_positions(config, system)
        self.buffer: FetchBuffer[Any] = FetchBuffer()
        self.fetches: FetchManager = FetchManager(
            self.client,
            metadata,
            self.fetching,
            self.topic_ids,
            self.buffer,
            self.background,
            self.timer,
            self.backoff,
            fetch_limits(config),
            replica_lifetime=config.metadata_max_age_ms / 1000,
        )
        self.add(self.fetches)
        self.membership: Membership | None = None
        if self.commits is None or config.group_id is None:
            self.register(WithoutGroup())
        else:
            self.membership = self._join(config, config.group_id, self.commits)

    def _wire_positions(self, config: ConsumerConfig, system: System) -> None:
        leaders = LeaderQueries(
            self.client,
            self.metadata,
            self.attempts,
            self.timer,
            attempt=config.request_timeout_ms / 1000,
        )
        offsets = OffsetsManager(leaders)
        read_committed = config.isolation_level == "read_committed"
        patience = config.default_api_timeout_ms / 1000
        self.lookups: PositionsManager = PositionsManager(
            self.positions,
            self.topic_ids,
            self.background,
            self.calls,
            offsets,
            ValidationManager(leaders, self.metadata, self.timer),
            self.metadata,
            None if self.commits is None else self.commits.commits,
            self.timer,
            self.backoff,
            patience=patience,
            read_committed=read_committed,
            time_of_day=system.time_of_day,
            trace=self.trace,
            ended=nothing_to_commit if self.commits is None else self.commits.auto.overtake,
        )
        lags = LagManager(
            self.positions,
            self.calls,
            offsets,
            self.timer,
            patience=patience,
            read_committed=read_committed,
            trace=self.trace,
        )
        transactions = OpenTransactionManager(self.positions, self.calls, leaders, self.timer)
        self.register(offsets, self.lookups, lags, transactions)

    def _join(self, config: ConsumerConfig, group_id: str, commits: GroupCommits) -> Membership:
        changed: Signal[()] = Signal()
        changed.connect(self.lookups.drop_stale)
        changed.connect(self.fetches.stir)
        changed.connect(self.background.nudge)
        group = GroupMembership(
            config,
            group_id,
            commits,
            client=self.client,
            metadata=self.metadata,
            attempts=self.attempts,
            calls=self.calls,
            timer=self.timer,
            fetching=self.fetching,
            member_identity=self.member_identity,
            poll_activity=self.poll_activity,
            background=self.background,
            changed=changed,
        )
        self.register(commits)
        self.add(group)
        return group.membership

    @property
    def coordinator(self) -> Coordinator | None:
        """The group's coordinator; None without a group."""
        return None if self.commits is None else self.commits.coordinator


def open_consumer_side(config: ConsumerConfig, clock: CallersClock) -> ConsumerSide:
    """Wire the network side of a consumer to the sockets of this system."""
    trace = trace_of(config, "consumer", config.group_id, clock)
    # Of one batch that is larger than `fetch.max.bytes` a broker sends all the
    # same, so an answer may be that much and the largest batch there is.
    largest = min(LARGEST_FRAME_BYTES + config.fetch_max_bytes, LARGEST_INT32)
    system = open_system(config, trace, clock, largest)
    try:
        side = ConsumerSide(config, trace, system)
    except BaseException:
        system.network.shutdown()
        raise
    warn_of_security(config, trace)
    return side


def nothing_to_commit(_partitions: Collection[TopicPartition]) -> None:
    """Do nothing: a client without a group has no commits that could end."""


def fetch_limits(config: ConsumerConfig) -> FetchLimits:
    """The limits of fetches, and the terms that each of them states."""
    return FetchLimits(
        Terms(
            max_wait=config.fetch_max_wait_ms / 1000,
            min_bytes=config.fetch_min_bytes,
            read_committed=config.isolation_level == "read_committed",
            rack=config.client_rack or "",
        ),
        answer=config.fetch_max_bytes,
        partition=config.max_partition_fetch_bytes,
        buffer=config.fetch_buffer_max_bytes,
        request=config.request_timeout_ms / 1000,
    )
