# Handles; see prokurist/events/accumulator/delivery.py.


cdef inline object delivered(batch):
    """The outcome of a batch that is delivered whole; None for every other.

    What most handles are asked for; the pure functions answer for all others.
    """
    outcome = batch.outcome
    if outcome is None or outcome.error is not None or outcome.record_errors:
        return None
    return outcome


cdef inline object metadata_of(batch, outcome, Py_ssize_t index, int64_t timestamp):
    """See `prokurist.events.accumulator.record_metadata.Outcome.metadata`."""
    cdef int64_t base_offset = outcome.base_offset
    cdef int64_t append_time = outcome.append_time
    return new_metadata(
        batch.topic,
        batch.partition,
        base_offset + index if base_offset >= 0 else -1,
        append_time if append_time >= 0 else timestamp,
    )


@cython.final
@cython.no_gc
@cython.freelist(512)
cdef class Delivery:
    """See `prokurist.events.accumulator.delivery.Delivery`.

    Unknown to the garbage collector, so that a million of them cost a collection nothing. The
    one thing that a handle refers to is its batch, and a batch that has ended refers to
    nothing that could lead back: not to its producer, to no callback, and to no traceback.
    """

    cdef readonly object _batch
    cdef readonly Py_ssize_t _index
    cdef readonly int64_t _timestamp

    def __init__(self, batch, Py_ssize_t index, int64_t timestamp):
        self._batch = batch
        self._index = index
        self._timestamp = timestamp

    def done(self):
        """Whether the record is delivered or has failed."""
        if delivered(self._batch) is not None:
            return True
        return shared.is_done(self._batch, self._index)

    def result(self, timeout=None):
        """Wait until the record is delivered; see the pure twin."""
        outcome = delivered(self._batch)
        if outcome is not None:
            return metadata_of(self._batch, outcome, self._index, self._timestamp)
        return shared.result_of(self._batch, self._index, self._timestamp, timeout)

    def exception(self, timeout=None):
        """Wait like `result`, and return why the record has failed; see the pure twin."""
        if delivered(self._batch) is not None:
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
        outcome = delivered(self._batch)
        if outcome is not None:
            return metadata_of(self._batch, outcome, self._index, self._timestamp).offset
        return shared.offset_of(self._batch, self._index)

    @property
    def timestamp(self):
        """Its timestamp in epoch milliseconds; the broker's once that has given its own."""
        return shared.timestamp_of(self._batch, self._index, self._timestamp)

    def __repr__(self):
        return shared.shown(self._batch, self._index)
