# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, auto_pickle=False
"""The native twin of `prokurist.events.accumulator.pure`: a `send` without objects on the way.

Every line that a reader doubts is settled by the pure modules; one suite and one differential
test run over both. What is not the path of a record is theirs.

One extension in six parts: the numbers here, pages and their reuse, the records of a batch,
handles, many records at a time, and appending.

Thread: any, with the GIL, which is what makes a record whole: from the look at the open batch
until the record is counted no line runs Python code or lets another thread in. What may run
such code (a conversion, the choice of a partition, an allocation that the garbage collector
hears of, the end of an object) stands before or behind that. Without a GIL this stretch, in
`Appender.put` and `put_row`, and the shelves of pages would each need a mutex.
"""

cimport cython
from cpython.buffer cimport (
    PyBUF_FORMAT, PyBUF_ND, PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
)
from cpython.bytes cimport (
    PyBytes_AS_STRING, PyBytes_Check, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
)
from cpython.dict cimport PyDict_GetItemWithError
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, _Py_REFCNT
from cpython.tuple cimport PyTuple_SET_ITEM
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy
from posix.time cimport CLOCK_REALTIME, clock_gettime, timespec

import threading

from prokurist.events.accumulator import delivery as shared
from prokurist.events.accumulator.appending import (
    as_bytes, as_headers, require_timestamp, unwired
)
from prokurist.events.accumulator.record_metadata import RecordMetadata, require_callback
from prokurist.events.accumulator.rows import NO_HEADERS, Run as RowRun
from prokurist.events.clock import epoch_milliseconds
from prokurist.records.encode import batch_header
from prokurist.records.columns import Spans
from prokurist.records.headers import BATCH_HEADER
from prokurist.records.varints import encode_varint
from prokurist.types import require_int

cdef extern from "Python.h":
    object PyType_GenericAlloc(type kind, Py_ssize_t count)

ctypedef const unsigned char* place

cdef enum:
    CLOSED = -1
    FULL = -2
    HEAD = 61

if BATCH_HEADER != HEAD:
    raise ImportError(f"a batch's header has {BATCH_HEADER} bytes, and not {HEAD}")


cdef inline Py_ssize_t size_of(int64_t value) noexcept nogil:
    """How many bytes a varint takes."""
    cdef uint64_t rest = (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)
    cdef Py_ssize_t count = 1
    while rest > 0x7F:
        rest >>= 7
        count += 1
    return count


cdef inline unsigned char* put(unsigned char* at, int64_t value) noexcept nogil:
    """Write a varint."""
    cdef uint64_t rest = (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)
    while rest > 0x7F:
        at[0] = <unsigned char>(rest & 0x7F | 0x80)
        at += 1
        rest >>= 7
    at[0] = <unsigned char>rest
    return at + 1


cdef inline unsigned char* put_bytes(
    unsigned char* at, const char* data, Py_ssize_t size
) noexcept nogil:
    """Write a byte string behind its length; null has the length −1."""
    at = put(at, size)
    if size > 0:
        memcpy(at, data, size)
        at += size
    return at


cdef inline place number(place at, int64_t* out) noexcept nogil:
    """Read a varint that this module has written."""
    cdef uint64_t rest = 0
    cdef int shift = 0
    while at[0] >= 0x80:
        rest |= <uint64_t>(at[0] & 0x7F) << shift
        shift += 7
        at += 1
    rest |= <uint64_t>at[0] << shift
    out[0] = <int64_t>(rest >> 1) ^ -<int64_t>(rest & 1)
    return at + 1


cdef inline uint32_t little(place at) noexcept nogil:
    """Four bytes as a number, the lowest first."""
    return at[0] | <uint32_t>at[1] << 8 | <uint32_t>at[2] << 16 | <uint32_t>at[3] << 24


cdef uint32_t hash_of(place at, Py_ssize_t size) noexcept nogil:
    """See `prokurist.events.accumulator.murmur2.murmur2`."""
    cdef uint32_t digest = <uint32_t>0x9747B28C ^ <uint32_t>size
    cdef uint32_t word
    while size >= 4:
        word = little(at) * <uint32_t>0x5BD1E995
        word = (word ^ word >> 24) * <uint32_t>0x5BD1E995
        digest = (digest * <uint32_t>0x5BD1E995) ^ word
        at += 4
        size -= 4
    if size > 0:
        word = at[0]
        if size > 1:
            word |= <uint32_t>at[1] << 8
        if size > 2:
            word |= <uint32_t>at[2] << 16
        digest = (digest ^ word) * <uint32_t>0x5BD1E995
    digest = (digest ^ digest >> 13) * <uint32_t>0x5BD1E995
    return digest ^ digest >> 15


def murmur2(data not None):
    """See `prokurist.events.accumulator.murmur2.murmur2`."""
    data = as_bytes("key", data)
    return hash_of(<place>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


def partition_of_key(key not None, count):
    """See `prokurist.events.accumulator.murmur2.partition_of_key`."""
    return (murmur2(key) & 0x7FFFFFFF) % count


include "_native_pages.pxi"
include "_native_buffer.pxi"
include "_native_delivery.pxi"
include "_native_rows.pxi"
include "_native_appending.pxi"
