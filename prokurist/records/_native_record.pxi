# Records and runs of them; see prokurist/records/record.py and run.py.


@cython.no_gc
@cython.freelist(1024)
cdef class ConsumerRecord:
    """See `prokurist.records.record.ConsumerRecord`.

    It holds what it says of itself, so that a copy needs nothing beside its bytes.
    Nothing that it refers to can refer back to it, so the collector need not know.
    """

    cdef readonly str topic
    cdef object owner  # of the bytes: columns, or bytes of its own
    cdef place base
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp
    cdef readonly int32_t partition
    cdef int32_t epoch
    cdef int32_t key_start, key_length, value_start, value_length
    cdef int32_t header_start, header_length
    cdef signed char kind

    def __init__(
        self, str topic not None, int32_t partition, int64_t offset, key=None, value=None, *,
        int64_t timestamp=-1, timestamp_type=TimestampType.CREATE_TIME, headers=(),
        leader_epoch=None,
    ):
        cdef bytes keyed, valued, packed, owner
        keyed, valued, packed = shared.raw_parts(key, value, headers)
        owner = keyed + valued + packed
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.epoch = -1 if leader_epoch is None else leader_epoch
        self.kind = kind_of(timestamp_type)
        self.key_start = 0
        self.key_length = -1 if key is None else <int32_t>len(keyed)
        self.value_start = <int32_t>len(keyed)
        self.value_length = -1 if value is None else <int32_t>len(valued)
        self.header_start = <int32_t>(len(keyed) + len(valued))
        self.header_length = <int32_t>len(packed)
        # What goes with the owner before may run code, which must find bytes that are there.
        self.base = <place>PyBytes_AS_STRING(owner)
        self.owner = owner

    @staticmethod
    def of(Columns columns not None, Py_ssize_t index):
        if not 0 <= index < columns.count:
            raise IndexError(f"row {index} of {columns.count}")
        return view(columns, index)

    @property
    def timestamp_type(self):
        return KINDS[self.kind]

    @property
    def datetime(self):
        return shared.moment(self.timestamp)

    @property
    def leader_epoch(self):
        return None if self.epoch < 0 else self.epoch

    @property
    def key(self):
        return cut(self.base, self.key_start, self.key_length)

    @property
    def value(self):
        return cut(self.base, self.value_start, self.value_length)

    @property
    def headers(self):
        if self.header_length <= 1:
            return []
        return read_headers(self.base + self.header_start, self.header_length)

    @property
    def serialized_key_size(self):
        return self.key_length

    @property
    def serialized_value_size(self):
        return self.value_length

    def detach(self):
        return detached(self)

    def with_values(self, key, value):
        cdef Deserialized twin = Deserialized.__new__(Deserialized)
        copy_fields(self, twin)
        twin.given_key = key
        twin.given_value = value
        return twin

    def raw(self):
        return (
            cut(self.base, self.key_start, self.key_length),
            cut(self.base, self.value_start, self.value_length),
        )

    def deserialized(self):
        return None

    def __repr__(self):
        return shared.described(self)

    def __eq__(self, other):
        return shared.same(self, other) if isinstance(other, ConsumerRecord) else NotImplemented

    def __hash__(self):
        return hash((self.topic, self.partition, self.offset))

    def __reduce__(self):
        return shared.reduced(self)


@cython.final
cdef class Deserialized(ConsumerRecord):
    """A record with values of the user's own, which the collector has to see."""

    cdef object given_key
    cdef object given_value

    @property
    def key(self):
        return self.given_key

    @property
    def value(self):
        return self.given_value

    def detach(self):
        return detached(self).with_values(self.given_key, self.given_value)

    def deserialized(self):
        return self.given_key, self.given_value


cdef inline object cut(place base, int32_t start, int32_t length):
    if length < 0:
        return None
    return PyBytes_FromStringAndSize(<const char*>(base + start), length)


cdef list read_headers(place at, int32_t length):
    """The headers in a span that was checked; and again, since others may write to it."""
    cdef place end = at + length
    cdef int64_t count, size
    cdef list found = []
    if past_headers(at, end) != end:
        raise RuntimeError("the bytes of a batch were changed after it was decoded")
    at = number(at, end, &count)
    while count > 0:
        at = number(at, end, &size)
        name = PyUnicode_DecodeUTF8(<const char*>at, size, "replace")
        at = number(at + size, end, &size)
        if size < 0:
            found.append((name, None))
        else:
            found.append((name, PyBytes_FromStringAndSize(<const char*>at, size)))
            at += size
        count -= 1
    return found


cdef inline ConsumerRecord view(Columns columns, Py_ssize_t index):
    """The view of one row."""
    cdef ConsumerRecord made = ConsumerRecord.__new__(ConsumerRecord)
    cdef Numbers* numbers = &columns.numbers
    made.topic = columns.topic
    made.owner = columns
    made.base = <place>columns.view.buf
    made.offset = numbers.offsets[index]
    made.timestamp = numbers.timestamps[index]
    made.partition = columns.partition
    made.epoch = columns.epoch
    made.kind = columns.kind
    made.key_start = numbers.key_starts[index]
    made.key_length = numbers.key_lengths[index]
    made.value_start = numbers.value_starts[index]
    made.value_length = numbers.value_lengths[index]
    made.header_start = numbers.header_starts[index]
    made.header_length = numbers.header_lengths[index]
    return made


cdef int copy_fields(ConsumerRecord source, ConsumerRecord target) except -1:
    """Make one record the view of the same bytes as another."""
    target.topic = source.topic
    target.owner = source.owner
    target.base = source.base
    target.offset = source.offset
    target.timestamp = source.timestamp
    target.partition = source.partition
    target.epoch = source.epoch
    target.kind = source.kind
    target.key_start = source.key_start
    target.key_length = source.key_length
    target.value_start = source.value_start
    target.value_length = source.value_length
    target.header_start = source.header_start
    target.header_length = source.header_length
    return 0


cdef ConsumerRecord detached(ConsumerRecord source):
    """A record with bytes of its own: key, value and headers, and no others."""
    cdef ConsumerRecord copy = ConsumerRecord.__new__(ConsumerRecord)
    cdef Py_ssize_t keyed = max(source.key_length, 0)
    cdef Py_ssize_t valued = max(source.value_length, 0)
    cdef bytes owner = PyBytes_FromStringAndSize(NULL, keyed + valued + source.header_length)
    cdef char* out = PyBytes_AS_STRING(owner)
    if keyed:
        memcpy(out, source.base + source.key_start, keyed)
    if valued:
        memcpy(out + keyed, source.base + source.value_start, valued)
    if source.header_length:
        memcpy(out + keyed + valued, source.base + source.header_start, source.header_length)
    copy_fields(source, copy)
    copy.owner = owner
    copy.base = <place>out
    copy.key_start = 0
    copy.value_start = <int32_t>keyed
    copy.header_start = <int32_t>(keyed + valued)
    return copy


@cython.final
cdef class RecordRun:
    """See `prokurist.records.run.RecordRun`."""

    cdef readonly Columns columns
    cdef readonly Py_ssize_t start
    cdef readonly Py_ssize_t stop

    def __cinit__(self, Columns columns not None, Py_ssize_t start, Py_ssize_t stop):
        if not 0 <= start <= stop <= columns.count:
            raise IndexError(f"rows {start} to {stop} of {columns.count}")
        self.columns = columns
        self.start = start
        self.stop = stop

    def __len__(self):
        return self.stop - self.start

    def __iter__(self):
        cdef Records made = Records.__new__(Records)
        made.columns = self.columns
        made.at = self.start
        made.stop = self.stop
        return made

    def __getitem__(self, Py_ssize_t index):
        cdef Py_ssize_t row = index + (self.start if index >= 0 else self.stop)
        if not self.start <= row < self.stop:
            raise IndexError(f"record {index} of {self.stop - self.start}")
        return view(self.columns, row)

    def __repr__(self):
        columns = self.columns
        return f"RecordRun({columns.topic}-{columns.partition}, {len(self)} records)"

    def as_columns(self):
        return self.columns.sliced(self.start, self.stop)


@cython.final
cdef class Records:
    """What iterates a run."""

    cdef Columns columns
    cdef Py_ssize_t at
    cdef Py_ssize_t stop

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= self.stop:
            raise StopIteration
        self.at += 1
        return view(self.columns, self.at - 1)

    def __length_hint__(self):
        return self.stop - self.at
