"""The way to a broker one step at a time, so that each can be named and timed.

The network client takes these steps by itself, tries again, and reports the last that
failed; looking for a fault takes each of them once. So this goes the same way, with
the same resolver, sockets and codec, and without retries.

Thread: the main one. Nothing waits but `poll` of the network, and by a deadline.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from prokurist.errors import (
    DisconnectException,
    KafkaException,
    NetworkException,
    error_for,
)
from prokurist.events.clock import Clock, Deadline
from prokurist.network_thread.io.network import (
    Arrived,
    Connected,
    Happening,
    Lost,
    Securing,
    SocketAddress,
)
from prokurist.network_thread.io.resolver import Resolver
from prokurist.network_thread.io.selector import SelectorNetwork
from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.wire import codec
from prokurist.network_thread.wire.api_versions import ApiVersions, ApiVersionsAnswer
from prokurist.network_thread.wire.apis import API_VERSIONS
from prokurist.network_thread.wire.request import Request
from prokurist.version import VERSION

if TYPE_CHECKING:
    from prokurist.network_thread.io.tls import Tls, TlsFilter

LEFT_TO_THE_SYSTEM: Final = -1
CLIENT_ID: Final = "prokurist-doctor"
UNSUPPORTED_VERSION: Final = 35
LONGEST_WAIT: Final = 3600.0
"""The system counts waits in milliseconds that have to fit; an endless one goes on."""

Response = TypeVar("Response")
HappeningT = TypeVar("HappeningT", Securing, Connected, Arrived)


class Silence(NetworkException):
    """Raised when a step's time is over without an answer."""


class BrokerProbe:
    """Connections that are made and greeted step by step.

    Args:
        clock: The clock of the deadlines.
        tls: TLS of the connections; None for plain text.
        family: `broker.address.family`: any, v4 or v6.
    """

    def __init__(self, clock: Clock, tls: "Tls | None" = None, family: str = "any") -> None:
        self._clock = clock
        self._network = SelectorNetwork(
            receive_buffer_bytes=LEFT_TO_THE_SYSTEM,
            send_buffer_bytes=LEFT_TO_THE_SYSTEM,
            tls=tls,
        )
        self._wants_tls = tls is not None
        self._resolver = Resolver(self._network.wake, family=family)
        self._connections = 0
        self._correlations = 0
        self._happened: deque[Happening] = deque()

    def close(self) -> None:
        """Close every connection; a look-up that is stuck is left to itself."""
        self._resolver.close()
        self._network.shutdown()

    def addresses(self, host: str, port: int, until: Deadline) -> Sequence[SocketAddress]:
        """Resolve a name to addresses.

        Raises:
            NetworkException: It stands for nothing.
            Silence: The name was not resolved in time.
        """
        lookup = self._resolver.resolve(host, port)
        while not lookup.done:
            self._wait(until, f"no name server told the address of {host}")
            self._resolver.collect()
        if lookup.error is not None:
            raise lookup.error
        return lookup.addresses

    def connect(self, address: SocketAddress, server_name: str, until: Deadline) -> int:
        """Connect to an address.

        Args:
            address: Where to.
            server_name: The name that the broker's certificate must bear.
            until: When to give up.

        Returns:
            The connection's number, for `secure` where TLS is wanted, then for `greet`; in
            the end for `hang_up`.

        Raises:
            NetworkException: There is no connection.
            Silence: There was no answer in time, not even a refusal.
        """
        self._connections += 1
        number = self._connections
        self._network.connect(number, address, server_name)
        try:
            silence = f"nothing answered at {address}"
            if self._wants_tls:
                self._next(number, Securing, until, silence)
            else:
                self._next(number, Connected, until, silence)
        except KafkaException:
            self._network.close(number)
            raise
        return number

    def secure(self, number: int, until: Deadline) -> "TlsFilter":
        """Complete the TLS handshake.

        Returns:
            The negotiated TLS.

        Raises:
            SslAuthenticationException: There was no agreement.
            DisconnectException: The broker hung up.
            Silence: It did not answer in time.
        """
        silence = "it accepted the connection and did not answer the TLS handshake"
        try:
            self._next(number, Connected, until, silence)
        except KafkaException:
            self._network.close(number)
            raise
        agreed = self._network.tls_of(number)
        if agreed is None:
            raise AssertionError("TLS was wanted, and a connection stands without it")
        return agreed

    def greet(self, number: int, until: Deadline) -> ApiVersionsAnswer:
        """Send ApiVersions, and return the answer.

        Raises:
            DisconnectException: It hung up, or is no Kafka broker.
            KafkaException: The answer is not a broker's.
            Silence: It did not answer in time.
        """
        greeting = ApiVersions("prokurist", VERSION)
        speaking = API_VERSIONS.newest
        silence = "it accepted the connection and answered nothing"
        try:
            while True:
                answer = self.ask(number, greeting, speaking, until, silence)
                if answer.error != UNSUPPORTED_VERSION:
                    break
                speaking = answer.version_to_ask_again(speaking)
            if (refusal := error_for(answer.error)) is not None:
                raise refusal
        except KafkaException:
            self._network.close(number)
            raise
        return answer

    def ask(
        self,
        number: int,
        request: Request[Response],
        version: int,
        until: Deadline,
        silence: str,
    ) -> Response:
        """Send a request on an open connection, and return the answer.

        Raises:
            DisconnectException: The broker hung up, or answered something else.
            KafkaException: The answer is not a broker's.
            Silence: It did not answer in time; the text is `silence`.
        """
        self._correlations += 1
        correlation = self._correlations
        if self._network.writable(number):  # Else it is lost, and that comes next.
            self._network.write(number, codec.encode(request, version, correlation, CLIENT_ID))
        arrived = self._next(number, Arrived, until, silence)
        if codec.correlation_id(arrived.frame) != correlation:
            raise DisconnectException("it answered a request that it was not asked")
        return codec.decode(request, version, arrived.frame)

    def kept(
        self, promise: Promise[Response], collect: Callable[[], None], until: Deadline
    ) -> Response:
        """Wait for work of another thread, which wakes the network.

        Args:
            promise: The promise to wait for.
            collect: Collects finished work.
            until: When to give up.

        Raises:
            KafkaException: It came to nothing.
            Silence: It was not done in time.
        """
        while True:
            collect()
            if promise.is_kept:
                if isinstance(promise.error, KafkaException):
                    raise promise.error
                return promise.value
            self._wait(until, "the credentials were not ready in time")

    def wake(self) -> None:
        """End a wait, from any thread."""
        self._network.wake()

    def hang_up(self, number: int) -> None:
        """Close a connection to a broker."""
        self._network.close(number)

    def _next(
        self, number: int, kind: type[HappeningT], until: Deadline, silence: str
    ) -> HappeningT:
        """Wait for one kind of event on a connection, or for its end."""
        while True:
            while self._happened:
                happened = self._happened.popleft()
                if happened.connection != number:
                    continue
                if isinstance(happened, Lost):
                    raise happened.error
                if isinstance(happened, kind):
                    return happened
            self._wait(until, silence)

    def _wait(self, until: Deadline, silence: str) -> None:
        now = self._clock.now()
        if until.expired(now):
            raise Silence(silence)
        self._happened.extend(self._network.poll(min(until.remaining(now), LONGEST_WAIT)))
