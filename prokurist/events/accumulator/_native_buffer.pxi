# The records of one batch; see prokurist/events/accumulator/batch_buffer.py.

cdef struct Run:
    Py_ssize_t first
    Py_ssize_t last


cdef class BatchBuffer:
    """See `prokurist.events.accumulator.batch_buffer.BatchBuffer`.

    The page has room for the batch's header before the records, so that a batch is sealed
    where it is.
    """

    cdef public bint is_open
    cdef public bint is_ready
    cdef public Py_ssize_t room
    cdef readonly Py_ssize_t size
    cdef public int64_t base_timestamp
    cdef public int64_t max_timestamp
    cdef readonly Py_ssize_t count
    cdef Page page
    # The callback of each run, where the garbage collector sees it, and the run's records.
    cdef list functions
    cdef Run* runs
    cdef Py_ssize_t runs_room
    # What handles tell once all records are delivered: asked for by each of them.
    cdef bint is_delivered
    cdef object topic_told
    cdef object partition_told
    cdef int64_t base_offset
    cdef int64_t append_time

    def __init__(self, Py_ssize_t room):
        self.is_open = True
        self.is_ready = False
        self.room = room
        self.size = HEAD
        self.base_timestamp = -1
        self.max_timestamp = -1
        self.count = 0
        self.page = None
        self.functions = []

    def __dealloc__(self):
        free(self.runs)

    def append(self, int64_t timestamp, key, value, headers):
        """See the pure twin."""
        if not (
            (key is None or PyBytes_Check(key))
            and (value is None or PyBytes_Check(value))
            and PyBytes_Check(headers)
        ):
            raise TypeError("key and value are bytes or None, and headers are bytes")
        return self.add(timestamp, key, value, headers)

    cdef Py_ssize_t add(self, int64_t timestamp, key, value, headers) except? -3:
        """Add a record of bytes; no Python code runs meanwhile."""
        cdef Py_ssize_t key_size = -1, value_size = -1
        cdef const char* key_at = NULL
        cdef const char* value_at = NULL
        if key is not None:
            key_size, key_at = PyBytes_GET_SIZE(key), PyBytes_AS_STRING(key)
        if value is not None:
            value_size, value_at = PyBytes_GET_SIZE(value), PyBytes_AS_STRING(value)
        return self.add_parts(
            timestamp, key_at, key_size, value_at, value_size,
            PyBytes_AS_STRING(headers), PyBytes_GET_SIZE(headers),
        )

    cdef Py_ssize_t add_parts(
        self,
        int64_t timestamp,
        const char* key_at,
        Py_ssize_t key_size,
        const char* value_at,
        Py_ssize_t value_size,
        const char* headers_at,
        Py_ssize_t headers_size,
    ) except? -3:
        """The same of memory; null has the size −1."""
        # Of what was released no record is left behind which one could be written.
        if not self.is_open or (self.page is None and self.size != HEAD):
            return CLOSED
        cdef Py_ssize_t index = self.count
        cdef int64_t base = timestamp if index == 0 else self.base_timestamp
        cdef int64_t delta = <int64_t>(<uint64_t>timestamp - <uint64_t>base)
        if (timestamp ^ base) & (timestamp ^ delta) < 0:
            encode_varint(timestamp - <object>base)
        cdef Py_ssize_t inside = (
            1 + size_of(delta) + size_of(index)
            + size_of(key_size) + (key_size if key_size > 0 else 0)
            + size_of(value_size) + (value_size if value_size > 0 else 0)
            + headers_size
        )
        cdef Py_ssize_t size = self.size + size_of(inside) + inside
        if size > self.room:
            return FULL
        if self.page is None or size > self.page.capacity:
            self.turn_page(size)
        cdef unsigned char* at = put(self.page.at + self.size, inside)
        at[0] = 0
        at = put(put(at + 1, delta), index)
        at = put_bytes(put_bytes(at, key_at, key_size), value_at, value_size)
        memcpy(at, headers_at, headers_size)
        self.base_timestamp = base
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        self.size = size
        self.count = index + 1
        return index

    cdef int turn_page(self, Py_ssize_t size) except -1:
        """Go on on a larger page; views of the old one keep that as it is."""
        cdef Page page = new_page(max(size, min(self.room, max(4 * size, SMALLEST))))
        if self.page is not None:
            memcpy(page.at + HEAD, self.page.at + HEAD, self.size - HEAD)
        self.page = page
        return 0

    def grow(self, Py_ssize_t room):
        """See the pure twin."""
        self.room = room

    def close(self):
        """See the pure twin."""
        self.is_open = False

    def body(self):
        """See the pure twin."""
        if self.page is None:
            return b""
        return PyBytes_FromStringAndSize(<char*>self.page.at + HEAD, self.size - HEAD)

    def timestamps(self):
        """See the pure twin."""
        cdef list found = []
        cdef int64_t at = 0
        for _ in range(self.count):
            found.append(self.timestamp_at(&at))
        return found

    cdef int64_t timestamp_at(self, int64_t* at) noexcept:
        """The timestamp of the record that begins at a place, which moves to the next."""
        cdef int64_t inside, delta
        cdef place start = number(self.page.at + HEAD + at[0], &inside)
        number(start + 1, &delta)
        at[0] = start + inside - self.page.at - HEAD
        return self.base_timestamp + delta

    def seal(self, producer_id, epoch, first, int attributes=0):
        """See the pure twin.

        Written into the page itself, and not copied, unless something that was sealed
        otherwise is still in use.
        """
        # The header is made by code that could release or refill this batch.
        cdef Page page = self.page
        cdef Py_ssize_t size = self.size
        if page is None:
            return self.sealed_apart(b"", producer_id, epoch, first, attributes)
        cdef object whole = memoryview(page)
        cdef bytes head = self.header(whole[HEAD:size], producer_id, epoch, first, attributes)
        if memcmp(page.at, PyBytes_AS_STRING(head), HEAD) != 0:
            # This batch, this call and the view just made: nothing else refers to the page.
            if _Py_REFCNT(<PyObject*>page) > 3:
                return self.sealed_apart(
                    bytes(whole[HEAD:size]), producer_id, epoch, first, attributes
                )
            memcpy(page.at, PyBytes_AS_STRING(head), HEAD)
        return whole[:size]

    cdef bytes sealed_apart(self, bytes body, producer_id, epoch, first, int attributes):
        """The same, in memory of its own."""
        return self.header(body, producer_id, epoch, first, attributes) + body

    cdef bytes header(self, body, producer_id, epoch, first, int attributes):
        """The header of the batch."""
        return batch_header(
            body,
            attributes=attributes,
            count=self.count,
            base_timestamp=self.base_timestamp,
            max_timestamp=self.max_timestamp,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=first,
        )

    def delivered_as(self, topic, partition, int64_t base_offset, int64_t append_time):
        """See the pure twin."""
        self.topic_told = topic
        self.partition_told = partition
        self.base_offset = base_offset
        self.append_time = append_time
        self.is_delivered = True

    cdef object metadata_told(self, Py_ssize_t index, int64_t timestamp):
        """See `prokurist.events.accumulator.record_metadata.Outcome.metadata`."""
        return new_metadata(
            self.topic_told,
            self.partition_told,
            self.base_offset + index if self.base_offset >= 0 else -1,
            self.append_time if self.append_time >= 0 else timestamp,
        )

    def release(self):
        """See the pure twin."""
        self.count = 0
        self.page = None

    # --- callbacks -----------------------------------------------------------------------

    @property
    def callbacks(self):
        """See the pure twin; a list of its own."""
        cdef Py_ssize_t index
        return [
            (self.functions[index], self.runs[index].first, self.runs[index].last)
            for index in range(len(self.functions))
        ]

    @callbacks.setter
    def callbacks(self, list given not None):
        cdef Py_ssize_t first, last
        self.functions = []
        for callback, first, last in given:
            self.begin_run(callback, first, last)

    def call_back_for(self, callback, Py_ssize_t index):
        """See the pure twin."""
        self.note(callback, index)

    cdef int note(self, callback, Py_ssize_t index) except -1:
        """The same; no Python code runs meanwhile."""
        cdef Py_ssize_t last = len(self.functions) - 1
        if (
            last >= 0
            and self.functions[last] is callback
            and self.runs[last].last == index - 1
        ):
            self.runs[last].last = index
            return 0
        return self.begin_run(callback, index, index)

    cdef int begin_run(self, callback, Py_ssize_t first, Py_ssize_t last) except -1:
        cdef Py_ssize_t count = len(self.functions)
        cdef Py_ssize_t wanted
        cdef Run* moved
        if count >= self.runs_room:
            wanted = max(4, 2 * count)
            moved = <Run*>realloc(self.runs, wanted * sizeof(Run))
            if moved == NULL:
                raise MemoryError
            self.runs, self.runs_room = moved, wanted
        self.runs[count].first = first
        self.runs[count].last = last
        self.functions.append(callback)
        return 0

    def call_back(self, topic, partition, outcome, report):
        """See the pure twin."""
        cdef list functions = self.functions
        if not functions:
            return False
        # What a callback does to this batch must not touch what is walked here.
        cdef Run* runs = self.runs
        self.functions, self.runs, self.runs_room = [], NULL, 0
        try:
            self.call_runs(functions, runs, topic, partition, outcome, report)
        finally:
            free(runs)
        return True

    cdef int call_runs(
        self, list functions, Run* runs, topic, partition, outcome, report
    ) except -1:
        cdef list timestamps = None
        cdef dict errors = dict(outcome.record_errors)
        cdef int64_t base_offset = outcome.base_offset
        cdef int64_t append_time = outcome.append_time
        cdef Py_ssize_t each, index, upto
        cdef int64_t at = 0, timestamp = 0
        cdef Page page = self.page
        upto = 0
        for each in range(len(functions)):
            callback = functions[each]
            for index in range(runs[each].first, runs[each].last + 1):
                # Records without a callback are passed over. A batch that a callback has
                # released tells no more timestamps.
                while upto <= index:
                    if self.page is not page or upto >= self.count:
                        raise IndexError("list index out of range")
                    timestamp = self.timestamp_at(&at)
                    upto += 1
                metadata = new_metadata(
                    topic,
                    partition,
                    base_offset + index if base_offset >= 0 else -1,
                    append_time if append_time >= 0 else timestamp,
                )
                error = outcome.error
                if errors:
                    error = errors.get(index, error)
                try:
                    callback(metadata, error)
                except BaseException as raised:
                    report(raised)
        return 0


cdef inline object new_metadata(topic, partition, int64_t offset, int64_t timestamp):
    """A RecordMetadata, without the detour by its constructor."""
    cdef tuple made = <tuple>PyType_GenericAlloc(<type>RecordMetadata, 4)
    fill(made, 0, topic)
    fill(made, 1, partition)
    fill(made, 2, offset)
    fill(made, 3, timestamp)
    return made


cdef inline void fill(tuple made, Py_ssize_t index, value) noexcept:
    Py_INCREF(value)
    PyTuple_SET_ITEM(made, index, value)
