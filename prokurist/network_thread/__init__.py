"""The network thread: the loop, its Timer, and everything that speaks to brokers.

Thread: the background one, and no other.
Holds: the loop, the Timer, operations and RequestManagers, the network client;
`io/` is the only place that knows sockets, `wire/` the only one that knows what messages
are made of.
May import: `events` and below.
"""
