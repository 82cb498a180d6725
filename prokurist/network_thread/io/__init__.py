"""All that knows sockets: whole frames in and out, and names to addresses.

Thread: the network thread, except where a docstring says otherwise (`wake`).
Holds: `network`, what the rest of the client sees of it; `selector`, the pure
implementation, which is the specification for others; `framing`, `transport`
and `wakeup`, its parts; `resolver`, host names to addresses off the thread.
May import: the vocabulary, and of the standard library what it needs.
"""
