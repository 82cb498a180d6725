"""SASL one step at a time, for `prokurist doctor`.

Thread: the main one; a mechanism's own work is done by the helper.
"""

from functools import partial

from prokurist.cli.broker_probe import BrokerProbe
from prokurist.errors import SaslAuthenticationException
from prokurist.events.clock import Deadline
from prokurist.network_thread.connections.authentication import (
    MOST_ROUNDS,
    Authenticator,
    refusal,
    unaccepted,
)
from prokurist.network_thread.wire.sasl import SaslAuthenticate, SaslHandshake
from prokurist.network_thread.wire.versions import Versions, negotiate

SILENCE = "it answered ApiVersions and not the authentication"


def authenticate(
    probe: BrokerProbe,
    number: int,
    authenticator: Authenticator,
    where: tuple[str, str],
    offered: Versions,
    until: Deadline,
) -> str:
    """Authenticate a connection that was greeted.

    Args:
        probe: The probe with the connection.
        number: The number of the socket.
        authenticator: Makes the mechanism, and does its work.
        where: The broker's host, and its name in errors.
        offered: The broker's API versions.
        until: When to give up.

    Returns:
        The finding, in words.

    Raises:
        KafkaException: The broker refused, or did not answer in time.
    """
    host, broker = where
    mechanism = authenticator.mechanisms.make(host)
    handshake = SaslHandshake(mechanism.name)
    answer = probe.ask(number, handshake, negotiate(handshake, offered), until, SILENCE)
    if answer.error:
        raise unaccepted(broker, mechanism.name, answer.error, answer.enabled)
    message = probe.kept(authenticator.run(mechanism.first), authenticator.collect, until)
    for _ in range(MOST_ROUNDS):
        request = SaslAuthenticate(message)
        step = probe.ask(number, request, negotiate(request, offered), until, SILENCE)
        if step.error:
            raise refusal(broker, mechanism, step.error, step.message)
        work = partial(mechanism.answer, step.data)
        following = probe.kept(authenticator.run(work), authenticator.collect, until)
        if following is None:
            lasts = f", for {step.lifetime:g} s at a time" if step.lifetime else ""
            return f"{broker} accepts the authentication by {mechanism.name}{lasts}"
        message = following
    raise SaslAuthenticationException(f"{broker} has not ended the authentication")
