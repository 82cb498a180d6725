"""Candidates for a request to any broker, with their failures.

Thread: the network thread alone.
Invariants: a broker that has failed is asked again only when all others have failed too.

- A broker that did not answer is suspect until another one has answered Metadata: otherwise one
  that is gone would be tried for ever, since its backoff is over before our own is.
- One with a bad certificate, or without our mechanism, is passed by likewise.
- When all brokers that are known are suspect, the bootstrap addresses are asked again
  (KIP-899), unless `metadata.recovery.strategy` is `none`.
- When all of these have failed, the client is in an outage, which an answer ends.
"""

from collections.abc import Callable

from prokurist.errors import (
    AuthenticationException,
    KafkaException,
    SaslAuthenticationException,
)
from prokurist.events.call import Call
from prokurist.events.cluster import Cluster
from prokurist.network_thread.connections.bootstrap import Bootstrap
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.outage import Outage
from prokurist.network_thread.connections.requests import Lane
from prokurist.network_thread.operations.timer import Timer
from prokurist.types import Node


class BrokersToAsk:
    """Chooses the broker that a question for any of them goes to next.

    Args:
        client: Its connections.
        bootstrap: The bootstrap addresses.
        cluster: Returns the snapshot at hand.
        timer: The Timer.
        rebootstrap: True to ask bootstrap addresses when no known broker answers.

    Attributes:
        suspects: Ids of the brokers that have failed.
    """

    def __init__(
        self,
        client: NetworkClient,
        bootstrap: Bootstrap,
        cluster: Callable[[], Cluster],
        timer: Timer,
        *,
        rebootstrap: bool,
    ) -> None:
        self.suspects: set[int] = set()
        self._client = client
        self._bootstrap = bootstrap
        self._cluster = cluster
        self._timer = timer
        self._rebootstrap = rebootstrap
        self._refusals: dict[tuple[str, int], AuthenticationException] = {}
        self._outage = Outage(client.trace, client.reachability, bootstrap.servers)

    async def next(self, call: Call | None = None) -> Node:
        """The broker to ask now; waits while all of them are backing off.

        Args:
            call: Its ledger shows the wait, also for brokers that throttle this client.
        """
        if call is not None:
            call.wait_begins("a broker to ask", self._timer.now)
        while True:
            await self._bootstrap.expand()
            nodes = self.candidates()
            node = self._client.least_loaded(nodes)
            if node is not None:
                return node
            silent = [each for each in nodes if self._client.is_throttled(each, Lane.GENERAL)]
            if silent and call is not None:
                call.wait_begins(self._client.awaited(Lane.GENERAL, *silent), self._timer.now)
            pause = self._client.next_chance(nodes) - self._timer.now
            await self._timer.sleep(max(pause, 0.0), "no broker may be asked yet")

    def candidates(self) -> list[Node]:
        """Known brokers, then bootstrap addresses; no suspects."""
        groups = self._groups()
        for group in groups:
            fit = [node for node in group if node.id not in self.suspects]
            if fit:
                return fit
        # Each of them has failed once: each may be tried again.
        self.suspects.clear()
        return groups[0]

    def _groups(self) -> list[list[Node]]:
        """The brokers that are known, and the bootstrap addresses where they are of use."""
        known = list(self._cluster().nodes.values())
        groups = [known] if known else [list(self._bootstrap.nodes)]
        if known and self._rebootstrap:
            groups.append(list(self._bootstrap.nodes))
        return groups

    def suspect(self, node: Node, error: KafkaException) -> KafkaException:
        """Ask others before this one.

        Returns:
            The error for waiting callers: this one, or one that names all bootstrap addresses,
            if each of them has failed by now.
        """
        self.suspects.add(node.id)
        told = self._bootstrap.failed(node, error)
        if all(each.id in self.suspects for group in self._groups() for each in group):
            self._outage.goes_on(self._cluster(), told, self._timer.now)
        return told

    def failed(self, node: Node, error: KafkaException) -> KafkaException:
        """The same, where asking others helps.

        Raises:
            KafkaException: It does not; see `_judge` and `_check`.
        """
        self._judge(node, error)
        told = self.suspect(node, error)
        self._check()
        return told

    def _judge(self, node: Node, error: KafkaException) -> None:
        """Raise an error that other brokers would repeat.

        A broker's certificate, its listener and its mechanisms say nothing of the other
        brokers: such a refusal is kept for `_check`, until this broker fails in another way.
        Refused credentials are told at once: each further broker would count a failed login
        of the same account.

        Raises:
            KafkaException: This error.
        """
        address = node.host, node.port
        self._refusals.pop(address, None)
        if error.retriable:
            return
        credentials = isinstance(error, SaslAuthenticationException)
        if credentials or not isinstance(error, AuthenticationException):
            raise error
        self._refusals[address] = error

    def _check(self) -> None:
        """Raise the first refusal that was kept, where no other broker is left to ask.

        Raises:
            KafkaException: That refusal.
        """
        if self._refusals and not self._others_are_left():
            refusal = next(iter(self._refusals.values()))
            self._refusals.clear()
            raise refusal

    def _others_are_left(self) -> bool:
        return any(
            each.id not in self.suspects and not self._client.refusals.has(each)
            for group in self._groups()
            for each in group
        )

    def answered(self) -> None:
        """Forget who has refused, and end the outage: a broker has answered."""
        self._refusals.clear()
        self._outage.ended(self._cluster())

    @property
    def all_have_refused(self) -> bool:
        """True if every broker and every bootstrap address refuses connections.

        A broker that is silent has not refused: it may answer yet.
        """
        return all(self._client.has_refused(each) for group in self._groups() for each in group)

    def __repr__(self) -> str:
        return f"BrokersToAsk({len(self.suspects)} suspects)"
