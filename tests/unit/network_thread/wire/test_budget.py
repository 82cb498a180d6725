"""The bound of an answer's cost, for any bytes."""

import struct
import time
import tracemalloc

import pytest

from prokurist.network_thread.io.framing import fresh_memory
from prokurist.network_thread.wire import apis, codec, reading
from prokurist.network_thread.wire.api_versions import ApiVersions
from prokurist.network_thread.wire.codec import decode
from prokurist.network_thread.wire.failures import Malformed, MalformedAnswer
from prokurist.network_thread.wire.fetch import Fetch, FetchAnswer, FetchedPartition
from prokurist.network_thread.wire.schema import message
from prokurist.network_thread.wire.writing import write_varint
from prokurist.types import TopicPartition

native = pytest.importorskip(codec.MODULES["native"])


def varint(number: int) -> bytes:
    """As it is on the wire."""
    out = bytearray()
    write_varint(out, number)
    return bytes(out)


def topics(count: int, tail: bytes = b"\0") -> bytes:
    """An answer to a fetch with so many topics without partitions."""
    return struct.pack(">ibihi", 1, 0, 0, 0, 0) + varint(count + 1) + b"\1\1\0" * count + tail


def test_more_elements_than_are_taken() -> None:
    """B277: an answer with millions of nothing costs no more than one with a million."""
    frame = topics(3 << 20)
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(MalformedAnswer, match="more than 1048576 elements"):
            decode(Fetch(()), 12, frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert time.process_time() - began < 0.5
    assert peak < 1 << 20


def test_a_greeting_is_short() -> None:
    """B276, B277: in bytes, and in elements of few bytes."""
    with pytest.raises(MalformedAnswer, match="is longer than 1048576, the most that is taken"):
        decode(ApiVersions("a", "1"), 3, bytes((1 << 20) + 1))
    row = struct.pack(">hhhb", 1, 0, 3, 0)
    frame = struct.pack(">ih", 1, 0) + varint(5001) + row * 5000 + struct.pack(">ib", 0, 0)
    with pytest.raises(
        MalformedAnswer, match="with its api_keys it has more than 4096 elements"
    ):
        decode(ApiVersions("a", "1"), 3, frame)


def test_tagged_fields_of_a_header_are_few() -> None:
    """B277: each takes two bytes, and a step of the interpreter."""
    frame = struct.pack(">i", 1) + varint(1 << 20) + bytes(2 << 20)
    with pytest.raises(MalformedAnswer, match="with its tagged fields it has more than 64"):
        decode(Fetch(()), 12, frame)


@pytest.mark.parametrize("most", [0, 1, 9, 10, 11, 100])
@pytest.mark.parametrize("tail", [b"\0", b"\3\7\0\6\0", b"\2\7\0"])
def test_the_twins_count_alike(most: int, tail: bytes) -> None:
    """B277: topics and tagged fields, to the same number and with the same words."""
    table = message(apis.FETCH, 12, "response")

    def outcome(read: reading.Whole) -> object:
        try:
            return read(memoryview(topics(10, tail)), 5, most)
        except (Malformed, IndexError) as error:
            return type(error), str(error)

    assert outcome(native.reader_of(table)) == outcome(reading.reader_of(table))


def test_what_is_wrong_behind_very_many_elements_is_not_looked_for_twice() -> None:
    """B277: the pure reader would take as many seconds as the native one tenths."""
    with pytest.raises(MalformedAnswer, match="it is not right at byte"):
        decode(Fetch(()), 12, topics(100_000, b"\1\1"))


def test_all_of_a_frame_is_counted_as_held() -> None:
    """B275: records are views of their frame, however few of its bytes they are."""
    frame = fresh_memory(50 << 20)
    frames = frame.toreadonly(), memoryview(b"x" * 1000)
    tp = TopicPartition("t", 0)
    rows = (
        FetchedPartition(tp, 0, frames[0][100:169]),
        FetchedPartition(tp, 0, frames[0][200:201], aborted=((1, 2), (3, 4))),
        FetchedPartition(tp, 0, frames[1][:10]),
        FetchedPartition(tp, 0, memoryview(b"never counted")[:0], aborted=((1, 2),)),
    )
    assert FetchAnswer(0, 0, rows[:1]).size == 50 << 20
    assert FetchAnswer(0, 0, rows).size == (50 << 20) + 1000 + 2 * 128
    assert FetchAnswer(0, 0, rows[3:]).size == 0
