"""Requests of the doctor to single brokers, about rights on topics and groups.

Thread: the main one.
Invariants: each broker gets a share of the time that is left, so that a silent one does not
take that of the others.
"""

from typing import TypeVar

from prokurist.assembly.security import authenticator_of
from prokurist.cli.broker_probe import BrokerProbe
from prokurist.cli.command_options import CommandOptions
from prokurist.config import ConsumerConfig
from prokurist.errors import KafkaException, NetworkException
from prokurist.events.clock import Deadline
from prokurist.network_thread.wire.metadata import Metadata, MetadataAnswer
from prokurist.network_thread.wire.request import Request
from prokurist.network_thread.wire.versions import Versions, negotiate

Response = TypeVar("Response")

SILENCE = "it accepted the connection and did not answer"


class BrokerQueries:
    """Asks single brokers, on a connection for each question.

    Args:
        asked: Options of the command.
        config: How to connect and authenticate.
        probe: Makes the connections.
    """

    def __init__(
        self, asked: CommandOptions, config: ConsumerConfig, probe: BrokerProbe
    ) -> None:
        self._asked = asked
        self._config = config
        self._probe = probe
        self._authenticator = authenticator_of(config, probe.wake)

    def cluster(
        self, topics: tuple[str, ...] | None, *, with_operations: bool = False
    ) -> MetadataAnswer:
        """The brokers, and these topics or all, by the first bootstrap server that answers.

        Args:
            topics: The topics; None for all.
            with_operations: True to ask for this user's authorized operations on them.

        Raises:
            KafkaException: None of them answers.
        """
        servers = self._config.bootstrap_servers
        question = Metadata(topics, with_operations=with_operations)
        error: KafkaException | None = None
        for nth, each in enumerate(servers):
            try:
                return self.ask(each.host, each.port, question, len(servers) - nth + 1)
            except KafkaException as failure:
                error = failure
        raise error or NetworkException("there are no bootstrap servers")

    def ask(self, host: str, port: int, request: Request[Response], share: int) -> Response:
        """Ask one broker.

        Args:
            host: Its host.
            port: Its port.
            request: The question.
            share: Among how many questions the time that is left is shared.

        Raises:
            KafkaException: It is not reached, refuses the credentials, or does not answer.
        """
        until = Deadline(self._asked.clock.now() + self._asked.left() / share)
        error: KafkaException | None = None
        for address in self._probe.addresses(host, port, until):
            try:
                number = self._probe.connect(address, host, until)
            except KafkaException as failure:
                error = failure
                continue
            offered = self._greeted(number, host, f"{host}:{port}", until)
            version = negotiate(request, offered)
            answer = self._probe.ask(number, request, version, until, SILENCE)
            self._probe.hang_up(number)
            return answer
        raise error or NetworkException(f"{host} has no address")

    def _greeted(self, number: int, host: str, broker: str, until: Deadline) -> Versions:
        """Secure, greet and authenticate a connection; return the broker's API versions."""
        if self._config.security_protocol.endswith("SSL"):
            self._probe.secure(number, until)
        offered = self._probe.greet(number, until).offered
        if self._authenticator is not None:
            from prokurist.cli.sasl_probe import authenticate  # noqa: PLC0415 - of SASL alone

            where = host, broker
            authenticate(self._probe, number, self._authenticator, where, offered, until)
        return offered
