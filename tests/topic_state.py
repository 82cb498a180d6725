"""All that is kept per topic, topic id or partition, and what ends each entry: one table.

`tests/unit/test_topic_state.py` finds such attributes in the package and holds them against
the table; `tests/simulation/test_topics_that_end.py` plays the scenarios with clients and
looks at everything that can be reached from them.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple


class Scenario(Enum):
    """What becomes of a topic that a client has read or written to."""

    GIVEN_UP = "it is deleted, and nothing reads it or writes to it any more"
    GONE = "it is deleted, and is read or written to all the same"
    ANEW = "it is deleted and made again, with another id and fewer partitions"
    AWAY = "its partitions are another member's"


class Kept(NamedTuple):
    """When an entry ends.

    Attributes:
        ends: What ends it.
        after: The scenarios that leave one behind, within the bound that `ends` names.
    """

    ends: str
    after: frozenset[Scenario] = frozenset()


def kept(ends: str, *after: Scenario) -> Kept:
    """One line of the table."""
    return Kept(ends, frozenset(after))


GIVEN_UP, GONE, ANEW, AWAY = Scenario

KEPT: Final[Mapping[str, Kept]] = {
    # --- what a consumer reads ---------------------------------------------------------
    "Assigned.rows": kept("unassigned, revoked, lost; anew for a new id", GONE, ANEW),
    "Fetching._wishes": kept("no longer assigned, at the next look", GONE, ANEW),
    "TopicIds._names": kept("no longer assigned; a name has one former id", GONE, ANEW, AWAY),
    "TopicIds.absent": kept("found again, or no longer assigned", GONE),
    "Assigned._subscribed": kept("unsubscribed", GONE, AWAY),
    "FetchBuffer._lines": kept("returned, or its ticket is no longer current"),
    "FetchCollector._begun": kept("the next poll"),
    "FetchCollector.pending": kept("the next poll"),
    "FetchCollector.only": kept("the end of the poll of some partitions"),
    "BackgroundEvents._errors": kept("raised, no longer wanted, or over by itself", GONE),
    "Subscribing._given_back": kept("the end of unsubscribe"),
    "AutoCommitter._under_way": kept("the commit's end is told"),
    "CommitQueue._line": kept("its callback has run"),
    "CommitsUnderWay._calls": kept("ended; 1000 and one for each set of partitions"),
    "CommitsUnderWay._newest": kept("ended; one for each set of partitions"),
    "LagAges._clients": kept("no longer assigned, or another id, at the next reading", GONE),
    "ConsumerReading._ages": kept("the end of the reading"),
    "Partitions.listed": kept("the end of the reading"),
    # --- what workers hold, and instruments ------------------------------------------------
    "Schedule._lanes": kept("worked on; given away, unless it runs"),
    "Schedule._due": kept("due, or given away"),
    "Schedule._going": kept("given away"),
    "TaskWorkers._tasks": kept("the end of the task; cancelled when it is given away"),
    "WorkersCore._paused": kept("resumed, or given away"),
    "RecordsSent._told": kept("the end of the call's last delivery"),
    "SendSpans._begun": kept("never: 10 000 at most, of one producer"),
    "SendSpans._measured": kept("never: 10 000 at most, of one producer"),
    # --- what a share consumer holds -----------------------------------------------------
    "AcknowledgeOutcome._done": kept("told, or the end of the call"),
    "AcknowledgeOutcome._refused": kept("told, or the end of the call"),
    "Lent._batches": kept("acknowledged, or lost and decided on; locks have an end"),
    "LentBuffer._rows": kept("the next poll, or the end of the session"),
    "ShareManager._paused": kept("fetched again, or no longer assigned", GONE),
    "ShareManager._told": kept("fetched again, or no longer assigned", GONE),
    "ShareMember.partitions": kept("the next assignment, or the end of the membership", GONE),
    "ShareSession.partitions": kept("the next fetch, or the end of the session", GONE),
    "ShareSource.parcels": kept("sent, or withdrawn"),
    # --- what the network thread asks for it ---------------------------------------------
    "ClusterSnapshot.cluster": kept("the next answer after no interest is left", GONE, AWAY),
    "TopicInterest._tracked": kept("the calls that ask about it have ended"),
    "WantedMetadata._alone": kept("the next request"),
    "WantedMetadata._asking_alone": kept("the next request"),
    "WantedMetadata._asked_for": kept("the next request", GONE, AWAY),
    "MissingTopics._missing": kept("found; from 500 on, no longer read", GIVEN_UP, GONE),
    "MissingTopics._partitions": kept("found, or no longer assigned", ANEW),
    "FetchSession.asked": kept("the next request to that broker, or the session's end"),
    "FetchSession._ids": kept("the next request that does not ask for it"),
    "RowWriter.ranges": kept("the end of the task"),
    "FetchSource.wishes": kept("the next request to that broker"),
    "FetchRequests._served": kept("no longer assigned, at the next look", GONE, ANEW),
    "FetchPlan._wishes": kept("the next look"),
    "Part.wishes": kept("the next look that begins again"),
    "PartitionBackoff._met": kept("fetched, or no longer assigned", GONE, ANEW),
    "Replicas._preferred": kept("its time is over, it fails, or no longer assigned"),
    "OutOfRangeCheck._asked_again": kept("answered, or no longer assigned"),
    "FetchOutcome.entries": kept("the end of the answer's handling"),
    "FetchOutcome.well": kept("the end of the answer's handling"),
    "FetchOutcome.redirected": kept("the end of the answer's handling"),
    "FetchOutcome.behind": kept("the end of the answer's handling"),
    "FetchOutcome.troubled": kept("the end of the answer's handling"),
    "FetchOutcome.out_of_range": kept("the end of the answer's handling"),
    "FetchOutcome.leaders": kept("the end of the answer's handling"),
    "Outcomes.searches": kept("settled, refused, or no longer wanted", GONE, ANEW),
    "Search.left": kept("settled, refused, or no longer wanted", GONE, ANEW),
    "Search._ends": kept("the search has ended for it"),
    "RefusedPositions._refused": kept("another ticket, at the next look-up of a poll"),
    "Doubts._of": kept("another answer, or two minutes without one"),
    "RunningQuery.found": kept("the end of the question"),
    "CommitQuestion._failed": kept("the next answer, or the end of the commit"),
    "CommitQuestion.taken": kept("the end of the commit"),
    "CommittedQuestion.found": kept("the end of the question"),
    "TopicsQuestion._left": kept("the end of the question"),
    "TopicsQuestion._unknown": kept("the end of the question"),
    "TopicsQuestion.found": kept("the end of the question"),
    "LookUp.answer": kept("its callers have left"),
    "CommittedLookups._joinable": kept("its callers have left, or a commit begins"),
    "BackgroundCommits._overtaken": kept("the end of the commit"),
    "CommitCounters.unsettled": kept("the end of the look-up"),
    # --- a membership ----------------------------------------------------------------------
    "TopicNames._names": kept("no longer given by the group", AWAY),
    "TopicNames._wanted": kept("named, or no longer given by the group"),
    "Reconciler._held": kept("revoked, lost, or the membership's end", GONE),
    "Reconciler._read": kept("revoked, lost, or the membership's end", GONE),
    "HeartbeatTerms._said": kept("the next heartbeat that says all", GONE, AWAY),
    "ClassicTopics._rests_on": kept("the next round, or the membership's end", GONE, AWAY),
    "ClassicRound.joined_as": kept("the next round", GONE, AWAY),
    # --- what a producer sends -------------------------------------------------------------
    "Appender.topics": kept("nothing sent for metadata.max.idle.ms"),
    "TopicDirectory._views": kept("nothing sent for metadata.max.idle.ms"),
    "TopicDirectory.leaderless": kept("led, or nothing sent for metadata.max.idle.ms"),
    "TopicDirectory.gone": kept("the partition is there again, or idle"),
    "BatchLimits._limits": kept("another id, or nothing sent for metadata.max.idle.ms"),
    "RecordAccumulator.incomplete": kept("the batch has ended"),
    "RecordAccumulator.last_errors": kept("the batch has ended"),
    "RecordAccumulator._due": kept("taken in the next turn"),
    "RecordAccumulator._lingering": kept("the batch is closed or sent"),
    "RecordAccumulator._growing": kept("the batch is closed"),
    "RecordAccumulator._parts": kept("the batch has ended"),
    "PartitionQueue.closed": kept("sent, or expired"),
    "Batch.parts": kept("the batch is collected"),
    "Closing._left": kept("the end of close"),
    "Endings.last_errors": kept("the batch has ended"),
    "ProducerTopics._used_at": kept("nothing sent for metadata.max.idle.ms"),
    "ProducerTopics._asked_again": kept("the next metadata behind the back-off", GONE),
    "ProducerTopics._awaited": kept("the calls that wait for it have ended"),
    "ProduceManager._sendings": kept("nothing sent for metadata.max.idle.ms, or gone"),
    "ProduceManager._leaderless": kept("the next metadata"),
    "TransactionWrites.added": kept("the end of the transaction"),
    "TransactionWrites.missing": kept("added, or the end of the transaction"),
    "Transactions._unsure": kept("the next transaction"),
    "Destination.partitions": kept("its turn, or the next metadata"),
    "RequestLedger._tries": kept("the end of the request"),
    "PartitionSending.in_flight": kept("answered"),
    "PartitionSending.retries": kept("sent again, or expired"),
    "PartitionSending._orders": kept("the batch has ended"),
    # --- what both count and log -------------------------------------------------------------
    "Family.children": kept(
        "never: 200 labels or 1000 topics, then all others together", *Scenario
    ),
    "Storms._stories": kept("over; from 500 on, a minute without it", GIVEN_UP, GONE, ANEW),
    # --- the faces ---------------------------------------------------------------------------
    "Subscribing._ends_told": kept("revoked or unassigned"),
    "Subscribing._given": kept("the next assignment"),
    "Producer._counts": kept("never: one number for each topic with chosen partitions"),
    "ParkedMessages._queues": kept("sent or failed, by message.timeout.ms"),
    "ParkedMessages._known": kept("never: one name for each topic"),
    "MissingTopics._topics": kept("told by a poll"),
    "WithoutGroup.topics": kept("the next subscribe"),
    "ClusterMetadata.topics": kept("an answer that the user holds"),
    # --- Spark -------------------------------------------------------------------------------
    "ClusterSession._beginnings": kept("the end of the call"),
    "ClusterSession._ends": kept("the end of the call"),
    "DeferringLogs.deferred": kept("the end of the look"),
    "SilentLeaders._lagging": kept("answered, or no longer read"),
    "SilentLeaders.absent": kept("the next look"),
    "Stream._begins": kept("the next look"),
    "Stream._missing": kept("found, or dropped after brokerDownGraceMs"),
    "Stream._target": kept("the end of the query"),
    "Stream._latest": kept("the next look"),
    "Stream._topic_ids": kept("the next list of partitions"),
    "PendingCommit._ends": kept("the next batch"),
    "PendingCommit.committed": kept("not in the next batch"),
    "QueryProgress.done": kept("the next batch"),
    "QueryProgress.absent": kept("the next batch"),
    "QueryProgress._logs": kept("not in the next batch"),
}
"""By the class that has the attribute, and the attribute's name."""

OF_OTHERS: Final[Mapping[str, str]] = {
    "BrokersToAsk._refusals": "addresses",
    "Calls._running": "calls",
    "ClassicAssignors._assignors": "assignors",
    "ClassicAssignors._built_in": "assignors",
    "ClientsCollector._warned": "client ids",
    "ClusterSession._clients": "groups",
    "ClusterSnapshot.accepted": "a signal",
    "ClusterSnapshot.refused": "a signal",
    "CommitWorker._kept": "queries",
    "ConfigEntry.synonyms": "a value of the caller's",
    "ConfigResource.set_config_dict": "a value of the caller's",
    "CoordinatorSearch._errors": "groups and transactional ids",
    "Dispatch._handlers": "types of events",
    "EventQueue._over": "runs of queries",
    "EventQueue._queued": "runs of queries",
    "EventQueue._runs": "runs of queries",
    "Features.levels": "features of the cluster",
    "MemberAssignment.topic_partitions": "a value of the caller's",
    "MetadataManager._waiting": "calls",
    "NetworkThread._taken": "events of this turn",
    "NewTopic.topic_configs": "a value of the caller's",
    "OpenClients._clients": "client ids",
    "QueryProgress.commits": "results",
    "Reach._silent": "addresses",
    "RecordSent.headers": "names of headers",
    "RecordsSent.headers": "names of headers",
    "Refusals._until": "addresses",
    "RepeatedWarnings._lasting": "queries, and kinds of trouble",
    "SharedCall._copies": "calls",
    "SharedCall._followers": "calls",
    "TelemetryManager._callers": "calls",
    "TransactionWrites.groups": "groups",
    "WorkerCall.running": "runs of queries",
}
"""Containers of calls, or keyed by a `str` that is no topic: what that is."""
