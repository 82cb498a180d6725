"""Wait for all sockets at once, with reads of their frames and writes of unwritten rests.

Thread: the network thread.
Invariants: a socket watched for reading is read within `wait`, by a bounded amount before the
others get their turn; its frames come from the same `wait` that read the last of them; only the
watch reads from it. The watch writes the rest of a frame that the system did not take at once.

The pure twin is the specification. The native one does all of a wait without the
GIL and comes back for whole frames only, read or written, since beside a busy application
thread every return costs up to 5 ms. A broker takes a large request in five or six steps.
"""

from collections.abc import Callable, Mapping
from socket import socket
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, cast

from prokurist.twins import Choice, chosen

if TYPE_CHECKING:
    from prokurist.network_thread.io.framing import Progress

READING, WRITING = 1, 2
"""Directions of interest in a socket: one of these, or both."""

MODULES: Final[Mapping[str, str]] = {
    "native": "prokurist.network_thread.io._native_watch",
    "python": "prokurist.network_thread.io.pure_watch",
}
"""The twins, the preferred one first."""

CLOSED: Final = "the peer closed it"


class Seen(NamedTuple):
    """Events of a wait at one socket.

    Attributes:
        number: The number of the socket.
        writable: Its connect or its write has ended, or failed; only where it was watched for
            that.
        frames: Whole frames that have come.
        end: Why nothing can come any more, as an error or in words; None while it can.
    """

    number: int
    writable: bool
    frames: list[memoryview]
    end: OSError | str | None

    @property
    def is_strange(self) -> bool:
        """True if the peer's bytes are the reason for the end."""
        return isinstance(self.end, str) and self.end != CLOSED


class Watch(Protocol):
    """The watch of all sockets of a client."""

    @property
    def received(self) -> int:
        """The bytes received on all sockets so far."""
        ...

    def add(self, number: int, made: socket, interest: int) -> None:
        """Watch a non-blocking socket.

        Args:
            number: A number that no watched socket bears.
            made: It stays open until it is removed.
            interest: READING, WRITING, or both.

        Raises:
            ValueError: It is none of these.
        """
        ...

    def change(self, number: int, interest: int) -> None:
        """Watch a socket for other events.

        Raises:
            ValueError: It is to be watched for nothing.
        """
        ...

    def accept(self, number: int, largest: int) -> None:
        """Accept frames of other sizes from now on.

        Args:
            number: The number of the socket.
            largest: A longer frame ends its stream.
        """
        ...

    def write(self, number: int, rest: memoryview) -> None:
        """Write within `wait`, as the system takes it; an earlier rest is dropped.

        Args:
            number: A socket that is watched for writing, from now on.
            rest: It is not changed until it is written or taken back.
        """
        ...

    def take_back(self, number: int) -> tuple[int, OSError | None]:
        """Stop writing.

        Returns:
            How many bytes of the rest were written, and why no more of them can be, if so.
        """
        ...

    def remove(self, number: int) -> None:
        """Stop watching a socket; a part of a frame is dropped, read or written."""
        ...

    def wait(self, seconds: float | None) -> list[Seen]:
        """Wait until there is something to report, or the time is over.

        The pure twin also returns early with nothing, after a part of a frame.
        """
        ...

    def last_words(self, number: int) -> Seen:
        """Read available bytes, without waiting."""
        ...

    def progress(self, number: int) -> "Progress":
        """Return the progress of a socket's stream."""
        ...

    def close(self) -> None:
        """Stop watching all sockets; they stay open."""
        ...


MakeWatch: TypeAlias = Callable[[int, int], Watch]
"""From the descriptor that ends a wait when it becomes readable, and the longest
frame that is accepted, in bytes."""

WAKE: Final = -1
"""Number of the wake-up descriptor in the results of `wait`. The caller empties it."""


def check_interest(interest: int) -> None:
    """Raise if a socket would be watched for nothing.

    Of one that is watched for nothing the system tells all the same when its peer is
    gone: each wait would end at once, and nothing would come of it.

    Raises:
        ValueError: It is neither READING nor WRITING nor both.
    """
    if not 0 < interest <= READING | WRITING:
        raise ValueError(
            f"a socket is watched for reading, writing or both, not for {interest}"
        )


def best_watch() -> MakeWatch:
    """The twin that this process uses."""
    return watch_of(chosen(MODULES))


def watch_of(choice: Choice) -> MakeWatch:
    """The watch of a twin."""
    name = "NativeWatch" if choice.name == "native" else "PureWatch"
    return cast("MakeWatch", getattr(choice.module, name))
