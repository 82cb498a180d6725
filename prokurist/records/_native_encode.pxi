# Encoding; see prokurist/records/encode.py.


def encode_records(records, base_timestamp):
    """See `prokurist.records.encode.encode_records`."""
    # What is measured has to be what is written: a record may be a list that changes
    # meanwhile, and a tuple of it cannot. Of a tuple there is no copy.
    cdef list listed = list(records)
    cdef list packed = []
    cdef tuple row
    cdef Py_ssize_t count = len(listed), index, total = 0
    cdef int64_t delta
    cdef int64_t* insides = <int64_t*>malloc(16 * count + 1)
    if insides == NULL:
        raise MemoryError
    cdef int64_t* deltas = insides + count
    try:
        for index in range(count):
            if not PyTuple_CheckExact(listed[index]):
                listed[index] = tuple(listed[index])
            row = listed[index]
            timestamp, key, value, headers = row
            spread = timestamp - base_timestamp
            if not -0x8000000000000000 <= spread <= 0x7FFFFFFFFFFFFFFF:
                encode_varint(spread)
            delta = spread
            packed.append(pack_headers(headers) if headers else b"\0")
            deltas[index] = delta
            insides[index] = (
                1 + size_of(delta) + size_of(index) + room(key) + room(value)
                + len(<bytes>packed[index])
            )
            total += size_of(insides[index]) + insides[index]
        whole = PyBytes_FromStringAndSize(NULL, total)
        fill_records(listed, packed, insides, deltas, PyBytes_AS_STRING(whole))
        return whole
    finally:
        free(insides)


cdef int fill_records(
    list listed, list packed, int64_t* insides, int64_t* deltas, char* at
) except -1:
    """Write what was measured."""
    cdef Py_ssize_t index
    cdef tuple row
    for index in range(len(listed)):
        row = listed[index]
        _, key, value, _ = row
        at = put(at, insides[index])
        at[0] = 0
        at = put(put(at + 1, deltas[index]), index)
        at = put_bytes(put_bytes(at, key), value)
        memcpy(at, PyBytes_AS_STRING(packed[index]), PyBytes_GET_SIZE(packed[index]))
        at += PyBytes_GET_SIZE(packed[index])
    return 0


cdef Py_ssize_t room(bytes value) except -1:
    """How many bytes a byte string takes behind its length."""
    if value is None:
        return 1
    return size_of(PyBytes_GET_SIZE(value)) + PyBytes_GET_SIZE(value)


cdef char* put_bytes(char* at, bytes value):
    """Write a byte string behind its length; null has the length −1."""
    if value is None:
        return put(at, -1)
    at = put(at, PyBytes_GET_SIZE(value))
    memcpy(at, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    return at + PyBytes_GET_SIZE(value)
