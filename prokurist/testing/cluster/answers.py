"""Inputs and results of a request handler.

Thread: the one that drives the model.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.apis import Api
from prokurist.testing.cluster.brokers import Broker
from prokurist.testing.cluster.faults import Refusals
from prokurist.testing.cluster.sasl import SaslExchange
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


class Silence(Enum):
    """Ends of a request other than an answer."""

    UNASKED = "unasked"
    """The client wants no answer (a produce without acknowledgement)."""
    CLOSE = "close"
    """The broker closes the connection: the one way to refuse without an answer."""


@dataclass(frozen=True, slots=True)
class Context:
    """Circumstances of one request.

    Attributes:
        api: The API.
        version: The version it came in.
        broker: The broker it came to.
        now: When that broker took it up.
        offered: The versions that this cluster offers, of each API by key.
        refusals: FAIL rules that apply to the request.
        client_id: Its `client.id`.
        sasl: How far its authentication has come; None where the listener has none.
        connection: The number of its connection.
    """

    api: Api
    version: int
    broker: Broker
    now: float
    offered: dict[int, tuple[int, int]]
    refusals: Refusals
    client_id: str = ""
    sasl: SaslExchange | None = None
    connection: int = 0

    @property
    def node(self) -> int:
        """The id of the broker that works on it."""
        return self.broker.node.id


class Wait(NamedTuple):
    """No answer yet: the request is parked.

    Attributes:
        until: When to ask again at the latest.
        again: Asked then and after every change of the state; given the time.
    """

    until: float
    again: Callable[[float], "Result"]


Result: TypeAlias = Values | Wait | Silence
Handler: TypeAlias = Callable[[State, Any, Context], Result]
