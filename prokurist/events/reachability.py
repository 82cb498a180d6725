"""Records when a broker answered last, and since when none can be reached.

Thread: the network thread writes, any thread reads. Each attribute is one reference, replaced
as a whole; two of them may be of two moments.
"""

from collections.abc import Mapping
from typing import Final

from prokurist.errors import AuthenticationException, KafkaException, Wait
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import Node

ONE_SILENCE: Final = 1.0
"""Longest gap in seconds between two silences that count as one."""


@dataclass(frozen=True, slots=True)
class Silence:
    """A broker's silence; instants on the client's clock."""

    node: Node
    began: float
    until: float


class Reachability:
    """When brokers could be reached; instants on the client's clock.

    Attributes:
        answered_at: When a broker answered last; None before the first answer.
        unreachable_since: Since when there is no connection to any broker though one is
            wanted; None while there is one, or while none is needed.
        last_failure: The last error of a connection, and when it came; None before the first.
        outage: The error of the last broker that was asked, once each has failed; None while
            there are others to ask.
        silences: The silence that brokers have asked for, of fetches or of records to write,
            by their ids: this client is over a quota.
    """

    __slots__ = ("answered_at", "last_failure", "outage", "silences", "unreachable_since")

    def __init__(self) -> None:
        self.answered_at: float | None = None
        self.unreachable_since: float | None = None
        self.last_failure: tuple[KafkaException, float] | None = None
        self.outage: KafkaException | None = None
        self.silences: Mapping[int, Silence] = {}

    def throttled(self, node: Node, seconds: float, now: float) -> None:
        """Note the silence that an answer asks for: some seconds, or none."""
        former = self.silences.get(node.id)
        if former is None and not seconds:
            return
        silences = {id_: each for id_, each in self.silences.items() if id_ != node.id}
        if seconds:
            goes_on = former is not None and now - former.until < ONE_SILENCE
            began = former.began if former is not None and goes_on else now
            silences[node.id] = Silence(node, began, now + seconds)
        self.silences = silences

    def silent(self, since: float, now: float, node: Node | None = None) -> list[Wait]:
        """Present silences, of one node or of any, as waits since a given instant."""
        return [
            Wait(
                f"{each.node}, which throttles this client, as it is over a quota",
                max(0.0, each.began - since),
                now - since,
            )
            for each in self.silences.values()
            if each.until > now and node in (None, each.node)
        ]

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
        """The same, or a later refusal by one broker, for waits of its partitions."""
        failure = self.last_failure
        if failure is not None and failure[1] >= since:
            error = failure[0]
            if isinstance(error, AuthenticationException):
                return error
        return self.unanswered()

    def __repr__(self) -> str:
        state = "reached" if self.unreachable_since is None else "unreachable"
        return f"Reachability({state}, answered at {self.answered_at})"
