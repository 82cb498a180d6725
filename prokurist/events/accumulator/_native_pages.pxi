# Pages: the memory of batches, and its reuse.
#
# Memory that is new to a process costs more than what is written into it: the system clears
# each of its pages first. So what a batch has left is kept for the next one, up to a bound.

cdef enum:
    SHELVES = 5
    SHELF_DEPTH = 64

cdef Py_ssize_t SMALLEST = 16384
cdef Py_ssize_t MOST_KEPT = 16 << 20
"""Bytes that are kept at most, in all."""

cdef struct Shelf:
    void* pages[SHELF_DEPTH]
    int count

cdef Shelf[SHELVES] shelves
"""Pages that are kept, by their capacity: each shelf's is four times the one's before."""
cdef Py_ssize_t kept = 0


cdef inline int shelf_of(Py_ssize_t size) noexcept nogil:
    """The shelf whose pages have room for so many bytes; `SHELVES` where none has."""
    cdef int shelf = 0
    cdef Py_ssize_t capacity = SMALLEST
    while shelf < SHELVES and capacity < size:
        capacity <<= 2
        shelf += 1
    return shelf


@cython.final
cdef class Page:
    """Memory that batches are written to; what refers to it keeps it."""

    cdef unsigned char* at
    cdef Py_ssize_t capacity

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.at, self.capacity, 1, flags)

    def __dealloc__(self):
        global kept
        if self.at == NULL:
            return
        cdef int shelf = shelf_of(self.capacity)
        if (
            shelf < SHELVES
            and shelves[shelf].count < SHELF_DEPTH
            and kept + self.capacity <= MOST_KEPT
        ):
            shelves[shelf].pages[shelves[shelf].count] = self.at
            shelves[shelf].count += 1
            kept += self.capacity
        else:
            free(self.at)


cdef Page new_page(Py_ssize_t size):
    """A page with room for so many bytes; no Python code runs meanwhile."""
    global kept
    cdef Page page = Page.__new__(Page)
    cdef int shelf = shelf_of(size)
    page.capacity = SMALLEST << 2 * shelf if shelf < SHELVES else size
    if shelf < SHELVES and shelves[shelf].count:
        shelves[shelf].count -= 1
        page.at = <unsigned char*>shelves[shelf].pages[shelves[shelf].count]
        kept -= page.capacity
    else:
        page.at = <unsigned char*>malloc(page.capacity)
        if page.at == NULL:
            raise MemoryError
    return page
