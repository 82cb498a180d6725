"""All that knows sockets: whole frames in and out, and names to addresses.

Thread: the network thread, except where a docstring says otherwise (`wake`).
Holds: `network`, the interface to the rest of the client; `selector`, the pure implementation
and the specification for others; `framing`, `transport` and `wakeup`, its parts; `resolver`,
host names to addresses off the thread.
May import: the vocabulary, and parts of the standard library.
"""
