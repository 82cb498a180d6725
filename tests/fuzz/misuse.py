"""What Python code can do to the native types: anything but crash them.

Each input makes some objects of native types, whole ones and ones that `__new__` alone has
made, and then calls, reads, writes, copies and pickles what they have with arguments that
nothing has: sizes beyond all memory, buffers of no dimension, objects whose hash, comparison,
index or iteration comes back to the same objects.

Thread: one at a time; no state between inputs.
Invariants: everything comes of the `Random` that is handed in.
"""

import copy
import ctypes
import os
import pickle
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from random import Random
from types import ModuleType
from typing import Any, Final

from prokurist.events.accumulator.rows import Rows
from prokurist.network_thread.wire import apis
from prokurist.network_thread.wire.schema import message
from prokurist.records.columns import Spans
from prokurist.records.encode import encode_batch
from prokurist.records.headers import header_at
from prokurist.types import TimestampType

NATIVE: Final = (
    "prokurist.events._native_hand",
    "prokurist.records._native_checksum",
    "prokurist.events.accumulator._native_accumulator",
    "prokurist.network_thread.io._native_tls",
    "prokurist.network_thread.io._native_watch",
    "prokurist.network_thread.wire._native_reading",
    "prokurist.records._native",
)
DEPTH: Final = 3
"""How often code of the user's that is called from within calls further."""
WAITS: Final = frozenset({"wait", "result", "exception", "future", "__await__"})
"""Methods that wait, which is not what is tried here."""
LEFT: Final = frozenset(
    {"__class__", "__reduce__", "__reduce_ex__", "__del__", "__defaults__", "__kwdefaults__"}
)
"""What is Python's own, or warns."""
NUMBERS: Final = (
    0,
    1,
    -1,
    3,
    61,
    255,
    1 << 15,
    1 << 31,
    -(1 << 31),
    1 << 62,
    -(1 << 63),
    1 << 64,
)


@cache
def modules() -> tuple[ModuleType, ...]:
    """The native modules."""
    return tuple(map(import_module, NATIVE))


@cache
def kinds() -> tuple[type, ...]:
    """The native types, and one of Python's below each that may have one."""
    found: list[type] = []
    for module in modules():
        for each in vars(module).values():
            if isinstance(each, type) and each.__module__ == module.__name__:
                found.append(each)
                with suppress(TypeError):
                    found.append(type(f"Sub{each.__name__}", (each,), {}))
    return tuple(found)


@cache
def functions() -> tuple[Any, ...]:
    """The functions of the native modules."""
    return tuple(
        each
        for module in modules()
        for name, each in sorted(vars(module).items())
        if type(each).__name__ in {"builtin_function_or_method", "cython_function_or_method"}
        and not name.startswith("__pyx")
    )


class Hostile:
    """An object all of whose special methods come back to what it is handed to.

    Args:
        world: What there is.
    """

    def __init__(self, world: "World") -> None:
        self._world = world

    def __hash__(self) -> int:
        self._world.within()
        return self._world.lot.choice((0, 1, 7))

    def __eq__(self, _other: object) -> bool:
        self._world.within()
        return self._world.lot.random() < 0.5

    def __index__(self) -> int:
        self._world.within()
        return self._world.lot.choice(NUMBERS)

    def __iter__(self) -> Iterator[object]:
        for _ in range(self._world.lot.randrange(9)):
            self._world.within()
            yield self._world.value()

    def __call__(self, *_given: object, **_named: object) -> object:
        """Something, after that."""
        self._world.within()
        return self._world.value()

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or name == "_world":
            raise AttributeError(name)
        self._world.within()
        return self._world.value()


class HostileName(str):
    """A topic whose hash comes back, too."""

    __slots__ = ("world",)

    world: "World"

    def __hash__(self) -> int:
        self.world.within()
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        self.world.within()
        return super().__eq__(other)


class World:
    """The objects of one input, and what is done to them.

    Args:
        lot: The source of all choices.
    """

    def __init__(self, lot: Random) -> None:
        self.lot = lot
        self.objects: list[Any] = []
        self.odd = odd_buffers()
        self._deep = 0
        self._descriptors: list[int] = []

    def within(self) -> None:
        """Do something from within a call."""
        if self._deep >= DEPTH or not self.objects:
            return
        self._deep += 1
        try:
            self.step()
        finally:
            self._deep -= 1

    def value(self) -> Any:
        """Something to hand in."""
        lot = self.lot
        match lot.randrange(16):
            case 0:
                return None
            case 1 | 2 | 3:
                return lot.choice(NUMBERS)
            case 4 | 5:
                return lot.randbytes(lot.choice((0, 1, 70, 300)))
            case 6:
                return bytearray(lot.randbytes(40))
            case 7:
                return Hostile(self)
            case 8:
                name = HostileName(lot.choice(("t", "", "u")))
                name.world = self
                return name
            case 9:
                return [self.plain() for _ in range(lot.randrange(5))]
            case 10:
                return tuple(self.plain() for _ in range(lot.choice((2, 4, 8))))
            case 11:
                return lot.choice(self.odd)
            case 12:
                return self.rows()
            case 13:
                return lot.choice((1.5, "t", True, {}, TimestampType.CREATE_TIME, message))
            case _:
                return lot.choice(self.objects) if self.objects else b""

    def plain(self) -> Any:
        """Something without anything in it."""
        return self.lot.choice((None, 0, 1, -1, 1 << 40, b"", b"key", "t", Hostile(self), ()))

    def rows(self) -> Rows:
        """Columns, of which some do not fit."""
        lot = self.lot
        count = lot.choice((0, 1, 4))

        def column() -> Any:
            spans = Spans(
                memoryview(bytes(40)),
                lot.choice(self.odd),
                lot.choice(self.odd),
            )
            listed = [lot.choice((None, b"v" * 9)) for _ in range(count)]
            return lot.choice((None, listed, spans, b"\0"))

        when = lot.choice((None, -1, 5, lot.choice(self.odd)))
        return Rows(count, column(), column(), lot.choice((b"\0", column())), when)

    def make(self) -> None:
        """Make an object of a native type."""
        lot = self.lot
        kind = lot.choice(kinds())
        if lot.random() < 0.3:
            anything: Any = kind
            made = anything.__new__(kind)
        elif lot.random() < 0.5:
            made = lot.choice(WELL)(self)
        else:
            made = kind(*(self.value() for _ in range(lot.randrange(8))))
        self.objects.append(made)

    def step(self) -> None:
        """Do one thing, whose errors are no matter."""
        try:
            with suppress(Exception):
                self._step()
        except SystemError as error:
            # `iter` of a released memoryview leaves its error behind in Python 3.11.
            if "released memoryview" not in str(error.__cause__):
                raise

    def _step(self) -> None:
        lot = self.lot
        chance = lot.random()
        if chance < 0.2 or not self.objects:
            self.make()
            return
        if chance < 0.3:
            given = [self.value() for _ in range(lot.randrange(7))]
            self.keep(lot.choice(functions())(*given))
            return
        it = lot.choice(self.objects)
        name = lot.choice(dir(type(it)))
        if name in WAITS or name in LEFT:
            return
        if chance < 0.36:
            self.keep(
                lot.choice((copy.copy, pickle.dumps, repr, hash, len, list, memoryview))(it)
            )
        elif chance < 0.45:
            setattr(it, name, self.value())
        else:
            found = getattr(it, name)
            if callable(found):
                found = found(*(self.value() for _ in range(lot.randrange(8))))
            self.keep(found)

    def keep(self, found: object) -> None:
        """Use what came of a call further."""
        if type(found) in kinds() or isinstance(found, memoryview):
            self.objects.append(found)

    def descriptor(self) -> int:
        """One of a pipe that nothing comes out of."""
        self._descriptors += os.pipe()
        return self._descriptors[-2]

    def close(self) -> None:
        """Let go of everything."""
        self.objects.clear()
        for each in self._descriptors:
            os.close(each)


def odd_buffers() -> tuple[Any, ...]:
    """Buffers as nothing needs them; an input may release them."""
    return (
        memoryview(ctypes.c_int64(3)),
        memoryview(ctypes.c_int32(3)),
        memoryview(bytes(16)).cast("i", (2, 2)),
        memoryview(bytes(64))[::2],
        memoryview(bytes(64)).cast("d"),
        memoryview(bytes(64)).cast("q"),
        memoryview(b"\0\0\0\x40" * 9).cast("i"),
        memoryview(b"\xff\xff\xff\x7f" * 9).cast("i"),
        memoryview(bytes(36)).cast("i"),
        memoryview(b""),
    )


# --- objects that are well ------------------------------------------------------------


def well_columns(world: World) -> Any:
    """A decoded batch."""
    native = modules()[5]
    data = bytearray(encode_batch([(0, b"k", b"v" * 9, [("h", b"x")])] * 5))
    header = header_at(memoryview(data), 0)
    columns = native.decode_batch("t", 0, header, data, 61, len(data))
    run = native.RecordRun(columns, 0, 5)
    return world.lot.choice((columns, run, iter(run), run[0], run[1].with_values(1, 2)))


def well_appender(world: World) -> Any:
    """An appender of one topic, or a part of it."""
    native = modules()[1]
    appender = native.Appender(100, lambda: 7, ignore_keys=False)
    topic, queue = native.TopicQueues("t"), native.QueueBase(0)
    queue.open_batch = native.BatchBuffer(world.lot.choice((100, 400, 1 << 20)))
    queue.open_batch.append(0, b"k", b"v", b"\0")
    topic.queues, topic.sticky = [queue], queue
    appender.topics["t"] = topic
    appender.choose = appender.slow = appender.on_ready = Hostile(world)
    sender = native.Sender(appender, world)
    delivery = native.Delivery(queue.open_batch, 0, 1)
    places = native.Places(world.lot.choice((0, 1, 5)))
    parts = appender, topic, queue, queue.open_batch, sender, delivery, places
    return world.lot.choice(parts)


def well_hand(world: World) -> Any:
    """An iteration's."""
    native = modules()[0]
    steady = native.Steady()
    steady.on()
    return world.lot.choice((steady, native.Hand(steady, [1, 2, 3], lambda: 0.0)))


def well_watch(world: World) -> Any:
    """A watch of nothing."""
    return modules()[3].NativeWatch(world.descriptor(), 1 << 16)


def well_pump(_world: World) -> Any:
    """One of a connection that was not begun."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    return modules()[2].pump_of(context().wrap_bio(incoming, outgoing))


def well_reader(world: World) -> Any:
    """A reader of answers, as an object with a call."""
    api = world.lot.choice((apis.METADATA, apis.FETCH, apis.PRODUCE))
    return modules()[4].reader_of(message(api, api.newest, "response"))


@cache
def context() -> ssl.SSLContext:
    """A context for connections that are not begun."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


WELL: Final[tuple[Callable[[World], Any], ...]] = (
    well_columns,
    well_columns,
    well_appender,
    well_appender,
    well_appender,
    well_hand,
    well_watch,
    well_pump,
    well_reader,
)

STEPS: Final = 40
"""What is done to the objects of one input."""


def misuse(lot: Random) -> None:
    """Make objects, and do to them what nothing does."""
    world = World(lot)
    try:
        for _ in range(STEPS):
            world.step()
    finally:
        world.close()
