"""Dependencies that the parts of a share consumer's network side share.

Thread: the network thread alone; nothing here changes once it is made.
"""

from prokurist.errors import KafkaException
from prokurist.events.background_events import BackgroundEvents
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call, Try
from prokurist.events.lent.buffer import LentBuffer
from prokurist.events.lent.counters import ShareCounters
from prokurist.events.lent.lent import Lent
from prokurist.events.trace import Trace
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.operations.timer import Timer


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """The configuration that bounds fetches.

    Attributes:
        max_wait: `fetch.max.wait.ms`, in seconds.
        min_bytes: `fetch.min.bytes`.
        max_bytes: `fetch.max.bytes`.
        max_records: `max.poll.records`.
        mode: `share.acquire.mode`, as on the wire.
        request: `request.timeout.ms`, in seconds.
        ahead: `share.acknowledge.ahead`.
        renews: `share.renew.automatically`.
        poll_interval: `max.poll.interval.ms`, in seconds.
    """

    max_wait: float
    min_bytes: int
    max_bytes: int
    max_records: int
    mode: int
    request: float
    ahead: bool
    renews: bool
    poll_interval: float


@dataclass(frozen=True, slots=True)
class ShareTools:
    """The dependencies that the parts of a share consumer's network side share.

    Attributes:
        group_id: `group.id`.
        member_id: The member's id.
        limits: How much is fetched, and when marks are sent.
    """

    group_id: str
    member_id: str
    client: NetworkClient
    metadata: MetadataManager
    timer: Timer
    backoff: Backoff
    background: BackgroundEvents
    lent: Lent
    buffer: LentBuffer
    counters: ShareCounters
    limits: ShareLimits


class Claim:
    """A request's claim of its call, which keeps the attempt.

    Args:
        call: The call.

    Attributes:
        attempt: The attempt; None while nothing is written.
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self.trace: Trace | None = call.trace
        self.number: int = call.number
        self.attempt: Try | None = None

    def claim(self, request: str, node: str, now: float, *, effect: bool) -> Try | None:
        """Claim the request before it is written; see `Call.claim`."""
        self.attempt = self._call.claim(request, node, now, effect=effect)
        return self.attempt

    def ended(
        self,
        attempt: Try,
        now: float,
        outcome: str,
        error: BaseException | None = None,
        *,
        undone: bool = False,
    ) -> None:
        """Note the end of an attempt; see `Call.ended`."""
        self._call.ended(attempt, now, outcome, error, undone=undone)

    @property
    def is_written(self) -> bool:
        """True once the request was written."""
        return self.attempt is not None

    def refused(self, now: float, error: KafkaException) -> None:
        """The broker has refused it, and done nothing."""
        if self.attempt is not None:
            self._call.ended(self.attempt, now, type(error).__name__, error, undone=True)
