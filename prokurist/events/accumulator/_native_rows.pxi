# Many records at a time; see prokurist/events/accumulator/rows.py.

cdef struct Part:
    const char* at
    Py_ssize_t size

cdef struct Placed:
    Py_ssize_t first
    Py_ssize_t count


@cython.final
@cython.no_gc_clear  # as in `Columns` of the records: of buffers
cdef class ColumnReader:
    """The rows of one column, as memory: of a list of bytes, of spans, or one for all.

    Lists are the call's own, and bytes do not change. What spans say is looked at for each
    row, since another thread may change shared memory.
    """

    cdef object constant
    cdef list objects
    cdef object present  # the row that was read last, while its memory is used
    cdef Py_buffer data
    cdef Py_buffer starts
    cdef Py_buffer lengths
    cdef int held

    def __cinit__(self, column):
        self.held = 0
        self.constant = self.objects = None
        if column is None:
            return
        if PyBytes_Check(column):
            self.constant = column
        elif isinstance(column, Spans):
            PyObject_GetBuffer(column.data, &self.data, PyBUF_SIMPLE)
            self.held = 1
            PyObject_GetBuffer(column.starts, &self.starts, PyBUF_ND | PyBUF_FORMAT)
            self.held = 2
            PyObject_GetBuffer(column.lengths, &self.lengths, PyBUF_ND | PyBUF_FORMAT)
            self.held = 3
            if self.starts.itemsize not in (4, 8) or self.lengths.itemsize != 4:
                raise TypeError("starts are of 32 or 64 bits, and lengths of 32")
            if self.starts.ndim != 1 or self.lengths.ndim != 1:
                raise TypeError("starts and lengths have one dimension")
        else:
            self.objects = column

    def __dealloc__(self):
        if self.held > 0:
            PyBuffer_Release(&self.data)
        if self.held > 1:
            PyBuffer_Release(&self.starts)
        if self.held > 2:
            PyBuffer_Release(&self.lengths)

    cdef int read(self, Py_ssize_t index, Part* out) except -1:
        """One row; null has the size −1."""
        cdef int64_t start
        cdef int32_t length
        out.at, out.size = NULL, -1
        if self.objects is not None:
            if index >= len(self.objects):
                raise IndexError("list index out of range")
            each = self.objects[index]
            if each is None:
                return 0
            if not PyBytes_Check(each):
                raise TypeError("key and value are bytes or None")
            self.present = each
            out.at, out.size = PyBytes_AS_STRING(each), PyBytes_GET_SIZE(each)
        elif self.constant is not None:
            out.at = PyBytes_AS_STRING(self.constant)
            out.size = PyBytes_GET_SIZE(self.constant)
        elif self.held:
            if index >= self.starts.shape[0] or index >= self.lengths.shape[0]:
                raise IndexError("index out of bounds on dimension 1")
            length = (<int32_t*>self.lengths.buf)[index]
            if length < 0:
                return 0
            if self.starts.itemsize == 8:
                start = (<int64_t*>self.starts.buf)[index]
            else:
                start = (<int32_t*>self.starts.buf)[index]
            if start < 0 or start > self.data.len - length:
                raise ValueError(f"row {index} ends outside of its column's data")
            out.at, out.size = <const char*>self.data.buf + start, length
        return 0


@cython.final
@cython.no_gc_clear  # likewise
cdef class RowReader:
    """The columns of some rows."""

    cdef ColumnReader keys
    cdef ColumnReader values
    cdef ColumnReader headers
    cdef int64_t fixed
    cdef Py_buffer timestamps
    cdef bint has_column

    def __cinit__(self, rows):
        self.has_column = False
        self.keys = ColumnReader(rows.keys)
        self.values = ColumnReader(rows.values)
        self.headers = ColumnReader(rows.headers)
        self.fixed = -1
        if isinstance(rows.timestamps, int):
            self.fixed = rows.timestamps
        elif rows.timestamps is not None:
            PyObject_GetBuffer(rows.timestamps, &self.timestamps, PyBUF_ND | PyBUF_FORMAT)
            self.has_column = True
            if self.timestamps.itemsize != 8 or self.timestamps.ndim != 1:
                raise TypeError("timestamps are of 64 bits, and have one dimension")

    def __dealloc__(self):
        if self.has_column:
            PyBuffer_Release(&self.timestamps)

    cdef int64_t timestamp(self, Py_ssize_t index, int64_t now) except? -1:
        """The timestamp of one row."""
        cdef int64_t when = self.fixed
        if self.has_column:
            if index >= self.timestamps.shape[0]:
                raise IndexError("index out of bounds on dimension 1")
            when = (<int64_t*>self.timestamps.buf)[index]
        return now if when < 0 else when


@cython.final
cdef class Places:
    """See `prokurist.events.accumulator.rows.Places`."""

    cdef readonly Py_ssize_t count
    cdef Py_ssize_t total
    cdef int32_t* slots
    cdef Placed* placed
    cdef Py_ssize_t placed_room
    cdef list batches
    cdef dict latest
    cdef object last_batch
    cdef Py_ssize_t last_slot

    def __cinit__(self, Py_ssize_t total):
        self.count, self.total = 0, max(0, total)
        # An index of 32 bits counts the runs, of which there may be one for each record.
        if self.total <= INT32_MAX:
            self.slots = <int32_t*>malloc((self.total or 1) * sizeof(int32_t))
        if self.slots == NULL:
            raise MemoryError
        self.batches = []
        self.latest = {}
        self.last_batch = None
        self.last_slot = -1

    def __dealloc__(self):
        free(self.slots)
        free(self.placed)

    def add(self, batch, Py_ssize_t index):
        """See the pure twin."""
        self.note(self.slot_for(batch, index))

    cdef Py_ssize_t slot_for(self, batch, Py_ssize_t index) except -1:
        """The run of a record that has this index in a batch; a new one if it must be."""
        cdef Py_ssize_t slot = self.last_slot
        if slot < 0 or batch is not self.last_batch or self.ends(slot) != index:
            known = self.latest.get(batch)
            slot = -1 if known is None else known
            if known is None or self.ends(slot) != index:
                slot = self.begin(batch, index)
            self.last_batch, self.last_slot = batch, slot
        # Behind the look-up, which may run code that adds others.
        if self.count >= self.total:
            raise IndexError("there are more records than were told")
        return slot

    cdef inline Py_ssize_t ends(self, Py_ssize_t slot) noexcept:
        """The index behind the last record of a run."""
        return self.placed[slot].first + self.placed[slot].count

    cdef Py_ssize_t begin(self, batch, Py_ssize_t index) except -1:
        cdef Py_ssize_t slot = len(self.batches)
        cdef Py_ssize_t wanted
        cdef Placed* moved
        if slot >= self.placed_room:
            wanted = max(8, 2 * slot)
            moved = <Placed*>realloc(self.placed, wanted * sizeof(Placed))
            if moved == NULL:
                raise MemoryError
            self.placed, self.placed_room = moved, wanted
        self.placed[slot].first, self.placed[slot].count = index, 0
        self.batches.append(batch)
        self.latest[batch] = slot
        return slot

    cdef inline void note(self, Py_ssize_t slot) noexcept:
        """Count the next record to a run."""
        self.placed[slot].count += 1
        self.slots[self.count] = <int32_t>slot
        self.count += 1

    def runs(self):
        """See the pure twin."""
        return [
            RowRun(self.batches[slot], self.placed[slot].first, self.placed[slot].count)
            for slot in range(len(self.batches))
            if self.placed[slot].count
        ]

    def each(self):
        """See the pure twin."""
        cdef list ahead = [self.placed[slot].first for slot in range(len(self.batches))]
        cdef Py_ssize_t index, slot
        cdef list found = []
        for index in range(self.count):
            slot = self.slots[index]
            found.append((self.batches[slot], ahead[slot]))
            ahead[slot] += 1
        return iter(found)

    def __repr__(self):
        return f"Places({self.count})"
