# What the system offers; see _native_watch.pyx.

cdef extern from "<poll.h>" nogil:
    cdef struct pollfd:
        int fd
        short events
        short revents
    const short POLLIN
    const short POLLOUT

cdef extern from "<unistd.h>" nogil:
    int getpid()

cdef extern from "<sys/socket.h>" nogil:
    ssize_t recv(int descriptor, void* room, size_t length, int flags)

cdef extern from *:
    """
    #ifndef _GNU_SOURCE
    #define _GNU_SOURCE
    #endif
    #include <errno.h>
    #include <netinet/in.h>
    #include <netinet/tcp.h>
    #include <poll.h>
    #include <stdint.h>
    #include <sys/socket.h>
    #include <time.h>

    static int64_t prokurist_now(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    }

    /* May end a little before its time, and is asked again then. Where there is no wait in
       nanoseconds, rather a little too long than a spin. */
    static int prokurist_wait(struct pollfd *all, int count, int64_t nanoseconds) {
    #ifdef __linux__
        /* A process that is stopped in a `poll` and goes on waits until the moment that was
           meant; in a `ppoll`, for as long again as was left when it was stopped. */
        if (nanoseconds >= 1000000)
            return poll(all, (nfds_t)count, (int)(nanoseconds / 1000000));
        struct timespec left = {0, nanoseconds};
        return ppoll(all, (nfds_t)count, nanoseconds < 0 ? NULL : &left, NULL);
    #else
        return poll(all, (nfds_t)count,
                    nanoseconds < 0 ? -1 : (int)((nanoseconds + 999999) / 1000000));
    #endif
    }

    /* A process that has given SIGPIPE its default back must not die of a broker that hung up;
       see transport. */
    static ssize_t prokurist_send(int descriptor, const void *at, size_t length) {
    #ifdef MSG_NOSIGNAL
        return send(descriptor, at, length, MSG_NOSIGNAL);
    #else
        return send(descriptor, at, length, 0);
    #endif
    }

    /* How much has to be there before a socket is readable. Linux asks for no more of it
       than its buffer can hold; where we do not know that, nothing is asked for. */
    static void prokurist_portion(int descriptor, int portion) {
    #ifdef __linux__
        setsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, &portion, sizeof portion);
    #endif
    }

    /* Have what was received acknowledged now. A peer whose send buffer is small (a broker's is
       100 KiB) and holds no more than one segment of loopback's size (64 KiB) stands still
       otherwise until its own timer sends a part of that again, which takes 8 ms. */
    static void prokurist_acknowledge(int descriptor) {
    #if defined(TCP_QUICKACK)
        int now = 1;
        setsockopt(descriptor, IPPROTO_TCP, TCP_QUICKACK, &now, sizeof now);
    #endif
    }
    """
    int64_t prokurist_now() nogil
    ssize_t prokurist_send(int descriptor, const void* at, size_t length) nogil
    void prokurist_portion(int descriptor, int portion) nogil
    void prokurist_acknowledge(int descriptor) nogil
    int prokurist_wait(pollfd* all, int count, int64_t nanoseconds) nogil
