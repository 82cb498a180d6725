# cython: language_level=3, boundscheck=False, wraparound=False, auto_pickle=False
"""The native twin of `pure_watch`: one wait, and everything read in it, without the GIL.

Thread: the network thread. A `Whole` frame may go to any.
Invariants: while the GIL is released no other thread touches a stream (all methods are
the network thread's); a stream's frame is memory of its exact size, filled once and
then handed out; what was completed but not told yet hangs in the stream's list, and
is freed with it.

A frame's memory is taken at its full size at once. The system gives pages only as
they are filled, so that a length that lies costs addresses and no memory.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.buffer cimport PyBuffer_FillInfo, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.errno cimport EAGAIN, EINTR, ENOMEM, errno
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

import os

from prokurist.network_thread.io.framing import (
    LOOKED_AT, MOST_AT_ONCE, SMALLEST_FRAME_BYTES, TOO_MANY, Progress, objection
)
from prokurist.network_thread.io.watch import CLOSED, READING, WAKE, WRITING, Seen, check_interest

include "_native_calls.pxi"

cdef enum:
    PREFIX = 4
    SCRATCH = 1 << 16
    SHARE = 4 << 20  # bytes of one socket before the others get their turn
    QUOTED = 200
    SMALLEST = 4
    AT_ONCE = 16_384
    PORTION = 1 << 19  # bytes of a large frame that are worth a wake-up
    PATIENCE = 50_000_000  # nanoseconds to wait for them before less will do

cdef enum:
    # How a stream stands; above zero it is an errno.
    GOES_ON = 0
    IS_CLOSED = -1
    IS_REFUSED = -2
    IS_TOO_MANY = -3

cdef double LONGEST_WAIT = 86_400.0  # beyond it the integers overflow


cdef struct Piece:
    # A whole frame that was not told yet.
    char* memory
    Py_ssize_t size  # of the memory
    Py_ssize_t length  # of the frame
    Piece* next


cdef struct Stream:
    int64_t number
    int64_t largest
    int64_t frames
    int64_t received
    unsigned char[PREFIX] prefix
    int carried
    char* memory  # of the present frame; NULL between frames
    Py_ssize_t size
    Py_ssize_t filled
    Py_ssize_t length
    Piece* first
    Piece* last
    bint writable
    int portion  # bytes that have to be there before the socket is readable
    int end
    unsigned char[QUOTED] start  # of what was refused
    int started
    Py_buffer rest  # what is to be written; its `buf` is NULL where nothing is
    Py_ssize_t written
    int failure  # of writing, an errno


include "_native_frames.pxi"
include "_native_writing.pxi"


cdef class NativeWatch:
    """See `watch.Watch`.

    Args:
        wake: The descriptor that ends a wait when it becomes readable.
        largest: A longer frame ends its stream.
    """

    cdef pollfd* _all  # the first is the wake's
    cdef Stream** _streams  # of the same places
    cdef int _count
    cdef int _room
    cdef int64_t _largest
    cdef unsigned char* _scratch
    cdef dict _places
    cdef int64_t _received
    cdef Frames _frames
    cdef int _portions  # streams that wait for a portion
    cdef int _busy  # the process in which a call is under way; 0 while none is

    def __cinit__(self, int wake, int64_t largest):
        if QUOTED != LOOKED_AT:
            raise AssertionError("the twins look at different lengths of a strange beginning")
        if SMALLEST != SMALLEST_FRAME_BYTES or AT_ONCE != MOST_AT_ONCE:
            raise AssertionError("the twins accept different frames")
        self._largest = largest
        self._places = {}
        self._frames = Frames()
        self._room = 8
        self._all = <pollfd*>PyMem_RawMalloc(self._room * sizeof(pollfd))
        self._streams = <Stream**>PyMem_RawMalloc(self._room * sizeof(Stream*))
        self._scratch = <unsigned char*>PyMem_RawMalloc(SCRATCH)
        if self._all == NULL or self._streams == NULL or self._scratch == NULL:
            raise MemoryError
        self._all[0].fd = wake
        self._all[0].events = POLLIN
        self._all[0].revents = 0
        self._streams[0] = NULL
        self._count = 1

    def __dealloc__(self):
        cdef int place
        for place in range(1, self._count):
            free_stream(self._streams[place], self._frames)
        PyMem_RawFree(self._all)
        PyMem_RawFree(self._streams)
        PyMem_RawFree(self._scratch)

    @property
    def received(self):
        """See `Watch.received`."""
        return self._received

    @property
    def kept(self):
        """Bytes of pages that wait for their next frame."""
        return self._frames.total

    def add(self, int64_t number, made, int interest):
        """Watch a socket; see `Watch.add`."""
        cdef int descriptor = made.fileno()
        cdef short events = wanted(interest)
        self._alone()
        if number in self._places:
            raise KeyError(f"{number} is watched already")
        if self._count == self._room:
            self._grow()
        cdef Stream* stream = <Stream*>PyMem_RawMalloc(sizeof(Stream))
        if stream == NULL:
            raise MemoryError
        stream.number = number
        stream.largest = self._largest
        stream.frames = stream.received = 0
        stream.carried = 0
        stream.memory = NULL
        stream.size = stream.filled = stream.length = 0
        stream.first = stream.last = NULL
        stream.writable = False
        stream.portion = 1
        stream.end = GOES_ON
        stream.started = 0
        stream.rest.buf = NULL
        stream.written = 0
        stream.failure = 0
        self._streams[self._count] = stream
        self._all[self._count].fd = descriptor
        self._all[self._count].events = events
        self._all[self._count].revents = 0
        self._places[number] = self._count
        self._count += 1

    cdef int _alone(self) except -1:
        """No call of another thread, or from within this one's, finds streams that change.

        A process that was forked in a call has a copy that no call is under way in.
        """
        if self._busy and self._busy == getpid():
            raise RuntimeError("a watch has one thread, and one call at a time")
        return 0

    cdef int _grow(self) except -1:
        cdef int room = 2 * self._room
        cdef pollfd* all = <pollfd*>PyMem_RawMalloc(room * sizeof(pollfd))
        cdef Stream** streams = <Stream**>PyMem_RawMalloc(room * sizeof(Stream*))
        if all == NULL or streams == NULL:
            PyMem_RawFree(all)
            PyMem_RawFree(streams)
            raise MemoryError
        memcpy(all, self._all, self._count * sizeof(pollfd))
        memcpy(streams, self._streams, self._count * sizeof(Stream*))
        PyMem_RawFree(self._all)
        PyMem_RawFree(self._streams)
        self._all, self._streams, self._room = all, streams, room
        return 0

    def change(self, number, int interest):
        """Watch it for something else; see `Watch.change`."""
        cdef short events = wanted(interest)
        self._all[<int>self._places[number]].events = events

    def accept(self, number, int64_t largest):
        """Accept other frames of it; see `Watch.accept`."""
        self._streams[<int>self._places[number]].largest = largest

    def write(self, number, rest):
        """Write within `wait`; see `Watch.write`."""
        self._alone()
        cdef Stream* stream = self._streams[<int>self._places[number]]
        give_up_rest(stream)
        PyObject_GetBuffer(rest, &stream.rest, PyBUF_SIMPLE)
        stream.written = 0
        stream.failure = 0

    def take_back(self, number):
        """Stop writing; see `Watch.take_back`."""
        self._alone()
        cdef Stream* stream = self._streams[<int>self._places[number]]
        give_up_rest(stream)
        failure = OSError(stream.failure, os.strerror(stream.failure)) if stream.failure else None
        return stream.written, failure

    def remove(self, number):
        """Watch it no more; see `Watch.remove`."""
        self._alone()
        cdef int place = self._places.pop(number)
        cdef int last = self._count - 1
        self._portions -= self._streams[place].portion > 1
        free_stream(self._streams[place], self._frames)
        if place != last:
            self._all[place] = self._all[last]
            self._streams[place] = self._streams[last]
            self._places[self._streams[place].number] = place
        self._count = last

    def wait(self, seconds):
        """Wait, and read; see `Watch.wait`."""
        cdef int64_t until = -1
        cdef int found
        if seconds is not None:
            until = prokurist_now() + <int64_t>(1e9 * max(0.0, min(seconds, LONGEST_WAIT)))
        self._alone()
        self._busy = getpid()
        try:
            while True:
                with nogil:
                    found = self._until(until)
                if found != EINTR:
                    break
                PyErr_CheckSignals()
            if found < 0:
                raise OSError(-found, os.strerror(-found))
            return self._told() if found else []
        finally:
            self._busy = 0

    cdef int _until(self, int64_t until) noexcept nogil:
        """Whether there is something to tell; or EINTR, or an errno below zero."""
        cdef int place, ready, happened = 0
        cdef int64_t left
        cdef short events
        cdef bint hurries
        while True:
            left = -1
            if until >= 0:
                left = until - prokurist_now()
                if left < 0:
                    left = 0
            hurries = self._portions > 0 and (left < 0 or left > PATIENCE)
            ready = prokurist_wait(self._all, self._count, PATIENCE if hurries else left)
            if ready == 0 and hurries:
                self._take_less()
                continue
            if ready < 0:
                # What was seen before the signal came is not lost: it hangs in the streams.
                return EINTR if errno == EINTR else -errno
            for place in range(self._count):
                events = self._all[place].revents
                if not events:
                    continue
                if place == 0:
                    happened = 1
                    continue
                if events & ~POLLOUT and self._all[place].events & POLLIN:
                    self._read(self._streams[place], self._all[place].fd)
                    self._portion(self._streams[place], self._all[place].fd)
                    if self._streams[place].first != NULL or self._streams[place].end:
                        happened = 1
                if (
                    events & ~POLLIN and self._all[place].events & POLLOUT
                    and write_rest(self._streams[place], self._all[place].fd)
                ):
                    self._streams[place].writable = True
                    happened = 1
            if happened or left == 0:
                return happened

    cdef void _portion(self, Stream* stream, int descriptor) noexcept nogil:
        """In the midst of a large frame, be woken for a good part of the rest of it."""
        cdef bint large = stream.memory != NULL and stream.length - stream.filled > PORTION
        self._portions -= stream.portion > 1
        self._portions += ask_for(PORTION if large else 1, stream, descriptor)
        if stream.memory != NULL:
            prokurist_acknowledge(descriptor)

    cdef void _take_less(self) noexcept nogil:
        """A peer is slow: what is there is taken as it comes."""
        cdef int place
        for place in range(1, self._count):
            ask_for(1, self._streams[place], self._all[place].fd)
        self._portions = 0

    cdef void _read(self, Stream* stream, int descriptor) noexcept nogil:
        """Read until nothing is left, a large frame is whole, or its share is used up."""
        cdef Py_ssize_t share = SHARE
        cdef int64_t before = stream.frames
        cdef Py_ssize_t room, got
        cdef char* target
        while share > 0 and stream.end == GOES_ON:
            if stream.memory != NULL:
                target = stream.memory + stream.filled
                room = min(stream.length - stream.filled, share)
            else:
                memcpy(self._scratch, stream.prefix, stream.carried)
                target = <char*>self._scratch + stream.carried
                room = SCRATCH - stream.carried
            got = recv(descriptor, target, room, 0)
            if got < 0:
                if errno == EINTR:
                    continue
                if errno != EAGAIN:  # where we run, EWOULDBLOCK is the same
                    stream.end = errno
                return
            if got == 0:
                stream.end = IS_CLOSED
                return
            share -= got
            stream.received += got
            self._received += got
            if stream.memory != NULL:
                stream.filled += got
                if stream.filled == stream.length:
                    # Nothing more is expected behind it: a further read is for the next wait.
                    completed(stream)
                    return
            else:
                self._split(stream, got)
                if stream.frames - before > AT_ONCE and not stream.end:
                    stream.end = IS_TOO_MANY
            if got < room:
                return

    cdef void _split(self, Stream* stream, Py_ssize_t got) noexcept nogil:
        """Cut what came into the scratch buffer into frames."""
        cdef Py_ssize_t position = 0
        cdef Py_ssize_t end = stream.carried + got
        cdef Py_ssize_t there
        cdef int64_t length
        cdef unsigned char* at
        stream.carried = 0
        while end - position >= PREFIX:
            at = self._scratch + position
            length = <int>(
                <uint32_t>at[0] << 24 | <uint32_t>at[1] << 16 | <uint32_t>at[2] << 8 | at[3]
            )
            if (
                length < SMALLEST or length > stream.largest
                or (not stream.frames and stranger(at))
            ):
                stream.started = <int>min(end - position, <Py_ssize_t>QUOTED)
                memcpy(stream.start, at, stream.started)
                stream.end = IS_REFUSED
                return
            stream.memory = self._frames.take(length, &stream.size)
            if stream.memory == NULL:
                stream.end = ENOMEM
                return
            position += PREFIX
            there = min(end - position, <Py_ssize_t>length)
            memcpy(stream.memory, self._scratch + position, there)
            stream.filled, stream.length = there, length
            position += there
            if there < length:
                return
            completed(stream)
            if stream.end:
                return
        stream.carried = <int>(end - position)
        memcpy(stream.prefix, self._scratch + position, stream.carried)

    cdef list _told(self):
        cdef list seen = []
        cdef int place
        if self._all[0].revents:
            seen.append(Seen(WAKE, False, [], None))
            self._all[0].revents = 0
        for place in range(1, self._count):
            stream = self._streams[place]
            if stream.first != NULL or stream.writable or stream.end:
                seen.append(self._seen(self._streams[place]))
        return seen

    cdef object _seen(self, Stream* stream):
        frames = []
        cdef Piece* piece
        cdef Whole whole
        while stream.first != NULL:
            whole = Whole.__new__(Whole)
            piece = stream.first
            whole.frames = self._frames
            whole.memory, whole.size, whole.length = piece.memory, piece.size, piece.length
            stream.first = piece.next
            PyMem_RawFree(piece)
            frames.append(memoryview(whole))
        stream.last = NULL
        end = None
        if stream.end == IS_CLOSED:
            end = CLOSED
        elif stream.end == IS_REFUSED:
            start = stream.start[:stream.started]
            length = int.from_bytes(start[:PREFIX], "big", signed=True)
            what = objection(length, stream.largest, start, first=not stream.frames)
            end = f"the peer sent {what}"
        elif stream.end == IS_TOO_MANY:
            end = f"the peer sent {TOO_MANY}"
        elif stream.end:
            end = OSError(stream.end, os.strerror(stream.end))
        writable, stream.writable = stream.writable, False
        return Seen(stream.number, bool(writable), frames, end)

    def last_words(self, number):
        """Read what is there already; see `Watch.last_words`."""
        self._alone()
        cdef int place = self._places[number]
        self._busy = getpid()
        try:
            with nogil:
                self._read(self._streams[place], self._all[place].fd)
            return self._seen(self._streams[place])
        finally:
            self._busy = 0

    def progress(self, number):
        """How far its stream has come; see `Watch.progress`."""
        cdef Stream* stream = self._streams[<int>self._places[number]]
        length = None if stream.memory == NULL else stream.length
        return Progress(stream.frames, stream.received, stream.carried, stream.filled, length)

    def close(self):
        """Watch nothing any more; see `Watch.close`."""
        while self._places:
            self.remove(next(iter(self._places)))

    def __repr__(self):
        return f"<NativeWatch of {len(self._places)} sockets, received {self._received}>"


cdef inline short wanted(int interest) except -1:
    check_interest(interest)
    return (POLLIN if interest & READING else 0) | (POLLOUT if interest & WRITING else 0)


cdef inline bint stranger(unsigned char* at) noexcept nogil:
    """Whether the first frame may be another protocol's greeting; see `framing`."""
    if at[0] == c"H" and at[1] == c"T" and at[2] == c"T" and at[3] == c"P":
        return True
    return (at[0] == 0x15 or at[0] == 0x16) and at[1] == 3


cdef inline bint ask_for(int portion, Stream* stream, int descriptor) noexcept nogil:
    """Have its socket count as readable from so many bytes on."""
    if portion != stream.portion:
        prokurist_portion(descriptor, portion)
        stream.portion = portion
    return portion > 1


cdef void completed(Stream* stream) noexcept nogil:
    """The present frame is whole; it hangs in the list until it is told."""
    cdef Piece* piece = <Piece*>PyMem_RawMalloc(sizeof(Piece))
    if piece == NULL:
        stream.end = ENOMEM
        return
    piece.memory, piece.size, piece.length = stream.memory, stream.size, stream.length
    piece.next = NULL
    if stream.last == NULL:
        stream.first = piece
    else:
        stream.last.next = piece
    stream.last = piece
    stream.memory = NULL
    stream.filled = 0
    stream.frames += 1


cdef void free_stream(Stream* stream, Frames frames) noexcept:
    cdef Piece* piece
    while stream.first != NULL:
        piece = stream.first
        stream.first = piece.next
        frames.give_back(piece.memory, piece.size)
        PyMem_RawFree(piece)
    frames.give_back(stream.memory, stream.size)
    give_up_rest(stream)
    PyMem_RawFree(stream)
