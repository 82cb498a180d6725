"""Looks up the names of topics that the coordinator assigned by id.

Thread: the network thread alone.

An assignment may come before the metadata of its topics, and topics matched only by the
broker's pattern have none at all. So names missing in the snapshot of the cluster are requested
by id, of any broker, for as long as they are wanted.
"""

from collections.abc import Callable, Collection
from uuid import UUID

from prokurist.errors import KafkaException
from prokurist.network_thread.cluster.attempts import Attempts, Question, Verdict
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.cluster.routes import AnyBroker
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer
from prokurist.network_thread.error_actions import Action
from prokurist.network_thread.operations.operation import Operation, Promise, Withdrawn
from prokurist.network_thread.wire.metadata import Metadata, MetadataAnswer
from prokurist.types import Node


class TopicNames(Question[MetadataAnswer]):
    """Looks topic names up by id, of any broker.

    Args:
        metadata: Has the names that are known.
        attempts: Asks for the others.
        learned: Called when a name has been learned that was asked for.
    """

    pause: str | None = "retry backoff of names of topics"

    def __init__(
        self,
        metadata: MetadataManager,
        attempts: Attempts,
        learned: Callable[[], None],
    ) -> None:
        self._metadata = metadata
        self._attempts = attempts
        # The other brokers are asked, whatever the error is.
        self._route = AnyBroker(metadata.brokers, is_shared=lambda _error: False)
        self._learned = learned
        self._names: dict[UUID, str] = {}
        self._wanted: frozenset[UUID] = frozenset()
        self._asking: Operation[None] | None = None

    def of(self, ids: Collection[UUID]) -> dict[UUID, str]:
        """The known names of some topic ids; others are forgotten.

        Where brokers give several names to an id, the one that is known already stays.
        """
        topics = self._metadata.cluster.topics
        told = {view.id: name for name, view in topics.items() if view.id is not None}
        kept = {
            each: name
            for each, name in self._names.items()
            if each not in told or ((view := topics.get(name)) is not None and view.id == each)
        }
        known = {**told, **kept}
        self._names = {each: known[each] for each in ids if each in known}
        return dict(self._names)

    @property
    def lacking(self) -> bool:
        """True while a name is being looked up; readable on any thread."""
        return bool(self._wanted)

    def want(self, ids: Collection[UUID]) -> None:
        """Look these ids up, and no others any more."""
        self._wanted = frozenset(ids)
        if not self._wanted:
            self.stop()
        elif self._asking is None:
            work = self._attempts.ask(self._route, self)
            asking = Operation(work, "names of topics", self._ended)
            self._asking = None if asking.ended else asking

    def stop(self) -> None:
        """Stop looking names up."""
        self._wanted = frozenset()
        asking, self._asking = self._asking, None
        if asking is not None:
            asking.throw(Withdrawn("no topic id is waiting for its name"))

    # --- the question ----------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """See `Question`."""
        return not self._wanted

    def send(self, client: NetworkClient, node: Node) -> Promise[Answer[MetadataAnswer]]:
        """See `Question`."""
        return client.send(
            node, Metadata(topic_ids=tuple(sorted(self._wanted))), any_broker=True
        )

    def judge(self, answer: Answer[MetadataAnswer]) -> Verdict:
        """See `Question`; the next answer may have the other names."""
        found = {
            each.topic_id: each.name
            for each in answer.response.topics
            if each.topic_id is not None and each.name and not each.error
        }
        self._names.update(found)
        self._wanted -= self._names.keys()
        if found:
            self.retries.reset()
            self._learned()
        return Verdict(Action.DONE)

    def _ended(self, _nothing: None, error: KafkaException | None) -> None:
        self._asking = None
        if error is not None and not isinstance(error, Withdrawn):
            raise AssertionError("asking for names handles its own errors") from error

    def __repr__(self) -> str:
        return f"TopicNames({len(self._names)} known, {len(self._wanted)} wanted)"
