"""Passes over a broker that does not answer, where another broker would do.

Thread: the network thread alone.

- A question is asked of another broker when the first is silent for a third of the time that
  is left, and for five seconds at most.
- Questions that prepare others go by the same rule (`ask_any`), and leave a silent broker
  among the suspects, which look-ups of coordinators pass over.
- A change is not: the silent broker might make it later, behind a change that follows. So a
  change goes to a broker that has just answered a question (`AnsweringBroker`).
- Each broker is passed over once for each question: where all are slow, one is waited for.
"""

from typing import Any, Final, TypeVar

from prokurist.errors import KafkaException, RetriableException
from prokurist.events.call import Call
from prokurist.network_thread.admin.job import AdminJob, AdminTools
from prokurist.network_thread.cluster.attempts import OneRequest, Route
from prokurist.network_thread.cluster.routes import AnyBroker, Controller
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer
from prokurist.network_thread.error_actions import ErrorTable
from prokurist.network_thread.operations.interruptible import Interruptible
from prokurist.network_thread.operations.operation import Promise, Withdrawn, begin
from prokurist.network_thread.wire.metadata import Metadata
from prokurist.network_thread.wire.request import Request
from prokurist.types import Node

Response = TypeVar("Response")

MOST: Final = 5.0
MOST_FOR_A_SIGN: Final = 1.0
SHARE: Final = 1 / 3
"""Seconds, and share of the time that is left, that a broker may be silent."""


class Patience:
    """Bounds the silence of brokers, for one question.

    Args:
        tools: The client core.
        call: The call that waits.
        most: Seconds that a broker may be silent, at most.
    """

    def __init__(self, tools: AdminTools, call: Call, most: float = MOST) -> None:
        self._tools = tools
        self._call = call
        self._most = most
        self._passed: set[int] = set()

    def others(self, node: Node) -> bool:
        """Return True if another broker may be asked instead."""
        metadata = self._tools.metadata
        return bool(metadata.cluster.nodes.keys() - metadata.brokers.suspects - {node.id})

    def bound(self, node: Node, answer: Promise[Answer[Response]]) -> Promise[Answer[Response]]:
        """Await an answer, for as long as no other broker should be asked."""
        if node.id in self._passed or not self.others(node):
            return answer
        return begin(self._await(node, answer), "an answer")

    async def _await(self, node: Node, answer: Promise[Any]) -> Any:
        timer = self._tools.timer
        seconds = min(self._call.deadline.remaining(timer.now) * SHARE, self._most)
        wait = Interruptible(answer)

        def pass_over() -> None:
            self._passed.add(node.id)
            wait.interrupt(
                RetriableException(
                    f"{node} has not answered for {seconds:.3g} s; another broker is asked"
                )
            )

        due = timer.after(seconds, f"silence of {node}", pass_over)
        try:
            return await wait.outcome
        finally:
            timer.cancel(due)

    def __repr__(self) -> str:
        return f"Patience({len(self._passed)} passed over)"


class PatientRequest(OneRequest[Response]):
    """A question to any broker, with bounded silence."""

    def __init__(
        self, job: AdminJob, route: Route, request: Request[Response], table: ErrorTable
    ) -> None:
        super().__init__(route, request, table, job.call, effect=False, note=None, failure=None)
        self._patience = Patience(job.tools, job.call)

    def send(self, client: NetworkClient, node: Node) -> Promise[Answer[Response]]:
        """See `Question`."""
        return self._patience.bound(node, super().send(client, node))


async def ask_any(job: AdminJob, request: Request[Response], table: ErrorTable) -> Response:
    """Ask any broker, and pass over those that are silent.

    Raises:
        KafkaException: No other attempt can help.
    """
    route = AnyBroker(job.tools.metadata.brokers)
    question = PatientRequest(job, route, request, table)
    await job.tools.attempts.ask(route, question)
    return question.response


class AnsweringBroker(Controller):
    """The route of a change to the controller, through a broker that has just answered.

    Args:
        tools: The client core.
        call: The call that waits.
    """

    def __init__(self, tools: AdminTools, call: Call) -> None:
        super().__init__(tools.metadata)
        self._client = tools.client
        self._timer = tools.timer
        self._patience = Patience(tools, call, MOST_FOR_A_SIGN)

    async def find(self, call: Call) -> Node | None:
        """See `Route`."""
        node = await super().find(call)
        if node is None or not self.is_any or not self._patience.others(node):
            return node
        call.wait_begins(f"a sign of life of {node}", self._timer.now)
        sign = self._client.send(node, Metadata(()), any_broker=True)
        try:
            await self._patience.bound(node, sign)
        except Withdrawn:
            raise
        except KafkaException as error:
            call.met(self.note_failure(node, error))
            return None
        return node
