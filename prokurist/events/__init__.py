"""State shared by both threads, and the only code that both run.

Thread: both. Each shared object here says which lock guards it or which thread
owns it.
Holds: the clock and deadlines, calls, mailboxes, the events themselves,
subscription and partition state.
May import: `records` and the vocabulary (`types`, `errors`, `config`).
"""
