"""Adds in-flight fetches to the timeout report of a call that waits for records.

Fetches belong to no call: they are sent with or without a waiting call. While a call with a
deadline waits for records, its ledger notes the fetches in flight by broker, or a partition
without a leader.

Thread: the network thread alone. There is one such call at a time, since one is inside.
"""

from collections.abc import Callable, Iterable

from prokurist.errors import KafkaException
from prokurist.events.background_events import BackgroundError, BackgroundEvents
from prokurist.events.call import Call, Try
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.operations.operation import Promise, Withdrawn
from prokurist.network_thread.operations.timer import Timer
from prokurist.types import Node, TopicPartition

ANSWERED = "answered"


class FetchProgress:
    """Adds in-flight fetches to the ledger of the call that waits for records.

    Args:
        metadata: Knows the leaders.
        background: Takes fatal errors.
        timer: The Timer.
        asked: Returns the brokers with a fetch in flight, each with its connected flag.
    """

    def __init__(
        self,
        metadata: MetadataManager,
        background: BackgroundEvents,
        timer: Timer,
        asked: Callable[[], Iterable[tuple[Node, bool]]],
    ) -> None:
        self._metadata = metadata
        self._background = background
        self._timer = timer
        self._asked = asked
        self._call: Call | None = None
        self._tries: dict[int, Try] = {}

    async def attend(self, call: Call, tp: TopicPartition) -> None:
        """Note fetches in a call's ledger until it is withdrawn or its time is over."""
        self._call = call
        try:
            while self._metadata.cluster.leader(tp) is None:
                await self._metadata.refreshed(call, f"a leader of {tp}")
            for node, connected in self._asked():
                self.sent(node, connected=connected)
            await Promise[None]()  # Never kept: the application sees by itself what has come.
        except Withdrawn:
            raise
        except KafkaException as error:
            self._background.post(BackgroundError(error))
        finally:
            self._call = None
            self._tries.clear()

    def sent(self, node: Node, *, connected: bool) -> None:
        """Note a fetch that goes to a broker, at once or when connected."""
        call = self._call
        if call is None:
            return
        if not connected:
            call.wait_begins(f"a connection to {node}", self._timer.now)
            return
        attempt = call.claim("Fetch", str(node), self._timer.now, effect=False)
        if attempt is not None:
            self._tries[node.id] = attempt

    def answered(self, node: Node, error: KafkaException | None = None) -> None:
        """Note the end of a fetch, with an answer or without one."""
        call = self._call
        if call is None:
            return
        attempt = self._tries.pop(node.id, None)
        if attempt is not None:
            outcome = ANSWERED if error is None else type(error).__name__
            call.ended(attempt, self._timer.now, outcome, error)
        elif error is not None:
            call.met(error)
            call.wait_begins("retry backoff", self._timer.now)

    def __repr__(self) -> str:
        return f"FetchProgress({self._call})"
