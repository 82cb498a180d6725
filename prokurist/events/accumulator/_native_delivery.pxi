# Handles; see prokurist/events/accumulator/delivery.py.


@cython.final
@cython.no_gc
@cython.freelist(512)
cdef class Delivery:
    """See `prokurist.events.accumulator.delivery.Delivery`.

    Unknown to the garbage collector, so that a million of them cost a collection nothing. The
    one thing that a handle refers to is its batch, and a batch that has ended refers to
    nothing that could lead back: not to its producer, to no callback, and to no traceback.

    What most handles are asked for is answered here; the pure functions answer for a batch
    that is not delivered whole.
    """

    cdef readonly BatchBuffer _batch
    cdef readonly Py_ssize_t _index
    cdef readonly int64_t _timestamp

    def __init__(self, BatchBuffer batch not None, Py_ssize_t index, int64_t timestamp):
        self._batch = batch
        self._index = index
        self._timestamp = timestamp

    def done(self):
        """Whether the record is delivered or has failed."""
        if self._batch.is_delivered:
            return True
        return shared.is_done(self._batch, self._index)

    def result(self, timeout=None):
        """Wait until the record is delivered; see the pure twin."""
        if self._batch.is_delivered:
            return self._batch.metadata_told(self._index, self._timestamp)
        return shared.result_of(self._batch, self._index, self._timestamp, timeout)

    def exception(self, timeout=None):
        """Wait like `result`, and return why the record has failed; see the pure twin."""
        if self._batch.is_delivered:
            return None
        return shared.exception_of(self._batch, self._index, timeout)

    def add_done_callback(self, callback):
        """Have something called with this handle once the record is done."""
        shared.when_done(self._batch, self._index, self, callback)

    def future(self):
        """A future of the standard library that is done when this is."""
        return shared.future_of(self)

    def __await__(self):
        return shared.awaited(self).__await__()

    @property
    def topic(self):
        """The record's topic."""
        return self._batch.topic

    @property
    def partition(self):
        """Its partition; −1 where it failed before one was chosen."""
        return self._batch.partition

    @property
    def offset(self):
        """Its offset; None until it is delivered, and where it has failed."""
        cdef int64_t base_offset = self._batch.base_offset
        if self._batch.is_delivered:
            return base_offset + self._index if base_offset >= 0 else -1
        return shared.offset_of(self._batch, self._index)

    @property
    def timestamp(self):
        """Its timestamp in epoch milliseconds; the broker's once that has given its own."""
        return shared.timestamp_of(self._batch, self._index, self._timestamp)

    def __repr__(self):
        return shared.shown(self._batch, self._index)

    def __getattr__(self, name):
        raise shared.no_attribute(self, name)


# Errors of the interpreter name a type as it was compiled, by its module.
(<PyTypeObject*>Delivery).tp_name = "prokurist.Delivery"
