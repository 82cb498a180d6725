"""Journal of every request that reached the cluster, for a test to examine.

Thread: the one that drives the model; a served cluster gives out copies under its lock.
"""

from collections import deque
from typing import Any, Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.apis import ApiName, named
from prokurist.testing.cluster.wire import Request

MOST_ENTRIES: Final = 10_000
"""A produce request is kept with its records, so there has to be an end."""


@dataclass(eq=False, slots=True, repr=False)
class Entry:
    """One request.

    Attributes:
        at: When its bytes were there.
        node: The broker they came to.
        session: The number of the connection, counted over the whole cluster.
        request: The request, decoded by kio.
        taken_up: When the broker began to work on it; None if it never did.
        answered: When the answer left; None if none did.
    """

    at: float
    node: int
    session: int
    request: Request
    taken_up: float | None = None
    answered: float | None = None

    def __repr__(self) -> str:
        asked = f"{self.request.name} v{self.request.version} to {self.node}"
        outcome = "unanswered" if self.answered is None else f"answered at {self.answered:.3f}"
        return f"Entry({asked} at {self.at:.3f}, {outcome})"

    @property
    def api(self) -> str:
        """The API's name."""
        return self.request.name

    @property
    def version(self) -> int:
        """The version it came in."""
        return self.request.version

    @property
    def client_id(self) -> str | None:
        """The request's client id."""
        return self.request.client_id

    @property
    def body(self) -> Any:
        """The request as kio read it; its class depends on the version."""
        return self.request.body


class Journal:
    """The requests in the order of their arrival, the newest ten thousand of them.

    Attributes:
        received: How many there have been in all.
    """

    __slots__ = ("_entries", "received")

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=MOST_ENTRIES)
        self.received: int = 0

    def __repr__(self) -> str:
        return f"Journal({len(self._entries)} of {self.received} requests)"

    def add(self, entry: Entry) -> None:
        """Note a request."""
        self.received += 1
        self._entries.append(entry)

    def entries(self, api: ApiName | None = None, node: int | None = None) -> list[Entry]:
        """The requests of an API, or to a broker, or all.

        Raises:
            ValueError: The model has no such API.
        """
        key = None if api is None else named(api).key
        return [
            each
            for each in self._entries
            if key in (None, each.request.key) and node in (None, each.node)
        ]

    def clear(self) -> None:
        """Forget all requests so far."""
        self._entries.clear()
