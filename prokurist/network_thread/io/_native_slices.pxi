# How long the slices are that the kernel gives the calling thread; see slices.py.

cdef extern from *:
    """
    #ifdef __linux__
    #include <string.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    #endif
    #if defined(__linux__) && defined(SYS_sched_getattr) && defined(SYS_sched_setattr)

    /* The first published form of the kernel's `sched_attr`, which all versions take. */
    struct prokurist_scheduling {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    };

    static int prokurist_scheduled(struct prokurist_scheduling *found) {
        memset(found, 0, sizeof *found);
        return syscall(SYS_sched_getattr, 0, found, sizeof *found, 0) == 0
            && found->policy == 0 /* SCHED_OTHER: elsewhere a slice means something else */
            && found->runtime > 0 /* a kernel before 6.12 has none to tell of */;
    }

    static int64_t prokurist_slice(void) {
        struct prokurist_scheduling found;
        return prokurist_scheduled(&found) ? (int64_t)found.runtime : 0;
    }

    static int prokurist_set_slice(int64_t nanoseconds) {
        struct prokurist_scheduling wanted;
        if (!prokurist_scheduled(&wanted))
            return 0;
        wanted.size = sizeof wanted;
        wanted.flags &= 1; /* SCHED_FLAG_RESET_ON_FORK; others tell what is to change */
        wanted.runtime = (uint64_t)nanoseconds;
        return syscall(SYS_sched_setattr, 0, &wanted, 0) == 0;
    }
    #else
    static int64_t prokurist_slice(void) { return 0; }
    static int prokurist_set_slice(int64_t nanoseconds) { return 0; }
    #endif
    """
    int64_t prokurist_slice()
    bint prokurist_set_slice(int64_t nanoseconds)


def slice_of_thread():
    """In nanoseconds; 0 where the kernel knows none, or a thread of this kind has none."""
    return prokurist_slice()


def set_slice_of_thread(int64_t nanoseconds):
    """Ask for another; whether it was granted."""
    return prokurist_set_slice(nanoseconds)
