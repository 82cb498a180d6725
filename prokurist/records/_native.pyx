# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
"""The native twin of `varints`: the same answers, without the interpreter's loop.

Every line that a reader doubts is settled by the pure module; one suite and one
differential test run over both.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint64_t

from prokurist.errors import CorruptRecordException


def encode_varint(value):
    """See `prokurist.records.varints.encode_varint`."""
    cdef int64_t number
    try:
        number = value
    except OverflowError:
        raise OverflowError(f"a varint holds 64 bits: {value} needs more") from None
    cdef uint64_t rest = (<uint64_t>number << 1) ^ <uint64_t>(number >> 63)
    cdef char[10] out
    cdef Py_ssize_t count = 0
    while rest > 0x7F:
        out[count] = <char>(rest & 0x7F | 0x80)
        rest >>= 7
        count += 1
    out[count] = <char>rest
    return PyBytes_FromStringAndSize(out, count + 1)


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
