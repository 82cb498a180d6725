# Columns and decoding; see prokurist/records/columns.py and decode.py.

cdef Py_ssize_t UNLOCK_FROM = 32 * 1024
"""Bytes from which decoding and gathering let other threads run: below, asking for the GIL
again costs more than it gives."""


cdef int64_t MOST_HEADERS = most_headers


cdef struct Numbers:
    int64_t* offsets
    int64_t* timestamps
    int32_t* key_starts
    int32_t* key_lengths
    int32_t* value_starts
    int32_t* value_lengths
    int32_t* header_starts
    int32_t* header_lengths


cdef struct Task:
    # What the header says, and where decoding stopped.
    place base
    Py_ssize_t start
    Py_ssize_t stop
    int64_t count
    int64_t base_offset
    int64_t last_offset
    int64_t base_timestamp
    int64_t stamp
    bint stamped
    Py_ssize_t at
    int64_t previous


@cython.no_gc_clear  # the collector would let go of the buffer and not give it back
cdef class Columns:
    """See `prokurist.records.columns.Columns`."""

    cdef readonly str topic
    cdef readonly int32_t partition
    cdef readonly object leader_epoch
    cdef readonly object timestamp_type
    cdef readonly object data
    cdef bytes block
    cdef Py_buffer view
    cdef bint viewed
    cdef Py_ssize_t count
    cdef Numbers numbers
    cdef int32_t epoch
    cdef signed char kind

    def __init__(
        self, str topic, int32_t partition, leader_epoch, timestamp_type, data, rows
    ):
        # Read before there is room for them: reading a row may run any code, which must
        # not find columns whose numbers are not filled in yet.
        cdef list listed = [tuple([PyNumber_Index(each) for each in row]) for row in rows]
        cdef Py_ssize_t index
        if self.viewed:
            raise RuntimeError("columns are made once")
        set_up(self, topic, partition, leader_epoch, timestamp_type, data, len(listed))
        for index, row in enumerate(listed):
            (
                self.numbers.offsets[index],
                self.numbers.timestamps[index],
                self.numbers.key_starts[index],
                self.numbers.key_lengths[index],
                self.numbers.value_starts[index],
                self.numbers.value_lengths[index],
                self.numbers.header_starts[index],
                self.numbers.header_lengths[index],
            ) = row
            check_spans(self, index)

    def __dealloc__(self):
        if self.viewed:
            PyBuffer_Release(&self.view)

    def __len__(self):
        return self.count

    def __repr__(self):
        return f"Columns({self.topic}-{self.partition}, {self.count} records)"

    @property
    def size(self):
        return self.count * ROW_BYTES

    @property
    def offsets(self):
        return wide(self, 0)

    @property
    def timestamps(self):
        return wide(self, 1)

    @property
    def key_starts(self):
        return narrow(self, 0)

    @property
    def key_lengths(self):
        return narrow(self, 1)

    @property
    def value_starts(self):
        return narrow(self, 2)

    @property
    def value_lengths(self):
        return narrow(self, 3)

    @property
    def header_starts(self):
        return narrow(self, 4)

    @property
    def header_lengths(self):
        return narrow(self, 5)

    def index_of(self, offset):
        cdef Py_ssize_t low = 0, high = self.count, middle
        cdef int64_t wanted = offset
        while low < high:
            middle = (low + high) // 2
            if self.numbers.offsets[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def sliced(self, Py_ssize_t start, Py_ssize_t stop):
        cdef Py_ssize_t count = self.count
        data = memoryview(self.data).toreadonly()
        numbers = memoryview(self.block)
        wides = numbers.cast("q")
        narrows = numbers.cast("i")[4 * count :]
        return RecordColumns(
            self.topic,
            self.partition,
            self.leader_epoch,
            self.timestamp_type,
            wides[start:stop],
            wides[count + start : count + stop],
            Spans(data, narrows[start:stop], narrows[count + start : count + stop]),
            Spans(
                data,
                narrows[2 * count + start : 2 * count + stop],
                narrows[3 * count + start : 3 * count + stop],
            ),
            Spans(
                data,
                narrows[4 * count + start : 4 * count + stop],
                narrows[5 * count + start : 5 * count + stop],
            ),
        )


cdef object wide(Columns columns, int which):
    """One of the two columns of 64-bit numbers."""
    cdef Py_ssize_t size = 8 * columns.count
    return memoryview(columns.block)[which * size : (which + 1) * size].cast("q")


cdef object narrow(Columns columns, int which):
    """One of the six columns of 32-bit numbers."""
    cdef Py_ssize_t size = 4 * columns.count
    return memoryview(columns.block)[(4 + which) * size : (5 + which) * size].cast("i")


cdef int set_up(
    Columns columns, str topic, int32_t partition, leader_epoch, timestamp_type, data,
    Py_ssize_t count,
) except -1:
    """Fill in what all rows share, and make room for their numbers."""
    columns.topic = topic
    columns.partition = partition
    columns.leader_epoch = leader_epoch
    columns.epoch = -1 if leader_epoch is None else leader_epoch
    columns.timestamp_type = timestamp_type
    columns.kind = kind_of(timestamp_type)
    columns.data = data
    # What is held is the frame itself and not the view of it. The garbage collector may
    # clear a view first, and complains when its buffer is held.
    cdef Py_buffer given
    PyObject_GetBuffer(data, &given, PyBUF_SIMPLE)
    try:
        whole = data.obj if isinstance(data, memoryview) else data
        PyObject_GetBuffer(whole, &columns.view, PyBUF_SIMPLE)
        columns.viewed = True
        columns.view.buf, columns.view.len = given.buf, given.len
    finally:
        PyBuffer_Release(&given)
    columns.block = PyBytes_FromStringAndSize(NULL, count * (2 * 8 + 6 * 4))
    cdef int64_t* wides = <int64_t*>PyBytes_AS_STRING(columns.block)
    columns.numbers.offsets = wides
    columns.numbers.timestamps = wides + count
    cdef int32_t* narrows = <int32_t*>(wides + 2 * count)
    columns.numbers.key_starts = narrows
    columns.numbers.key_lengths = narrows + count
    columns.numbers.value_starts = narrows + 2 * count
    columns.numbers.value_lengths = narrows + 3 * count
    columns.numbers.header_starts = narrows + 4 * count
    columns.numbers.header_lengths = narrows + 5 * count
    columns.count = count  # last: what is counted can be read
    return 0


cdef int check_spans(Columns columns, Py_ssize_t index) except -1:
    """See that a row that was not decoded here lies within the data.

    Raises:
        IndexError: It does not, and is not there any more.
    """
    cdef Numbers* numbers = &columns.numbers
    cdef place start = <place>columns.view.buf + numbers.header_starts[index]
    cdef int32_t length = numbers.header_lengths[index]
    if (
        lies(columns.view.len, numbers.key_starts[index], numbers.key_lengths[index])
        and lies(columns.view.len, numbers.value_starts[index], numbers.value_lengths[index])
        and lies(columns.view.len, numbers.header_starts[index], length)
        and (length <= 1 or past_headers(start, start + length) == start + length)
    ):
        return 0
    columns.count = 0
    raise IndexError(f"row {index} does not lie within its {columns.view.len} bytes")


cdef inline bint lies(int64_t room, int64_t start, int64_t length) noexcept nogil:
    """Whether a span lies within so many bytes; null and nothing lie anywhere."""
    return length <= 0 or 0 <= start <= room - length


def decode_batch(
    str topic, int32_t partition, header, data, Py_ssize_t start, Py_ssize_t stop
):
    """See `prokurist.records.decode.decode_batch`."""
    cdef Columns columns = Columns.__new__(Columns)
    cdef Task task
    cdef Py_ssize_t done
    task.count = header.record_count
    check_count(task.count, stop - start)
    set_up(
        columns, topic, partition, header.leader_epoch, header.timestamp_type, data, task.count
    )
    if not 0 <= start <= stop <= columns.view.len or stop > INT32_MAX:
        raise IndexError(f"bytes {start} to {stop} of {columns.view.len}")
    task.base = <place>columns.view.buf
    task.start = start
    task.stop = stop
    task.base_offset = header.base_offset
    task.last_offset = header.last_offset
    task.base_timestamp = header.base_timestamp
    task.stamp = header.max_timestamp
    task.stamped = columns.kind == 2
    if stop - start < UNLOCK_FROM:
        done = fill(&task, &columns.numbers)
    else:
        with nogil:
            done = fill(&task, &columns.numbers)
    if done < task.count:
        read_row(
            header, bytes(data[start:stop]), done, task.at - start, task.previous, start
        )
        raise AssertionError("the twins differ about a record that is not right")
    check_end(task.at - start, stop - start)
    return columns


cdef Py_ssize_t fill(Task* task, Numbers* numbers) noexcept nogil:
    """Read all records; less than their number came out where one is not right."""
    cdef place base = task.base
    cdef place at = base + task.start
    cdef place stop = base + task.stop
    cdef place end
    cdef place key
    cdef place value
    cdef place headers
    cdef int64_t size, offset, stamp, key_length, value_length
    cdef int64_t room = task.last_offset - task.base_offset
    cdef int64_t previous = task.base_offset - 1
    cdef Py_ssize_t index
    for index in range(task.count):
        task.at = at - base
        task.previous = previous
        at = number(at, stop, &size)
        if at == NULL or size < 1 or size > stop - at:
            return index
        end = at + size
        at = number(at + 1, stop, &stamp)
        if at == NULL:
            return index
        at = number(at, stop, &offset)
        if at == NULL or offset < 0 or offset > room:
            return index
        offset += task.base_offset
        if offset <= previous:
            return index
        if stamp < 0:
            if task.base_timestamp < INT64_MIN - stamp:
                return index
        elif task.base_timestamp > INT64_MAX - stamp:
            return index
        key = number(at, stop, &key_length)
        if key == NULL or key_length > end - key:
            return index
        at = key + key_length if key_length > 0 else key
        value = number(at, stop, &value_length)
        if value == NULL or value_length > end - value:
            return index
        headers = value + value_length if value_length > 0 else value
        # A number of headers that is 0 is the one byte that is left.
        if end - headers != 1 or headers[0] != 0:
            if past_headers(headers, end) != end:
                return index
        previous = offset
        numbers.offsets[index] = offset
        numbers.timestamps[index] = task.stamp if task.stamped else task.base_timestamp + stamp
        numbers.key_starts[index] = <int32_t>(key - base)
        numbers.key_lengths[index] = <int32_t>key_length if key_length >= 0 else -1
        numbers.value_starts[index] = <int32_t>(value - base)
        numbers.value_lengths[index] = <int32_t>value_length if value_length >= 0 else -1
        numbers.header_starts[index] = <int32_t>(headers - base)
        numbers.header_lengths[index] = <int32_t>(end - headers)
        at = end
    task.at = at - base
    return task.count


cdef place past_headers(place at, place end) noexcept nogil:
    """The end of a record's headers; NULL where they are not right."""
    cdef int64_t count, length
    at = number(at, end, &count)
    if at == NULL or count < 0 or count > (end - at) // 2 or count > MOST_HEADERS:
        return NULL
    while count:
        at = number(at, end, &length)
        if at == NULL or length < 0 or length > end - at:
            return NULL
        at = number(at + length, end, &length)
        if at == NULL or length > end - at:
            return NULL
        if length > 0:
            at += length
        count -= 1
    return at


def gathered(parts):
    """See `prokurist.records.columns.gathered`."""
    cdef const unsigned char[::1] data
    cdef const int32_t[::1] starts
    cdef const int32_t[::1] lengths
    cdef Py_ssize_t count = 0, row = 0
    cdef int64_t total = 0, nulls = 0
    cdef bint fits
    # Taken once: what is measured here has to be what is copied below.
    cdef list taken = [(part.data, part.starts, part.lengths) for part in parts]
    for data, starts, lengths in taken:
        if starts.shape[0] != lengths.shape[0]:
            raise ValueError("starts and lengths differ in number")
        count += starts.shape[0]
        total += measured(data.shape[0], starts, lengths, &nulls)
        if total > INT32_MAX:
            raise OverflowError(f"a column of more than {INT32_MAX} bytes: take fewer records")
    ends = PyBytes_FromStringAndSize(NULL, 4 * (count + 1))
    pieces = PyBytes_FromStringAndSize(NULL, total)
    bits = bytes((count + 7) // 8) if nulls else None
    cdef int32_t* end = <int32_t*>PyBytes_AS_STRING(ends)
    cdef char* out = PyBytes_AS_STRING(pieces)
    cdef char* bit = PyBytes_AS_STRING(bits) if nulls else NULL
    end[0] = 0
    for data, starts, lengths in taken:
        count = starts.shape[0]
        if count:
            base = &data[0] if data.shape[0] else NULL
            if total < UNLOCK_FROM:
                fits = gather(
                    base, data.shape[0], &starts[0], &lengths[0], count, row, out, total, bit, end
                )
            else:
                with nogil:
                    fits = gather(
                        base, data.shape[0], &starts[0], &lengths[0], count, row, out, total,
                        bit, end,
                    )
            if not fits:
                raise RuntimeError("columns were changed while they were gathered")
            row += count
    return ends, pieces, bits


cdef int64_t measured(
    int64_t room, const int32_t[::1] starts, const int32_t[::1] lengths, int64_t* nulls
) except -1:
    """How many bytes some spans come to, each of which has to lie in its data."""
    cdef Py_ssize_t index
    cdef int64_t total = 0
    for index in range(starts.shape[0]):
        if lengths[index] < 0:
            nulls[0] += 1
        elif starts[index] < 0 or starts[index] > room - lengths[index]:
            raise IndexError(f"{lengths[index]} bytes at {starts[index]} of {room}")
        else:
            total += lengths[index]
    return total


cdef bint gather(
    place data, int64_t room, const int32_t* starts, const int32_t* lengths, Py_ssize_t count,
    Py_ssize_t row, char* out, int64_t total, char* bits, int32_t* ends,
) noexcept nogil:
    """Copy measured spans one behind the other; `bits` is NULL where none is null.

    False where they are not what was measured: other threads may write to what they lie in.
    """
    cdef Py_ssize_t index
    cdef int64_t at = ends[row]
    cdef int64_t start, length
    for index in range(count):
        start, length = starts[index], lengths[index]
        if length >= 0:
            if length > total - at or start < 0 or start > room - length:
                return False
            memcpy(out + at, data + start, length)
            at += length
            if bits != NULL:
                bits[row >> 3] |= 1 << (row & 7)
        row += 1
        ends[row] = <int32_t>at
    return True
