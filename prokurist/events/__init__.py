"""State shared by both threads, and the only code that both run.

Thread: both. The docstring of each shared object names its lock or its owning thread.
Holds: the clock and deadlines, calls, mailboxes, the events themselves, the table of
assigned partitions.
May import: `records` and the vocabulary (`types`, `errors`, `config`).
"""
