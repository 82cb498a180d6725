"""Fetches brokers' subscriptions to metrics, and pushes those metrics (KIP-714).

Thread: the network thread alone; `pushes` is read by any.

- No call waits for a push. It uses an established connection, if there is one; the request for
  the subscription always does, unless a caller waits for the client's instance id. So a broker
  without a receiver costs nothing but a look at its API versions, once in five minutes.
- Each push, and each request for the subscription after an answer without metrics, comes an
  interval after the last answer. The first push after such a request comes within half an
  interval to one and a half, so that clients started together do not push together.
- Each value is pushed once: the next push begins at the end of the last accepted one.
- No answer of a broker is an error of the user's calls: it is logged, and at worst ends
  the pushing.
"""

import math
from collections.abc import Iterable
from copy import copy
from random import Random
from typing import Final
from uuid import UUID

from prokurist.errors import KafkaException
from prokurist.events.application_events import InstanceId, PushLast
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.telemetry_log_events import (
    TELEMETRY_ENDED,
    TELEMETRY_NOT_PUSHED,
    TELEMETRY_NOT_TOLD,
    TELEMETRY_PUSHED,
    TELEMETRY_SUBSCRIBED,
)
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.connections.bootstrap import Bootstrap
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Lane
from prokurist.network_thread.error_actions import (
    GET_TELEMETRY_SUBSCRIPTIONS,
    PUSH_TELEMETRY,
    Action,
)
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.operations.operation import Operation, Promise, Withdrawn
from prokurist.network_thread.operations.retries import Retries
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.telemetry.payload import MetricsSource, Payload, payload_of
from prokurist.network_thread.wire.telemetry import (
    GetTelemetrySubscriptions,
    PushTelemetry,
    SubscriptionAnswer,
)
from prokurist.types import Node

UNTOLD: Final = 300.0
"""Seconds to the next question where no broker has said how many; Java has the same."""
UNASKED_TRIES: Final = 3
"""Most quick repetitions of a question for which no caller waits."""
LEAST: Final = 0.1
"""Least seconds between two pushes: Kafka's own limit for a subscription."""
WAIT: Final = "the telemetry subscription"


class TelemetryManager:
    """Keeps the subscription of brokers to this client's metrics, and pushes them.

    Args:
        client: To send with.
        metadata: Knows which broker can be asked.
        bootstrap: The bootstrap addresses; their connections serve as well.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        random: For the jitter of the first push.

    Attributes:
        source: Where the metrics come from; the client sets it before the thread starts.
        pushes: True if a broker wants metrics, and so the last ones of a client that closes.
    """

    def __init__(
        self,
        client: NetworkClient,
        metadata: MetadataManager,
        bootstrap: Bootstrap,
        timer: Timer,
        backoff: Backoff,
        random: Random,
    ) -> None:
        self.source: MetricsSource | None = None
        self.pushes: bool = False
        self._client = client
        self._metadata = metadata
        self._bootstrap = bootstrap
        self._timer = timer
        self._backoff = backoff
        self._random = random
        self._life: Operation[None] | None = None
        self._instance: UUID | None = None
        self._told: SubscriptionAnswer | None = None
        self._node: Node | None = None
        self._unfit: set[int] = set()
        self._ended = False
        self._refusal: KafkaException | None = None
        self._callers: list[Call] = []
        self._known: Promise[UUID] = Promise()
        self._resting: Promise[None] | None = None
        self._wants_connection = False
        self._opened = 0

    # --- what the loop and callers ask -----------------------------------------------

    def poll(self) -> None:
        """Begin in the first turn; go on when a connection has come up that was waited for."""
        if self._life is None:
            if not self._ended:
                self._life = Operation(self._live(), "telemetry", self._over)
        elif self._wants_connection and self._client.counters.opened != self._opened:
            self._opened = self._client.counters.opened
            self._wake()

    def handlers(self) -> Handlers:
        """Return the events of a client that pushes metrics."""
        return {
            InstanceId: lambda event: self.instance_id(event.call),
            PushLast: lambda event: self.push_last(event.call),
        }

    async def instance_id(self, call: Call) -> UUID:
        """The id that a broker has given to this client; waits until one has.

        Raises:
            KafkaException: Brokers give none.
        """
        if self._instance is not None:
            return self._instance
        if self._refusal is not None:
            raise copy(self._refusal)
        call.wait_begins(WAIT, self._timer.now)
        known = self._known
        self._callers.append(call)
        try:
            self._wake()
            return await known
        finally:
            self._callers.remove(call)
            call.wait_ends(self._timer.now)

    async def push_last(self, call: Call) -> None:
        """Push once more, and never again: the client closes.

        Only by a connection that stands: no close waits for another one.
        """
        self._stop()
        told, node = self._told, self._ready()
        if self.pushes and told is not None and node is not None:
            await self._push(told, node, call)

    def close(self) -> None:
        """Stop; the client is closing."""
        self._stop()

    def _stop(self) -> None:
        self._ended = True
        if self._life is not None:
            self._life.throw(Withdrawn("the client is closing"))

    def _over(self, _nothing: None, error: KafkaException | None) -> None:
        """The life has ended: because the client closes, or because of a refusal."""
        if error is not None and not isinstance(error, Withdrawn):
            self._ended, self.pushes = True, False
            self._client.trace.emit(TELEMETRY_ENDED, error=error)
            self._refuse(error)

    # --- asking ----------------------------------------------------------------------

    async def _live(self) -> None:
        """Ask, and push for as long as the answer holds, again and again.

        Raises:
            KafkaException: A broker has refused for good.
        """
        while True:
            told = await self._subscription()
            if not told.metrics:
                await self._timer.sleep(told.interval, "the next telemetry question")
                continue
            pause = told.interval * (0.5 + self._random.random())
            action = Action.LATER
            while action is not Action.SUBSCRIBE:
                await self._timer.sleep(pause, "the next telemetry push")
                node = self._ready() or await self._metadata.brokers.next()
                action = await self._push(told, node)
                pause = told.interval

    async def _subscription(self) -> SubscriptionAnswer:
        """Ask until a broker has answered with its subscription.

        Raises:
            KafkaException: A broker has refused for good.
        """
        # By hand: it opens no connection of its own, and rests for as long as a broker says.
        retries = Retries(self._timer, self._backoff, reason="telemetry backoff")
        while True:
            node = await self._to_be_asked()
            try:
                request = GetTelemetrySubscriptions(self._instance)
                answer = (await self._client.send(node, request, any_broker=True)).response
            except Withdrawn:
                raise
            except KafkaException as error:
                met, action = error, Action.RETRY if error.retriable else Action.LATER
            else:
                action = GET_TELEMETRY_SUBSCRIPTIONS.of(answer.error)
                if action is Action.DONE:
                    return self._taken(node, answer)
                met = GET_TELEMETRY_SUBSCRIPTIONS.error(answer.error)
                if action is Action.FATAL:
                    raise met
            self._client.trace.emit(TELEMETRY_NOT_TOLD, node=node, error=met)
            if action is Action.RETRY:
                for call in self._callers:
                    call.met(met)
                if self._callers or retries.count < UNASKED_TRIES:
                    await retries.pause()
                    continue
            else:
                self._refuse(met)
            retries.reset()
            await self._rest(UNTOLD if self._told is None else self._told.interval)
            self._refusal = None

    async def _to_be_asked(self) -> Node:
        """Return a connected broker, once there is one; any while a caller waits."""
        while not self._callers:
            node = self._ready()
            if node is not None:
                return node
            self._wants_connection = True
            try:
                await self._rest(math.inf)
            finally:
                self._wants_connection = False
        return await self._metadata.brokers.next()

    async def _rest(self, seconds: float) -> None:
        """Leave the question for so long, or until something wakes it up."""
        rest = self._resting = Promise[None]()
        due = self._timer.after(seconds, "the next telemetry question", lambda: rest.keep(None))
        try:
            await rest
        finally:
            self._timer.cancel(due)
            self._resting = None

    def _wake(self) -> None:
        """Ask now: a caller waits for the id, or a connection has come up."""
        if self._resting is not None:
            self._resting.keep(None)

    def _ready(self) -> Node | None:
        """Return a broker with an established connection: the last one used, if possible."""
        ready = [each for each in self._brokers() if self._client.is_ready(each, Lane.GENERAL)]
        if self._node in ready:
            return self._node
        return self._client.least_loaded(ready)

    def _brokers(self) -> Iterable[Node]:
        """All that may be asked, also by the addresses that the client has begun with."""
        yield from self._metadata.cluster.nodes.values()
        yield from self._bootstrap.nodes

    def _taken(self, node: Node, answer: SubscriptionAnswer) -> SubscriptionAnswer:
        """Note a subscription, within bounds, and the client's instance id."""
        if self._instance is None:
            # A broker that gives no id leaves it to the client, as Java has it.
            chosen = UUID(int=self._random.getrandbits(128), version=4)
            self._instance = answer.client_instance_id or chosen
        interval = max(answer.interval, LEAST) if answer.interval > 0 else UNTOLD
        told = SubscriptionAnswer(
            error=0,
            client_instance_id=self._instance,
            subscription_id=answer.subscription_id,
            compressions=answer.compressions,
            interval=interval,
            most_bytes=answer.most_bytes,
            delta=answer.delta,
            metrics=answer.metrics,
        )
        self._told, self._node, self._refusal = told, node, None
        self.pushes = bool(told.metrics)
        self._client.trace.emit(
            TELEMETRY_SUBSCRIBED,
            instance=str(self._instance),
            interval=interval,
            metrics=", ".join(each or "(all)" for each in told.metrics) or "(none)",
        )
        self._known.keep(self._instance)
        return told

    def _refuse(self, error: KafkaException) -> None:
        """Fail those who wait for an id, and those who come before the next question."""
        if self._instance is None:
            self._refusal = error
            known, self._known = self._known, Promise()
            known.break_(copy(error))

    # --- pushing ---------------------------------------------------------------------

    async def _push(
        self, told: SubscriptionAnswer, node: Node, last: Call | None = None
    ) -> Action:
        """Push the requested metrics, if there are any.

        Args:
            told: The subscription.
            node: Whom to tell.
            last: The call of a client that closes, for its last push.

        Returns:
            LATER if the subscription holds, SUBSCRIBE if it is to be requested again.

        Raises:
            KafkaException: The broker has refused for good.
        """
        source, instance = self.source, self._instance
        payload = None if source is None else payload_of(source, told, self._unfit)
        if source is None or instance is None or payload is None:
            return Action.LATER
        request = PushTelemetry(
            instance,
            told.subscription_id,
            terminating=last is not None,
            compression=payload.codec.value,
            metrics=payload.data,
        )
        try:
            answer = (
                await self._client.send(node, request, call=last, any_broker=True)
            ).response
        except Withdrawn:
            raise
        except KafkaException as error:
            self._node = None
            self._client.trace.emit(TELEMETRY_NOT_PUSHED, node=node, error=error)
            return Action.LATER if error.retriable else Action.SUBSCRIBE
        self._node = node
        action = PUSH_TELEMETRY.of(answer.error)
        if action is Action.DONE:
            source.taken()
            self._tell(node, payload)
            return Action.LATER
        refused = PUSH_TELEMETRY.error(answer.error)
        self._client.trace.emit(TELEMETRY_NOT_PUSHED, node=node, error=refused)
        if action in (Action.END, Action.FATAL) and last is None:
            raise refused
        if action is Action.ANOTHER_CODEC:
            self._unfit.add(payload.codec.value)
            return Action.SUBSCRIBE
        return Action.SUBSCRIBE if action is Action.SUBSCRIBE else Action.LATER

    def _tell(self, node: Node, payload: Payload) -> None:
        self._client.trace.emit(
            TELEMETRY_PUSHED,
            node=node,
            metrics=payload.metrics,
            bytes=len(payload.data),
            codec=payload.codec.name.lower(),
            left_out=payload.left_out,
        )

    def __repr__(self) -> str:
        state = (
            "ended" if self._ended else "pushing" if self.pushes else "not asked for metrics"
        )
        return f"TelemetryManager({self._instance}, {state})"
