"""Counters of the network thread: turns, requests, connections.

Thread: the network thread writes, any reads; see `events.counters`.
"""

from prokurist.events.counter_types import BYTES, Family, Histogram


class LoopCounters:
    """Counters of the loop's turns.

    Attributes:
        busy: How long each turn worked, from the end of one wait to the next.
        waited: Seconds in which it waited for the network.
        empty: Turns in which nothing was asked, nothing was due, and nothing came.
        queued: How long the oldest event of each drain had waited in the mailbox.
        taking: How long the events of each drain took to be taken up.
    """

    __slots__ = ("_since", "busy", "empty", "queued", "taking", "waited")

    def __init__(self) -> None:
        self.busy: Histogram = Histogram()
        self.waited: float = 0.0
        self.empty: int = 0
        self.queued: Histogram = Histogram()
        self.taking: Histogram = Histogram()
        self._since: float | None = None

    def took(self, posted: float | None, drained: float, now: float) -> None:
        """Count events that were taken from the mailbox.

        Args:
            posted: When the oldest was posted, where that is known.
            drained: When they were taken out of the mailbox.
            now: When the last was taken up.
        """
        if posted is not None:
            self.queued.observe(max(0.0, drained - posted))
        self.taking.observe(now - drained)

    def turned(self, began: float, ended: float, *, empty: bool) -> None:
        """Count a turn, which has waited for the network.

        Args:
            began: When that wait began.
            ended: When it was over.
            empty: True if the turn had nothing to do.
        """
        if self._since is not None:
            self.busy.observe(began - self._since)
        self._since = ended
        self.waited += ended - began
        self.empty += empty


class ApiCounters:
    """Counters of the requests of one API.

    Attributes:
        sent: How many were written.
        sent_at: When the last one was; None before the first.
        seconds: How long those that were answered took.
        throttled: Seconds of silence that brokers asked for in the answers.
    """

    __slots__ = ("seconds", "sent", "sent_at", "throttled")

    def __init__(self) -> None:
        self.sent: int = 0
        self.sent_at: float | None = None
        self.seconds: Histogram = Histogram()
        self.throttled: float = 0.0


class NodeCounters:
    """Counters of the requests to one broker, on all connections.

    Attributes:
        sent: Requests that were written.
        lost: Those of them that failed with their connection.
        seconds: How long those that were answered took.
        bytes_sent: Of whole frames, like `bytes_received`.
    """

    __slots__ = ("bytes_received", "bytes_sent", "lost", "seconds", "sent")

    def __init__(self) -> None:
        self.sent: int = 0
        self.lost: int = 0
        self.seconds: Histogram = Histogram()
        self.bytes_sent: int = 0
        self.bytes_received: int = 0


class TrafficCounters:
    """Counters of requests and connections.

    Attributes:
        apis: By the names of Kafka's protocol.
        nodes: By node id; negative ones are bootstrap addresses.
        queued: How long requests waited to be written.
        unsent: Requests that wait to be written after this turn's writing.
        abandoned: Attempts whose caller left while they were on the wire.
        late_answers: Answers to those, which were dropped.
        opened: Connections that came up.
        closed: Those of them that are gone.
        failed: Tries to connect that came to nothing.
        authenticated: How long SASL took on connections that came up.
        reauthenticated: How long the renewal of a session took.
        refused: Those tries that ended because of a certificate or of credentials.
        renewals_refused: Sessions that a broker did not renew.
    """

    __slots__ = (
        "abandoned",
        "apis",
        "authenticated",
        "closed",
        "failed",
        "late_answers",
        "nodes",
        "opened",
        "queued",
        "reauthenticated",
        "refused",
        "renewals_refused",
        "unsent",
    )

    def __init__(self) -> None:
        self.apis: Family[ApiCounters] = Family(ApiCounters)
        self.nodes: Family[NodeCounters] = Family(NodeCounters)
        self.queued: Histogram = Histogram()
        self.unsent: int = 0
        self.abandoned: int = 0
        self.late_answers: int = 0
        self.opened: int = 0
        self.closed: int = 0
        self.failed: int = 0
        self.authenticated: Histogram = Histogram()
        self.reauthenticated: Histogram = Histogram()
        self.refused: int = 0
        self.renewals_refused: int = 0

    def wrote(self, node: int, api: str, size: int, now: float) -> None:
        """Count a request that was written."""
        by_api, by_node = self.apis.of(api), self.nodes.of(str(node))
        by_api.sent += 1
        by_api.sent_at = now
        by_node.sent += 1
        by_node.bytes_sent += size

    def answered(self, node: int, api: str, size: int, took: float, throttle: float) -> None:
        """Count a request that was answered."""
        by_api, by_node = self.apis.of(api), self.nodes.of(str(node))
        by_api.seconds.observe(took)
        by_api.throttled += throttle
        by_node.seconds.observe(took)
        by_node.bytes_received += size


class FetchCounters:
    """Counters of fetch responses.

    Attributes:
        sizes: Bytes of records in each, as they came.
    """

    __slots__ = ("sizes",)

    def __init__(self) -> None:
        self.sizes: Histogram = Histogram(BYTES)
