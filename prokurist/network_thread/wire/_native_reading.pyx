# cython: language_level=3, boundscheck=False, wraparound=False, auto_pickle=False
"""The native twin of `reading`: the same bodies out of the same bytes.

An answer to a fetch has a row for each partition, and the pure reader takes a turn of
the interpreter for each field of it. Here the table of a message is made into layouts
once, and an answer is walked without any.

Nothing is said of what is wrong with bytes: where these do not fit, the pure twin reads
them once more, and raises; but of very many elements only the place is told.

Thread: any; nothing changes once it is made.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from functools import cache
from uuid import UUID

from prokurist.network_thread.wire import reading, schema
from prokurist.network_thread.wire.failures import Malformed

cdef enum:
    NUMBERS = 8  # as in `reading`
    TURN = 1 << 14  # elements after which other threads may have the GIL
    READ_AGAIN = 1 << 16

cdef enum:
    BOOL, UNSIGNED, REAL, SIGNED, STRING, BYTES, RECORDS, IDENTIFIER, STRUCT

cdef dict KINDS = {
    "?": (BOOL, 1), "b": (SIGNED, 1), "h": (SIGNED, 2), "i": (SIGNED, 4), "q": (SIGNED, 8),
    "H": (UNSIGNED, 2), "d": (REAL, 8),
}
"""What each of the letters of `struct` stands for, and how many bytes it takes."""
cdef dict OTHERS = {
    "string": STRING, "bytes": BYTES, "records": RECORDS, "uuid": IDENTIFIER, "struct": STRUCT
}


class Misfit(Exception):
    """The bytes are not what the layout says."""


class Excess(Exception):
    """There are more elements than are taken; with the name of the field."""


cdef struct Walk:
    const unsigned char* base
    Py_ssize_t at
    Py_ssize_t end
    int64_t left  # elements that may still come
    int64_t since  # elements since another thread had its turn


cdef int count_elements(Walk* walk, str name, int64_t count) except -1:
    """Count elements before they are made; see `reading.Budget`."""
    walk.left -= count
    if walk.left < 0:
        raise Excess(name)
    walk.since += count
    if walk.since >= TURN:
        walk.since = 0
        with nogil:
            pass  # who waits for the GIL gets it
    return 0


cdef int need(Walk* walk, int64_t count) except -1:
    """There have to be so many bytes yet."""
    if count > walk.end - walk.at:
        raise Misfit
    return 0


cdef uint64_t big_endian(Walk* walk, int size) except? 0:
    """An unsigned number."""
    cdef uint64_t value = 0
    cdef int nth
    need(walk, size)
    for nth in range(size):
        value = value << 8 | walk.base[walk.at + nth]
    walk.at += size
    return value


cdef object fixed(Walk* walk, int kind, int size):
    """A value of fixed size."""
    cdef uint64_t raw
    cdef double real
    raw = big_endian(walk, size)
    if kind == BOOL:
        return raw != 0
    if kind == UNSIGNED:
        return raw
    if kind == REAL:
        memcpy(&real, &raw, sizeof(real))
        return real
    if size == 1:
        return <int8_t>raw
    if size == 2:
        return <int16_t>raw
    if size == 4:
        return <int32_t>raw
    return <int64_t>raw


cdef int64_t varint(Walk* walk) except -1:
    """An unsigned varint of at most five bytes."""
    cdef int64_t value = 0
    cdef int shift
    cdef unsigned char byte
    for shift in range(0, 35, 7):
        need(walk, 1)
        byte = walk.base[walk.at]
        walk.at += 1
        value |= <int64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            return value
    raise Misfit


cdef class Item:
    """One field."""

    cdef str name
    cdef int kind
    cdef int size
    cdef bint array
    cdef bint nullable
    cdef bint compact
    cdef Layout layout

    def __init__(self, field, bint compact):
        self.name = field.name
        self.array = field.array
        self.nullable = field.nullable
        self.compact = compact
        if field.struct is not None:
            self.kind, self.layout = STRUCT, Layout(field.struct)
        elif field.kind in schema.FIXED:
            self.kind, self.size = KINDS[schema.FIXED[field.kind]]
        elif field.kind in OTHERS:
            self.kind = OTHERS[field.kind]
        else:
            raise NotImplementedError(f"no reader for {field.kind}, the kind of {field.name}")

    cdef int64_t length(self, Walk* walk, int width, bint nullable) except? -2:
        """A length, which the bytes that are left allow; −1 for null."""
        cdef int64_t count
        if self.compact:
            count = varint(walk) - 1
        elif width == 2:
            count = <int16_t>big_endian(walk, 2)
        else:
            count = <int32_t>big_endian(walk, 4)
        if count < -1 or (count == -1 and not nullable):
            raise Misfit
        need(walk, count)
        return count

    cdef object value(self, Walk* walk, data):
        """What the field holds."""
        if self.array:
            return self.elements(walk, data)
        if self.kind == STRUCT and self.nullable:
            need(walk, 1)
            walk.at += 1
            if walk.base[walk.at - 1] >= 0x80:
                return None
        return self.one(walk, data, self.nullable)

    cdef object elements(self, Walk* walk, data):
        cdef int64_t count = self.length(walk, 4, self.nullable)
        cdef Py_ssize_t nth
        if count < 0:
            return None
        if self.kind <= SIGNED:
            need(walk, count * self.size)
            count_elements(walk, self.name, count // NUMBERS)
        else:
            count_elements(walk, self.name, count)
        # Grown and not reserved: what is claimed need not be there.
        cdef list made = []
        for nth in range(count):
            made.append(self.one(walk, data, False))
        return tuple(made)

    cdef object one(self, Walk* walk, data, bint nullable):
        """One element, or the field itself."""
        cdef int64_t count
        cdef const char* start
        if self.kind == STRUCT:
            return self.layout.body(walk, data)
        if self.kind <= SIGNED:
            return fixed(walk, self.kind, self.size)
        if self.kind == IDENTIFIER:
            need(walk, 16)
            raw = PyBytes_FromStringAndSize(<const char*>walk.base + walk.at, 16)
            walk.at += 16
            return None if raw == reading.ZERO else UUID(bytes=raw)
        count = self.length(walk, 2 if self.kind == STRING else 4, nullable)
        if self.kind == RECORDS:
            count = max(count, <int64_t>0)
            found = data[walk.at : walk.at + count]
            walk.at += count
            return found
        if count < 0:
            return None
        start = <const char*>walk.base + walk.at
        walk.at += count
        if self.kind == STRING:
            try:
                return PyUnicode_DecodeUTF8(start, count, NULL)
            except UnicodeDecodeError:
                raise Misfit from None
        return PyBytes_FromStringAndSize(start, count)


cdef class Layout:
    """The fields of a structure, in the order in which they are written."""

    cdef list items
    cdef dict tagged
    cdef bint flexible

    def __init__(self, table):
        self.flexible = table.flexible
        self.items = [Item(each, table.flexible) for each in table.fields if each.tag is None]
        self.tagged = {
            each.tag: Item(each, True) for each in table.fields if each.tag is not None
        }

    cdef dict body(self, Walk* walk, data):
        """Read one."""
        cdef dict made = {}
        cdef Item item
        for item in self.items:
            made[item.name] = item.value(walk, data)
        if self.flexible:
            self.read_tagged(walk, data, made)
        return made

    cdef int read_tagged(self, Walk* walk, data, dict made) except -1:
        """Read the tagged fields that we know, and pass over the others."""
        cdef int64_t count = varint(walk)
        cdef int64_t nth, tag, size
        cdef Py_ssize_t end
        cdef Item item
        count_elements(walk, "tagged fields", count)
        for nth in range(count):
            tag = varint(walk)
            size = varint(walk)
            need(walk, size)
            end = walk.at + size
            item = self.tagged.get(tag)
            if item is not None:
                made[item.name] = item.value(walk, data)
                if walk.at != end:
                    raise Misfit
            walk.at = end
        return 0


@cache
def reader_of(message):
    """See `reading.reader_of`."""
    layout = Layout(message.struct)

    def read(data, Py_ssize_t at, int64_t most):
        cdef const unsigned char[::1] bytes_of = data
        cdef Walk walk
        cdef Layout known = layout
        if 0 <= at < bytes_of.shape[0]:
            walk.base, walk.at, walk.end = &bytes_of[0], at, bytes_of.shape[0]
            walk.left, walk.since = most, 0
            try:
                return known.body(&walk, data), walk.at
            except Excess as error:
                raise Malformed(reading.too_many(error.args[0], most)) from None
            except Misfit:
                if most - walk.left > READ_AGAIN:
                    # To say what is wrong would take the pure twin seconds.
                    raise Malformed(f"it is not right at byte {walk.at}") from None
        return reading.reader_of(message)(data, at, most)

    return read
