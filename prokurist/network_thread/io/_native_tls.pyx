# cython: language_level=3, boundscheck=False, wraparound=False, auto_pickle=False
"""Receives and decrypts without the GIL, by the very library that `ssl` uses.

`ssl` gives the GIL up and takes it back for each record of 16 KiB; beside a busy application
thread each of these costs up to 5 ms. Here one call takes all that is there.

Nothing is linked: the functions are looked up in the library that Python's `_ssl` has loaded, and
the connection's `SSL*` is read out of its object, where the layout of that object is known for
this version of Python and the library confirms whose it is. Otherwise there is no pump, and
`ssl` decrypts.

Thread: the network thread's; all of one connection's calls come from there.
Invariants: the object of the connection, and with it all that belongs to it, lives as long as
its pump.
"""

import sys

import _ssl

from prokurist.network_thread.io._native_watch import Frames

cdef extern from "<dlfcn.h>" nogil:
    void* dlopen(const char* name, int flags)
    void* dlsym(void* library, const char* name)
    const int RTLD_LAZY
    const int RTLD_NOLOAD

from cpython.object cimport PyObject
from libc.errno cimport EAGAIN, EINTR, errno
from libc.stdint cimport int64_t

include "_native_calls.pxi"

ctypedef int (*ReadEx)(void*, void*, size_t, size_t*) noexcept nogil
ctypedef int (*GetError)(const void*, int) noexcept nogil
ctypedef void* (*GetReadBio)(const void*) noexcept nogil
ctypedef void* (*GetExData)(const void*, int) noexcept nogil
ctypedef int (*BioWrite)(void*, const void*, int) noexcept nogil
ctypedef void (*ClearError)() noexcept nogil

cdef ReadEx read_ex = NULL
cdef GetError get_error = NULL
cdef GetReadBio get_read_bio = NULL
cdef GetExData get_ex_data = NULL
cdef BioWrite bio_write = NULL
cdef ClearError clear_error = NULL

cdef enum:
    WANT_READ = 2  # of SSL_get_error
    ZERO_RETURN = 6
    SHARE = 4 << 20  # bytes received in one call
    PORTION = 256 << 10  # bytes received at once, and worth a wake-up
    CHUNK = 32 << 10  # bytes decrypted at once, more than a record
    WITHOUT_DATA = 64 << 10  # bytes in which some data has to come; see tls.py

cdef enum:
    DRAINED_ = 0
    FULL_ = 1
    ENDED_ = 2
    FAILED_ = 3
    EXCESS_ = 4

DRAINED = DRAINED_
"""Nothing more is here."""
FULL = FULL_
"""The room is full, and more may be here."""
ENDED = ENDED_
"""The peer has closed the connection."""
FAILED = FAILED_
"""What came cannot be decrypted, or is an alert."""
EXCESS = EXCESS_
"""More came without data than a broker has to say."""

cdef enum:
    POINTER_AT_ = 24  # where in the object the `SSL*` stands

SIZES = {(3, 10): 96, (3, 11): 96, (3, 12): 80, (3, 13): 80}
"""The size of the object in the versions of Python whose layout is known."""


cdef bint load() except -1:
    """Look the functions up; False where they cannot be found."""
    global read_ex, get_error, get_read_bio, get_ex_data, bio_write, clear_error
    cdef void* library
    cdef bytes where
    path = getattr(_ssl, "__file__", None)
    if path is None:
        library = dlopen(NULL, RTLD_LAZY)
    else:
        where = path.encode()
        library = dlopen(where, RTLD_LAZY | RTLD_NOLOAD)
    if library == NULL:
        return False
    read_ex = <ReadEx>dlsym(library, "SSL_read_ex")
    get_error = <GetError>dlsym(library, "SSL_get_error")
    get_read_bio = <GetReadBio>dlsym(library, "SSL_get_rbio")
    get_ex_data = <GetExData>dlsym(library, "SSL_get_ex_data")
    bio_write = <BioWrite>dlsym(library, "BIO_write")
    clear_error = <ClearError>dlsym(library, "ERR_clear_error")
    return (
        read_ex != NULL
        and get_error != NULL
        and get_read_bio != NULL
        and get_ex_data != NULL
        and bio_write != NULL
        and clear_error != NULL
    )


cdef bint is_loaded = load()


def is_known(object inner) -> bool:
    """Whether the layout of a connection's object is one that was tried."""
    kind = type(inner)
    return (
        is_loaded
        and sys.implementation.name == "cpython"
        and SIZES.get(sys.version_info[:2]) == kind.__basicsize__
        and kind is getattr(_ssl, "_SSLSocket", None)
        and not getattr(sys, "abiflags", "").count("t")
    )


def frame_memory():
    """What allocates the memory of one watch's frames, whose pages are used again."""
    return Frames().memory_for


def pump_of(object connection):
    """The pump of a connection whose handshake is over; None where there can be none.

    Args:
        connection: An `ssl.SSLObject`.
    """
    inner = getattr(connection, "_sslobj", None)
    if inner is None or not is_known(inner):
        return None
    cdef void* session = (<void**>(<char*><PyObject*>inner + POINTER_AT_))[0]
    if session == NULL:
        return None
    # The library keeps a pointer to Python's object beside its own data: only where that is this
    # very object was the pointer read from the right place.
    cdef void* owner = get_ex_data(session, 0)
    if owner != <void*>inner and owner != <void*>connection:
        return None
    cdef Pump made = Pump()
    made.connection = connection
    made.session = session
    made.bio = get_read_bio(session)
    return made if made.bio != NULL else None


cdef class Pump:
    """One connection's."""

    cdef object connection
    cdef void* session
    cdef void* bio
    cdef Py_ssize_t without_data
    cdef bint busy

    def read(
        self,
        int descriptor,
        char[::1] scratch not None,
        char[::1] room not None,
        int wake,
        int patience,
        bint receives,
    ):
        """Receive, and decrypt into a buffer, as much as there is and fits.

        Args:
            descriptor: The socket's; it does not block.
            scratch: Where ciphertext is received.
            room: Where plaintext goes.
            wake: A descriptor that ends the waiting when it becomes readable.
            patience: Milliseconds to wait for more, where the buffer is not full.
            receives: Whether to receive; else what was received before is decrypted.

        Returns:
            The bytes of plaintext, those received, and how it ended: one of the names above,
            or an errno below zero.
        """
        cdef Py_ssize_t filled = 0, received = 0, got = 0, size = room.shape[0]
        cdef Py_ssize_t at = 0, portion = 0, most = min(scratch.shape[0], PORTION)
        cdef size_t count = 0
        cdef int end = DRAINED_, why = 0
        cdef pollfd waiting[2]
        cdef int worth = 1
        if self.session == NULL or self.busy:
            raise RuntimeError("a pump reads for one thread at a time, once it was made")
        self.busy = True
        with nogil:
            while True:
                while filled < size:
                    clear_error()
                    count = 0
                    if read_ex(self.session, &room[filled], size - filled, &count):
                        filled += count
                        self.without_data = 0
                        continue
                    why = get_error(self.session, 0)
                    if why != WANT_READ:
                        end = ENDED_ if why == ZERO_RETURN else FAILED_
                    break
                if end != DRAINED_:
                    break
                if filled == size:
                    end = FULL_
                    break
                if self.without_data > WITHOUT_DATA:
                    end = EXCESS_
                    break
                if at < got:
                    portion = min(CHUNK, got - at)
                    if bio_write(self.bio, &scratch[at], <int>portion) != portion:
                        end = FAILED_
                        break
                    at += portion
                    self.without_data += portion
                    continue
                if not receives or received >= SHARE or received - filled > WITHOUT_DATA:
                    break
                at = 0
                got = recv(descriptor, &scratch[0], most, 0)
                if got > 0:
                    received += got
                    continue
                if got == 0:
                    end = ENDED_
                    break
                if errno == EINTR:
                    continue
                if errno != EAGAIN:
                    end = -errno
                    break
                if patience <= 0:
                    break
                # Plaintext is shorter than what it comes in: so much is still to come.
                if worth != min(PORTION, size - filled):
                    worth = <int>min(PORTION, size - filled)
                    prokurist_portion(descriptor, worth)
                prokurist_acknowledge(descriptor)
                waiting[0].fd, waiting[1].fd = descriptor, wake
                waiting[0].events = waiting[1].events = POLLIN
                waiting[0].revents = waiting[1].revents = 0
                if prokurist_wait(waiting, 2, patience * 1_000_000) <= 0 or waiting[1].revents:
                    break
                patience -= 1
            if end == FULL_ and at < got:
                # The scratch is every connection's: the rest is decrypted by the next call.
                if bio_write(self.bio, &scratch[at], <int>(got - at)) != got - at:
                    end = FAILED_
            if worth > 1:
                prokurist_portion(descriptor, 1)
        self.busy = False
        return filled, received, end

    def __repr__(self) -> str:
        return f"<Pump of {self.connection!r}>"

