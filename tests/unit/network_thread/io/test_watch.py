"""Both twins of the watch by themselves: the same bytes, the same frames, the same end."""

import gc
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from importlib.util import find_spec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prokurist.network_thread.io.framing import MOST_AT_ONCE, TOO_MANY
from prokurist.network_thread.io.pure_watch import PureWatch
from prokurist.network_thread.io.watch import (
    CLOSED,
    MODULES,
    READING,
    WRITING,
    MakeWatch,
    Seen,
    Watch,
    best_watch,
    watch_of,
)
from prokurist.twins import VARIABLE, choose

LARGEST = 1 << 20


class Watched:
    """A watch, and pairs of sockets of which it watches one end."""

    def __init__(self, make: MakeWatch) -> None:
        self.open = ExitStack()
        self.asleep, waker = os.pipe()
        self.open.callback(os.close, self.asleep)
        self.open.callback(os.close, waker)
        self.watch: Watch = make(self.asleep, LARGEST)
        self.open.callback(self.watch.close)
        self.ours: dict[int, socket.socket] = {}

    def pair(self, number: int, interest: int = READING) -> socket.socket:
        """Watch one end, and hand out the other."""
        ours, theirs = socket.socketpair()
        self.open.enter_context(ours)
        self.open.enter_context(theirs)
        ours.setblocking(False)
        self.ours[number] = ours
        self.watch.add(number, ours, interest)
        return theirs


@pytest.fixture
def watched(make_watch: MakeWatch) -> Iterator[Watched]:
    """A watch that is closed in the end."""
    made = Watched(make_watch)
    with made.open:
        yield made


def framed(*frames: bytes) -> bytes:
    """The frames as they go over the wire."""
    return b"".join(len(each).to_bytes(4, "big") + each for each in frames)


def plain(seen: Seen) -> tuple[int, bool, list[bytes], OSError | str | None]:
    """What was seen, to be compared."""
    return seen.number, seen.writable, [bytes(each) for each in seen.frames], seen.end


def heard(make: MakeWatch, pieces: list[bytes]) -> tuple[list[bytes], str, object]:
    """What a watch makes of pieces that come one after the other, and then the end."""
    made = Watched(make)
    frames: list[bytes] = []
    with made.open:
        theirs = made.pair(7)
        end: object = None
        for piece in pieces:
            theirs.sendall(piece)
            for _ in range(3):  # the pure twin comes back after each part of a frame
                for seen in made.watch.wait(0):
                    frames += map(bytes, seen.frames)
                    end = end or seen.end
            if end is not None:
                break
        theirs.close()
        for _ in range(2):
            if end is None:
                for seen in made.watch.wait(0):
                    frames += map(bytes, seen.frames)
                    end = end or seen.end
        return frames, made.watch.progress(7).place(), end


FRAMES = st.lists(
    st.binary(min_size=4, max_size=40) | st.integers(4, 200_000).map(bytes), max_size=6
)
TAILS = st.sampled_from(
    [b"", b"\0", b"\0\0\0", b"\0\0\0\x09abc", b"\xff\xff\xff\xff", b"\x00\x10\x00\x01"]
) | st.binary(max_size=30)
HEADS = st.sampled_from([b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x01\0\2\2\x28"])


@settings(deadline=None, max_examples=300)
@given(
    FRAMES,
    TAILS,
    HEADS,
    st.lists(st.integers(0, 70_000) | st.integers(0, 64), max_size=8),
)
def test_the_twins_hear_the_same(
    frames: list[bytes], tail: bytes, head: bytes, cuts: list[int]
) -> None:
    """For any segments: frames, the place in the stream, and the words about its end."""
    try:
        native = watch_of(choose(MODULES, "native"))
    except ImportError as error:
        pytest.skip(f"the native watch was not built: {error}")
    stream = head + framed(*frames) + tail
    pieces, at = [], 0
    for cut in cuts:
        if stream[at : at + cut]:
            pieces.append(stream[at : at + cut])
        at += cut
    while stream[at:]:
        pieces.append(stream[at : at + 65_000])  # as much as a pair of sockets holds
        at += 65_000
    assert heard(native, pieces) == heard(PureWatch, pieces)


def test_a_frame_of_every_size_around_the_buffers(watched: Watched) -> None:
    """Whether it ends before, at or behind the end of what one read takes."""
    theirs = watched.pair(1)
    theirs.setblocking(False)
    for size in (4, 5, 65_531, 65_532, 65_533, 65_536, 131_072, LARGEST):
        frame = os.urandom(size)
        left = memoryview(framed(frame, b"next"))
        got: list[memoryview] = []
        while len(got) < 2:
            if left:
                with suppress(BlockingIOError):
                    left = left[theirs.send(left) :]
            for seen in watched.watch.wait(0):
                got += seen.frames
        assert got == [frame, b"next"]


def test_a_frame_outlives_everything(watched: Watched) -> None:
    """It owns its memory, cannot be written, and is freed with its last view."""
    theirs = watched.pair(1)
    theirs.sendall(framed(b"to be kept", b"and this"))
    (seen,) = watched.watch.wait(0)
    kept = seen.frames[0][3:]
    frames = [bytes(each) for each in seen.frames]
    assert frames == [b"to be kept", b"and this"]
    watched.watch.close()
    del seen
    gc.collect()
    assert bytes(kept) == b"to be kept"[3:]
    with pytest.raises(TypeError, match="read-only"):
        kept[0] = 0


def test_a_frame_in_a_cycle_is_given_back(watched: Watched) -> None:
    """The collector takes a cycle apart before it frees what is in it."""
    theirs = watched.pair(1)
    gc.freeze()  # What other tests have left costs seconds to look through, each time.
    try:
        for _ in range(3):
            theirs.sendall(framed(b"kept in a circle"))
            (seen,) = watched.watch.wait(0)
            circle: list[object] = [seen.frames[0], seen.frames[0].obj]
            circle.append(circle)
            del seen, circle
            assert gc.collect()
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("make_watch", ["native"], indirect=True)
def test_a_part_of_a_frame_leaves_the_native_twin_asleep(watched: Watched) -> None:
    """It comes back for the whole; beside a busy thread each return costs milliseconds."""
    theirs = watched.pair(1)
    theirs.sendall(framed(b"in two parts")[:9])
    assert watched.watch.wait(0.01) == []
    progress = watched.watch.progress(1)
    assert progress.place() == "in the middle of a frame, after 5 of 12 bytes"
    theirs.sendall(framed(b"in two parts")[9:])
    (seen,) = watched.watch.wait(None)
    assert [bytes(each) for each in seen.frames] == [b"in two parts"]


def test_what_is_watched_for_is_what_is_told(watched: Watched) -> None:
    """Readable, writable, both or neither; a socket watched for writing is not read."""
    theirs = watched.pair(1, WRITING)
    theirs.sendall(framed(b"once"))
    assert [*map(plain, watched.watch.wait(None))] == [(1, True, [], None)]
    watched.watch.change(1, READING | WRITING)
    assert [*map(plain, watched.watch.wait(None))] == [(1, True, [b"once"], None)]
    watched.watch.change(1, READING)
    assert watched.watch.wait(0) == []


def test_streams_come_and_go(watched: Watched) -> None:
    """Each keeps its own place, however the others are removed around it."""
    ends = {number: watched.pair(number) for number in range(40)}
    for number, theirs in ends.items():
        theirs.sendall(framed(b"%04d" % number)[:3])
    for _ in range(2):
        assert watched.watch.wait(0) == []
    for number in range(0, 40, 3):
        watched.watch.remove(number)
        ends.pop(number)
    for number, theirs in ends.items():
        theirs.sendall(framed(b"%04d" % number)[3:])
    told = watched.watch.wait(0)
    assert {each.number: bytes(each.frames[0]) for each in told} == {
        number: b"%04d" % number for number in ends
    }
    with pytest.raises(KeyError):
        watched.watch.remove(0)


def taken_by(theirs: socket.socket, count: int) -> tuple[threading.Thread, bytearray]:
    """A thread that reads so many bytes, and what it has read."""
    read = bytearray()

    def go_on() -> None:
        while len(read) < count:
            read.extend(theirs.recv(1 << 16) or b"closed")

    reader = threading.Thread(target=go_on)
    reader.start()
    return reader, read


def test_what_is_left_over_is_written_within_waits(
    watched: Watched, make_watch: MakeWatch
) -> None:
    """It is told once, when all is written; the native twin does not return before."""
    theirs = watched.pair(1, READING | WRITING)
    rest = os.urandom(4 << 20)
    watched.watch.write(1, memoryview(rest))
    reader, read = taken_by(theirs, len(rest))
    told, waits = list[Seen](), 0
    while not told:
        told, waits = watched.watch.wait(10), waits + 1
    reader.join(10)
    assert [*map(plain, told)] == [(1, True, [], None)]
    assert watched.watch.take_back(1) == (len(rest), None)
    assert read == rest
    assert (waits > 1) is (make_watch is PureWatch)


def test_the_others_are_heard_while_a_rest_is_written(watched: Watched) -> None:
    """A peer that does not read holds up nothing, and nothing spins meanwhile."""
    watched.pair(1, READING | WRITING)
    other = watched.pair(2)
    watched.watch.write(1, memoryview(bytes(4 << 20)))
    for _ in range(20):
        other.sendall(framed(b"hello"))
        heard: list[Seen] = []
        while not heard:
            heard = watched.watch.wait(10)
        assert [*map(plain, heard)] == [(2, False, [b"hello"], None)]
    assert watched.watch.wait(0) == []
    count, failure = watched.watch.take_back(1)
    assert 0 < count < 4 << 20
    assert failure is None


def test_a_write_that_fails_says_how_far_it_came(watched: Watched) -> None:
    """What was written counts, and the error is told where it is taken back."""
    theirs = watched.pair(1, WRITING)
    watched.watch.write(1, memoryview(bytes(4 << 20)))
    assert watched.watch.wait(0) == []
    theirs.close()
    told: list[Seen] = []
    while not told:
        told = watched.watch.wait(10)
    assert [*map(plain, told)] == [(1, True, [], None)]
    count, failure = watched.watch.take_back(1)
    assert 0 < count < 4 << 20
    assert isinstance(failure, BrokenPipeError | ConnectionResetError)


def test_a_rest_is_held_until_it_is_given_up(watched: Watched) -> None:
    """By its end, by another one, or with its socket; then its memory is the caller's again."""
    watched.pair(1, WRITING)
    first, second, third = (bytearray(1 << 20) for _ in range(3))
    watched.watch.write(1, memoryview(first))
    with pytest.raises(BufferError):
        first.clear()
    watched.watch.write(1, memoryview(second))
    first.clear()
    watched.watch.take_back(1)
    second.clear()
    watched.watch.write(1, memoryview(third))
    watched.watch.remove(1)
    third.clear()


def test_last_words_are_read_without_waiting(watched: Watched) -> None:
    """Whole frames, the end, or nothing."""
    theirs = watched.pair(1)
    assert plain(watched.watch.last_words(1)) == (1, False, [], None)
    theirs.sendall(framed(b"adieu"))
    assert plain(watched.watch.last_words(1)) == (1, False, [b"adieu"], None)
    theirs.close()
    assert plain(watched.watch.last_words(1)) == (1, False, [], CLOSED)


def test_a_lie_about_a_length_costs_no_memory(
    make_watch: MakeWatch, resident: Callable[[], int]
) -> None:
    """Twenty peers announce 100 MiB each: addresses are reserved, and no page is touched."""
    made = Watched(lambda wake, _: make_watch(wake, 100 << 20))
    with made.open:
        before = resident()
        for number in range(100):
            made.pair(number).sendall((100 << 20).to_bytes(4, "big") + b"a little")
        while made.watch.received < 20 * 12:
            made.watch.wait(0)
        assert resident() - before < 50 << 20


def test_the_best_there_is_serves() -> None:
    """What this process runs is what it was asked to run, or else the native one."""
    wanted = os.environ.get(VARIABLE)
    is_pure = wanted == "python" or find_spec(MODULES["native"]) is None
    assert (best_watch() is PureWatch) is is_pure


@pytest.mark.parametrize("interest", [0, 4])
def test_a_socket_is_watched_for_something(watched: Watched, interest: int) -> None:
    """Or the system would tell of its peer's end again and again, and it would not be heard."""
    theirs = watched.pair(1)
    with pytest.raises(ValueError, match=f"reading, writing or both, not for {interest}"):
        watched.watch.add(2, theirs, interest)
    with pytest.raises(ValueError, match=f"reading, writing or both, not for {interest}"):
        watched.watch.change(1, interest)
    theirs.close()
    assert watched.watch.wait(1.0)[0].end == CLOSED


def test_a_million_frames_that_are_none(watched: Watched) -> None:
    """B278: the first one that is too short for an answer ends the stream."""
    theirs = watched.pair(1)
    theirs.sendall(framed(b"well") + bytes(100_000))
    (seen,) = watched.watch.wait(1.0)
    assert [*map(bytes, seen.frames)] == [b"well"]
    assert str(seen.end).startswith("the peer sent a frame of 0 bytes, which is too short")


def test_more_frames_at_once_than_are_ever_asked_for(watched: Watched) -> None:
    """B278: what a turn makes objects of is bounded, however small the frames are."""
    theirs = watched.pair(1)
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    theirs.setblocking(False)
    left, count, end = memoryview(framed(b"tiny") * 300_000), 0, None
    while end is None:
        with suppress(BlockingIOError):
            left = left[theirs.send(left) :]
        for seen in watched.watch.wait(0):
            assert len(seen.frames) <= 3 * MOST_AT_ONCE
            count += len(seen.frames)
            end = seen.end
        if not left:
            break
    if end is not None:
        assert end == f"the peer sent {TOO_MANY}"
        assert count < 300_000


def test_frames_of_another_length_are_accepted_from_now_on(watched: Watched) -> None:
    """B276: by stream."""
    first, second = watched.pair(1), watched.pair(2)
    watched.watch.accept(1, 10)
    for each in (first, second):
        each.sendall(framed(b"eleven byte"))
    told = {seen.number: plain(seen) for seen in watched.watch.wait(1.0)}
    assert told[2] == (2, False, [b"eleven byte"], None)
    assert "a frame of 11 bytes, above the limit of 10" in str(told[1][3])


def test_a_frame_that_was_not_read_is_no_frame() -> None:
    """Python code that makes one gets an exception, and no crash."""
    native = pytest.importorskip(MODULES["native"])
    with pytest.raises(TypeError, match="made by the watch"):
        native.Whole()
    with pytest.raises(BufferError, match="not read"):
        memoryview(native.Whole.__new__(native.Whole))
