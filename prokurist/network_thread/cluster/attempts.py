"""The attempts of a request: the one loop that finds a broker, asks it, and asks again.

Thread: the network thread alone.

A request needs three things: a message of `wire/`, a table of error codes, and a route to a
broker. `Attempts.request` takes these. Work that changes between its attempts is a `Question`
of its own, for `Attempts.ask`. In each round

    the route finds a broker ─► the question is sent ─► its answer is judged
      ▲                                                     │
      └── a pause ◄── the route forgets what was refuted ◄──┘  (until nothing is left)

- A call's ledger shows each wait, each attempt with its outcome, and the last error; the call
  ends at its deadline in whichever of these steps it is.
- A route raises where no other attempt can help; so does a fatal verdict.
"""

from collections.abc import Callable
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from prokurist.errors import KafkaException
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.clock import NEVER
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.error_actions import Action, ErrorTable
from prokurist.network_thread.operations.operation import Promise, Withdrawn
from prokurist.network_thread.operations.retries import Retries
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.request import Request
from prokurist.types import Node

Response = TypeVar("Response")

AGAIN: Final = frozenset({Action.RETRY, Action.REFRESH, Action.REDISCOVER})
"""Actions that another attempt follows, whatever the request is."""


class Verdict(NamedTuple):
    """The meaning of an answer.

    Attributes:
        action: The action of its error code.
        error: The error; None for success.
        undone: True if the request is known to have changed nothing.
        wrote: True for an accepted write: the coordinator can write.
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
        """True if any other broker would do: no connection is waited for in vain."""
        ...

    async def find(self, call: Call) -> Node | None:
        """Return the broker; None while none is known, with the reason in the ledger.

        Raises:
            KafkaException: None will be known, however long one waits.
        """
        ...

    def note_failure(self, node: Node, error: KafkaException) -> KafkaException:
        """Note that a broker gave no answer; returns the error to report.

        Raises:
            KafkaException: No other attempt can help.
        """
        ...

    def note_answer(self, node: Node, verdict: Verdict) -> KafkaException | None:
        """Note an answer, which may refute the route; returns the error to report."""
        ...


class Question(Generic[Response]):
    """Work for a broker, asked for until nothing of it is left.

    Attributes:
        call: The call to be answered; None in the background.
        pause: The name of its pauses in the Timer; None to name them after the call.
        retries: Its pauses and failures, while it is asked.
    """

    call: Call | None = None
    pause: str | None = None
    retries: Retries

    @property
    def is_over(self) -> bool:
        """True if nothing is left to ask."""
        raise NotImplementedError

    def send(self, client: NetworkClient, node: Node) -> Promise[Answer[Response]]:
        """Send a request for what is left."""
        raise NotImplementedError

    def judge(self, answer: Answer[Response]) -> Verdict:
        """Take an answer, and judge it.

        Raises:
            KafkaException: No other attempt can help.
        """
        raise NotImplementedError

    def note(self, error: KafkaException) -> None:
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

    async def request(
        self,
        route: Route,
        request: Request[Response],
        table: ErrorTable,
        call: Call | None = None,
        *,
        effect: bool = False,
        note: Callable[[KafkaException], None] | None = None,
        failure: Callable[[int], KafkaException] | None = None,
        pause: str | None = None,
    ) -> Response:
        """Send a request until it is answered without an error.

        Args:
            route: Its destination.
            request: The message; its answer has an `error`.
            table: Actions by error code.
            call: The call to be answered; None in the background.
            effect: True if it changes state on the broker.
            note: Called with the error of each failed attempt.
            failure: Makes the exception for a code; None for that of the table.
            pause: The name of its pauses in the Timer; None to name them after the call.

        Raises:
            KafkaException: No other attempt can help.
        """
        question = OneRequest(
            route, request, table, call, effect=effect, note=note, failure=failure
        )
        question.pause = pause
        await self.ask(route, question)
        return question.response

    async def ask(self, route: Route, question: Question[Response]) -> None:
        """Ask a question until nothing of it is left.

        Raises:
            KafkaException: No other attempt can help.
        """
        retries = question.retries = self.retries(question.call, question.pause)
        while not question.is_over:
            # In the background a call for each attempt: the ledger of a single call would grow
            # for as long as brokers are away.
            node = await route.find(question.call or Call("", self._timer.now, NEVER))
            if node is not None:
                await self._ask_once(route, node, question)
            if not question.is_over:
                await retries.pause()

    async def _ask_once(self, route: Route, node: Node, question: Question[Response]) -> None:
        """Make an attempt, and note its outcome before anything else is waited for."""
        call, sent = question.call, question.send(self._client, node)
        if call is not None:
            call.wait_begins(self._client.awaited(route.lane, node), self._timer.now)
        try:
            answer = await sent
        except Withdrawn:
            raise
        except KafkaException as failure:
            error = route.note_failure(node, failure)
            question.note(error)
            if call is not None:
                call.met(error)
            return
        verdict = question.judge(answer)
        told = route.note_answer(node, verdict)
        if verdict.error is None:
            return
        question.note(told or verdict.error)
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
    """A request without changes between attempts, and with one error code in its answer."""

    def __init__(
        self,
        route: Route,
        request: Request[Response],
        table: ErrorTable,
        call: Call | None,
        *,
        effect: bool,
        note: Callable[[KafkaException], None] | None,
        failure: Callable[[int], KafkaException] | None,
    ) -> None:
        self.call = call
        self._route = route
        self._request = request
        self._table = table
        self._effect = effect
        self._note = note
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

    def judge(self, answer: Answer[Response]) -> Verdict:
        """See `Question`."""
        code: int = answer.response.error  # type: ignore[attr-defined]  # see `Attempts.request`
        action = self._table.of(code)
        if action is Action.DONE:
            self._responses.append(answer.response)
            return Verdict(action, wrote=self._effect)
        # An action that only its own manager can take must not become a loop.
        return Verdict(action if action in AGAIN else Action.FATAL, self._failure(code))

    def note(self, error: KafkaException) -> None:
        """See `Question`."""
        if self._note is not None:
            self._note(error)

    def __repr__(self) -> str:
        return f"OneRequest({self._request.api})"
