"""The attempts of a request: the one loop that finds a broker, asks it, and asks again.

Thread: the network thread alone.

A request needs three things: a message of `wire/`, a table of error codes, and a route to a
broker. `Attempts.asked` takes these. Work that changes between its attempts is a `Question` of
its own, for `Attempts.ask`. In each round

    the route finds a broker ─► the question is sent ─► its answer is judged
      ▲                                                     │
      └── a pause ◄── the route forgets what was refuted ◄──┘  (until nothing is left)

- A call's ledger shows each wait, each attempt with its outcome, and the last error; the call
  ends at its deadline in whichever of these steps it is.
- A route raises where no other attempt can help; so does a fatal verdict.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

from prokurist.errors import KafkaException
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.error_actions import Action, ErrorTable
from prokurist.network_thread.operations.operation import Promise, Withdrawn
from prokurist.network_thread.operations.retries import Retries
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.request import Request
from prokurist.types import Node

Response = TypeVar("Response")


class Verdict(NamedTuple):
    """The meaning of an answer.

    Attributes:
        action: The action that it asks for.
        error: The error; None if there is none.
        undone: True if it proves that the request changed nothing.
        wrote: True for an accepted write, which proves that a coordinator can write.
    """

    action: Action
    error: KafkaException | None = None
    undone: bool = False
    wrote: bool = False


class Route(Protocol):
    """A destination of requests, resolved again for each attempt."""

    @property
    def lane(self) -> Lane:
        """The lane of its requests."""
        ...

    @property
    def is_any(self) -> bool:
        """True if another broker would do as well: no connection is waited for in vain."""
        ...

    async def find(self, call: Call | None) -> Node | None:
        """Return the broker; None if none is known yet, and the ledger shows why.

        Raises:
            KafkaException: None will be known, however long one waits.
        """
        ...

    def failed(self, node: Node, error: KafkaException) -> KafkaException:
        """Note that a broker gave no answer; returns the error to report.

        Raises:
            KafkaException: No other attempt can help.
        """
        ...

    def answered(self, node: Node, verdict: Verdict) -> KafkaException | None:
        """Note an answer, which may refute the route; returns the error to report."""
        ...


class Question(Generic[Response]):
    """Work for a broker, asked for until nothing of it is left.

    Attributes:
        call: The call that it is for; None in the background.
    """

    call: Call | None = None

    @property
    def is_over(self) -> bool:
        """True if nothing is left to ask."""
        raise NotImplementedError

    def send(self, client: NetworkClient, node: Node) -> Promise[Answer[Response]]:
        """Send a request for what is left."""
        raise NotImplementedError

    def take(self, answer: Answer[Response]) -> Verdict:
        """Take an answer, and judge it.

        Raises:
            KafkaException: No other attempt can help.
        """
        raise NotImplementedError

    def met(self, error: KafkaException) -> None:
        """Note the error of an attempt."""

    async def recover(self, verdict: Verdict) -> None:
        """Do what the action of an error asks for, beside another attempt.

        Raises:
            KafkaException: No other attempt can help.
        """


class Attempts:
    """Asks brokers until they have answered.

    Args:
        client: To ask with.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
    """

    def __init__(self, client: NetworkClient, timer: Timer, backoff: Backoff) -> None:
        self._client = client
        self._timer = timer
        self._backoff = backoff

    async def asked(
        self,
        route: Route,
        request: Request[Response],
        table: ErrorTable,
        call: Call | None = None,
        *,
        effect: bool = False,
        met: Callable[[KafkaException], None] | None = None,
        failure: Callable[[int], KafkaException] | None = None,
        reason: str | None = None,
    ) -> Response:
        """Send a request until it is answered without an error.

        Args:
            route: Its destination.
            request: The message; its answer has an `error`.
            table: Actions by error code.
            call: The call that it is for; None in the background.
            effect: True if it changes state on the broker.
            met: Called with the error of each failed attempt.
            failure: Makes the exception for a code; None for that of the table.
            reason: The name of its pauses in the Timer.

        Raises:
            KafkaException: No other attempt can help.
        """
        question = OneRequest(
            route, request, table, call, effect=effect, met=met, failure=failure
        )
        await self.ask(route, question, self.retries(call, reason))
        return question.response

    async def ask(
        self, route: Route, question: Question[Response], retries: Retries | None = None
    ) -> None:
        """Ask a question until nothing of it is left.

        Args:
            route: Its destination.
            question: The question.
            retries: The pauses; None for those of its call.

        Raises:
            KafkaException: No other attempt can help.
        """
        call = question.call
        retries = retries or self.retries(call)
        while not question.is_over:
            node = await route.find(call)
            if node is not None:
                await self._ask_once(route, node, question)
            if not question.is_over:
                await retries.pause()

    async def _ask_once(self, route: Route, node: Node, question: Question[Response]) -> None:
        """Make an attempt, and note its outcome before anything else is waited for."""
        call = question.call
        if call is not None:
            call.wait_begins(self._client.awaited(route.lane, node), self._timer.now)
        try:
            answer = await question.send(self._client, node)
        except Withdrawn:
            raise
        except KafkaException as failure:
            error = route.failed(node, failure)
            question.met(error)
            if call is not None:
                call.met(error)
            return
        verdict = question.take(answer)
        told = route.answered(node, verdict)
        if verdict.error is None:
            return
        question.met(told or verdict.error)
        if call is not None and answer.attempt is not None:
            outcome = type(verdict.error).__name__
            call.ended(
                answer.attempt, self._timer.now, outcome, verdict.error, undone=verdict.undone
            )
        if verdict.action in (Action.FATAL, Action.COMMIT_FAILED):
            raise verdict.error
        await question.recover(verdict)

    def retries(self, call: Call | None = None, reason: str | None = None) -> Retries:
        """The pauses of some work; see `Retries`."""
        return Retries(self._timer, self._backoff, call, reason)

    def __repr__(self) -> str:
        return f"Attempts({self._client})"


class OneRequest(Question[Response]):
    """A request that stays the same, and whose answer has one error code."""

    def __init__(
        self,
        route: Route,
        request: Request[Response],
        table: ErrorTable,
        call: Call | None,
        *,
        effect: bool,
        met: Callable[[KafkaException], None] | None,
        failure: Callable[[int], KafkaException] | None,
    ) -> None:
        self.call = call
        self._route = route
        self._request = request
        self._table = table
        self._effect = effect
        self._met = met
        self._failure = failure or table.error
        self._responses: list[Response] = []

    @property
    def is_over(self) -> bool:
        """See `Question`."""
        return bool(self._responses)

    @property
    def response(self) -> Response:
        """The answer without an error."""
        return self._responses[0]

    def send(self, client: NetworkClient, node: Node) -> Promise[Answer[Response]]:
        """See `Question`."""
        return client.send(
            node,
            self._request,
            call=self.call,
            lane=self._route.lane,
            effect=self._effect,
            any_broker=self._route.is_any,
        )

    def take(self, answer: Answer[Response]) -> Verdict:
        """See `Question`."""
        code: int = answer.response.error  # type: ignore[attr-defined]  # see `Attempts.asked`
        action = self._table.of(code)
        if action is not Action.DONE:
            return Verdict(action, self._failure(code))
        self._responses.append(answer.response)
        return Verdict(action, wrote=self._effect)

    def met(self, error: KafkaException) -> None:
        """See `Question`."""
        if self._met is not None:
            self._met(error)

    def __repr__(self) -> str:
        return f"OneRequest({self._request.api})"
