# The path of one record; see prokurist/events/accumulator/appending.py.


cdef class QueueBase:
    """See `prokurist.events.accumulator.appending.QueueBase`."""

    cdef public Py_ssize_t partition
    cdef public BatchBuffer open_batch

    def __init__(self, Py_ssize_t partition):
        self.partition = partition
        self.open_batch = None


cdef class TopicQueues:
    """See `prokurist.events.accumulator.appending.TopicQueues`."""

    cdef public object name
    cdef public list queues
    cdef public list round
    cdef public QueueBase sticky
    cdef public Py_ssize_t sticky_bytes
    cdef public bint is_used

    def __init__(self, name):
        self.name = name
        self.queues = []
        self.round = []
        self.sticky = None
        self.sticky_bytes = 0
        self.is_used = True

    def __repr__(self):
        return f"TopicQueues({self.name}, {len(self.queues)} partitions)"


cdef class Appender:
    """See `prokurist.events.accumulator.appending.Appender`.

    `lock` is not taken here for a record: the GIL is that lock. What holds it elsewhere takes
    an open batch out of reach before it closes it.
    """

    cdef public dict topics
    cdef public object lock
    cdef public object choose
    cdef public object slow
    cdef public object on_ready
    cdef public object refusal
    cdef Py_ssize_t batch_size
    cdef bint ignore_keys
    # None for the wall clock, which is read without a call.
    cdef object clock

    def __init__(
        self, Py_ssize_t batch_size, time_of_day, *, bint ignore_keys, choose=unwired
    ):
        self.batch_size = batch_size
        self.ignore_keys = ignore_keys
        self.clock = None if time_of_day is epoch_milliseconds else time_of_day
        self.topics = {}
        self.lock = threading.RLock()
        self.choose = choose
        self.slow = unwired
        self.on_ready = unwired
        self.refusal = None

    def send(
        self,
        topic,
        value=None,
        key=None,
        headers=None,
        partition=None,
        timestamp=None,
        on_delivery=None,
    ):
        """Send a record; see `KafkaProducer.send`."""
        return self.send_record(topic, value, key, headers, partition, timestamp, on_delivery)

    cdef object send_record(
        self, topic, value, key, headers, partition, timestamp, on_delivery
    ):
        """The same."""
        cdef int64_t when
        if self.refusal is not None:
            self.refusal()
        if timestamp is not None:
            when = checked_timestamp(timestamp)
        else:
            when = self.milliseconds()
        if partition is not None:
            require_int("partition", partition, 31)
        if on_delivery is not None and not callable(on_delivery):
            require_callback(on_delivery)
        if value is not None and not PyBytes_Check(value):
            value = as_bytes("value", value)
        if key is not None and not PyBytes_Check(key):
            key = as_bytes("key", key)
        cdef object packed = NO_HEADERS if headers is None else as_headers(headers)
        cdef Delivery delivery = self.put(
            topic, value, key, packed, partition, when, on_delivery
        )
        if delivery is None:
            return self.slow(topic, value, key, packed, partition, when, on_delivery)
        return delivery

    def append(
        self, topic, value, key, bytes headers not None, partition, int64_t timestamp, on_delivery
    ):
        """See the pure twin."""
        for each in (value, key):
            if each is not None and not PyBytes_Check(each):
                raise TypeError("key and value are bytes or None")
        return self.put(topic, value, key, headers, partition, timestamp, on_delivery)

    cdef Delivery put(
        self, topic, value, key, headers, partition, int64_t timestamp, on_delivery
    ):
        """The same, of bytes."""
        cdef PyObject* found = PyDict_GetItemWithError(self.topics, topic)
        if found == NULL:
            return None
        cdef TopicQueues queues = <TopicQueues?>found
        cdef QueueBase queue = self.find(queues, key, partition)
        if queue is None:
            return None
        cdef Delivery delivery = Delivery.__new__(Delivery)
        if self.refusal is not None:
            self.refusal()
        # From here on nothing runs Python code, until the record is counted.
        cdef BatchBuffer batch = queue.open_batch
        if batch is None:
            return None
        cdef Py_ssize_t before = batch.size
        cdef Py_ssize_t index = batch.add(timestamp, key, value, headers)
        if index < 0:
            return None
        if on_delivery is not None:
            batch.note(on_delivery, index)
        cdef bint told = batch.is_ready or batch.size < self.batch_size
        if not told:
            batch.is_ready = True
        queues.is_used = True
        if queue is queues.sticky:
            queues.sticky_bytes += batch.size - before
        # To here.
        delivery._batch = batch
        delivery._index = index
        delivery._timestamp = timestamp
        if not told:
            self.on_ready(queue)
        return delivery

    def place(self, TopicQueues queues not None, key, partition):
        """See the pure twin."""
        if key is not None and not PyBytes_Check(key):
            raise TypeError("a key is bytes or None")
        return self.find(queues, key, partition)

    cdef QueueBase find(self, TopicQueues queues, key, partition):
        """The same."""
        if key is None:
            return self.find_by(queues, NULL, -1, partition)
        return self.find_by(queues, PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key), partition)

    cdef QueueBase find_by(
        self, TopicQueues queues, const char* key_at, Py_ssize_t key_size, partition
    ):
        """The same of memory; null has the size −1."""
        cdef list every = queues.queues
        cdef Py_ssize_t count = len(every)
        if partition is not None:
            return every[partition] if partition < count else None
        if key_size >= 0 and not self.ignore_keys:
            if count == 0:
                partition_of_key(PyBytes_FromStringAndSize(key_at, key_size), count)
            return every[
                (hash_of(<place>key_at, key_size) & 0x7FFFFFFF) % <uint64_t>count
            ]
        if queues.sticky is None or queues.sticky_bytes >= self.batch_size:
            self.choose(queues)
        return queues.sticky

    def time_of_day(self):
        """See the pure twin."""
        return self.milliseconds()

    cdef int64_t milliseconds(self) except? -1:
        """The same."""
        return wall_clock() if self.clock is None else self.clock()

    def append_rows(
        self,
        topic,
        rows,
        partition,
        on_delivery,
        Places places not None,
        Py_ssize_t behind,
        Py_ssize_t upto,
    ):
        """See the pure twin."""
        cdef int64_t now = self.milliseconds()
        cdef RowReader reader = RowReader(rows)
        while places.count < upto:
            if not self.put_row(
                topic, reader, places.count - behind, now, partition, on_delivery, places
            ):
                return

    cdef bint put_row(
        self,
        topic,
        RowReader reader,
        Py_ssize_t index,
        int64_t now,
        partition,
        on_delivery,
        Places places,
    ) except -1:
        """Append one row, and take note of its place: whether that could be done at once."""
        cdef Part key, value, headers
        reader.keys.read(index, &key)
        reader.values.read(index, &value)
        reader.headers.read(index, &headers)
        if headers.size <= 0:
            headers.at, headers.size = b"\0", 1
        cdef int64_t timestamp = reader.timestamp(index, now)
        cdef PyObject* found = PyDict_GetItemWithError(self.topics, topic)
        if found == NULL:
            return False
        cdef TopicQueues queues = <TopicQueues?>found
        cdef QueueBase queue = self.find_by(queues, key.at, key.size, partition)
        if queue is None:
            return False
        if self.refusal is not None:
            self.refusal()
        cdef BatchBuffer batch = queue.open_batch
        if batch is None:
            return False
        cdef Py_ssize_t slot = places.slot_for(batch, batch.count)
        # From here on nothing runs Python code, until the record is counted.
        cdef Py_ssize_t before = batch.size
        cdef Py_ssize_t put_at = batch.add_parts(
            timestamp, key.at, key.size, value.at, value.size, headers.at, headers.size
        )
        if put_at < 0:
            return False
        places.note(slot)
        if on_delivery is not None:
            batch.note(on_delivery, put_at)
        cdef bint told = batch.is_ready or batch.size < self.batch_size
        if not told:
            batch.is_ready = True
        queues.is_used = True
        if queue is queues.sticky:
            queues.sticky_bytes += batch.size - before
        # To here.
        if not told:
            self.on_ready(queue)
        return True

    def __repr__(self):
        return f"Appender({len(self.topics)} topics)"


@cython.final
cdef class Sender:
    """See `prokurist.events.accumulator.appending.Sender`."""

    cdef Appender appender
    cdef object owner

    def __cinit__(self, Appender appender not None, owner):
        self.appender = appender
        self.owner = owner

    def send(
        self,
        topic,
        value=None,
        key=None,
        headers=None,
        partition=None,
        timestamp=None,
        on_delivery=None,
    ):
        """Send a record; see `KafkaProducer.send`."""
        return self.appender.send_record(
            topic, value, key, headers, partition, timestamp, on_delivery
        )


cdef inline int64_t wall_clock() noexcept:
    """See `prokurist.events.clock.epoch_milliseconds`."""
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return <int64_t>now.tv_sec * 1000 + now.tv_nsec // 1000000


cdef inline int64_t checked_timestamp(timestamp) except -1:
    """A timestamp that was given."""
    cdef int overflow = 0
    cdef int64_t when
    if PyLong_CheckExact(timestamp):
        when = PyLong_AsLongLongAndOverflow(timestamp, &overflow)
        if overflow == 0 and when >= 0:
            return when
    require_timestamp(timestamp)
    return timestamp
