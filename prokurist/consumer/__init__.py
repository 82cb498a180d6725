"""The public consumer: application thread only.

Thread: the application's. Every line in this room runs inside a call that the
user made, on the thread that made it.
Holds: the public client, its poll loop, listeners and callbacks.
May import: `events` and below. The way to the network thread is a mailbox; the
one import towards it goes through `prokurist.assembly`.
"""
