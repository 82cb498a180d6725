"""The life of a connection, as a table.

    DOWN ─► RESOLVING ─► CONNECTING ─► SECURING ─► GREETING ─► AUTHENTICATING ─► READY

SECURING is passed over where TLS is not wanted, AUTHENTICATING where SASL is not. From each
state the way may lead to DOWN, and from CONNECTING to AUTHENTICATING back to CONNECTING, to the
next address of the host.

Thread: the network thread alone. A move that the table does not hold raises and
changes nothing.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final


class ConnectionState(Enum):
    """The states of a connection."""

    DOWN = "down"
    """No socket; perhaps a pause until the next try."""
    RESOLVING = "resolving"
    """The host's addresses are being looked up."""
    CONNECTING = "connecting"
    """A socket is on its way to one of them."""
    SECURING = "securing"
    """Connected; TLS is being agreed on."""
    GREETING = "greeting"
    """Connected, with TLS where it is wanted; the broker is asked for its versions."""
    AUTHENTICATING = "authenticating"
    """It speaks; SASL is under way."""
    READY = "ready"
    """Requests may be written."""


MOVES: Final[Mapping[ConnectionState, frozenset[ConnectionState]]] = MappingProxyType(
    {
        ConnectionState.DOWN: frozenset({ConnectionState.RESOLVING}),
        ConnectionState.RESOLVING: frozenset(
            {ConnectionState.CONNECTING, ConnectionState.DOWN}
        ),
        ConnectionState.CONNECTING: frozenset(
            {
                ConnectionState.CONNECTING,
                ConnectionState.SECURING,
                ConnectionState.GREETING,
                ConnectionState.DOWN,
            }
        ),
        ConnectionState.SECURING: frozenset(
            {ConnectionState.CONNECTING, ConnectionState.GREETING, ConnectionState.DOWN}
        ),
        ConnectionState.GREETING: frozenset(
            {
                ConnectionState.CONNECTING,
                ConnectionState.AUTHENTICATING,
                ConnectionState.READY,
                ConnectionState.DOWN,
            }
        ),
        ConnectionState.AUTHENTICATING: frozenset(
            {ConnectionState.CONNECTING, ConnectionState.READY, ConnectionState.DOWN}
        ),
        ConnectionState.READY: frozenset({ConnectionState.DOWN}),
    }
)


def transition(old: ConnectionState, new: ConnectionState) -> ConnectionState:
    """Return the new state, or raise if the table does not have the transition.

    Raises:
        AssertionError: It does not: a bug of ours.
    """
    if new not in MOVES[old]:
        raise AssertionError(f"a connection does not go from {old.value} to {new.value}")
    return new


COMING_UP: Final = frozenset(
    {
        ConnectionState.CONNECTING,
        ConnectionState.SECURING,
        ConnectionState.GREETING,
        ConnectionState.AUTHENTICATING,
    }
)
"""From the first socket to READY."""
