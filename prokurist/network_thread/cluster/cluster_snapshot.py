"""Snapshot of the cluster, with the changes by new metadata.

Thread: the network thread alone; the snapshot itself is immutable. A part of `MetadataManager`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from prokurist.errors import KafkaException
from prokurist.events.cluster import ABSENT, Cluster, TopicView
from prokurist.events.log_events import LEADERS_CHANGED
from prokurist.events.trace import Trace
from prokurist.network_thread.broker_errors import topic_error
from prokurist.network_thread.cluster.topic_interest import TopicInterest
from prokurist.network_thread.cluster.topic_views import views_of
from prokurist.network_thread.error_actions import Action, ErrorTable
from prokurist.network_thread.operations.signal import Signal
from prokurist.network_thread.wire.metadata import MetadataAnswer
from prokurist.types import Node, TopicPartition


class ClusterSnapshot:
    """Part of `MetadataManager` with the snapshot, and signals of its changes.

    Args:
        interest: The topics to request.
        trace: Where it is told that leaders have changed.
        codes: The error codes of topics.

    Attributes:
        codes: The same.
        cluster: The snapshot at hand.
        complete: True if it holds every topic visible to this user.
        updated: Emits each new snapshot.
        refused: Emits an error that belongs to no call, and the topics that it is about.
        accepted: Emits the topics that are read and have no error, before that.
    """

    def __init__(self, interest: TopicInterest, trace: Trace, codes: ErrorTable) -> None:
        self.codes: ErrorTable = codes
        self.cluster: Cluster = Cluster()
        self.complete: bool = False
        self.updated: Signal[Cluster] = Signal()
        self.refused: Signal[KafkaException, frozenset[str]] = Signal()
        self.accepted: Signal[frozenset[str]] = Signal()
        self._interest = interest
        self._trace = trace

    @property
    def interest(self) -> TopicInterest:
        """The topics that requests ask for."""
        return self._interest

    def _forget(self) -> None:
        """Forget brokers and topics."""
        self.cluster = replace(
            self.cluster,
            nodes={},
            controller=None,
            topics={},
            version=self.cluster.version + 1,
        )
        self.complete = False

    def _merge(self, answer: MetadataAnswer, *, of_everything: bool) -> None:
        """Merge an answer into the snapshot.

        Args:
            answer: The answer.
            of_everything: True if it covers all topics of the cluster.
        """
        self.cluster = self.cluster.updated(
            cluster_id=answer.cluster_id,
            nodes=answer.brokers,
            controller=answer.controller_id,
            topics=(self._believed(view) for view in views_of(answer)),
            # Of an answer about all topics, what it passes over in silence is gone.
            keep=() if of_everything else self._interest.topics,
        )
        self.complete = of_everything

    def _believed(self, view: TopicView) -> TopicView:
        """Choose the view to keep: on a passing error the former one.

        An election is on its way, say: that makes no leader unknown that was known.
        """
        older = self.cluster.topics.get(view.name)
        passes = self.codes.of(view.error) is Action.RETRY and view.error not in ABSENT
        return replace(older, error=view.error) if passes and older is not None else view

    def _troubles(self, name: str) -> bool:
        """Return True if a topic in use has an error that may pass by itself."""
        view = self.cluster.topics.get(name)
        if view is None or view.error:
            return view is None or self.codes.of(view.error) is Action.RETRY
        return any(
            self.cluster.leader(TopicPartition(name, number)) is None
            for number in view.partitions
        )

    def _is_well(self, name: str) -> bool:
        """Whether a topic is known, without an error."""
        view = self.cluster.topics.get(name)
        return view is not None and not view.error

    def _is_refused(self, name: str) -> bool:
        """Whether a topic has an error that asking again at once does not mend."""
        view = self.cluster.topics.get(name)
        return view is not None and self.codes.of(view.error) is Action.FATAL

    def _refuse(self, told: Cluster | None) -> None:
        """Post errors that belong to no call, one for each cause.

        Args:
            told: The snapshot whose refusals are no news; None where each is told.
        """
        read = self._interest.read
        accepted = frozenset(filter(self._is_well, read))
        self.accepted.emit(accepted)
        before = {} if told is None else {each: told.topics.get(each) for each in read}
        if any(view is not None and view.error for view in map(before.get, accepted)):
            before = {}  # What was told of these together is told of the others again.
        refused: dict[int, set[str]] = {}
        for name in filter(self._is_refused, self._interest.of_background):
            code, view = self.cluster.topics[name].error, before.get(name)
            if view is None or view.error != code:
                refused.setdefault(code, set()).add(name)
        for code, names in sorted(refused.items()):
            self.refused.emit(topic_error(self.codes, code, names), frozenset(names))

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
            self._trace.emit(LEADERS_CHANGED, partitions=moved)
        self.updated.emit(self.cluster)
