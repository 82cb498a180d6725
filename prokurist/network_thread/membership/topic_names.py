"""Looks up the names of topics that the coordinator assigned by id.

Thread: the network thread alone.

An assignment may come before the metadata of its topics, and topics matched only by the
broker's pattern have none at all. So names missing in the snapshot of the cluster are requested
by id, of any broker, for as long as they are wanted.
"""

from collections.abc import Callable, Collection
from uuid import UUID

from prokurist.errors import KafkaException
from prokurist.events.backoff import Backoff
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.operations.operation import Operation, Withdrawn
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.metadata import Metadata


class TopicNames:
    """Looks topic names up by id, of any broker.

    Args:
        learned: Called when a name has been learned that was asked for.
    """

    def __init__(
        self,
        client: NetworkClient,
        metadata: MetadataManager,
        timer: Timer,
        backoff: Backoff,
        learned: Callable[[], None],
    ) -> None:
        self._client = client
        self._metadata = metadata
        self._timer = timer
        self._backoff = backoff
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
            asking = Operation(self._ask(), "names of topics", self._ended)
            self._asking = None if asking.ended else asking

    def stop(self) -> None:
        """Stop looking names up."""
        self._wanted = frozenset()
        asking, self._asking = self._asking, None
        if asking is not None:
            asking.throw(Withdrawn("no topic id is waiting for its name"))

    async def _ask(self) -> None:
        failures = 0
        while self._wanted:
            node = await self._metadata.any_broker()
            request = Metadata(topic_ids=tuple(sorted(self._wanted)))
            try:
                answer = (await self._client.send(node, request, any_broker=True)).response
            except Withdrawn:
                raise
            except KafkaException as error:
                self._metadata.suspect(node, error)
            else:
                found = {
                    each.topic_id: each.name
                    for each in answer.topics
                    if each.topic_id is not None and each.name and not each.error
                }
                self._names.update(found)
                self._wanted -= self._names.keys()
                if found:
                    failures = 0
                    self._learned()
            if self._wanted:
                failures += 1
                await self._timer.sleep(
                    self._backoff.pause(failures), "retry backoff of names of topics"
                )

    def _ended(self, _nothing: None, error: KafkaException | None) -> None:
        self._asking = None
        if error is not None and not isinstance(error, Withdrawn):
            raise AssertionError("asking for names handles its own errors") from error

    def __repr__(self) -> str:
        return f"TopicNames({len(self._names)} known, {len(self._wanted)} wanted)"
