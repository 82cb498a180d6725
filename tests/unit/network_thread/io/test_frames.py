"""Large frames of the native watch: portions of them, and the pages they lie in."""

import ctypes
import gc
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from prokurist.network_thread.io.watch import MODULES, READING, watch_of
from prokurist.network_thread.wire.fetch import memory_behind
from prokurist.twins import choose

MIB = 1 << 20
LARGEST = 64 * MIB


class Wire:
    """A watch with one TCP connection, and its other end."""

    def __init__(self) -> None:
        make = watch_of(choose(MODULES, "native"))
        self._asleep = os.pipe()
        # `kept` is the native twin's own.
        self.watch: Any = make(self._asleep[0], LARGEST)
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.theirs = socket.create_connection(server.getsockname())
            self.ours, _ = server.accept()
        self.ours.setblocking(False)
        self.watch.add(1, self.ours, READING)

    def close(self) -> None:
        """Close everything."""
        self.watch.close()
        for each in (self.ours, self.theirs):
            each.close()
        for descriptor in self._asleep:
            os.close(descriptor)

    def pull(self, frame: bytes) -> memoryview:
        """Send a frame, and wait for it."""
        return self.pull_rest(len(frame).to_bytes(4, "big") + frame)

    def pull_rest(self, rest: bytes) -> memoryview:
        """Send what a frame still lacks, and wait for the frame."""
        sender = threading.Thread(target=self.theirs.sendall, args=(rest,))
        sender.start()
        (seen,) = self.watch.wait(30)
        sender.join()
        assert seen.end is None
        (came,) = seen.frames
        return memoryview(came)


@pytest.fixture
def wire() -> Iterator[Wire]:
    """One that is closed in the end."""
    pytest.importorskip(MODULES["native"])
    made = Wire()
    yield made
    made.close()


def test_pages_of_a_large_frame_serve_the_next(wire: Wire) -> None:
    """They are given back with its last view, and taken for a frame of about its size."""
    first = wire.pull(b"1" * MIB)
    part = first[-4:]
    del first
    assert wire.watch.kept == 0
    assert bytes(part) == b"1111"
    del part
    kept = wire.watch.kept
    assert MIB <= kept < MIB + MIB // 8
    second = wire.pull(b"2" * (MIB - 100_000))
    assert wire.watch.kept == 0
    assert bytes(second) == b"2" * (MIB - 100_000)
    del second
    assert wire.watch.kept == kept
    small = wire.pull(b"3" * (MIB // 3))  # of half of it and less too much would be lost
    assert wire.watch.kept == kept
    assert bytes(small) == b"3" * (MIB // 3)


def test_a_bounded_part_of_what_was_given_back_is_kept(wire: Wire) -> None:
    """32 MiB and sixteen frames at most; the rest goes back to the system."""
    large = [wire.pull(os.urandom(3 * MIB)) for _ in range(14)]
    assert wire.watch.kept == 0
    large.clear()
    assert 28 * MIB < wire.watch.kept <= 32 * MIB
    small = [wire.pull(b"s" * (MIB // 3)) for _ in range(20)]
    small.clear()
    assert wire.watch.kept <= 32 * MIB


def test_frames_outlive_their_watch(wire: Wire) -> None:
    """Their pages are given back to their owner, and freed with it."""
    frame = wire.pull(b"kept" * MIB)
    wire.watch.close()
    wire.watch = wire.watch.__class__(wire._asleep[0], LARGEST)
    assert bytes(frame[-8:]) == b"keptkept"


def test_a_slow_sender_is_read_in_the_midst_of_a_large_frame(wire: Wire) -> None:
    """A wake-up waits for a good part of the frame, and not for ever: the rest may be late.

    So a frame comes to its end regardless of what the system makes of that wish, and an error's
    text says how far it had come.
    """
    wire.theirs.sendall((4 * MIB).to_bytes(4, "big") + b"f" * 1000)
    assert wire.watch.wait(0.5) == []
    wire.theirs.sendall(b"g" * 1000)  # far less than a portion
    until = time.monotonic() + 20
    there = f"in the middle of a frame, after 2000 of {4 * MIB} bytes"
    while wire.watch.progress(1).place() != there:
        assert wire.watch.wait(0.5) == []
        assert time.monotonic() < until, wire.watch.progress(1).place()
    wire.theirs.close()
    (seen,) = wire.watch.wait(30)
    assert seen.end == "the peer closed it"


@pytest.mark.skipif(sys.platform != "linux", reason="acknowledgements are asked for on Linux")
def test_the_beginning_of_a_large_frame_is_acknowledged_at_once(wire: Wire) -> None:
    """A broker, whose send buffer is small, goes on before the system's delayed answer.

    What that delays is 40 ms, or 8 ms where the sender's own probe comes first: twice as long
    as the whole of a fetch takes on loopback, where a segment has 64 KiB.
    """
    at_once, begun = 0, f"in the middle of a frame, after 30000 of {MIB} bytes"
    for _ in range(10):
        wire.ours.send(b"a request, since a connection that answers delays more")
        wire.theirs.recv(1000)
        wire.theirs.sendall(MIB.to_bytes(4, "big") + bytes(30_000))
        while wire.watch.progress(1).place() != begun:
            assert wire.watch.wait(0) == []
        at_once += not unacknowledged(wire.theirs)
        wire.pull_rest(bytes(MIB - 30_000))
    assert at_once > 5, at_once


def unacknowledged(sender: socket.socket) -> int:
    """How many segments the other end has not acknowledged yet."""
    # `tcp_info`: eight bytes, four numbers, and this one.
    information = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return int(struct.unpack_from("=8x16xI", information)[0])


def test_a_frame_tells_the_memory_behind_it(wire: Wire) -> None:
    """B275: pages of an earlier frame may be more than it fills."""
    assert memory_behind(wire.pull(bytes(1000))) == 1000
    first = wire.pull(bytes(3 * MIB))
    assert memory_behind(first[5:10]) == 3 * MIB
    del first
    assert memory_behind(wire.pull(bytes(2 * MIB))) == 3 * MIB


def test_pages_of_a_frame_that_the_caller_fills() -> None:
    """As under TLS: they are written through one view, and serve the next frame."""
    frames = pytest.importorskip(MODULES["native"]).Frames()
    room = frames.memory_for(MIB)
    room[:] = b"1" * MIB
    place = ctypes.addressof(ctypes.c_char.from_buffer(room))
    frame = room.toreadonly()
    assert memoryview(frame.obj).readonly, "it is filled through the first view alone"
    assert MIB <= memory_behind(frame) < MIB + MIB // 8
    del room
    assert bytes(frame[-4:]) == b"1111"
    del frame
    gc.collect()
    room = frames.memory_for(MIB - 1)
    assert ctypes.addressof(ctypes.c_char.from_buffer(room)) == place
    assert len(room) == MIB - 1
