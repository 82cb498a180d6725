"""Frames out of a byte stream: buffers for reads, and completed frames.

A frame on the wire is its length, four bytes, big-endian, and that many bytes.

Thread: the network thread. No socket: `room` says where to read to, `took` is
told how much came.
Invariants: between `room` and `took` the shared scratch buffer belongs to this
reader; a frame handed out is never written again; nothing is allocated for a
length that was not checked.
"""

from collections.abc import Callable
from mmap import mmap
from typing import Final, NamedTuple, TypeAlias

MemoryFor: TypeAlias = Callable[[int], memoryview]
"""Allocates memory for a frame of so many bytes."""

SCRATCH_BYTES: Final = (1 << 20) + (1 << 16)
"""One read takes a whole receive buffer of 1 MiB and the headers around it.

Every read gives up the GIL, and beside a busy application thread it takes up to
5 ms to win it back. Measured there, frames of 1 MiB, one in flight: 95 to 100
MB/s so, 66 to 77 through 64 or 256 KiB or with the length read by itself. The
price is the copy of a frame's beginning, seen when no other thread wants the GIL:
3.3 GB/s, against 5 and more; and that is above what can be decoded.
"""

DIRECT_BYTES: Final = 4 << 20
"""A frame's rest is read straight into it, in pieces: a bounded time for each turn."""

BELIEVED_BYTES: Final = 1 << 20
"""A length up to this is taken at its word."""

PREFIX: Final = 4

SMALLEST_FRAME_BYTES: Final = 4
"""An answer begins with the four bytes of the number of its request."""

MOST_AT_ONCE: Final = 16_384
"""Frames of one connection in one turn; far more than requests are ever in flight.

Each costs objects and steps of the interpreter, however few bytes it has.
"""

LOOKED_AT: Final = 200
"""Bytes of a foreign greeting that are examined and quoted."""

TOO_MANY: Final = f"more than {MOST_AT_ONCE} frames at once"

TLS_ALERT, TLS_HANDSHAKE, TLS_MAJOR = 0x15, 0x16, 3

ALERT_SEEN: Final = "a TLS alert"
"""A TLS listener's refusal of a client without TLS. The bytes behind it say more."""


class Progress(NamedTuple):
    """Progress in a stream: bytes and frames read so far.

    Attributes:
        frames: How many were completed.
        received: How many bytes came in all.
        carried: How many bytes of the next length there are, where it is not complete.
        filled: How many bytes of the present frame there are.
        length: How many it has; None between frames.
    """

    frames: int
    received: int
    carried: int
    filled: int
    length: int | None

    @property
    def at_first_answer(self) -> bool:
        """True after exactly one whole frame."""
        return self.frames == 1 and self.length is None and not self.carried

    def place(self) -> str:
        """The place of the next byte in the stream, for an error's text."""
        if self.length is not None:
            return f"in the middle of a frame, after {self.filled} of {self.length} bytes"
        if self.carried:
            return f"in the middle of a frame's length, after {self.carried} of 4 bytes"
        if self.frames:
            return f"after {self.frames} whole answer{'s' if self.frames > 1 else ''}"
        return "before the first answer"


def fresh_memory(length: int) -> memoryview:
    """Allocate memory for a frame; pages of a large one are touched as it arrives.

    A bytearray is filled with zeros, so a false length would cost its full size.
    """
    return memoryview(bytearray(length) if length <= BELIEVED_BYTES else mmap(-1, length))


class FrameReader:
    """Cuts one connection's incoming bytes into frames.

    Args:
        scratch: Shared by all readers of a network; see the invariants.
        largest: The longest frame that is accepted, in bytes.
        memory_for: Allocates the memory of a frame.

    Attributes:
        largest: Likewise; it may be changed.
        frames: How many were completed.
        refused: The foreign bytes in place of a frame, in words; after that the stream means
            nothing any more. Empty while all is well.
    """

    __slots__ = (
        "_carried",
        "_filled",
        "_frame",
        "_memory_for",
        "_received",
        "_scratch",
        "frames",
        "largest",
        "refused",
    )

    def __init__(
        self, scratch: memoryview, largest: int, memory_for: MemoryFor = fresh_memory
    ) -> None:
        self._scratch = scratch
        self._memory_for = memory_for
        self.largest: int = largest
        self._carried = b""  # a length of which not all four bytes have come
        self._frame: memoryview | None = None
        self._filled = 0
        self._received = 0
        self.frames: int = 0
        self.refused: str = ""

    def room(self) -> tuple[memoryview, bool]:
        """Return the buffer for the next bytes, and True if a full one calls for another read.

        Within a frame that is the frame itself. Its end is the end of the requested bytes, so
        nothing more is expected there, and a further read would cost a turn of the GIL to learn
        that nothing came.
        """
        if self._frame is not None:
            return self._frame[self._filled : self._filled + DIRECT_BYTES], False
        if not self._carried:
            return self._scratch, True
        carried = len(self._carried)
        self._scratch[:carried] = self._carried
        return self._scratch[carried:], True

    def took(self, count: int) -> list[memoryview]:
        """The frames that the last read has completed; `refused` may be set then.

        Args:
            count: How many bytes came into the room.
        """
        self._received += count
        if self._frame is not None:
            self._filled += count
            return [self._whole(self._frame)] if self._filled == len(self._frame) else []
        frames: list[memoryview] = []
        position, end = 0, len(self._carried) + count
        self._carried = b""
        while end - position >= PREFIX:
            start = position + PREFIX
            length = int.from_bytes(self._scratch[position:start], "big", signed=True)
            self.refused = self._objection(length, position, end)
            if self.refused:
                return frames
            position = start + length
            frame = self._memory_for(length)
            there = min(position, end) - start
            frame[:there] = self._scratch[start : start + there]
            if there < length:
                self._frame, self._filled = frame, there
                return frames
            frames.append(self._whole(frame))
            if len(frames) > MOST_AT_ONCE:
                self.refused = TOO_MANY
                return frames
        self._carried = bytes(self._scratch[position:end])
        return frames

    def _whole(self, frame: memoryview) -> memoryview:
        self._frame = None
        self.frames += 1
        return frame.toreadonly()

    def _objection(self, length: int, position: int, end: int) -> str:
        start = bytes(self._scratch[position : min(end, position + LOOKED_AT)])
        return objection(length, self.largest, start, first=not self.frames)

    def progress(self) -> Progress:
        """Return the progress in the stream."""
        length = None if self._frame is None else len(self._frame)
        return Progress(self.frames, self._received, len(self._carried), self._filled, length)

    def __repr__(self) -> str:
        return f"<FrameReader {self.progress().place()}>"


def objection(length: int, largest: int, start: bytes, *, first: bool) -> str:
    """Describe the fault in the beginning of a frame; empty if there is none.

    Args:
        length: The number in its first four bytes.
        largest: The longest frame that is accepted.
        start: Its beginning, with the length, as far as it has come.
        first: True for the first frame. That is a short one; only there a length below the
            limit is checked for another protocol's greeting, too.
    """
    acceptable = SMALLEST_FRAME_BYTES <= length <= largest
    if acceptable and not first:
        return ""
    if stranger := other_protocol(start):
        return stranger
    if acceptable:
        return ""
    limit = f", above the limit of {largest}" if length > largest else ""
    if 0 <= length < SMALLEST_FRAME_BYTES:
        limit = ", which is too short for an answer"
    return f"a frame of {length} bytes{limit} (it begins with {start[:16]!r})"


def other_protocol(start: bytes) -> str:
    """Return the known protocol of a greeting; else empty.

    Args:
        start: The peer's first four bytes or more.
    """
    if start.startswith(b"HTTP"):
        line = start.partition(b"\n")[0].rstrip().decode("latin-1")
        return f"an answer in HTTP ({line!r}): this is not a Kafka listener's port"
    if start[0] in {TLS_ALERT, TLS_HANDSHAKE} and start[1] == TLS_MAJOR:
        kind = "a TLS handshake" if start[0] == TLS_HANDSHAKE else ALERT_SEEN
        if kind == ALERT_SEEN and len(start) >= 7:
            kind += f" {start[6]}"
        return (
            f"{kind}: this listener speaks TLS and the client does not; "
            "set security.protocol to SSL or SASL_SSL"
        )
    return ""
