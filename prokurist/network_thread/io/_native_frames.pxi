# The memory of frames; see _native_watch.pyx.
#
# Small frames are the allocator's. Large ones are pages of their own, since the
# allocator's heaps grow ragged by blocks of many megabytes that one thread takes and
# another gives back: resident memory came to four times what was held. A few that have
# been given back are kept for the next frames, which so need no fresh pages.

cdef extern from "<sys/mman.h>" nogil:
    void* mmap(void* at, size_t length, int protection, int flags, int descriptor, long offset)
    int munmap(void* at, size_t length)
    const int PROT_READ
    const int PROT_WRITE
    const int MAP_PRIVATE
    const int MAP_ANONYMOUS
    void* MAP_FAILED

cdef extern from *:
    """
    /* A thread that does not get it at once goes without: none waits, so that a process that
       was forked while it was taken cannot hang. */
    static int prokurist_try(char *flag) {
        return !__atomic_test_and_set(flag, __ATOMIC_ACQUIRE);
    }
    static void prokurist_release(char *flag) {
        __atomic_clear(flag, __ATOMIC_RELEASE);
    }
    """
    bint prokurist_try(char* flag) nogil
    void prokurist_release(char* flag) nogil

cdef enum:
    LARGE = 1 << 18  # from here on a frame has pages of its own
    GRAIN = 1 << 16  # to a multiple of which they are rounded
    PLACES = 16
    KEPT = 32 << 20  # bytes of pages that wait for their next frame, at most


cdef struct Pages:
    char* memory
    Py_ssize_t size


cdef class Frames:
    """Takes and gives back the memory of frames; from any thread, without the GIL too.

    It lives for as long as the last of its frames.
    """

    cdef Pages[PLACES] kept
    cdef int count
    cdef Py_ssize_t total
    cdef char taken

    def __dealloc__(self):
        cdef int nth
        for nth in range(self.count):
            munmap(self.kept[nth].memory, self.kept[nth].size)

    def memory_for(self, length):
        """Memory for a frame that the caller fills; see `framing.fresh_memory`."""
        cdef Whole whole = Whole.__new__(Whole)
        whole.frames, whole.length, whole.fills = self, length, True
        whole.memory = self.take(whole.length, &whole.size)
        if whole.memory == NULL:
            raise MemoryError(f"no memory for a frame of {length} bytes")
        room = memoryview(whole)
        whole.fills = False
        return room

    cdef char* take(self, Py_ssize_t length, Py_ssize_t* size) noexcept nogil:
        """Room for a frame, and how much it really is; NULL where there is none."""
        size[0] = max(length, <Py_ssize_t>1)
        if length < LARGE:
            return <char*>PyMem_RawMalloc(size[0])
        size[0] = (length + GRAIN - 1) // GRAIN * GRAIN
        cdef char* memory = self._again(size)
        if memory == NULL:
            memory = <char*>mmap(
                NULL, size[0], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0
            )
            if memory == <char*>MAP_FAILED:
                return NULL
        return memory

    cdef char* _again(self, Py_ssize_t* size) noexcept nogil:
        """Kept pages that are large enough, and not more than twice that; or NULL."""
        cdef int nth, best = -1
        cdef char* memory = NULL
        if not prokurist_try(&self.taken):
            return NULL
        for nth in range(self.count):
            if size[0] <= self.kept[nth].size <= 2 * size[0] and (
                best < 0 or self.kept[nth].size < self.kept[best].size
            ):
                best = nth
        if best >= 0:
            memory, size[0] = self.kept[best].memory, self.kept[best].size
            self.total -= size[0]
            self.count -= 1
            self.kept[best] = self.kept[self.count]
        prokurist_release(&self.taken)
        return memory

    cdef void give_back(self, char* memory, Py_ssize_t size) noexcept nogil:
        """A frame is gone; NULL is none."""
        cdef bint keeps = False
        if memory == NULL or size < LARGE:
            PyMem_RawFree(memory)
            return
        if prokurist_try(&self.taken):
            keeps = self.count < PLACES and self.total + size <= KEPT
            if keeps:
                self.kept[self.count].memory, self.kept[self.count].size = memory, size
                self.count += 1
                self.total += size
            prokurist_release(&self.taken)
        if not keeps:
            munmap(memory, size)


@cython.no_gc  # the collector would clear `frames` before the memory is given back
cdef class Whole:
    """One frame's memory, given back with the last view of it.

    It is read-only, but for the view that it is filled through.
    """

    cdef Frames frames
    cdef char* memory
    cdef Py_ssize_t length
    cdef Py_ssize_t size
    cdef bint fills

    def __init__(self):
        raise TypeError("a frame is made by the watch that reads it")

    @property
    def held(self):
        """Bytes of memory that live as long as it does."""
        return self.size

    def __getbuffer__(self, Py_buffer* view, int flags):
        if self.frames is None:
            raise BufferError("a frame that was not read")
        PyBuffer_FillInfo(view, self, self.memory, self.length, not self.fills, flags)

    def __dealloc__(self):
        if self.frames is not None:
            self.frames.give_back(self.memory, self.size)
