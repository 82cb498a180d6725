"""Arrow arrays by the C data interface, out of buffers that nothing has checked.

Thread: any. What is made lives as long as what speaks for it.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from prokurist.records.arrow_structures import Array, Schema, Stream

RELEASE: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
NAMES: Final = (b"arrow_schema", b"arrow_array", b"arrow_array_stream")


@dataclass(slots=True)
class Made:
    """An array, and its type.

    Attributes:
        format: The type, as the interface writes it; None for none at all.
        name: The column's.
        length: How many rows it says it has.
        offset: Where it says that they begin.
        nulls: How many of them it says are null.
        buffers: Its memory; None for a buffer that is not there.
        parts: Its children.
        more_parts: How many more it says it has.
        encoded: Whether its type has a dictionary.
    """

    format: str | None
    length: int
    buffers: Sequence[bytes | None] = ()
    name: str = "value"
    offset: int = 0
    nulls: int = -1
    parts: Sequence["Made"] = field(default_factory=list)
    more_parts: int = 0
    encoded: bool = False


class Speaker:
    """What hands out an array.

    Args:
        made: The array.
        odd: By how many bytes its buffers miss an even address.

    Attributes:
        released: How many structures were given back.
    """

    def __init__(self, made: Made, odd: int = 0) -> None:
        self.released = 0
        self._made = made
        self._odd = odd
        self._kept: list[Any] = []

    def __arrow_c_array__(self, requested: object = None) -> tuple[Any, Any]:
        """See the interface."""
        del requested
        return (
            self._capsule(self.schema_of(self._made), NAMES[0]),
            self._capsule(self.array_of(self._made), NAMES[1]),
        )

    def _kept_here(self, it: Any) -> Any:
        self._kept.append(it)
        return it

    def _capsule(self, structure: Any, name: bytes) -> Any:
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(structure), name, None)

    def _release(self, kind: Any) -> int:
        def give_back(address: int) -> None:
            self.released += 1
            kind.from_address(address).release = None

        return ctypes.cast(self._kept_here(RELEASE(give_back)), ctypes.c_void_p).value or 0

    def _pointers(self, kind: Any, made: Sequence[Any]) -> Any:
        found = (ctypes.POINTER(kind) * max(1, len(made)))(*map(ctypes.pointer, made))
        return ctypes.cast(self._kept_here(found), ctypes.POINTER(ctypes.POINTER(kind)))

    def schema_of(self, made: Made) -> Any:
        """The type as a structure."""
        out: Any = self._kept_here(Schema())
        out.format = None if made.format is None else made.format.encode()
        out.name, out.n_children = made.name.encode(), len(made.parts)
        if made.parts:
            out.children = self._pointers(Schema, [self.schema_of(it) for it in made.parts])
        if made.encoded:
            out.dictionary = ctypes.pointer(self.schema_of(Made("u", 0)))
        out.release = self._release(Schema)
        return out

    def array_of(self, made: Made) -> Any:
        """The memory as a structure."""
        out: Any = self._kept_here(Array())
        out.length, out.offset, out.null_count = made.length, made.offset, made.nulls
        out.n_children, out.n_buffers = len(made.parts) + made.more_parts, len(made.buffers)
        if made.buffers:
            places = (ctypes.c_void_p * len(made.buffers))(*map(self._place, made.buffers))
            out.buffers = ctypes.cast(self._kept_here(places), ctypes.POINTER(ctypes.c_void_p))
        if made.parts:
            out.children = self._pointers(Array, [self.array_of(it) for it in made.parts])
        out.release = self._release(Array)
        return out

    def _place(self, data: bytes | None) -> int | None:
        if data is None:
            return None
        whole = ctypes.create_string_buffer(bytes(self._odd) + data)
        return ctypes.addressof(self._kept_here(whole)) + self._odd


class StreamSpeaker(Speaker):
    """What hands out a stream of arrays of one type.

    Args:
        made: The arrays, of which the first has the type.
        fails: After how many arrays the source fails; None if it does not.
        unread: Whether the stream is one that has not been read.
    """

    def __init__(
        self, made: Sequence[Made], *, fails: int | None = None, unread: bool = True
    ) -> None:
        super().__init__(made[0])
        self._chunks = list(made)
        self._fails = fails
        self._unread = unread

    def __arrow_c_array__(self, requested: object = None) -> tuple[Any, Any]:
        """It has none: see the stream."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested: object = None) -> Any:
        """See the interface."""
        del requested
        out: Any = self._kept_here(Stream())
        left = iter(self._chunks)
        given = 0

        def get_schema(_stream: int, into: int) -> int:
            return self._filled(Schema, self.schema_of(self._made), into)

        def get_next(_stream: int, into: int) -> int:
            nonlocal given
            if given == self._fails:
                return 5
            given += 1
            chunk = next(left, None)
            return 0 if chunk is None else self._filled(Array, self.array_of(chunk), into)

        kinds: dict[str, Any] = {each[0]: each[1] for each in Stream._fields_}
        asked: dict[str, Callable[..., Any]] = {
            "get_schema": get_schema,
            "get_next": get_next,
            "get_last_error": lambda _stream: None,
        }
        for name, answer in asked.items():
            setattr(out, name, self._kept_here(kinds[name](answer)))
        out.release = self._release(Stream) if self._unread else None
        return self._capsule(out, NAMES[2])

    def _filled(self, kind: Any, made: Any, into: int) -> int:
        ctypes.memmove(into, ctypes.addressof(made), ctypes.sizeof(kind))
        return 0
