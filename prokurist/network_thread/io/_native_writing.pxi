# Writing what the system did not take at once; see _native_watch.pyx.

cdef bint write_rest(Stream* stream, int descriptor) noexcept nogil:
    """Write once; whether that was the last of it, or has failed, or there was nothing."""
    cdef Py_ssize_t count
    if stream.rest.buf == NULL:
        return True
    count = prokurist_send(
        descriptor, <char*>stream.rest.buf + stream.written, stream.rest.len - stream.written
    )
    if count >= 0:
        stream.written += count
        return stream.written == stream.rest.len
    if errno == EAGAIN or errno == EINTR:
        return False
    stream.failure = errno
    return True


cdef void give_up_rest(Stream* stream) noexcept:
    if stream.rest.buf != NULL:
        PyBuffer_Release(&stream.rest)
        stream.rest.buf = NULL
