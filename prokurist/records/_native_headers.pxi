# Headers of batches as they should be. Anything else is the pure twin's to tell.

cdef enum:
    LEAD = 17
    HEADER = 61
    MESSAGE_0 = 26
    MESSAGE_1 = 34
    LENGTH_COUNTS_FROM = 12

cdef int64_t LAST_OFFSET = headers.LAST_OFFSET


cdef inline int64_t big(place at, int count) noexcept nogil:
    """A signed number of so many bytes, the highest first."""
    cdef uint64_t value = 0
    cdef int each
    for each in range(count):
        value = value << 8 | at[each]
    return <int64_t>(value << (64 - 8 * count)) >> (64 - 8 * count)


cdef inline int64_t natural(place at) noexcept nogil:
    """A number of four bytes without a sign."""
    return <int64_t>(<uint64_t>big(at, 4) & <uint64_t>0xFFFFFFFF)


cdef enum Sight:
    WHOLE
    CUT_OFF
    STRANGE


cdef struct Batch:
    int64_t offset
    int64_t delta
    int64_t size
    int magic


cdef inline Sight seen(place at, Py_ssize_t rest, Batch* out) noexcept nogil:
    """What stands there."""
    if rest < LEAD:
        return CUT_OFF
    out.size = big(at + 8, 4) + LENGTH_COUNTS_FROM
    out.magic = at[16]
    if out.magic > 2:
        return STRANGE
    if out.size < (HEADER if out.magic == 2 else MESSAGE_1 if out.magic else MESSAGE_0):
        return STRANGE
    if out.size > rest:
        return CUT_OFF
    out.offset, out.delta = big(at, 8), big(at + 23, 4) if out.magic == 2 else 0
    if out.offset < 0 or out.delta < 0 or out.offset > LAST_OFFSET - out.delta:
        return STRANGE
    return WHOLE


def extent(data):
    """See `prokurist.records.headers.extent`."""
    cdef Py_buffer held
    cdef Batch batch
    cdef Sight sight
    cdef Py_ssize_t at = 0, batches = 0
    cdef int64_t after = -1, epoch = -1
    cdef place start
    PyObject_GetBuffer(data, &held, PyBUF_SIMPLE)
    try:
        start = <place>held.buf
        while True:
            sight = seen(start + at, held.len - at, &batch)
            if sight != WHOLE:
                break
            after = max(after, batch.offset + batch.delta + 1)
            epoch = big(start + at + 12, 4) if batch.magic == 2 else -1
            at += batch.size
            batches += 1
    finally:
        PyBuffer_Release(&held)
    if sight == STRANGE:
        return headers.extent(data)
    return headers.Extent(
        batches, None if after < 0 else after, None if epoch < 0 else epoch, at, None
    )


def header_at(data, Py_ssize_t position):
    """See `prokurist.records.headers.header_at`."""
    cdef Py_buffer held
    cdef Batch batch
    cdef place at
    cdef int64_t attributes, epoch
    if position < 0:
        return headers.header_at(data, position)
    PyObject_GetBuffer(data, &held, PyBUF_SIMPLE)
    try:
        at = <place>held.buf + position
        sight = seen(at, held.len - position, &batch)
        if sight == CUT_OFF:
            return None
        if sight == WHOLE and batch.magic == 2:
            epoch, attributes = big(at + 12, 4), big(at + 21, 2)
            return new_header(headers.BatchHeader, (
                batch.offset,
                batch.offset + batch.delta,
                None if epoch < 0 else epoch,
                2,
                attributes & 0x07,
                APPENDED if attributes & 0x08 else CREATE_TIME,
                big(at + 27, 8),
                big(at + 35, 8),
                big(at + 43, 8),
                big(at + 51, 2),
                big(at + 53, 4),
                attributes & 0x10 != 0,
                attributes & 0x20 != 0,
                natural(at + 57),
                natural(at + 17),
                position,
                batch.size,
            ))
    finally:
        PyBuffer_Release(&held)
    return headers.header_at(data, position)
