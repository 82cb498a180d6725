# Handles; see prokurist/events/accumulator/delivery.py.


@cython.final
@cython.no_gc
@cython.freelist(512)
cdef class Delivery:
    """See `prokurist.events.accumulator.delivery.Delivery`.

    Unknown to the garbage collector, so that a million of them cost a collection nothing. The
    one thing that a handle refers to is its batch, and a batch that has ended refers to
    nothing that could lead back: not to its producer, to no callback, and to no traceback.
    """

    cdef object batch
    cdef Py_ssize_t index
    cdef int64_t stamp

    def __init__(self, batch, Py_ssize_t index, int64_t timestamp):
        self.batch = batch
        self.index = index
        self.stamp = timestamp

    def done(self):
        """Whether the record is delivered or has failed."""
        return shared.is_done(self.batch, self.index)

    def result(self, timeout=None):
        """Wait until the record is delivered; see the pure twin."""
        return shared.result_of(self.batch, self.index, self.stamp, timeout)

    def exception(self, timeout=None):
        """Wait like `result`, and return why the record has failed; see the pure twin."""
        return shared.exception_of(self.batch, self.index, timeout)

    def add_done_callback(self, callback):
        """Have something called with this handle once the record is done."""
        shared.when_done(self.batch, self.index, self, callback)

    def future(self):
        """A future of the standard library that is done when this is."""
        return shared.future_of(self)

    def __await__(self):
        return shared.awaited(self).__await__()

    @property
    def topic(self):
        """The record's topic."""
        return self.batch.topic

    @property
    def partition(self):
        """Its partition; −1 where it failed before one was chosen."""
        return self.batch.partition

    @property
    def offset(self):
        """Its offset; None until it is delivered, and where it has failed."""
        return shared.offset_of(self.batch, self.index)

    @property
    def timestamp(self):
        """Its timestamp in epoch milliseconds; the broker's once that has given its own."""
        return shared.timestamp_of(self.batch, self.index, self.stamp)

    def __repr__(self):
        return shared.shown(self.batch, self.index)
