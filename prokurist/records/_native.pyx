# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, auto_pickle=False
"""The native twin of `prokurist.records.pure`: the same answers, without objects on the way.

Every line that a reader doubts is settled by the pure modules; one suite and one
differential test run over both. What is not a hot path is theirs: where bytes are
damaged, the pure twin is asked what is wrong with them, and raises.

One extension in six parts: the numbers here, headers, columns and decoding, wrapped
messages, records, and encoding.

Thread: any, with the GIL: an iterator has a place of its own that nothing else guards.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.number cimport PyNumber_Index
from cpython.tuple cimport PyTuple_CheckExact
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport INT32_MAX, INT64_MAX, INT64_MIN, int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from prokurist.errors import CorruptRecordException
from prokurist.records import headers
from prokurist.records import record as shared
from prokurist.records import legacy
from prokurist.records.columns import MOST_HEADERS as most_headers
from prokurist.records.columns import (
    ROW_BYTES, RecordColumns, Spans, most_rows, pack_headers, refuse_rows
)
from prokurist.records.decode import check_count, check_end, read_row
from prokurist.types import TimestampType

ctypedef const unsigned char* place

cdef tuple KINDS = (
    TimestampType.NO_TIMESTAMP_TYPE, TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME
)
"""Who stamped a record, at the number on the wire and one."""
cdef object CREATE_TIME = TimestampType.CREATE_TIME
cdef object APPENDED = TimestampType.LOG_APPEND_TIME
cdef object new_header = tuple.__new__


cdef signed char kind_of(timestamp_type) except -1:
    """Where in `KINDS` a timestamp type stands."""
    return 1 if timestamp_type is CREATE_TIME else KINDS.index(timestamp_type)


cdef inline place number(place at, place end, int64_t* out) noexcept nogil:
    """Read a varint; NULL where it breaks off or needs more than 64 bits."""
    # Nearly all have one byte or two, and then there is nothing to loop over.
    if end - at >= 2:
        if at[0] < 0x80:
            out[0] = (at[0] >> 1) ^ -<int64_t>(at[0] & 1)
            return at + 1
        if at[1] < 0x80:
            out[0] = ((at[0] & 0x7F | at[1] << 7) >> 1) ^ -<int64_t>(at[0] & 1)
            return at + 2
    return long_number(at, end, out)


cdef place long_number(place at, place end, int64_t* out) noexcept nogil:
    """The same for one of any length."""
    cdef uint64_t rest = 0
    cdef unsigned char byte
    cdef int shift = 0
    while at < end:
        byte = at[0]
        at += 1
        if shift == 63 and byte > 1:
            return NULL
        rest |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            out[0] = <int64_t>(rest >> 1) ^ -<int64_t>(rest & 1)
            return at
        shift += 7
    return NULL


cdef inline Py_ssize_t size_of(int64_t value) noexcept nogil:
    """How many bytes a varint takes."""
    cdef uint64_t rest = (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)
    cdef Py_ssize_t count = 1
    while rest > 0x7F:
        rest >>= 7
        count += 1
    return count


cdef inline char* put(char* at, int64_t value) noexcept nogil:
    """Write a varint."""
    cdef uint64_t rest = (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)
    while rest > 0x7F:
        at[0] = <char>(rest & 0x7F | 0x80)
        at += 1
        rest >>= 7
    at[0] = <char>rest
    return at + 1


def encode_varint(value):
    """See `prokurist.records.varints.encode_varint`."""
    cdef int64_t signed
    try:
        signed = value
    except OverflowError:
        raise OverflowError(f"a varint holds 64 bits: {value} needs more") from None
    cdef char[10] out
    cdef char* end = put(out, signed)
    return PyBytes_FromStringAndSize(out, end - out)


def decode_varint(const unsigned char[:] data, Py_ssize_t position):
    """See `prokurist.records.varints.decode_varint`."""
    cdef Py_ssize_t length = data.shape[0]
    if position < 0 or position > length:
        raise IndexError(f"position {position} lies outside {length} bytes")
    cdef uint64_t rest = 0
    cdef unsigned char byte
    cdef int count
    for count in range(10):
        if position + count >= length:
            raise CorruptRecordException(
                f"the data ends within the varint at byte {position}, after {count} bytes"
            )
        byte = data[position + count]
        if count == 9 and byte > 1:
            raise CorruptRecordException(
                f"the varint at byte {position} needs more than 64 bits"
            )
        rest |= <uint64_t>(byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return <int64_t>(rest >> 1) ^ -<int64_t>(rest & 1), position + count + 1
    raise AssertionError("the tenth byte either ends the number or is refused")


include "_native_headers.pxi"
include "_native_columns.pxi"
include "_native_messages.pxi"
include "_native_record.pxi"
include "_native_encode.pxi"
