"""What Python code can do to native types that are no part of the interface: no crash.

Of the records' types see `records/test_misuse`; `tests/fuzz/misuse` does all of it at random.
"""

import copy
import ctypes
import gc
import os
import pickle
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from prokurist.events.accumulator.rows import Rows
from prokurist.network_thread.io.watch import READING
from prokurist.records.columns import Spans
from prokurist.records.encode import encode_batch
from prokurist.records.headers import header_at

hands = pytest.importorskip("prokurist.events._native_hand")
accumulator = pytest.importorskip("prokurist.events.accumulator._native_accumulator")
pumps = pytest.importorskip("prokurist.network_thread.io._native_tls")
watches = pytest.importorskip("prokurist.network_thread.io._native_watch")
reading = pytest.importorskip("prokurist.network_thread.wire._native_reading")
records = pytest.importorskip("prokurist.records._native")

MODULES = (hands, accumulator, pumps, watches, reading, records)
ROOM = memoryview(bytearray(8))


@pytest.mark.parametrize("module", MODULES, ids=lambda each: each.__name__)
def test_nothing_sets_the_insides_of_a_native_object(module: Any) -> None:
    """B356: Cython's own pickling takes pointers and sizes from anything that is handed in."""
    own = [each for each in vars(module).values() if isinstance(each, type)]
    assert not [each for each in own if "__setstate_cython__" in vars(each)]
    names = [name for name in vars(module) if name.startswith("__pyx_unpickle_")]
    assert not [name for name in names if name != "__pyx_unpickle_Enum"]


@pytest.mark.parametrize(
    "made", [accumulator.Page, watches.Frames, accumulator.QueueBase], ids=str
)
@pytest.mark.parametrize("how", [copy.copy, pickle.dumps])
def test_what_holds_memory_is_not_copied(made: Any, how: Callable[[Any], Any]) -> None:
    """B356: a copy would be given back twice."""
    whole = made.__new__(made)
    with pytest.raises(TypeError, match="cannot pickle"):
        how(whole)


@pytest.mark.parametrize("kind", [hands.Hand, accumulator.Sender])
def test_what_needs_another_object_is_not_made_without_it(kind: Any) -> None:
    """B356: by `__new__` alone, and of None."""
    with pytest.raises(TypeError):
        kind.__new__(kind)
    with pytest.raises(TypeError):
        kind(None, [], None)


def test_a_pump_that_was_not_made() -> None:
    """B356: it reads for nothing."""
    with pytest.raises(RuntimeError, match="one thread at a time"):
        pumps.Pump().read(0, ROOM, ROOM, 0, 0, True)


def test_a_pump_of_what_only_looks_like_a_connection() -> None:
    """B356: by name and size, which is not enough."""
    inner = type("_SSLSocket", (), {"__slots__": tuple("abcdefghij")})()
    inner.a = inner.b = "where its session would be"
    outer = type("Outer", (), {"_sslobj": inner})()
    assert sys.getsizeof(inner) >= 80
    assert pumps.pump_of(outer) is None


@pytest.mark.parametrize("total", [1 << 62, 1 << 32])
def test_more_places_than_there_can_be(total: int) -> None:
    """B356: a size that comes round to nothing."""
    with pytest.raises(MemoryError):
        accumulator.Places(total)


class Adding:
    """A batch that adds another record when it is looked up.

    Args:
        places: To these.
    """

    def __init__(self, places: Any) -> None:
        self.places = places

    def __hash__(self) -> int:
        if self.places.count < 2:
            self.places.add("another", self.places.count)
        return 1


def test_places_that_are_added_to_within_a_look_up() -> None:
    """B356: no more than were told."""
    places = accumulator.Places(2)
    with pytest.raises(IndexError, match="more records than were told"):
        places.add(Adding(places), 0)
    places = accumulator.Places(1)
    places.add(None, 0)
    assert places.count == 1


@pytest.mark.parametrize("odd", ["starts", "timestamps"])
def test_columns_without_a_dimension(odd: str) -> None:
    """B356: they have no rows."""
    number = memoryview(ctypes.c_int64(0))
    lengths = memoryview(bytes(4)).cast("i")
    spans = Spans(memoryview(b"abc"), number, lengths)
    rows = Rows(1, None, spans if odd == "starts" else None)
    rows.timestamps = number if odd == "timestamps" else None
    with pytest.raises(TypeError, match="one dimension"):
        accumulator.RowReader(rows)


def test_a_place_by_a_key_that_is_none() -> None:
    """B356: its bytes would be read where there are none."""
    appender = accumulator.Appender(100, lambda: 0, ignore_keys=False)
    topic = accumulator.TopicQueues("t")
    topic.queues = [accumulator.QueueBase(0)]
    with pytest.raises(TypeError, match="a key is bytes or None"):
        appender.place(topic, 1 << 40, None)


def test_a_batch_that_was_released_takes_nothing() -> None:
    """B356: nor can its size be set, by which it would be copied."""
    batch = accumulator.BatchBuffer(1 << 20)
    assert batch.append(0, b"k", b"v", b"\0") == 0
    with pytest.raises(AttributeError):
        batch.size = 1 << 40
    batch.release()
    batch.is_open = True
    assert batch.append(0, b"k", b"v", b"\0") < 0
    assert batch.timestamps() == []


def test_a_batch_that_is_released_while_it_is_sealed() -> None:
    """B356: what is sealed is what there was."""
    batch = accumulator.BatchBuffer(1 << 20)
    batch.append(0, b"k", b"v", b"\0")

    class Releasing:
        """A producer id."""

        def __index__(self) -> int:
            batch.release()
            return 5

    assert bytes(batch.seal(Releasing(), 0, 0))[61:].endswith(b"v\0")


def test_a_page_is_not_written_to() -> None:
    """B356: what was sealed is on its way."""
    batch = accumulator.BatchBuffer(1 << 20)
    batch.append(0, b"k", b"v", b"\0")
    page = batch.seal(-1, -1, -1).obj
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises((BufferError, TypeError)):
        ours.recv_into(page)


def test_a_watch_has_one_thread() -> None:
    """B356: what another thread wants of it while it waits is refused."""
    asleep, waker = os.pipe()
    ours, theirs = socket.socketpair()
    watch = watches.NativeWatch(asleep, 100)
    watch.add(1, ours, READING)
    waiting = threading.Thread(target=watch.wait, args=(20.0,), daemon=True)
    waiting.start()
    try:
        while True:
            try:
                watch.last_words(1)
            except RuntimeError:
                break
        for call in (
            lambda: watch.remove(1),
            lambda: watch.add(2, theirs, READING),
            lambda: watch.wait(0),
            watch.close,
        ):
            with pytest.raises(RuntimeError, match="one thread"):
                call()
    finally:
        os.write(waker, b"x")
        waiting.join()
    watch.close()
    for each in (ours, theirs):
        each.close()
    os.close(asleep)
    os.close(waker)


def test_columns_in_a_cycle_give_their_buffer_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B356: the collector once let go of it, and the frame complained."""
    told: list[Any] = []
    monkeypatch.setattr(sys, "excepthook", lambda *error: told.append(error))
    data = bytearray(encode_batch([(0, b"k", b"v", [])]))
    header = header_at(memoryview(data), 0)
    assert header is not None
    cycle: list[Any] = [records.decode_batch("t", 0, header, data, 61, len(data))]
    cycle.append(cycle)
    del data, cycle
    gc.collect()
    assert not told
