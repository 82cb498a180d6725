"""What a connection asks of the client that owns it.

Thread: the network thread alone.
"""

from typing import TYPE_CHECKING, Protocol

from prokurist.errors import KafkaException
from prokurist.events.trace import Trace
from prokurist.network_thread.connections.refusals import Refusals
from prokurist.network_thread.wire.api_versions import ApiVersionsAnswer

if TYPE_CHECKING:
    from prokurist.network_thread.connections.connection import Connection


class Owner(Protocol):
    """See the module.

    Attributes:
        trace: Where connections tell what happens.
        refusals: Brokers that have refused the client.
    """

    trace: Trace
    refusals: Refusals

    def number(self, connection: "Connection") -> int:
        """A fresh number for a try; what happens under it comes to this connection."""
        ...

    def resolve(self, connection: "Connection") -> None:
        """Look its host up; `resolved` or `unresolved` is called when that is done."""
        ...

    def press(self, connection: "Connection") -> None:
        """It has something to write."""
        ...

    def greeted(self, answer: ApiVersionsAnswer) -> None:
        """A broker has said what it speaks."""
        ...

    def take_over(self, connection: "Connection", error: KafkaException) -> bool:
        """Have another connection to its broker carry its requests, if one stands.

        The broker has refused this one: it came about too late, or not at all.
        """
        ...

    def ended(self, connection: "Connection") -> None:
        """The try is over, one way or the other: nothing may come of it any more."""
        ...

    def went_down(self, connection: "Connection", error: KafkaException, since: float) -> None:
        """The connection is gone, not by our wish; it has been of no use since then."""
        ...
