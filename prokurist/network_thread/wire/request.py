"""Interface of all requests, and their limits on versions.

Thread: any. A request is a frozen value that knows its API, the versions that can carry *this*
request, and its two translations. Both translations are free of versions: `body` names the
fields of **all** versions at once, `schema` writes those of the negotiated one, and `answer` is
given the received fields.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import Api

Body: TypeAlias = Mapping[str, Any]
"""The fields of a message by the protocol's names (in snake case, `throttle_time`
without its unit): integers as they are on the wire, durations in milliseconds,
arrays as tuples, structures as bodies, the zero UUID as None."""

AnswerT_co = TypeVar("AnswerT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Limit:
    """Limit of a request on versions, with its reason.

    Attributes:
        why: The reason of the limit, as the subject of "… needs version 4 or newer".
        oldest: The oldest that can.
        newest: The newest that can; None for no bound.
    """

    why: str
    oldest: int = 0
    newest: int | None = None

    def allows(self, version: int) -> bool:
        """Return True if the version can carry the request."""
        return self.oldest <= version and (self.newest is None or version <= self.newest)

    def __str__(self) -> str:
        if self.newest is None:
            return f"{self.why} needs version {self.oldest} or newer"
        if self.oldest == 0:
            return f"{self.why} needs version {self.newest} or older"
        return f"{self.why} needs a version from {self.oldest} to {self.newest}"


class Request(Protocol[AnswerT_co]):
    """The interface of a request: its body, and how to read its answer."""

    api: ClassVar[Api]

    def limits(self) -> Iterable[Limit]:
        """The limits of this request's versions.

        A field that an old version lacks is left out only if its absence changes nothing but
        efficiency; if it would change the meaning, there is a limit. Each request's docstring
        lists both kinds.
        """
        ...

    def body(self) -> Body:
        """The fields of every version at once."""
        ...

    def answer(self, body: Body) -> AnswerT_co:
        """Read an answer of any version.

        Raises:
            Malformed: The fields are there and cannot be.
        """
        ...
