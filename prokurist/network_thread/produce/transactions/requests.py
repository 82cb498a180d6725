"""Requests of transactions, each repeated until its coordinator has done it.

Thread: the network thread alone. A repetition is the same request with the same numbers, and
coordinators give the same answer; the error tables list the codes that end the repetition.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from prokurist.errors import ConcurrentTransactionsException, KafkaException
from prokurist.events.call import Call
from prokurist.network_thread.cluster.attempts import Question, Response, Verdict
from prokurist.network_thread.cluster.coordinators import Coordinator
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer
from prokurist.network_thread.error_actions import Action, ErrorTable
from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.wire.produce import ProducerIdAnswer
from prokurist.network_thread.wire.request import Request
from prokurist.network_thread.wire.transactions import (
    CoordinatorAnswer,
    EndTxnAnswer,
    PartitionErrors,
)
from prokurist.types import Node, TopicPartition

QUICK: Final = 3
"""Short pauses while the transaction before this one is still being completed."""
QUICK_PAUSE: Final = 0.02
COORDINATOR_LOAD_IN_PROGRESS: Final = 14

WORST_FIRST: Final = (
    Action.FATAL,
    Action.COMMIT_FAILED,
    Action.REDISCOVER,
    Action.REFRESH,
    Action.RETRY,
)
"""Precedence of actions within one answer."""

Failures: TypeAlias = Mapping[TopicPartition, int]
"""Error codes of an answer."""

WHOLE: Final = TopicPartition("", -1)
"""Stands for the request as a whole."""

TransactionAnswer: TypeAlias = (
    PartitionErrors | CoordinatorAnswer | EndTxnAnswer | ProducerIdAnswer
)
"""Answers to the requests of transactions."""


class TransactionRequest(Question[Response]):
    """A request about a transaction.

    Args:
        request: The message; its answer is a `TransactionAnswer`.
        table: Actions by error code.
        route: The coordinator.
        call: The call, for entries in its ledger; None in the background.
        effect: True if the request alone changes the outcome of the transaction.
        explain: Makes the exception for a code and all failures; None for that of the table.
    """

    def __init__(
        self,
        request: Request[Response],
        table: ErrorTable,
        route: Coordinator,
        call: Call | None,
        *,
        effect: bool,
        explain: Callable[[int, Failures], KafkaException] | None = None,
    ) -> None:
        self.call = call
        self.response: Response | None = None
        self._explain = explain or (lambda code, _failed: table.error(code))
        self._request = request
        self._table = table
        self._route = route
        self.pause: str | None = f"{request.api} backoff"
        self._effect = effect
        self._quick = 0

    @property
    def answered(self) -> Response:
        """The answer, once it is over."""
        if self.response is None:
            raise AssertionError(f"{self!r} has no answer")
        return self.response

    @property
    def is_over(self) -> bool:
        """See `Question`."""
        return self.response is not None

    def send(self, client: NetworkClient, node: Node) -> Promise[Answer[Response]]:
        """See `Question`."""
        return client.send(
            node,
            self._request,
            call=self.call,
            lane=self._route.lane,
            effect=self._effect,
        )

    def judge(self, answer: Answer[Response]) -> Verdict:
        """See `Question`."""
        failed = failures(answer.response)
        if not failed:
            self.response = answer.response
            return Verdict(Action.DONE, wrote=True)
        table = self._table
        actions = {table.of(code) for code in failed.values()}
        action = next(each for each in WORST_FIRST if each in actions)
        code = next(each for each in failed.values() if table.of(each) is action)
        error = self._explain(code, failed)
        if isinstance(error, ConcurrentTransactionsException) and self._quick < QUICK:
            self._quick += 1
            self.retries.shorten(QUICK_PAUSE)
        # A coordinator that could not write, or has moved, may have written all the same.
        undone = set(failed.values()) == {COORDINATOR_LOAD_IN_PROGRESS}
        return Verdict(action, error, undone=undone)

    def __repr__(self) -> str:
        return f"TransactionRequest({self._request.api})"


def failures(answer: object) -> Failures:
    """Return the error codes of a `TransactionAnswer`, by partition where there are some."""
    if isinstance(answer, PartitionErrors):
        return {tp: code for tp, code in answer.errors.items() if code}
    code: int = answer.error  # type: ignore[attr-defined]  # all others have one
    return {WHOLE: code} if code else {}
