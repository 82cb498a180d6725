# Wrapped messages of magic 0 and 1; see prokurist/records/legacy.py.

cdef struct Wrapped:
    place base
    Py_ssize_t size
    int magic
    bint stamped
    int64_t stamp
    int64_t most  # rows that there is room for
    int64_t last  # what the last one says of its offset
    int64_t rows
    Py_ssize_t at  # where counting stopped


cdef struct One:
    Py_ssize_t end
    int64_t offset
    int64_t stamp
    Py_ssize_t key
    int32_t key_length
    Py_ssize_t value
    int32_t value_length


def decode_messages(str topic, int32_t partition, wrapper, plain, cap):
    """See `prokurist.records.legacy.decode_messages`."""
    cdef Columns columns = Columns.__new__(Columns)
    cdef Wrapped task
    cdef int64_t first, last, refused
    cdef int64_t* offsets
    cdef Py_buffer held
    PyObject_GetBuffer(plain, &held, PyBUF_SIMPLE)
    try:
        if held.len > INT32_MAX:
            raise IndexError(f"{held.len} bytes of messages")
        task.base, task.size = <place>held.buf, held.len
        task.magic = wrapper.magic
        task.stamped = wrapper.timestamp_type is APPENDED
        task.stamp = wrapper.max_timestamp
        task.most = most_rows(held.len, cap)
        with nogil:
            count_messages(&task)
        if task.at < task.size:
            legacy.read_message(wrapper, plain, task.at)
            refuse_rows(task.most, held.len, cap)
        if not task.rows:
            raise CorruptRecordException("a compressed message wraps nothing")
        last = wrapper.last_offset
        first = last - task.last if task.magic == 1 else 0
        set_up(columns, topic, partition, None, wrapper.timestamp_type, plain, task.rows)
        with nogil:
            refused = fill_messages(&task, first, min(last, LAST_OFFSET), &columns.numbers)
        if refused >= 0:
            offsets = columns.numbers.offsets
            # As the pure twin adds, to more than 64 bits.
            found = <object>first + <object>offsets[refused]
            legacy.check_offset(wrapper, found, offsets[refused - 1] if refused else -1)
            raise AssertionError("the twins differ about an offset that is not right")
    finally:
        PyBuffer_Release(&held)
    return columns


cdef bint read_one(Wrapped* task, Py_ssize_t at, One* out) noexcept nogil:
    """Read a message; whether it is right."""
    cdef Batch batch
    cdef place start = task.base + at
    cdef Py_ssize_t left
    if seen(start, task.size - at, &batch) != WHOLE or batch.magic != task.magic:
        return False
    if start[17] & 0x07:
        return False
    out.end = at + batch.size
    out.offset = batch.offset
    out.stamp = -1
    out.key = at + 18
    if task.magic == 1:
        out.stamp = big(start + 18, 8)
        out.key += 8
    return sized(task.base, &out.key, out.end, &out.key_length) and placed(task.base, out)


cdef inline bint placed(place base, One* out) noexcept nogil:
    """Find the value behind the key; whether it ends where the message does."""
    out.value = out.key + max(out.key_length, 0)
    return (
        sized(base, &out.value, out.end, &out.value_length)
        and out.value + max(out.value_length, 0) == out.end
    )


cdef inline bint sized(
    place base, Py_ssize_t* at, Py_ssize_t end, int32_t* length
) noexcept nogil:
    """Read a length, which the bytes that are left have to allow."""
    cdef int64_t said
    if end - at[0] < 4:
        return False
    said = big(base + at[0], 4)
    at[0] += 4
    length[0] = <int32_t>max(said, <int64_t>-1)
    return said <= end - at[0]


cdef void count_messages(Wrapped* task) noexcept nogil:
    """Count the messages, up to one that is not right or one too many."""
    cdef One one
    task.rows, task.at, task.last = 0, 0, 0
    while task.at < task.size and task.rows < task.most and read_one(task, task.at, &one):
        task.rows += 1
        task.last = one.offset
        task.at = one.end


cdef int64_t fill_messages(
    Wrapped* task, int64_t first, int64_t most, Numbers* numbers
) noexcept nogil:
    """Fill in what was counted; −1, or the row whose offset is not right, as the message has it."""
    cdef One one
    cdef int64_t index, previous = -1
    cdef Py_ssize_t at = 0
    for index in range(task.rows):
        numbers.offsets[index] = 0
        if not read_one(task, at, &one):
            return index  # It was changed meanwhile.
        if (first > 0 and one.offset > most - first) or not previous < first + one.offset <= most:
            numbers.offsets[index] = one.offset
            return index
        numbers.offsets[index] = previous = first + one.offset
        numbers.timestamps[index] = task.stamp if task.stamped else one.stamp
        numbers.key_starts[index] = <int32_t>one.key
        numbers.key_lengths[index] = one.key_length
        numbers.value_starts[index] = <int32_t>one.value
        numbers.value_lengths[index] = one.value_length
        # No headers: nothing, at the end of the data as the pure twin has it.
        numbers.header_starts[index] = 0
        numbers.header_lengths[index] = 0
        at = one.end
    return -1
