"""The interface of the client that owns a connection.

Thread: the network thread alone.
"""

from typing import TYPE_CHECKING, Protocol

from prokurist.errors import KafkaException
from prokurist.events.trace import Trace
from prokurist.network_thread.connections.refusals import Refusals
from prokurist.network_thread.wire.api_versions import ApiVersionsAnswer

if TYPE_CHECKING:
    from prokurist.network_thread.connections.connection import Connection


class ConnectionOwner(Protocol):
    """Interface of the client that owns a connection.

    Attributes:
        trace: The client's trace.
        refusals: Brokers that have refused the client.
    """

    trace: Trace
    refusals: Refusals

    def number(self, connection: "Connection") -> int:
        """Give an attempt a new number, for its events to come to this connection."""
        ...

    def resolve(self, connection: "Connection") -> None:
        """Look the host up; `resolved` or `unresolved` is called with the result."""
        ...

    def press(self, connection: "Connection") -> None:
        """Have `flush` called in this turn: the connection has something to write."""
        ...

    def greeted(self, connection: "Connection", answer: ApiVersionsAnswer) -> None:
        """Take a broker's ApiVersions answer: the connection is ready."""
        ...

    def take_over(self, connection: "Connection", error: KafkaException) -> bool:
        """Move the requests to another connection to the broker, if one is ready.

        The broker has refused this one: it came about too late, or not at all.
        """
        ...

    def unreachable(self, connection: "Connection", error: KafkaException) -> None:
        """Note a try to connect that has failed."""
        ...

    def ended(self, connection: "Connection") -> None:
        """Forget an attempt's number: later events of it are dropped."""
        ...

    def went_down(self, connection: "Connection", error: KafkaException, since: float) -> None:
        """Note a connection that was lost; it has been of no use since then."""
        ...
