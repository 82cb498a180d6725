"""Records when a broker answered last, and since when none can be reached.

Thread: the network thread writes, any thread reads. Each attribute is one reference, replaced
as a whole; two of them may be of two moments.
"""

from collections.abc import Mapping

from prokurist.errors import AuthenticationException, KafkaException


class Reachability:
    """When brokers could be reached; instants on the client's clock.

    Attributes:
        answered_at: When a broker answered last; None before the first answer.
        unreachable_since: Since when there is no connection to any broker though one is
            wanted; None while there is one, or while none is needed.
        last_failure: The last error of a connection, and when it came; None before the first.
        throttled_until: Until when brokers have asked not to be fetched from, by their ids:
            this client is over a quota.
    """

    __slots__ = ("answered_at", "last_failure", "throttled_until", "unreachable_since")

    def __init__(self) -> None:
        self.answered_at: float | None = None
        self.unreachable_since: float | None = None
        self.last_failure: tuple[KafkaException, float] | None = None
        self.throttled_until: Mapping[int, float] = {}

    def throttled(self, node: int, until: float | None) -> None:
        """Note until when a broker has asked not to be fetched from; None for not at all."""
        if until is not None or node in self.throttled_until:
            others = {id_: at for id_, at in self.throttled_until.items() if id_ != node}
            self.throttled_until = others if until is None else {**others, node: until}

    def connected(self) -> None:
        """Note that a broker has answered the first request of a connection."""
        self.unreachable_since = None

    def failed(self, error: KafkaException, now: float) -> None:
        """Note that a connection ended with an error, or could not be made."""
        self.last_failure = (error, now)

    def none_left(self, since: float) -> None:
        """Note that no connection is left; of several such moments the first counts."""
        if self.unreachable_since is None:
            self.unreachable_since = since

    def unanswered(self) -> KafkaException | None:
        """The last error of a connection, if no broker has answered since."""
        answered_at, failure = self.answered_at, self.last_failure
        if failure is None or (answered_at is not None and answered_at > failure[1]):
            return None
        return failure[0]

    def obstacle(self, since: float) -> KafkaException | None:
        """The same, or a refusal since then: one broker's, whose partitions wait for it."""
        failure = self.last_failure
        if failure is not None and failure[1] >= since:
            error = failure[0]
            if isinstance(error, AuthenticationException):
                return error
        return self.unanswered()

    def __repr__(self) -> str:
        state = "reached" if self.unreachable_since is None else "unreachable"
        return f"Reachability({state}, answered at {self.answered_at})"
