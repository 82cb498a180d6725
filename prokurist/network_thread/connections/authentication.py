"""SASL on connections: handshake, authentication and re-authentication.

Thread: the network thread alone; a mechanism's own work is done by the helper.
Invariants: its requests stand in the connection's own pipeline, ahead of waiting requests and
behind those in flight, so that re-authentication (KIP-368) loses nothing.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from prokurist.errors import (
    AuthenticationException,
    DisconnectException,
    IllegalSaslStateException,
    KafkaException,
    SaslAuthenticationException,
    UnsupportedSaslMechanismException,
    error_for,
)
from prokurist.network_thread.connections.pipeline import Pipeline
from prokurist.network_thread.connections.requests import Answer, Unsent
from prokurist.network_thread.io.helper import HelperThread, Job
from prokurist.network_thread.operations.operation import Operation, Promise, Withdrawn
from prokurist.network_thread.operations.timer import Due, Timer
from prokurist.network_thread.wire.request import Request
from prokurist.network_thread.wire.sasl import SaslAuthenticate, SaslHandshake
from prokurist.security.mechanism import Mechanism, printable

UNSUPPORTED_MECHANISM: Final = 33
ILLEGAL_STATE: Final = 34

MOST_ROUNDS: Final = 16
"""Messages of a mechanism; none has more than five."""

EARLIEST, LATEST = 0.85, 0.95
"""Share of a session's life before its renewal: between the two, at random."""

BETWEEN: Final = 1.0
"""Seconds between two authentications of a connection: a broker refuses a sooner one."""

Value = TypeVar("Value")
Response = TypeVar("Response")


class Mechanisms(Protocol):
    """Makes the mechanism of one authentication."""

    def make(self, host: str) -> Mechanism:
        """A mechanism, to be used once.

        Args:
            host: The broker's name.
        """
        ...

    def pause(self) -> float:
        """Seconds to wait before credentials are asked for: their source has just failed."""
        ...

    @property
    def may_ask_again(self) -> bool:
        """True if the token source has failed, but seldom enough for another try."""
        ...


class Authenticator:
    """Parts shared by a client's authentications: mechanisms and the helper thread.

    Args:
        mechanisms: Makes mechanisms from the configuration.
        helper: Does their work.
        draw: Draws from [0, 1).
    """

    def __init__(
        self, mechanisms: Mechanisms, helper: HelperThread, draw: Callable[[], float]
    ) -> None:
        self.mechanisms: Mechanisms = mechanisms
        self._helper = helper
        self._draw = draw
        self._promised: dict[Job, Promise[Any]] = {}

    def run(self, work: Callable[[], Value]) -> Promise[Value]:
        """Have the helper do some work."""
        promise = Promise[Value]()
        job = self._helper.submit(work)
        self._promised[job] = promise

        def forsake() -> None:
            job.is_abandoned = True
            self._promised.pop(job, None)

        promise.on_forsaken = forsake
        return promise

    def collect(self) -> None:
        """Pass on the results of the helper thread."""
        for job in self._helper.collect():
            promise = self._promised.pop(job, None)
            if promise is None:
                continue
            if job.error is not None:
                promise.break_(job.error)
            else:
                promise.keep(job.value)

    def lasts(self, lifetime: float) -> float:
        """Return the seconds until a session is renewed."""
        return max(BETWEEN, lifetime * (EARLIEST + (LATEST - EARLIEST) * self._draw()))

    def close(self) -> None:
        """Close the helper thread."""
        self._helper.close()


class Authentication:
    """The authentications of one connection, one at a time.

    Args:
        authenticator: The client's.
        pipeline: The connection's.
        timer: The Timer.
        press: Called when a request wants to be written.

    Attributes:
        renew_at: When the session is to be renewed; infinite for never.
        began_at: When the last one began.
    """

    def __init__(
        self,
        authenticator: Authenticator,
        pipeline: Pipeline,
        timer: Timer,
        press: Callable[[], None],
    ) -> None:
        self._awaited: Mechanism | None = None
        self.renew_at: float = float("inf")
        self.began_at: float = timer.now
        self._authenticator = authenticator
        self._pipeline = pipeline
        self._timer = timer
        self._press = press
        self._within: float | None = None
        self._running: Operation[float] | None = None

    @property
    def waits_for(self) -> str:
        """The obstacle in words, for the text of an error; empty for none."""
        return "" if self._awaited is None else str(self._awaited)

    @property
    def is_running(self) -> bool:
        """True while an authentication is in progress."""
        return self._running is not None

    @property
    def is_due(self) -> bool:
        """True if the session has to be renewed before waiting requests are written."""
        moment = max(self.renew_at, self._pipeline.throttled_until)
        is_time = self._timer.now >= moment and not self.is_running
        return is_time and bool(self._pipeline.waiting)

    def begin(
        self, done: Callable[[KafkaException | None], None], within: float | None = None
    ) -> None:
        """Authenticate; no other request is written meanwhile.

        Args:
            done: Called with None, or with why not.
            within: Seconds for the credentials to be made ready; None where the connection
                itself has a limit.
        """
        self._within = within
        self.began_at = self._timer.now
        self._pipeline.holds = True
        self.renew_at = float("inf")
        operation = Operation(
            self._authenticate(), "SASL authentication", partial(self._ended, done)
        )
        self._running = None if operation.ended else operation

    def stop(self) -> None:
        """Stop authenticating, since the connection has ended."""
        self._pipeline.holds = False
        self.renew_at = float("inf")
        running, self._running = self._running, None
        if running is not None:
            running.throw(Withdrawn("the connection is over"))

    def _ended(
        self,
        done: Callable[[KafkaException | None], None],
        lifetime: float | None,
        error: KafkaException | None,
    ) -> None:
        self._running = self._awaited = None
        if isinstance(error, Withdrawn):
            return
        if lifetime:
            self.renew_at = self._timer.now + self._authenticator.lasts(lifetime)
        if error is None:
            self._pipeline.holds = False
        done(error)

    async def _authenticate(self) -> float:
        """Run the mechanism; returns the seconds that the session lives, 0 for ever."""
        node = self._pipeline.node
        mechanism = self._authenticator.mechanisms.make(node.host)
        answer = await self._asked(SaslHandshake(mechanism.name))
        if answer.error:
            raise unaccepted(str(node), mechanism.name, answer.error, answer.enabled)
        message = await self._helped(mechanism, mechanism.first)
        for _ in range(MOST_ROUNDS):
            step = await self._asked(SaslAuthenticate(message))
            if step.error:
                raise refusal(str(node), mechanism, step.error, step.message)
            following = await self._helped(mechanism, partial(mechanism.answer, step.data))
            if following is None:
                return step.lifetime
            message = following
        raise SaslAuthenticationException(
            f"{node} has not ended the authentication by {mechanism.name} after "
            f"{MOST_ROUNDS} messages"
        )

    async def _helped(self, mechanism: Mechanism, work: Callable[[], Value]) -> Value:
        self._awaited = mechanism
        due: Due | None = None
        if self._within is not None:
            due = self._timer.after(self._within, f"credentials of {mechanism!r}", self._late)
        try:
            return await self._made_ready(work)
        except (AuthenticationException, Withdrawn):
            raise
        except KafkaException as error:
            if error.retriable:
                raise
            # A secret's callable that returns none, say: it is told like a refusal.
            raise SaslAuthenticationException(str(error)) from error
        finally:
            self._awaited = None
            if due is not None:
                self._timer.cancel(due)

    async def _made_ready(self, work: Callable[[], Value]) -> Value:
        """Have the helper do some work, after the back-off of what it asks, and again then."""
        # By hand: the back-off is that of a token's source, which all connections share.
        mechanisms = self._authenticator.mechanisms
        while True:
            # Again where another connection has asked meanwhile, and without success.
            while pause := mechanisms.pause():
                await self._timer.sleep(pause, "sasl.login.retry.backoff.ms")
            try:
                return await self._authenticator.run(work)
            except KafkaException as error:
                if not (error.retriable and mechanisms.may_ask_again):
                    raise

    def _late(self) -> None:
        if self._running is not None:
            self._running.throw(
                DisconnectException(
                    f"{self._pipeline.node} is not authenticated again: {self.waits_for} was "
                    f"not ready within {self._within:g} s"
                )
            )

    async def _asked(self, request: Request[Response]) -> Response:
        unsent = Unsent(request, None, effect=False)
        self._pipeline.submit_ahead(unsent)
        self._press()
        answer: Answer[Response] = await unsent.promise
        return answer.response


def unaccepted(
    node: str, mechanism: str, code: int, enabled: tuple[str, ...]
) -> AuthenticationException:
    """The error for a broker that does not accept the mechanism."""
    if code == UNSUPPORTED_MECHANISM:
        offered = printable(", ".join(enabled)) or "none"
        return UnsupportedSaslMechanismException(
            f"{node} does not take sasl.mechanism={mechanism}; its listener takes: {offered}"
        )
    if code == ILLEGAL_STATE:
        return IllegalSaslStateException(
            f"{node} does not expect an authentication on this listener: give a "
            "security.protocol without SASL, or the address of a SASL listener"
        )
    return SaslAuthenticationException(f"{node} refused SaslHandshake: {error_for(code)}")


def refusal(
    node: str, mechanism: Mechanism, code: int, message: str | None
) -> AuthenticationException:
    """The error for a broker that has refused an authentication."""
    if code == ILLEGAL_STATE:
        told = printable(message or "")
        return IllegalSaslStateException(
            f"{node} did not expect this step of the authentication: {told}"
        )
    told = printable(message or str(error_for(code)))
    return SaslAuthenticationException(
        f"{node} refused the authentication by {mechanism.name}: {mechanism.explain(told)}"
    )
