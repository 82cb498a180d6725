"""The pure watch: `selectors`, a read into each socket's frame, a write of its rest.

It is the specification.

Thread: the network thread; see `watch`.
"""

import selectors
from socket import socket
from typing import Final

from prokurist.network_thread.io.framing import (
    SCRATCH_BYTES,
    FrameReader,
    MemoryFor,
    Progress,
    fresh_memory,
)
from prokurist.network_thread.io.transport import SEND_FLAGS
from prokurist.network_thread.io.watch import (
    CLOSED,
    READING,
    WAKE,
    WRITING,
    Seen,
    check_interest,
)

LONGEST_WAIT: Final = 86_400.0
"""Beyond it the system's integers overflow; to return early is allowed."""


class Stream:
    """One watched socket, its frame reader, and its unwritten bytes."""

    __slots__ = ("failure", "made", "number", "reader", "rest", "written")

    def __init__(self, number: int, made: socket, reader: FrameReader) -> None:
        self.number: int = number
        self.made: socket = made
        self.reader: FrameReader = reader
        self.rest: memoryview | None = None
        self.written: int = 0
        self.failure: OSError | None = None

    def write(self) -> bool:
        """Write once; return True if nothing is left, or the write has failed."""
        if self.rest is None:
            return True
        try:
            self.written += self.made.send(self.rest[self.written :], SEND_FLAGS)
        except BlockingIOError:
            return False
        except OSError as error:
            self.failure = error
            return True
        return self.written == len(self.rest)


class PureWatch:
    """See `watch.Watch`.

    Args:
        wake: The descriptor that ends a wait when it becomes readable.
        largest: A longer frame ends its stream.
        memory_for: Allocates the memory of frames.
    """

    def __init__(self, wake: int, largest: int, memory_for: MemoryFor = fresh_memory) -> None:
        self.received: int = 0
        self._largest = largest
        self._memory_for = memory_for
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._streams: dict[int, Stream] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(wake, selectors.EVENT_READ)

    def add(self, number: int, made: socket, interest: int) -> None:
        """Watch a socket; see `Watch.add`."""
        check_interest(interest)
        stream = Stream(
            number, made, FrameReader(self._scratch, self._largest, self._memory_for)
        )
        self._selector.register(made, interest, stream)
        self._streams[number] = stream

    def change(self, number: int, interest: int) -> None:
        """Watch it for something else; see `Watch.change`."""
        check_interest(interest)
        stream = self._streams[number]
        self._selector.modify(stream.made, interest, stream)

    def accept(self, number: int, largest: int) -> None:
        """Accept other frames of it; see `Watch.accept`."""
        self._streams[number].reader.largest = largest

    def write(self, number: int, rest: memoryview) -> None:
        """Write within `wait`; see `Watch.write`."""
        stream = self._streams[number]
        stream.rest, stream.written, stream.failure = rest, 0, None

    def take_back(self, number: int) -> tuple[int, OSError | None]:
        """Stop writing; see `Watch.take_back`."""
        stream = self._streams[number]
        stream.rest = None
        return stream.written, stream.failure

    def remove(self, number: int) -> None:
        """Watch it no more; see `Watch.remove`."""
        self._selector.unregister(self._streams.pop(number).made)

    def wait(self, seconds: float | None) -> list[Seen]:
        """Wait, and read; see `Watch.wait`."""
        if seconds is not None:
            seconds = min(seconds, LONGEST_WAIT)
        seen: list[Seen] = []
        for key, events in self._selector.select(seconds):
            stream = key.data
            if not isinstance(stream, Stream):
                seen.append(Seen(WAKE, writable=False, frames=[], end=None))
                continue
            frames: list[memoryview] = []
            end = self._read(stream, frames) if events & READING else None
            writable = bool(events & WRITING) and stream.write()
            if frames or writable or end is not None:
                seen.append(Seen(stream.number, writable, frames, end))
        return seen

    def last_words(self, number: int) -> Seen:
        """Read available bytes; see `Watch.last_words`."""
        frames: list[memoryview] = []
        end = self._read(self._streams[number], frames)
        return Seen(number, writable=False, frames=frames, end=end)

    def _read(self, stream: Stream, frames: list[memoryview]) -> OSError | str | None:
        """Read once, and once more if the first read filled the scratch buffer."""
        for _ in range(2):
            room, more = stream.reader.room()
            try:
                count = stream.made.recv_into(room)
            except BlockingIOError:
                return None
            except OSError as error:
                return error
            if count == 0:
                return CLOSED
            self.received += count
            frames += stream.reader.took(count)
            if stream.reader.refused:
                return f"the peer sent {stream.reader.refused}"
            if not more or count < len(room):
                return None
        return None

    def progress(self, number: int) -> Progress:
        """Return the progress of a socket's stream; see `Watch.progress`."""
        return self._streams[number].reader.progress()

    def close(self) -> None:
        """Watch nothing any more; see `Watch.close`.

        Nothing is unregistered: a forked child shares the selector, and would take out the
        parent's sockets.
        """
        self._selector.close()
        self._streams.clear()

    def __repr__(self) -> str:
        return f"<PureWatch of {len(self._streams)} sockets, received {self.received}>"
