# cython: language_level=3, auto_pickle=False
"""The native twin of `prokurist.events.pure_hand`: a step in one piece; see `hand`.

Thread: the application's, with the GIL; `Steady.off` from any. Between the look at `Steady` and the
record's handing out no Python code runs, so no other thread does.
"""

cimport cython
from libc.math cimport INFINITY

from itertools import islice


@cython.final
cdef class Steady:
    """Whether the next step may be made without a look round."""

    cdef bint is_on

    def on(self):
        """It may."""
        self.is_on = True

    def off(self):
        """It may not, until a slow step was made."""
        self.is_on = False


@cython.final
cdef class Hand:
    """See `hand.Hand`."""

    cdef Steady _steady
    cdef object _records
    cdef object _iterator
    cdef object _now
    cdef object _pending
    cdef public object last
    cdef public object before
    cdef public bint in_hand
    cdef readonly long given
    cdef public double due

    def __cinit__(self, Steady steady not None, records, now):
        self._steady = steady
        self._records = records
        self._iterator = iter(records)
        self._now = now
        self.due = INFINITY

    def step(self):
        """Hand out the next record; None where that takes a slow step."""
        if not self._steady.is_on:
            return None
        if self.due != INFINITY and self._now() >= self.due:
            return None
        record = self.take()
        if record is None:
            return None
        if not self._steady.is_on:
            return None
        self.give(record)
        return record

    cpdef take(self):
        """The next record, which stays so until `give`; None where there is none."""
        record = self._pending
        if record is not None:
            return record
        # An interrupt in it ends an iterator, as if there were no more: it is not kept then.
        iterator = self._iterator
        self._iterator = None
        if iterator is None:
            iterator = islice(self._records, self.given, None)
        record = next(iterator, None)
        self._iterator = iterator
        self._pending = record
        return record

    cpdef give(self, record):
        """The user is given one more record."""
        # Let go of last: what that frees may run code.
        taken = self._pending
        self._pending = None
        gone = self.before
        self.before = self.last
        self.last = record
        self.in_hand = True
        self.given += 1

    def take_back(self):
        """An interrupt came before the user had the last one: it is handed out again."""
        self._steady.is_on = False
        self._pending = self.last
        self.last = self.before
        self.before = None
        self.in_hand = False
        self.given -= 1
