"""Log events of the group: joining, rebalances, heartbeats, the end of a membership.

Rows of the table in `events/log_events.py`. Thread: any; nothing here changes.
"""

from functools import partial
from typing import Final

from prokurist.events.trace import EVERY, EventKind, Level, Side

_group = partial(EventKind, area="group", side=Side.NETWORK)
_group_app = partial(EventKind, area="group", side=Side.APPLICATION)

COORDINATOR_FOUND: Final = _group(
    "coordinator_found",
    Level.INFO,
    "{node} is the group's coordinator",
    "Where commits and heartbeats go.",
)
COORDINATOR_LOST: Final = _group(
    "coordinator_lost",
    Level.INFO,
    "{node} is no longer the group's coordinator: {error}",
    "It has moved, or cannot be reached; it is looked up again when it is needed. Where "
    "brokers go on naming one that goes on failing, this and `coordinator_found` come once a "
    "minute.",
)
COORDINATOR_CONFIRMED: Final = _group(
    "coordinator_confirmed",
    Level.DEBUG,
    "{node} is still the group's coordinator",
    "It had failed less than a minute after it had before, and brokers name it again.",
)
COORDINATOR_UNAVAILABLE: Final = _group(
    "coordinator_unavailable",
    Level.WARNING,
    "{node} coordinates group {group}, and has answered for {seconds:.0f} s that it cannot "
    "(COORDINATOR_NOT_AVAILABLE). Has __consumer_offsets as many replicas in sync as its "
    "min.insync.replicas?",
    "The coordinator is in reach, and cannot write what is committed, or who is in the group. "
    "Nothing is committed until it can; heartbeats may be answered meanwhile.",
    also=("error",),
    story="group",
    patience=5.0,
)
COORDINATOR_AVAILABLE: Final = _group(
    "coordinator_available",
    Level.WARNING,
    "{node} writes for group {group} again, after {seconds:.0f} s",
    "The end of `coordinator_unavailable`, as loud as its beginning.",
    story="group",
    ends=COORDINATOR_UNAVAILABLE,
)
COORDINATOR_UNREACHABLE: Final = _group(
    "coordinator_unreachable",
    Level.WARNING,
    "the coordinator of group {group} has been out of reach for {seconds:.0f} s: {error}",
    "Nothing can be committed, and the member may lose its place.",
    story="group",
    patience=EVERY,
)
COORDINATOR_REACHABLE: Final = _group(
    "coordinator_reachable",
    Level.WARNING,
    "{node} serves group {group} again, after {seconds:.0f} s",
    "The end of `coordinator_unreachable`, as loud as its beginning.",
    story="group",
    ends=COORDINATOR_UNREACHABLE,
)
MEMBER_STATE_CHANGED: Final = _group(
    "member_state_changed",
    Level.DEBUG,
    "the member's state changed from {was} to {state}",
    "Each change of state of the group member.",
)
MEMBER_JOINED: Final = _group(
    "member_joined",
    Level.INFO,
    "member {member} is in the group, in generation {generation}",
    "The group has accepted the member: in a classic group after each rebalance, by the "
    "consumer protocol "
    "once when it has joined (there, the generation is the member's epoch).",
)
MEMBER_REMOVED: Final = _group(
    "member_removed",
    Level.WARNING,
    "group {group} has removed member {member}, which {next}; its partitions may be "
    "assigned to other members: {error}",
    "Records may be read twice. Often the session expired: the process was paused, or the "
    "coordinator could not be reached.",
)
POLL_INTERVAL_EXCEEDED: Final = _group(
    "poll_interval_exceeded",
    Level.WARNING,
    "no poll for {seconds:.1f} s, and max.poll.interval.ms={limit:.0f}: this consumer has left "
    "group {group}, {next}",
    "The application took longer between two polls than it may, or in `close`; its partitions "
    "are assigned to other members now. The line says whether it joins again, and what helps.",
)
PARTITIONS_ASSIGNED: Final = _group(
    "partitions_assigned",
    Level.INFO,
    "partitions assigned: {partitions}",
    "What the group has given to this member.",
    also=("count",),
)
PARTITIONS_REVOKED: Final = _group(
    "partitions_revoked",
    Level.INFO,
    "partitions revoked: {partitions}",
    "Partitions that the group has revoked, or that `unsubscribe` or `close` has given up.",
    also=("count",),
)
PARTITIONS_LOST: Final = _group(
    "partitions_lost",
    Level.WARNING,
    "partitions lost: {partitions}",
    "Partitions that were taken from this member and may be assigned to others already; no "
    "offset of them was committed.",
    also=("count",),
)
REBALANCE_STARTED: Final = _group(
    "rebalance_started",
    Level.INFO,
    "joining the group: {reason}",
    "A rebalance of a classic group, and its reason.",
)
SUBSCRIPTION_MALFORMED: Final = _group(
    "subscription_malformed",
    Level.WARNING,
    "member {member} of the group has a subscription that cannot be read, and is assigned "
    "nothing: {error}",
    "Another member, perhaps of another client, has sent bytes that are no subscription of "
    "Kafka's.",
)
INSTANCE_ID_IN_USE: Final = _group(
    "instance_id_in_use",
    Level.WARNING,
    "group.instance.id={instance} still belongs to another member, which may have crashed: "
    "waiting up "
    "to {patience:.0f} s for its session to end: {error}",
    "A static member came back before the session of its predecessor expired, or two members "
    "have the same id.",
)
CONSUMER_PROTOCOL_AVAILABLE: Final = _group(
    "consumer_protocol_available",
    Level.INFO,
    "group {group} uses group.protocol=classic; this cluster has group.version finalised and "
    "offers group.protocol=consumer as well (KIP-848)",
    "Rebalances could be smoother.",
)
REJOIN_IGNORED: Final = _group(
    "rejoin_ignored",
    Level.INFO,
    "enforce_rebalance ignored ({reason}): the broker decides",
    "With `group.protocol=consumer` a member cannot ask for a rebalance.",
)
ENFORCE_REBALANCE_IGNORED: Final = _group_app(
    "enforce_rebalance_ignored",
    Level.WARNING,
    "enforce_rebalance does nothing with group.protocol=consumer: the broker decides when it "
    "rebalances the group",
    "The same, raised as a warning in the caller.",
)
LISTENER_ERROR_SUPPRESSED: Final = _group_app(
    "listener_error_suppressed",
    Level.ERROR,
    "one more rebalance callback raised: {error}",
    "`poll` raises the first error; this is one of the others.",
    traceback=True,
)
CALLBACK_RESULT_DROPPED: Final = _group_app(
    "callback_result_dropped",
    Level.DEBUG,
    "the result of {step} is not needed any more: {error}",
    "The network thread had ended before a callback did.",
)
LEAVE_UNCONFIRMED: Final = _group(
    "leave_unconfirmed",
    Level.INFO,
    "LeaveGroup to group {group} was not answered: {error}",
    "The group waits for the member's session to expire before others get its partitions.",
)
LEAVE_SKIPPED: Final = _group_app(
    "leave_skipped",
    Level.DEBUG,
    "the group could not be left: {error}",
    "The network thread had ended before the member left.",
)
FATAL_ERROR_CLEARED: Final = _group_app(
    "fatal_error_cleared",
    Level.INFO,
    "left the group that had ended the membership: {error}",
    "`unsubscribe` is the way out of an error that every poll raises.",
)
BACKGROUND_ERROR_DISCARDED: Final = _group_app(
    "background_error_discarded",
    Level.WARNING,
    "unsubscribed before this was raised: {error}",
    "Something failed in the background, and no poll came that could have raised it.",
)

GROUP: Final = (
    COORDINATOR_FOUND,
    COORDINATOR_LOST,
    COORDINATOR_CONFIRMED,
    COORDINATOR_UNAVAILABLE,
    COORDINATOR_AVAILABLE,
    COORDINATOR_UNREACHABLE,
    COORDINATOR_REACHABLE,
    MEMBER_STATE_CHANGED,
    MEMBER_JOINED,
    MEMBER_REMOVED,
    POLL_INTERVAL_EXCEEDED,
    PARTITIONS_ASSIGNED,
    PARTITIONS_REVOKED,
    PARTITIONS_LOST,
    REBALANCE_STARTED,
    SUBSCRIPTION_MALFORMED,
    INSTANCE_ID_IN_USE,
    CONSUMER_PROTOCOL_AVAILABLE,
    REJOIN_IGNORED,
    ENFORCE_REBALANCE_IGNORED,
    LISTENER_ERROR_SUPPRESSED,
    CALLBACK_RESULT_DROPPED,
    LEAVE_UNCONFIRMED,
    LEAVE_SKIPPED,
    FATAL_ERROR_CLEARED,
    BACKGROUND_ERROR_DISCARDED,
)
