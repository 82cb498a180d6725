"""Protocol messages: version-neutral values on this side, bytes on the other.

Thread: the network thread's, but every function is pure: no I/O, no clock, no
lock, nothing that waits. Values are frozen.

A manager makes a request (`OffsetCommit(...)`), asks `versions.negotiate` for the version that
can carry it to this broker, and `codec.encode` writes the frame; `codec.decode` turns the
answer's frame into that request's answer. Versions do not get past here: a row per API lists
all (`apis`), a request limits them (`limits`), and fields are matched by their names
(`schema`).

`tables` has the fields of all messages, for all versions in one place; the fields of one
version are read off them when it is first used.
"""
