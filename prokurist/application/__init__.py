"""Application side of every client: calls, the guard of one thread, the end of a process.

Thread: the application's. `consumer` and `producer` import from here, and never each other.
"""
