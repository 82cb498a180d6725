"""Protocol messages: version-neutral values on this side, bytes on the other.

Thread: the network thread's, but every function is pure: no I/O, no clock, no
lock, nothing that waits. Values are frozen.

A manager makes a request (`OffsetCommit(...)`), asks `versions.negotiate` which
version can carry it to this broker, and `codec.encode` writes the frame;
`codec.decode` turns the answer's frame into that request's answer. Versions do
not get past here: a row per API says what exists (`apis`), a request says what
it needs (`limits`), and fields are matched by their names (`schema`).

What messages are made of stands in `tables`, for all versions in one place; what one
version has is read off them when it is first spoken.
"""
