"""Log events of the client's states: a row for each, with its use to an operator.

Those of single calls have a table of their own (`events/call_log_events.py`) and are emitted
only while a reader asks for them. docs/logging.md is written from both, and the names and keys
are part of the public interface. A name is a past event where that makes sense; the sentence is
for people, the keys are for machines.

Thread: any; nothing here changes.
"""

from functools import partial
from typing import Final

from prokurist.events.callback_log_events import CALLBACKS
from prokurist.events.group_log_events import GROUP
from prokurist.events.outage_log_events import OUTAGES
from prokurist.events.producer_log_events import PRODUCER
from prokurist.events.security_log_events import SECURITY
from prokurist.events.share_log_events import SHARE
from prokurist.events.telemetry_log_events import TELEMETRY
from prokurist.events.trace import EVERY, EventKind, Level, Side

_client = partial(EventKind, area="client", side=Side.APPLICATION)
_thread = partial(EventKind, area="client", side=Side.NETWORK)
_connection = partial(EventKind, area="connection", side=Side.NETWORK)
_metadata = partial(EventKind, area="metadata", side=Side.NETWORK)
_commit = partial(EventKind, area="commit", side=Side.APPLICATION)
_fetch = partial(EventKind, area="fetch", side=Side.NETWORK)

# --- the client ---------------------------------------------------------------------

CLIENT_STARTED: Final = _client(
    "client_started",
    Level.INFO,
    "prokurist {version} has started, with {bootstrap}",
    "A client was built. The line says which version runs, and where it begins.",
)
CLIENT_CLOSED: Final = _client(
    "client_closed",
    Level.INFO,
    "closed, in {seconds:.3f} s",
    "Everything is closed; how long that took.",
)
CLOSE_PHASE_ENDED: Final = _client(
    "close_phase_ended",
    Level.DEBUG,
    "closing: {phase} took {seconds:.3f} s",
    "Which phase of `close` took the time.",
)
CLOSE_ERROR_SUPPRESSED: Final = _client(
    "close_error_suppressed",
    Level.WARNING,
    "one more failure in close: {error}",
    "`close` raises the first failure; this is one of the others.",
    traceback=True,
)
CLOSE_INTERRUPTED: Final = _client(
    "close_interrupted",
    Level.WARNING,
    "interrupted while closing, after a failure: {error}",
    "The interrupt is raised; this failure was there before it.",
    traceback=True,
)
CLOSE_AT_EXIT_FAILED: Final = _client(
    "close_at_exit_failed",
    Level.WARNING,
    "closing at the exit of the interpreter failed: {error}",
    "A client that was still open when the program ended could not be closed in order.",
)
INTERCEPTOR_RAISED: Final = _client(
    "interceptor_raised",
    Level.WARNING,
    "interceptor {method} raised, and its error is ignored: {error}",
    "An object of `interceptor.classes` has a bug.",
    traceback=True,
)
THREAD_DIED: Final = _thread(
    "thread_died",
    Level.CRITICAL,
    "the network thread died of a bug in prokurist: {error}",
    "Every call of this client raises from now on: build another, and report the traceback.",
    traceback=True,
)
THREAD_CLEANUP_FAILED: Final = _thread(
    "thread_cleanup_failed",
    Level.CRITICAL,
    "another bug in prokurist, while the network thread was shut down: {error}",
    "The same, while the thread was cleaning up.",
    traceback=True,
)

# --- connections ----------------------------------------------------------------------

CONNECTION_OPENING: Final = _connection(
    "connection_opening",
    Level.DEBUG,
    "connecting to {node}, for {lane}",
    "A request is waiting for a broker, and there is no connection yet.",
)
CONNECTION_READY: Final = _connection(
    "connection_ready",
    Level.DEBUG,
    "connected to {node}, for {lane}",
    "The broker has answered ApiVersions; the connection can be used.",
)
CONNECTION_CLOSED: Final = _connection(
    "connection_closed",
    Level.DEBUG,
    "closed the connection to {node}, for {lane}: {reason}",
    "We have closed it: it was idle, its broker has gone, or the client is closing.",
)
CONNECTION_LOST: Final = _connection(
    "connection_lost",
    Level.INFO,
    "lost the connection to {node}, for {lane}: {error}",
    "An established connection was closed by the broker or by the network. A restarted "
    "broker looks like this.",
)
ANSWER_UNFINISHED: Final = _connection(
    "answer_unfinished",
    Level.WARNING,
    "{error}",
    "The link is too slow for so large an answer within request.timeout.ms. A consumer asks "
    "this broker for less at once, and for more again when answers come soon; a single batch "
    "of records that takes too long is asked for again and again.",
    also=("node",),
    story="node",
)
CONNECTION_FAILED: Final = _connection(
    "connection_failed",
    Level.DEBUG,
    "no connection to {node}, for {lane}; the next try in {pause:.3f} s: {error}",
    "One try failed. If that goes on, `broker_unreachable` says so.",
)
BROKER_UNREACHABLE: Final = _connection(
    "broker_unreachable",
    Level.WARNING,
    "no connection to {node} could be made for {seconds:.0f} s: {error}",
    "A broker has been down, or cut off, for a minute. What it leads is not read meanwhile.",
    story="node",
    patience=EVERY,
)
BROKER_REACHABLE: Final = _connection(
    "broker_reachable",
    Level.WARNING,
    "{node} can be reached, after {seconds:.0f} s",
    "The end of `broker_unreachable`, as loud as its beginning.",
    story="node",
    ends=BROKER_UNREACHABLE,
)
BROKER_NOT_NEEDED: Final = _connection(
    "broker_not_needed",
    Level.WARNING,
    "{node} is not tried any more, after {seconds:.0f} s: other brokers answer",
    "The end of `broker_unreachable` for an address of `bootstrap.servers`, where others have "
    "told the cluster's brokers, and for a broker that has left the cluster.",
    story="node",
    ends=BROKER_UNREACHABLE,
)
BROKER_PROTOCOL_ERROR: Final = _connection(
    "broker_protocol_error",
    Level.ERROR,
    "{error}",
    "What answers there does not speak Kafka's protocol as it should: look at the address, "
    "the port and the listener, and at what stands in between.",
    also=("node",),
    story="node",
)
BROKER_THROTTLED: Final = _connection(
    "broker_throttled",
    Level.INFO,
    "{node} throttles this client for {pause:.3f} s",
    "A quota of this client is exceeded.",
    story="node",
)

# --- the cluster ----------------------------------------------------------------------

METADATA_FAILED: Final = _metadata(
    "metadata_failed",
    Level.DEBUG,
    "metadata request failed: {error}",
    "A broker did not answer a metadata request; another one is asked.",
)
LEADERS_CHANGED: Final = _metadata(
    "leaders_changed",
    Level.INFO,
    "leaders changed for {partitions}",
    "Partitions that are read have other leaders. Brokers that name one leader after another "
    "for the same partitions are told of once a minute.",
    story="partitions",
)
REBOOTSTRAPPED: Final = _metadata(
    "rebootstrapped",
    Level.WARNING,
    "no broker of the cluster can be reached: bootstrapping again from bootstrap.servers",
    "All brokers that were known are out of reach, or one has said that the cluster moved.",
)

# --- the group ------------------------------------------------------------------------


# --- commits --------------------------------------------------------------------------

AUTO_COMMIT_FAILED: Final = _commit(
    "auto_commit_failed",
    Level.WARNING,
    "automatic commit failed, {next}: {error}",
    "While that lasts, records read since the last commit will be read again after a restart. "
    "The line says where no next commit replaces it, since the partitions are not this "
    "consumer's any more, or its member begins again: then they are read again at once, here "
    "or by another member. `on_committed` is told of each.",
    also=("kind_of_error",),
    story="kind_of_error",
)
ASYNC_COMMIT_FAILED: Final = _commit(
    "async_commit_failed",
    Level.WARNING,
    "asynchronous commit failed: {error}",
    "A `commit_async` without a callback failed; with one, or with `on_committed`, that gets "
    "the error.",
    also=("kind_of_error",),
    story="kind_of_error",
)
COMMIT_CALLBACK_ERROR_SUPPRESSED: Final = _commit(
    "commit_callback_error_suppressed",
    Level.WARNING,
    "one more commit callback raised in close: {error}",
    "`close` raises the first error; this is one of the others.",
    traceback=True,
)
FINAL_COMMIT_FAILED: Final = _commit(
    "final_commit_failed",
    Level.WARNING,
    "closed {outcome}: {error}",
    "The records read last may be read again.",
)

# --- reading --------------------------------------------------------------------------

OFFSET_OUT_OF_RANGE: Final = _fetch(
    "offset_out_of_range",
    Level.INFO,
    "offset {offset} of {partition} is not in its log: reading goes on by "
    "auto.offset.reset={policy}",
    "Records were deleted before they were read, or the log was created again.",
)
POSITIONS_RESET: Final = _fetch(
    "positions_reset",
    Level.INFO,
    "reset to {policy}: {offsets}",
    "By `auto.offset.reset`, where no offset was committed for these partitions, or none that "
    "is still in the log; or as `seek_to_beginning` or `seek_to_end` wants it.",
    also=("count",),
)
LOG_TRUNCATED: Final = _fetch(
    "log_truncated",
    Level.WARNING,
    "the log of {partition} was truncated before {position}",
    "Records that were read are gone, as a rule after an unclean leader election.",
)
TOPICS_RECREATED: Final = _fetch(
    "topics_recreated",
    Level.WARNING,
    "topics deleted and created again: {topics}; {places}",
    "A topic that is read was deleted, and another created under its name. It is read from "
    "where `auto.offset.reset` says, by the consumer protocol when the group has given it; or "
    "from a place that was not read from yet, set again as it was. The line says which of "
    "both.",
    also=("partitions", "kept", "count"),
)
LAG_UNKNOWN: Final = _fetch(
    "lag_unknown",
    Level.INFO,
    "the end offset of {partition}, for its lag, is not known: {error}",
    "The end offset for a lag could not be fetched; call again.",
)

STATES: Final = (
    *(each for each in tuple(globals().values()) if isinstance(each, EventKind)),
    *GROUP,
    *CALLBACKS,
    *SHARE,
    *OUTAGES,
    *SECURITY,
    *PRODUCER,
    *TELEMETRY,
)
"""All log events of states, in the order of the table."""
