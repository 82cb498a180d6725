# cython: language_level=3, boundscheck=False, wraparound=False
"""The native twin of `tally`: the same numbers, in a block of memory.

Thread: one writes, any reads.
Invariants: no number ever falls. A value is counted whole before the GIL goes on to
somebody else, so a reader sees it in its place and in the sum, or in neither.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free

from prokurist.events.tally import SECONDS


cdef class Tally:
    """Values by bounds; see `tally`."""

    cdef readonly tuple bounds
    cdef readonly double total
    cdef Py_ssize_t _most
    cdef double* _upper
    cdef long long* _counts

    def __cinit__(self, tuple bounds not None=SECONDS):
        cdef Py_ssize_t place
        self.bounds = bounds
        self._most = len(bounds)
        self._upper = <double*> PyMem_Calloc(self._most + 1, sizeof(double))
        self._counts = <long long*> PyMem_Calloc(self._most + 1, sizeof(long long))
        if self._upper == NULL or self._counts == NULL:
            raise MemoryError
        for place in range(self._most):
            self._upper[place] = bounds[place]

    def __dealloc__(self):
        PyMem_Free(self._upper)
        PyMem_Free(self._counts)

    def observe(self, double value):
        """Count a value."""
        cdef Py_ssize_t low = 0, high = self._most, middle
        # As `bisect_left` does it, word for word: so both put a NaN into the same place.
        while low < high:
            middle = (low + high) >> 1
            if self._upper[middle] < value:
                low = middle + 1
            else:
                high = middle
        self._counts[low] += 1
        self.total += value

    def add(self, other):
        """Count all that another one has counted; its bounds are the same."""
        cdef Py_ssize_t place
        cdef list counts = other.counts
        for place in range(self._most + 1):
            self._counts[place] += counts[place]
        self.total += other.total

    @property
    def counts(self):
        """One for each bound, and one for what lies above all of them."""
        return [self._counts[place] for place in range(self._most + 1)]
